"""Streams that are killed, starved and fed with rubbish: right rows, or an error that says why."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.cli.main import main
from cepheid.engines.spark.codec.input_columns import PROBLEM, REJECT
from cepheid.engines.spark.endpoints.sinks import open_sink
from cepheid.engines.spark.endpoints.sources import open_source
from cepheid.engines.spark.endpoints.uri import FileSink, FileSource
from cepheid.engines.spark.session.failures import failure_of
from cepheid.io.encode import encode, to_json
from tests.effort import EFFORT
from tests.spark.stream_process import Checkpoint, deaths, killed, live

PROGRAM = """
create schema A (id string, x int);
create schema B (id string, x int);

@Name('Pair') insert into Pair
select a.id as id, a.x as first, b.x as second
from pattern [every a=A -> b=B(b.id = a.id) where timer:within(2 seconds)];

@Name('Lonely') insert into Lonely
select a.id as id, a.x as x
from pattern [every a=A -> (timer:interval(1 second) and not B(id = a.id))];

@Name('Sum') insert into Sum
select id, sum(x) as total from A#time(3 seconds) group by id;
"""
STREAM = ("stream", "p.epl", "--watermark", "1s", "--once")
SOURCE = ("--source", "files:in?maxFilesPerTrigger=1")
SINK = ("--sink", "files:out")
STATE = ("--checkpoint", "state")


def put(folder: Path, number: int, *lines: str | dict[str, Any]) -> None:
    """A file that appears as a whole; Spark takes files in the order of their times."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    draft, file = folder / "draft", folder / "in" / f"{number:04}.jsonl"
    draft.write_text("".join(f"{text}\n" for text in texts))
    os.utime(draft, (number, number))
    file.parent.mkdir(exist_ok=True)
    draft.rename(file)


def rows_in(folder: Path) -> Counter[str]:
    """What a file sink has written."""
    return Counter(
        line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()
    )


def rows_of(program: str, folder: Path) -> Counter[str]:
    """What a run in this process finds in the same files."""
    files = sorted(map(str, (folder / "in").iterdir()))
    return Counter(to_json(encode(row)) for row in cep.run(cep.parse(program), *files))


# Killed ---------------------------------------------------------------------------------------

KILLS = 2 if EFFORT == 1 else 20


def fill(folder: Path, files: int, seed: int) -> None:
    """Files of events that come up to a second after later ones, and one that lets time pass."""
    chance = random.Random(seed)
    step, size = 50, 40  # milliseconds between two events, events in a file
    times = range(0, files * size * step, step)
    arrived = sorted(times, key=lambda time: time + chance.randrange(1_000))
    events: list[dict[str, Any]] = [
        {
            "@type": chance.choice("AB"),
            "@time": (1_000_000 + time) / 1_000,
            "id": chance.choice("klmno"),
            "x": time,
        }
        for time in arrived
    ]
    parts = [events[at : at + size] for at in range(0, len(events), size)]
    for number, part in enumerate(parts):
        put(folder, number, *part)
    put(folder, len(parts), {"@time": 9_999})


def test_a_stream_that_is_killed_again_and_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    (tmp_path / "p.epl").write_text(PROGRAM)
    fill(tmp_path, 2 * KILLS + 2, seed=1)
    checkpoint = Checkpoint(tmp_path / "state" / "query", tmp_path / "out")
    arguments = [*STREAM, *SOURCE, *SINK, *STATE]
    cuts = [killed(arguments, tmp_path, checkpoint, death) for death in deaths(KILLS, seed=EFFORT)]
    with live(arguments, tmp_path) as last:
        assert last.wait() == 0, (tmp_path / "log.txt").read_text()
    assert rows_in(tmp_path / "out") == rows_of(PROGRAM, tmp_path)
    assert any(cuts)


