"""Programs over streams on Spark: what a batch finds, up to the watermark, and nothing twice."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import cepheid as cep
from cepheid.core.event import Event
from cepheid.errors import UsageError
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine
from tests.effort import EFFORT
from tests.semantics.drive import resolved
from tests.spark.cases import SCHEMA, collected, generated, packed, set_to, shown

CASES = 20 * EFFORT
SECOND = 1_000_000
EPOCH = 1_000_000 * SECOND
DELAY = 2 * SECOND
STORES = {
    store: f"org.apache.spark.sql.execution.streaming.state.{name}StateStoreProvider"
    for store, name in {"default": "HDFSBacked", "RocksDB": "RocksDB"}.items()
}


@dataclass
class Folder:
    """A stream that is a folder of files, each a micro-batch, and what a query writes from it."""

    spark: SparkSession
    path: Path
    schema: pa.Schema = field(default_factory=lambda: SCHEMA)

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        folder = self.path / "in"
        folder.mkdir(exist_ok=True)
        number = len(list(folder.iterdir()))
        file = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows), self.schema), file)
        os.utime(file, (number, number))  # Spark takes them by their times, which may be the same

    def stream(self) -> DataFrame:
        folder = str(self.path / "in")
        files = self.spark.readStream.schema(self.spark.read.parquet(folder).schema)
        return files.option("maxFilesPerTrigger", 1).parquet(folder)

    def run(self, found: DataFrame, name: str = "out") -> DataFrame:
        """Lets a query write all there is, and gives everything that it has ever written."""
        out = str(self.path / name)
        options = {"path": out, "checkpointLocation": str(self.path / f"{name}-checkpoint")}
        query = found.writeStream.format("parquet").options(**options)
        query.trigger(availableNow=True).start().awaitTermination()
        return self.spark.read.schema(found.schema).parquet(out)


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    return Folder(spark, tmp_path)


# Generated cases ------------------------------------------------------------------------------


def later(events: Iterable[Event]) -> list[Event]:
    return [Event(e.type, e.instant + EPOCH, dict(e), e.sequence) for e in events]


def arriving(events: Sequence[Event], seed: int) -> list[Event]:
    """The events in an order in which none comes too late."""
    chance = random.Random(seed)
    arrival = {e.sequence: e.instant + chance.randrange(DELAY) for e in events}
    return sorted(events, key=lambda e: arrival[e.sequence])


def record(event: Event) -> dict[str, Any]:
    return {"@type": event.type, "@time": event.instant, "seq": event.sequence, **event.values_}


def expected(program: ResolvedProgram, events: Iterable[Event], end: int) -> list[str]:
    machine = Machine(program, timed_out=True)
    machine.start(EPOCH)
    rows = [row for event in events for row in machine.take(event)]
    rows += machine.advance(end)
    kinds = {(False, False): "match", (True, False): "old", (False, True): "timeout"}
    return [
        shown(row.type, row.instant, kinds[row.is_old, row.is_timeout], row.values_) for row in rows
    ]


@pytest.mark.parametrize(("store", "files", "seed"), [("RocksDB", 2, 1), ("default", 1, 2)])
def test_a_stream_finds_what_a_batch_finds(
    folder: Folder, store: str, files: int, seed: int
) -> None:
    cases = [case for case in generated(CASES) if case.events]
    case = packed(cases)
    program, events = resolved(case.tree), later(case.events)
    end = events[-1].instant + 6 * SECOND
    arrived = arriving(events, seed)
    size = -(-len(arrived) // (2 * files))
    parts = [arrived[i : i + size] for i in range(0, len(arrived), size)]
    with set_to(folder.spark, store=STORES[store]):
        for part in parts[:files]:
            folder.add([record(e) for e in part])
        folder.run(found(program, folder))
        for part in parts[files:-1]:
            folder.add([record(e) for e in part])
        folder.add([*map(record, parts[-1]), {"@time": end + DELAY}])
        rows = folder.run(found(program, folder))
    assert sorted(collected(rows)) == sorted(expected(program, events, end))


def found(program: ResolvedProgram, folder: Folder) -> DataFrame:
    return cep.spark.detect(
        program,
        folder.stream(),
        sequence="seq",
        start=EPOCH // SECOND,
        watermark="2 seconds",
        grace="1 second",
        timed_out=True,
    )


# One program ----------------------------------------------------------------------------------

CRASH = """
    create schema Reading (bike int, speed int);
    @Name('Crash') insert into Crash
    select a.bike as bike from pattern [every a=Reading(speed > 50) ->
        b=Reading(speed = 0 and bike = a.bike) where timer:within(3 sec)];
