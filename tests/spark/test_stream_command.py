"""`cepheid stream` on Spark, from a source to a sink."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cepheid.cli.main import main
from tests.spark.brokers import wait_for

PROGRAM = """
create schema A (id string, x int);
create schema B (id string, x int);
@Name('Pair') insert into Pair
select a.id as id, a.x as first, b.x as second
from pattern [every a=A -> b=B(b.id = a.id) where timer:within(10 seconds)];
"""


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.epl").write_text(PROGRAM)
    (tmp_path / "in").mkdir()
    return tmp_path


def put(folder: Path, name: str, *lines: str | dict[str, Any]) -> None:
    """A file that appears as a whole."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    draft = folder / name
    draft.write_text("".join(f"{text}\n" for text in texts))
    draft.rename(folder / "in" / f"{name}.jsonl")


def event(type: str, time: int, x: int) -> dict[str, Any]:
    return {"@type": type, "@time": time, "id": "k", "x": x}


def pairs(folder: Path) -> list[tuple[int, int]]:
    files = sorted((folder / "out").glob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [(row["first"], row["second"]) for row in rows]


FILES = ("--source", "files:in")
STREAM = ("stream", "p.epl", "--checkpoint", "state", "--watermark", "1s")


def interrupted(arguments: Sequence[str], is_enough: Callable[[], bool], what: str) -> int:
    """The exit code of a command that is interrupted when a condition is seen."""
    ended = threading.Event()

    def interrupt() -> None:
        try:
            wait_for(lambda: ended.is_set() or is_enough(), what)
        finally:
            if not ended.is_set():
                os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    code = main(arguments)
    ended.set()
    thread.join()
    return code


def test_a_stream_that_is_interrupted_goes_on_where_it_was(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, "first", event("A", 1, 1), event("B", 2, 2), event("A", 5, 3))

    arguments = [*STREAM, *FILES, "--sink", "files:out"]
    code = interrupted(arguments, lambda: pairs(folder) == [(1, 2)], "the first pair")
    told = capsys.readouterr()
    assert code == 0, told.err
    assert "stopped: events 3;" in told.err
    assert "rows found 1;" in told.err
    put(folder, "second", event("B", 6, 4), {"@time": 60})
    assert main([*arguments, "--once"]) == 0
    assert pairs(folder) == [(1, 2), (3, 4)]


def test_a_rate_brings_events_until_it_is_stopped(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*STREAM, "--source", "rate:50", "--sink", "files:out"]
    assert interrupted(arguments, lambda: bool(pairs(folder)), "a pair of made-up events") == 0
    assert "events 0;" not in capsys.readouterr().err.splitlines()[-1]


def test_a_rate_is_not_taken_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*STREAM, "--source", "rate:50", "--once"]) == 2
    assert "error[usage]: a rate has no end" in capsys.readouterr().err


def test_texts_that_are_no_events_are_counted_and_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, "all", event("A", 1, 1), "poison", event("B", 2, 2), {"@time": 60})
    assert main([*STREAM, *FILES, "--sink", "files:out", "--rejects", "rejected", "--once"]) == 0
    assert "rejected 1" in capsys.readouterr().err
    assert pairs(folder) == [(1, 2)]
    (kept,) = (folder / "rejected").glob("*.jsonl")
    assert json.loads(kept.read_text()) == {
        "@reject": "poison",
        "@problem": "not JSON: a value is missing",
    }


def test_the_console_prints_json_lines_where_no_one_looks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, "all", event("A", 1, 1), event("B", 2, 2), {"@time": 60})
    assert main([*STREAM, *FILES, "--once", "--output", "Pair"]) == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert row == {
        "@type": "Pair",
        "@time": "1970-01-01T00:00:02Z",
        "id": "k",
        "first": 1,
        "second": 2,
    }


def test_a_sink_that_fails_ends_the_stream_with_its_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, "all", event("A", 1, 1), event("B", 2, 2), {"@time": 60})
    (folder / "out").write_text("a file")
    assert main([*STREAM, *FILES, "--once", "--sink", "files:out"]) == 1
    told = capsys.readouterr().err
    assert "error[bad-file]: cannot write into" in told
    assert "Traceback" not in told


def test_late_events_and_lines_that_are_no_utf8_are_kept_and_the_stream_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, "a", event("A", -9, 1), event("B", -8, 2), {"@time": 60})
    os.utime(folder / "in" / "a.jsonl", (1, 1))
    draft = folder / "b"
    draft.write_bytes(b'{"@type": "A", "@time": 61, "id": "\xff"}\n')
    draft.rename(folder / "in" / "b.jsonl")
    put(folder, "c", event("A", -7, 3), event("C", 62, 4), {**event("A", 63, 5), "zip": 1})
    arguments = [*STREAM, "--source", "files:in?maxFilesPerTrigger=1", "--sink", "files:out"]
    arguments += ["--late", "late", "--rejects", "rejected", "--once"]
    assert main(arguments) == 0
    told = capsys.readouterr().err.splitlines()[-1]
    assert "rows found 1;" in told
    assert "late 1; rejected 2" in told
    assert pairs(folder) == [(1, 2)]
    assert [row["x"] for row in lines_in(folder / "late")] == [3]
    assert [row["@problem"].split(":")[0] for row in lines_in(folder / "rejected")] == [
        "not JSON",
        "no event type 'C'",
    ]


def lines_in(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.mark.usefixtures("spark_takes_its_time")
def test_a_checkpoint_that_is_damaged_or_of_another_program_is_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [*STREAM, *FILES, "--sink", "files:out", "--once"]
    put(folder, "a", event("A", 1, 1))
    assert main(arguments) == 0
    put(folder, "b", event("A", 2, 1))
    shutil.copytree("state", "whole")
    for name in ("metadata", "offsets/0"):
        shutil.rmtree("state")
        shutil.copytree("whole", "state")
        file = folder / "state" / "query" / name
        file.write_bytes(file.read_bytes()[:3])
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        capsys.readouterr()
        assert main(arguments) == 1
        assert "error[bad-state]" in capsys.readouterr().err, name

    def no_spark(**_options: object) -> None:
        raise AssertionError("Spark has started")

    monkeypatch.setattr("cepheid.cli.stream.spark_session", no_spark)
    (folder / "p.epl").write_text(PROGRAM.replace("10 seconds", "11 seconds"))
    assert main(arguments) == 1
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert "error[bad-state]: " in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--source", "files:nowhere"], "no folder 'nowhere'"),
        (["--source", "fils:in"], "no source 'fils:in'"),
        ([*FILES, "--sink", "https://me:secret@"], "no host"),
        ([*FILES, "--output", "Pear"], "Pear"),
        ([*FILES, "--trigger", "often"], "--trigger"),
        ([*FILES, "--sink", "files:in"], "--sink: 'in' is in the folder that the stream reads"),
        ([*FILES, "--late", "in/late"], "--late: 'in/late' is in the folder"),
        ([*FILES, "--checkpoint", "in/state"], "--checkpoint: 'in/state' is in the folder"),
    ],
)
def test_what_is_wrong_with_a_command_is_said_before_spark_starts(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
) -> None:
    def no_spark(**_options: object) -> None:
        raise AssertionError("Spark has started")

    monkeypatch.setattr("cepheid.cli.stream.spark_session", no_spark)
    assert main([*STREAM, *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "secret" not in told