# In one session ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    """A stream of a few events in a folder: run, failed, mended and run again."""

    folder: Path
    told: pytest.CaptureFixture[str]

    def begin(self) -> None:
        """The first micro-batch, which leaves something behind in the state."""
        put(self.folder, 0, event("A", 1, 1), event("B", 2, 2), event("A", 5, 3))
        self.succeeds()
        put(self.folder, 1, event("B", 5.5, 4), event("A", 7, 5))
        put(self.folder, 2, {"@time": 60})

    def run(self, *arguments: str) -> tuple[int, str]:
        code = main([*STREAM, *SOURCE, *(arguments or (*SINK, *STATE))])
        return code, self.told.readouterr().err

    def succeeds(self, *arguments: str) -> str:
        code, told = self.run(*arguments)
        assert code == 0, told
        return told

    def fails(self, *arguments: str) -> str:
        """What it says; people see no traceback and no Java."""
        code, told = self.run(*arguments)
        assert code == 1, told
        assert "Traceback" not in told
        assert "java." not in told
        return told

    def is_right(self, out: str = "out") -> bool:
        """Whether it has found what there is, and everything once."""
        return rows_in(self.folder / out) == rows_of(PROGRAM, self.folder)


def event(type: str, time: float, x: int) -> dict[str, Any]:
    return {"@type": type, "@time": time, "id": "k", "x": x}


