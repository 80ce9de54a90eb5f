"""What a stream keeps, read from the checkpoint that Spark wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.cli.main import main
from cepheid.engines.common.intake import runnable
from cepheid.engines.spark.stream.inspection import StreamState, state_of
from cepheid.program.resolved import ResolvedProgram
from tests.spark.test_stream_command import PROGRAM

# What others derive is taken by another key: there are two operators.
CHAINED = f"""{PROGRAM}
@Name('Alike') insert into Alike
select p.first as x, q.second as y
from pattern [every p=Pair -> q=Pair(first = p.first) where timer:within(1 hour)];
"""
EVENTS = [
    {"@type": "A", "@time": 1, "id": "k", "x": 1},
    {"@type": "B", "@time": 2, "id": "k", "x": 2},
    {"@type": "A", "@time": 3, "id": "l", "x": 3},
    {"@type": "A", "@time": 9, "id": "m", "x": 4},
    {"@time": 10},
]


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    text = "".join(f"{json.dumps(event)}\n" for event in EVENTS)
    (tmp_path / "in" / "1.jsonl").write_text(text)
    return tmp_path


def streamed(folder: Path, text: str) -> ResolvedProgram:
    (folder / "p.epl").write_text(text)
    options = ("--source", "files:in", "--checkpoint", "state", "--watermark", "3s", "--once")
    assert main(["stream", "p.epl", *options]) == 0
    return runnable(cep.load("p.epl").resolve())


def told(state: StreamState) -> list[tuple[str, object, object]]:
    matches = state.contents.matches
    return sorted((m.statement, m.events[0].values.get("x"), m.ends) for m in matches)


def test_partial_matches_and_waiting_events_of_all_buckets_are_told(
    spark: SparkSession, folder: Path
) -> None:
    state = state_of(spark, streamed(folder, PROGRAM), folder / "state")
    assert told(state) == [("Pair", 3, 13_000_000)]
    assert [(e.type, e.count, e.first) for e in state.waiting] == [("A", 1, 9_000_000)]
    assert state.happened == 7_000_000
    assert {bucket.statements for bucket in state.buckets} == {("Pair",)}
    assert len({bucket.number for bucket in state.buckets}) == len(state.buckets) >= 2
    assert json.dumps(state.to_json())


def test_several_operators_are_told_each_with_its_statements(
    spark: SparkSession, folder: Path
) -> None:
    state = state_of(spark, streamed(folder, CHAINED), folder / "state")
    assert {bucket.statements for bucket in state.buckets} == {("Pair",), ("Alike",)}
    assert ("Pair", 3, 13_000_000) in told(state)


def test_the_state_of_another_program_is_refused(spark: SparkSession, folder: Path) -> None:
    streamed(folder, PROGRAM)
    other = runnable(cep.parse(PROGRAM.replace("10 seconds", "11 seconds")).resolve())
    with pytest.raises(cep.RunError, match=r"error\[bad-state\].*another program"):
        state_of(spark, other, folder / "state")
    with pytest.raises(cep.RunError, match="has no state yet"):
        state_of(spark, other, folder / "nowhere")
