"""`cepheid run --engine spark`: what a local run prints, whatever the events lie in."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import RecordBatch
from pyspark.sql import DataFrame, SparkSession

import cepheid as cep
from cepheid.cli.main import main
from cepheid.engines.spark import run
from cepheid.engines.spark.batch.query import batch_rows
from cepheid.engines.spark.plan.plan import Plan
from cepheid.io import encode

PROGRAM = """
create schema A (k string, v int);
create schema B (k string, v string);
@Name('Pair') insert into Pair select a.k as k, a as first, b.v as v
from pattern [every a=A -> b=B(k=a.k) where timer:within(5 sec)];
@Name('Silent') select a.k as k from pattern [every a=A -> (timer:interval(3 sec) and not B(k=a.k))];
@Name('Both') select k from Pair;
"""
EVENTS = """\
{"@type": "B", "@time": 2, "k": "x", "v": "late"}
{"@type": "A", "@time": 1, "k": "x", "v": 1}
{"@type": "A", "@time": 2, "k": "y", "v": 2}
{"@type": "A", "@time": 2, "k": null, "v": 2}
{"@type": "B", "@time": 2, "k": "y", "v": null}
{"@time": 9}
"""

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.epl").write_text(PROGRAM)
    (tmp_path / "1.jsonl").write_text("".join(EVENTS.splitlines(keepends=True)[:3]))
    (tmp_path / "2.jsonl").write_text("".join(EVENTS.splitlines(keepends=True)[3:]))
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[str, str]:
    assert main(["run", "p.epl", *args]) == 0
    found = capsys.readouterr()
    return found.out, found.err


def test_files_give_the_rows_of_a_local_run(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = ["-e", "1.jsonl", "2.jsonl"]
    here, said = printed(capsys, *events, "--engine", "local")
    assert len(here.splitlines()) == 5
    assert printed(capsys, *events, "--engine", "spark") == (here, "engine: spark\n" + said)


def test_what_cannot_be_read_is_skipped_as_elsewhere(files: Path) -> None:
    (files / "3.jsonl").write_text('{"@type": "A", "@time": 4, "v": "x"}\n')
    program = cep.load("p.epl")
    result = cep.run(program, str(files), engine="spark", on_error="skip", timed_out=True)
    local = cep.run(program, str(files), on_error="skip", timed_out=True)
    assert [encode(row) for row in result] == [encode(row) for row in local]
    assert [d.code for d in result.skipped] == ["bad-value"]
    assert (result.taken, result.moved) == (local.taken, local.moved)


def test_nothing_comes_of_nothing(files: Path) -> None:
    assert len(cep.run(cep.load("p.epl"), [], engine="spark")) == 0


def test_a_worker_that_is_killed_is_told(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deadly_rows(plan: Plan) -> DataFrame:
        def dying(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
            os.kill(os.getpid(), signal.SIGKILL)
            yield from batches

        rows = batch_rows(plan)
        return rows.mapInArrow(dying, rows.schema)

    monkeypatch.setattr(run, "batch_rows", deadly_rows)
    with pytest.raises(cep.RunError, match="a Python worker of Spark died"):
        cep.run(cep.load("p.epl"), "1.jsonl", engine="spark")


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    rows = [("A", 1, "x", 1), ("A", 2, "y", 200)]
    spark.createDataFrame(rows, "`@type` string, `@time` int, k string, v int").createTempView("t")
    yield "t"
    spark.catalog.dropTempView("t")


def test_tables_are_events(files: Path, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "p.epl").write_text(
        "create schema A (k string, v int); @Name('Big') select k from A(v > 9);"
    )
    out, err = printed(capsys, "-e", f"table:{table}")
    assert [json.loads(line)["k"] for line in out.splitlines()] == ["y"]
    assert err.startswith("engine: spark\n")
    assert main(["run", "p.epl", "-e", "table:none"]) == 2
    assert "no table 'none'" in capsys.readouterr().err
    assert main(["run", "p.epl", "-e", "table:t", "1.jsonl"]) == 2


@pytest.mark.parametrize(
    ("row", "code", "fact", "hint"),
    [
        (
            (None, "x (y)"),
            "missing-time",
            "an event of type A without a time",
            "'at' holds the time",
        ),
        (("soon", "x"), "bad-time", "'at': 'soon' is not an ISO 8601 time", None),
    ],
)
def test_a_row_of_a_table_that_is_no_event_is_input_that_cannot_be_taken(
    spark: SparkSession,
    files: Path,
    capsys: pytest.CaptureFixture[str],
    row: tuple[str | None, str],
    code: str,
    fact: str,
    hint: str | None,
) -> None:
    (files / "p.epl").write_text("create schema A (k string); @Name('All') select k from A;")
    spark.createDataFrame([row], "at string, k string").createOrReplaceTempView("rows")
    with pytest.raises(cep.InputError) as refused:
        cep.run(cep.load("p.epl"), "table:rows", engine="spark", time="at")
    (problem,) = refused.value.diagnostics
    assert problem.code == code
    assert problem.hint == hint
    assert problem.message.startswith(f"{fact} (the frame of A: {{")
    assert f'"k":"{row[1]}"' in problem.message
    assert main(["run", "p.epl", "--engine", "spark", "-e", "table:rows", "--time", "at"]) == 1
    assert f"error[{code}]: {fact}" in capsys.readouterr().err