"""
READINGS: dict[str, pa.DataType] = {
    "@type": pa.string(),
    "@time": pa.timestamp("us", "UTC"),
    "bike": pa.int32(),
    "speed": pa.int64(),
}


def reading(second: float, bike: int, speed: int | None) -> dict[str, Any]:
    time = EPOCH + int(second * SECOND)
    return {"@type": "Reading", "@time": time, "bike": bike, "speed": speed}


def flush(second: float) -> dict[str, Any]:
    """A row that is no event and moves the watermark."""
    return {"@time": EPOCH + int(second * SECOND)}


@pytest.fixture
def readings(folder: Folder) -> Folder:
    folder.schema = pa.schema(READINGS)
    folder.add([reading(1, 1, 90), reading(2, 1, 0), reading(1, 2, 80)])
    folder.add([reading(30, 3, 7), reading(24, 3, 60)])
    folder.add([reading(25, 3, 0), reading(2, 2, 0), reading(31, 4, 1 << 40)])
    folder.add([flush(60)])
    return folder


def crashes(folder: Folder, output: str, text: str = CRASH) -> DataFrame:
    return cep.spark.detect(
        cep.parse(text), folder.stream(), output=output, watermark="5 seconds", grace="1 minute"
    )


def times(rows: DataFrame) -> list[tuple[float, int]]:
    found = [
        ((row["@time"].timestamp() * SECOND - EPOCH) / SECOND, row["bike"])
        for row in rows.collect()
    ]
    return sorted(found)


@pytest.mark.usefixtures("spark_takes_its_time")
def test_matches_late_events_and_rejects_come_apart(readings: Folder) -> None:
    found = readings.run(crashes(readings, "Crash"))
    assert found.columns == ["@time", "@kind", "bike"]
    assert times(found) == [(2, 1)]
    late = readings.run(crashes(readings, "@late"), "late")
    assert late.columns == ["@type", "@time", "bike", "speed"]
    assert times(late) == [(2, 2), (25, 3)]
    rejects = readings.run(crashes(readings, "@rejects"), "rejects")
    [reject] = rejects.collect()
    assert reject["@problem"] == "error[bad-value]: attribute 'speed': 1099511627776 is not int"
    assert json.loads(reject["@row"])["bike"] == 4


def test_a_changed_program_is_refused(folder: Folder) -> None:
    folder.schema = pa.schema(READINGS)
    folder.add([reading(1, 1, 90)])
    folder.run(crashes(folder, "Crash"))
    folder.add([reading(70, 5, 0)])
    with pytest.raises(StreamingQueryException) as raised:
        folder.run(crashes(folder, "Crash", CRASH.replace("50", "60")))
    first = str(raised.value).partition("\n")[0]
    assert "error[bad-state]: this state was saved by another program" in first
    assert "Traceback" not in str(raised.value)
    folder.run(crashes(folder, "Crash"))  # which has lost nothing


CHAINED = """
    create schema Reading (bike int, speed int);
    @Name('Fast') insert into Fast select bike, speed from Reading(speed > 50);
    @Name('Twice') insert into Twice
    select a.bike as bike from pattern [every a=Fast -> b=Fast(bike = a.bike)];
    @Name('Two') insert into Two
    select a.bike as bike from pattern [every a=Twice -> b=Fast(bike != a.bike)];
"""


def test_a_changed_program_is_refused_by_operators_one_after_the_other(folder: Folder) -> None:
    folder.schema = pa.schema(READINGS)
    folder.add([reading(1, 1, 90)])
    folder.run(crashes(folder, "Two", CHAINED))
    folder.add([reading(70, 5, 0)])
    with pytest.raises(StreamingQueryException) as raised:
        folder.run(crashes(folder, "Two", CHAINED.replace("50", "60")))
    first = str(raised.value).partition("\n")[0]
    assert "error[bad-state]: this state was saved by another program" in first


def test_a_stream_needs_a_watermark_and_some_programs_a_start(readings: Folder) -> None:
    with pytest.raises(UsageError, match="needs a watermark"):
        cep.spark.detect(cep.parse(CRASH), readings.stream())
    alarm = cep.parse("""
        create schema Reading (bike int, speed int);
        select 1 as n from pattern [every (timer:interval(3 sec) and not Reading)];
    """)
    with pytest.raises(UsageError, match="give start="):
        cep.spark.detect(alarm, readings.stream(), watermark="1 sec")


def test_time_alone_brings_rows(folder: Folder) -> None:
    folder.schema = pa.schema(READINGS)
    folder.add([flush(8)])
    alarm = cep.parse("""
        create schema Reading (bike int, speed int);
        insert into Silent
        select 1 as bike from pattern [every (timer:interval(3 sec) and not Reading)];
    """)
    stream = cep.spark.detect(
        alarm, folder.stream(), output="Silent", start=EPOCH // SECOND, watermark="1 sec"
    )
    assert times(folder.run(stream)) == [(3, 1), (6, 1)]