@pytest.fixture
def stream(
    spark_takes_its_time: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Stream:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.epl").write_text(PROGRAM)
    (tmp_path / "in").mkdir()
    return Stream(tmp_path, capsys)


POISON = (
    "poison",
    "\x00",
    "null",
    "{}",
    '{"@type": "A"',
    '{"@type": "A", "id": "k", "x": 1}',
    '{"@type": "A", "@time": "soon", "id": "k", "x": 1}',
    '{"@type": "A", "@time": 1e400, "id": "k", "x": 1}',
    '{"@type": "A", "@time": 2, "id": "k", "x": 1.5}',
    '{"@type": "A", "@time": 2, "id": "k", "x": 1180591620717411303424}',
    '{"@type": "Other", "@time": 2}',
    '{"@type": "Pair", "@time": 2}',
    "[" * 100_000,
)


def test_poison_goes_to_the_rejects_and_the_stream_goes_on(stream: Stream) -> None:
    put(stream.folder, 0, event("A", 1, 1))
    put(stream.folder, 1, *POISON)
    put(stream.folder, 2, event("B", 2, 2), {"@time": 60})
    told = stream.succeeds(*SINK, *STATE, "--rejects", "rejects")
    assert f"rejected {len(POISON)}" in told.splitlines()[-1]
    rejects = [json.loads(line) for line in rows_in(stream.folder / "rejects")]
    assert {reject["@reject"] for reject in rejects} == set(POISON)
    assert all(reject["@problem"] for reject in rejects)
    (stream.folder / "in" / "0001.jsonl").unlink()  # else the run in this process refuses it
    assert stream.is_right()


# Disks ----------------------------------------------------------------------------------------


@pytest.fixture
def disk(stream: Stream) -> Iterator[Path]:
    """A disk of two megabytes."""
    path = stream.folder / "disk"
    path.mkdir()
    command = ("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path))
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root makes a small disk")
    yield path
    subprocess.run(("umount", "--lazy", str(path)), check=True)


def fill_up(disk: Path, free: int = 0) -> Path:
    """A file that takes all room but so many bytes."""
    file = disk / "filler"
    with file.open("wb", buffering=0) as filler, suppress(OSError):
        while filler.write(bytes(4_096)):
            pass
    os.truncate(file, file.stat().st_size - free)
    return file


def test_a_full_disk_under_the_sink_ends_the_stream_which_then_goes_on(
    stream: Stream, disk: Path
) -> None:
    put(stream.folder, 0, event("A", 1, 1), event("B", 2, 2), {"@time": 60})
    arguments = ("--sink", "files:disk/out", *STATE)
    filler = fill_up(disk)
    told = stream.fails(*arguments)
    assert "error[bad-file]: cannot write into" in told
    assert "no space left on device" in told
    filler.unlink()
    stream.succeeds(*arguments)
    assert stream.is_right("disk/out")


def test_a_full_disk_under_the_checkpoint_ends_the_stream_which_then_goes_on(
    stream: Stream, disk: Path
) -> None:
    (stream.folder / "state").symlink_to(disk)
    stream.begin()
    for free in (0, 16_384):
        filler = fill_up(disk, free)
        told = stream.fails()
        assert "error[bad-file]: no space is left for the checkpoint" in told
        assert "hint: make room" in told
        filler.unlink()
    stream.succeeds()
    assert stream.is_right()


def test_a_checkpoint_that_cannot_be_written_any_more_ends_the_stream(
    stream: Stream, disk: Path
) -> None:
    (stream.folder / "state").symlink_to(disk)
    stream.begin()
    subprocess.run(("mount", "-o", "remount,ro", str(disk)), check=True)
    assert "error[bad-file]: cannot write into" in stream.fails()
    subprocess.run(("mount", "-o", "remount,rw", str(disk)), check=True)
    stream.succeeds()
    assert stream.is_right()


def test_a_checkpoint_must_be_a_folder(stream: Stream) -> None:
    put(stream.folder, 0, event("A", 1, 1))
    told = stream.fails(*SINK, "--checkpoint", "p.epl/state")
    assert "error[bad-file]: cannot write into" in told
    assert "p.epl" in told


# Changes --------------------------------------------------------------------------------------


def test_other_programs_are_refused_and_the_first_one_goes_on(stream: Stream) -> None:
    stream.begin()
    for before, after in (
        ("within(2 seconds)", "within(9 seconds)"),
        ("A (id string, x int)", "A (id string, x long)"),
    ):
        (stream.folder / "p.epl").write_text(PROGRAM.replace(before, after))
        told = stream.fails()
        assert "error[bad-state]" in told
        assert "saved by another program" in told
    (stream.folder / "p.epl").write_text(PROGRAM)
    stream.succeeds()
    assert stream.is_right()


def test_state_that_is_gone_is_not_taken_for_an_empty_one(stream: Stream) -> None:
    stream.begin()
    for saved in (stream.folder / "state" / "query" / "state" / "0").glob("*/*.zip"):
        saved.unlink()
    told = stream.fails()
    assert "error[bad-state]" in told


# Workers --------------------------------------------------------------------------------------


def killing(marker: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Passes rows on; when the first ones come, all Python workers of Spark are killed."""
    path = str(marker)

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows and os.path.exists(path):
                os.unlink(path)
                command = ("ps", "--ppid", str(os.getppid()), "-o", "pid=")
                told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                for worker in sorted(map(int, told.split()), key=os.getpid().__eq__):
                    os.kill(worker, signal.SIGKILL)
            yield batch

    return pass_on


def test_workers_that_are_killed_in_a_micro_batch_end_the_stream_which_then_goes_on(
    spark: SparkSession, stream: Stream
) -> None:
    put(stream.folder, 0, event("A", 1, 1), event("B", 2, 2), event("A", 5, 3))
    put(stream.folder, 1, event("B", 5.5, 4), {"@time": 60})
    program = cep.parse(PROGRAM).resolve()
    marker = stream.folder / "marker"
    marker.touch()

    def run() -> None:
        events = open_source(spark, FileSource("in", max_files=1), program, "journal")
        found = cep.spark.detect(program, events.drop(REJECT, PROBLEM), watermark="1 second")
        rows = found.mapInArrow(killing(marker), found.schema)
        writer = open_sink(rows, program, FileSink("out"), None, lambda _rows: None, {})
        checkpoint = str(stream.folder / "state")
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()

    with pytest.raises(StreamingQueryException) as failure:
        run()
    (problem,) = failure_of(failure.value).diagnostics
    assert problem.message == "a Python worker of Spark died in the middle of its work"
    assert not list((stream.folder / "out").glob("*.jsonl"))
    run()
    assert stream.is_right()
