"""Statements on different keys in one stream: operators that take what those before them derive."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

import cepheid as cep
from cepheid.core.event import Event
from cepheid.core.time import Period
from cepheid.engines.spark.codec.input_columns import Options
from cepheid.engines.spark.plan.passes import pipelines_of
from cepheid.engines.spark.plan.plan import plan_of
from cepheid.engines.spark.plan.request import SparkRequest, WatermarkPolicy
from cepheid.engines.spark.session.failures import failure_of
from cepheid.engines.spark.shuffle.blocks import BUCKET, PACK, by_bucket, from_bytes
from cepheid.engines.spark.shuffle.partition_labels import number_of
from cepheid.engines.spark.shuffle.partitioner import Partitioner
from cepheid.engines.spark.stream.chained import BucketProcessor
from cepheid.engines.spark.stream.packs import (
    CONTENT,
    FORWARDED,
    LATE,
    MOMENT,
    ROWS,
    pack_rows,
)
from cepheid.engines.spark.stream.processor import StreamTask
from cepheid.engines.spark.stream.query import task_of
from cepheid.engines.spark.stream.state import sorted_by_row_key
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree
from cepheid.semantics.machine import Machine
from tests.effort import examples
from tests.matcher.test_operator import shown, shown_table, without_key
from tests.semantics.drive import resolved
from tests.semantics.generators import make_event
from tests.spark import test_stream_query as streaming
from tests.spark.cases import collected, set_to
from tests.spark.pipelines import crowded, meeting_programs, pipeline_programs
from tests.spark.test_pipelines import SAMPLE, SCHEMAS, TWO_KEYS, pack
from tests.spark.test_state import DELAY, EPOCH, SECOND, arrivals, encoder, later
from tests.spark.test_stream_query import Folder, expected, found, record

BUCKETS = 3

# A query without Spark.


@dataclass
class Handle:
    """What Spark keeps for the buckets of an operator; it is strict about timers."""

    states: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    timers: dict[int, set[int]] = field(default_factory=dict)
    key: int = 0

    def getValueState(self, name: str, schema: object) -> Handle:  # noqa: N802
        del name, schema
        return self

    def get(self) -> tuple[Any, ...] | None:
        return self.states.get(self.key)

    def update(self, state: tuple[Any, ...]) -> None:
        self.states[self.key] = state

    def listTimers(self) -> Iterator[int]:  # noqa: N802
        return iter(sorted(self.timers.get(self.key, ())))

    def registerTimer(self, timer: int) -> None:  # noqa: N802
        mine = self.timers.setdefault(self.key, set())
        assert timer not in mine
        mine.add(timer)

    def deleteTimer(self, timer: int) -> None:  # noqa: N802
        self.timers[self.key].remove(timer)


@dataclass
class PretendedOperator:
    """Calls buckets as Spark does: first those with rows, then those whose timers have expired."""

    task: StreamTask
    place: int
    is_expired: Callable[[int, int], bool]
    handle: Handle = field(default_factory=Handle)

    def run(self, rows: pd.DataFrame, watermark: int) -> pd.DataFrame:
        """A micro-batch, with a new worker and state that was stored."""
        processor = pickle.loads(pickle.dumps(BucketProcessor(self.task, self.place)))
        self.handle = pickle.loads(pickle.dumps(self.handle))
        processor.init(self.handle)
        values = TimerValues(-1, watermark)
        found = []
        for key, frame in rows.groupby(BUCKET):
            self.handle.key = int(key)  # type: ignore[arg-type]
            parts = iter([frame.iloc[:1].copy(), frame.iloc[1:].copy()])
            found += processor.handleInputRows((self.handle.key,), parts, values)
        due = [(t, key) for key, timers in self.handle.timers.items() for t in timers]
        for timer, self.handle.key in sorted(due):
            if self.is_expired(timer, watermark):
                info = ExpiredTimerInfo(timer)
                found += processor.handleExpiredTimer((self.handle.key,), values, info)
                self.handle.deleteTimer(timer)
        given = pd.concat([empty(), *found], ignore_index=True)
        assert (given[MOMENT].to_numpy("datetime64[ms]") > np.datetime64(watermark, "ms")).all()
        return given


def empty() -> pd.DataFrame:
    return pd.DataFrame({name: [] for name in FORWARDED.names}).astype(
        {MOMENT: "datetime64[us, UTC]"}
    )


@dataclass
class PretendedSpark:
    """A query of several operators; the watermark moves after each micro-batch."""

    task: StreamTask
    programs: Sequence[ResolvedProgram]
    operators: list[PretendedOperator]
    watermark: int = 0
    result_packs: list[tuple[str, pa.Table]] = field(default_factory=list)

    def batch(self, events: Sequence[Event]) -> None:
        rows = empty()
        for operator in self.operators:
            own = self.packs(events, operator.place)
            rows = operator.run(pd.concat([rows, *own]), self.watermark)
        assert (rows[BUCKET] < 0).all()
        found = zip(rows[CONTENT], rows[PACK], strict=True)
        self.result_packs += [(content, from_bytes(packed)) for content, packed in found]
        marks = self.task.watermarks
        moments = (marks.moment(e.instant) // 1_000 for e in events)
        moved = max(moments, default=0) - marks.delay
        self.watermark = max(self.watermark, moved)

    def packs(self, events: Sequence[Event], place: int) -> Iterator[pd.DataFrame]:
        """What two tasks send to an operator."""
        for part in (events[::2], events[1::2]):
            packs: dict[int, pa.Table | None] = {}
            if part and place == 0:
                packs |= dict.fromkeys(self.task.first_buckets(0))
            for number, one in enumerate(self.task.passes):
                if one.operator == place:
                    packs |= self.packs_for(number, part)
            if packs:
                yield self.packed(packs, max(e.instant for e in part))

    def packed(self, packs: dict[int, pa.Table | None], newest: int) -> pd.DataFrame:
        """Packs as operators get them: what they hold is never late to Spark."""
        return pack_rows(packs, newest, self.task.watermarks).to_pandas()

    def packs_for(self, number: int, events: Iterable[Event]) -> dict[int, pa.Table | None]:
        program = self.programs[number]
        table = encoder(program, [e for e in events if e.type in program.consumed_types])
        parts = by_bucket(table, self.task.passes[number].partitioner.numbers(table))
        return {number * self.task.buckets + n: part for n, part in parts}

    def finish(self) -> int:
        """A micro-batch without events, as Spark adds one when the watermark has moved."""
        self.batch([])
        return self.task.watermarks.ours(self.watermark) or 0

    def tables(self, content: str) -> list[pa.Table]:
        return [table for found, table in self.result_packs if found == content]


def pretended(
    program: ResolvedProgram, *, timed_out: bool, is_expired: Callable[[int, int], bool]
) -> PretendedSpark:
    policy = WatermarkPolicy(delay=Period(microseconds=DELAY * 1_000))
    request = SparkRequest(
        program=program,
        options=Options(sequence="seq"),
        start=EPOCH,
        timed_out=timed_out,
        watermark=policy,
    )
    plan = plan_of(request)
    task = task_of(plan, BUCKETS)
    return PretendedSpark(
        task,
        [one.program for one in plan.passes],
        [PretendedOperator(task, place, is_expired) for place in range(task.operators)],
    )


def reference(
    program: ResolvedProgram, events: Iterable[Event], end: int, *, timed_out: bool
) -> list[tuple[Any, ...]]:
    machine = Machine(program, timed_out=timed_out)
    machine.start(EPOCH)
    rows = [row for event in events if event.instant <= end for row in machine.take(event)]
    rows += machine.advance(max(end, EPOCH))
    return list(map(without_key, shown(rows)))


# Spark 4.0 calls a timer when the watermark is past it, 4.3 when the watermark has reached it.
EXPIRIES: list[Callable[[int, int], bool]] = [int.__lt__, int.__le__]


def scattered(stream: Iterable[Event], apart: int) -> list[Event]:
    """The events, some a little later, so that the watermark is often close to one."""
    moved = [
        Event(e.type, e.instant + e.sequence % 3 * apart, e.values_, e.sequence) for e in stream
    ]
    return sorted(moved, key=lambda e: (e.instant, e.sequence))


@examples(100)
@given(
    tree=pipeline_programs() | meeting_programs(),
    stream=crowded(),
    seed=st.integers(0, 1000),
    size=st.sampled_from((5, 1, 13)),
    apart=st.sampled_from((0, 1_000, 1)),
    timed_out=st.booleans(),
    is_expired=st.sampled_from(EXPIRIES),
)
def test_operators_in_a_row_give_the_rows_of_the_whole(
    tree: ProgramTree,
    stream: list[Event],
    seed: int,
    size: int,
    apart: int,
    timed_out: bool,
    is_expired: Callable[[int, int], bool],
) -> None:
    program, events = resolved(tree), later(scattered(stream, apart))
    assume(any(len(pipeline) > 1 for pipeline in pipelines_of(program)))
    spark = pretended(program, timed_out=timed_out, is_expired=is_expired)
    for batch in arrivals(events, seed, size):
        spark.batch(batch)
    end = spark.finish()
    assert spark.tables(LATE) == []
    rows = [row for table in spark.tables(ROWS) for row in shown_table([table])]
    rows.sort(key=lambda row: row[3])
    assert list(map(without_key, rows)) == reference(program, events, end, timed_out=timed_out)


def two_keys(text: str = TWO_KEYS) -> PretendedSpark:
    program = resolved(cep.parse(SCHEMAS + text).tree)
    return pretended(program, timed_out=False, is_expired=int.__le__)


def test_an_operator_runs_what_is_for_it_and_passes_on_the_rest() -> None:
    more = "@Name('r') select n, count(*) as m from q group by n;"
    spark = two_keys(
        TWO_KEYS.replace("@Name('q') select", "@Name('q') insert into q select") + more
    )
    assert [one.operator for one in spark.task.passes] == [0, 1, 2]
    for batch in arrivals(later(SAMPLE), 1, 4):
        spark.batch(batch)
    spark.finish()
    buckets = [sorted(operator.handle.states) for operator in spark.operators]
    assert all(
        number_of(n) // BUCKETS == place for place, found in enumerate(buckets) for n in found
    )
    assert {row[0] for table in spark.tables(ROWS) for row in shown_table([table])} == {
        *("S", "q", "r")
    }


def test_a_timer_goes_with_what_it_waited_for() -> None:
    spark = two_keys()
    for batch in arrivals(later(SAMPLE), 1, 4):
        spark.batch(batch)
    assert any(any(operator.handle.timers.values()) for operator in spark.operators)
    spark.batch(later([make_event("C", 60_000_000, 99, "x", 1, 0.5)]))
    spark.finish()
    assert not any(any(operator.handle.timers.values()) for operator in spark.operators)


# Buckets.


def fed_events(*events: tuple[int, int, list[int] | None]) -> pa.Table:
    times, sequences, keys = zip(*events, strict=True)
    return pa.table(
        {
            "@time": pa.array(times, pa.int64()),
            "@sequence": pa.array(sequences, pa.int64()),
            "@key": pa.array(keys, pa.list_(pa.int64())),
        }
    )


def test_derived_events_have_their_places_among_those_of_the_input() -> None:
    events = fed_events(
        (7, 5, None),
        (7, 0, [7, 1, 4, 1, 0, 1]),
        (7, 0, [7, 0, 3, 1, 0, 1, 9]),
        (6, 9, None),
        (7, 0, [7, 1, 5, 1, 0, 1]),
        (7, 4, None),
        (7, 0, [7, 0, 3, 1, 0, 1]),
        (7, -1, None),
    )
    ordered = sorted_by_row_key(events).to_pylist()
    assert [row["@key"] or row["@sequence"] for row in ordered] == [
        9,
        [7, 0, 3, 1, 0, 1],
        [7, 0, 3, 1, 0, 1, 9],
        -1,
        4,
        [7, 1, 4, 1, 0, 1],
        5,
        [7, 1, 5, 1, 0, 1],
    ]


def test_what_is_derived_is_in_time_where_input_is_late() -> None:
    spark = two_keys()
    events = [make_event(t, 1_000_000, n, "x", 1, 0.5) for n, t in enumerate("AB")]
    events += [make_event("C", n * 1_000_000, 10 + n, "x", 1, 0.5) for n in range(1, 10)]
    for event in later([*events, late := make_event("A", 6_500_000, 99, "x", 1, 0.5)]):
        spark.batch([event])
    spark.finish()
    [found] = spark.tables(LATE)
    assert found["@time"].cast(pa.int64()).to_pylist() == [EPOCH + late.instant]
    assert {row[0] for table in spark.tables(ROWS) for row in shown_table([table])} == {"S", "q"}


# Where events meet.


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (pa.int64(), [1, 2, 300, None, -7]),
        (pa.float64(), [0.5, 2.0, -0.0, None, float("nan")]),
        (pa.string(), ["x", "y", "", None, "äöü"]),
        (pa.bool_(), [True, False, True, None, False]),
    ],
)
def test_equal_keys_meet_whatever_comes_with_them(type: Any, values: list[Any]) -> None:
    partitioner = Partitioner(7, (("A", (("k",), ("s", "v"))),), (str(type), "int64"))
    nested = [{"v": n} for n in range(len(values))]

    def table(order: list[int]) -> pa.Table:
        return pa.table(
            {
                "@type": ["A"] * len(order),
                "@time": list(range(len(order))),
                "k": pa.array([values[n] for n in order], type),
                "s": [nested[n] for n in order],
            }
        )

    order = [4, 2, 0, 0, 3, 1, 4]
    numbers = partitioner.numbers(table([0, 1, 2, 3, 4]))
    assert partitioner.numbers(table(order)).tolist() == [numbers[n] for n in order]


def test_keys_of_two_types_are_compared_as_one() -> None:
    partitioner = Partitioner(1_000, (("A", (("a",),)), ("B", (("b",),))), ("double",))
    table = pa.table(
        {
            "@type": ["A", "B", "A", "B", "C"],
            "@time": [1, 2, 3, 4, 5],
            "a": pa.array([3, None, 0, None, None], pa.int32()),
            "b": [None, 3.0, None, -0.0, None],
        }
    )
    numbers = partitioner.numbers(table)
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3]


def test_every_nan_is_the_same_key() -> None:
    """Processors make NaN with a sign, too."""
    partitioner = Partitioner(1_000, (("A", (("k",),)),), ("double",))
    keys: Any = np.array([np.nan, -np.nan])
    columns = {"@type": ["A", "A"], "@time": [1, 2], "k": keys}
    one, other = partitioner.numbers(pa.table(columns))
    assert one == other


def test_a_thousand_keys_fill_all_buckets() -> None:
    for keys in (list(range(0, 32_000, 32)), [f"bike {n}" for n in range(1_000)]):
        table = pa.table({"@type": ["A"] * 1_000, "@time": [1] * 1_000, "k": keys})
        partitioner = Partitioner(32, (("A", (("k",),)),), (str(table.schema.field("k").type),))
        assert min(np.bincount(partitioner.numbers(table), minlength=32)) > 10


# On Spark.


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    return Folder(spark, tmp_path)


def test_a_stream_finds_what_a_batch_finds(folder: Folder) -> None:
    case = pack(0)
    program, events = resolved(case.tree), streaming.later(case.events)
    end = events[-1].instant + 6 * SECOND
    arrived = streaming.arriving(events, 1)
    half = len(arrived) // 2
    folder.add([record(e) for e in arrived[:half]])
    folder.run(found(program, folder))
    folder.add([*map(record, arrived[half:]), {"@time": end + streaming.DELAY}])
    rows = collected(folder.run(found(program, folder)))
    assert sorted(rows) == sorted(expected(program, events, end))
    assert len(rows) > 100


PILE_UPS = """
    create schema Reading (bike int, place string, speed int);
    @Name('Crash') insert into Crash
    select a.bike as bike, b.place as place from pattern [every a=Reading(speed > 50) ->
        b=Reading(speed = 0 and bike = a.bike) where timer:within(3 sec)];
    @Name('PileUp') insert into PileUp
    select c.bike as first, d.bike as second, c.place as place from pattern [every c=Crash ->
        d=Crash(place = c.place) where timer:within(10 sec)];
"""
READINGS: dict[str, pa.DataType] = {
    "@time": pa.timestamp("us", "UTC"),
    "number": pa.int64(),
    "bike": pa.int32(),
    "place": pa.string(),
    "speed": pa.int32(),
}


def reading(second: float, bike: int, place: str, speed: int) -> dict[str, Any]:
    time = streaming.EPOCH + int(second * SECOND)
    values = {"number": bike, "bike": bike, "place": place, "speed": speed}
    return {"@time": time, **values}


def pile_ups(
    folder: Folder, output: str = "PileUp", text: str = PILE_UPS, **changes: Any
) -> DataFrame:
    options = {"sequence": "number", "watermark": "5 seconds", "grace": "1 minute"} | changes
    events = {"Reading": folder.stream()}
    return cep.spark.detect(cep.parse(text), events, output=output, **options)


@pytest.fixture
def readings(folder: Folder) -> Iterator[Folder]:
    """One task for each operator, as each starts a process; above there are two."""
    folder.schema = pa.schema(READINGS)
    first = [reading(1, 1, "bridge", 90), reading(2, 1, "bridge", 0)]
    folder.add([*first, reading(8, 2, "bridge", 90), reading(7, 3, "tunnel", 80)])
    with set_to(folder.spark, partitions=1):
        yield folder


def test_bikes_that_crash_at_one_place_pile_up(readings: Folder) -> None:
    assert readings.run(pile_ups(readings)).collect() == []
    readings.add([reading(9, 2, "bridge", 0), reading(8, 3, "tunnel", 0)])
    readings.add([reading(20, 4, "tunnel", 1), reading(3, 3, "tunnel", 80)])
    readings.add([reading(60, 4, "tunnel", 1)])
    [row] = readings.run(pile_ups(readings)).collect()
    assert (row["first"], row["second"], row["place"]) == (1, 2, "bridge")
    assert row["@time"].timestamp() == streaming.EPOCH / SECOND + 9


def test_a_changed_program_is_refused(readings: Folder) -> None:
    readings.run(pile_ups(readings))
    readings.add([reading(9, 2, "bridge", 0)])
    for output, before, after in (
        ("PileUp", "> 50", "> 60"),  # its first operator finds it
        ("PileUp", "10 sec", "11 sec"),  # and here the second
        ("Crash", "", ""),  # and here Spark, as one operator is enough
    ):
        with pytest.raises(StreamingQueryException) as problem:
            readings.run(pile_ups(readings, output, PILE_UPS.replace(before, after)))
        assert "saved by another program" in str(failure_of(problem.value))


@pytest.mark.parametrize(
    ("store", "changes", "reason"),
    [
        ("RocksDB", {"sequence": None}, "events of one time have no order for all of them"),
        ("RocksDB", {"idle": "1 sec"}, "with idle= a bucket that hears nothing goes on alone"),
        ("default", {}, "Spark keeps the state of several operators in RocksDB only"),
        ("RocksDB", {}, None),
    ],
)
def test_where_operators_must_not_follow_each_other_one_task_takes_all(
    readings: Folder,
    caplog: pytest.LogCaptureFixture,
    store: str,
    changes: dict[str, Any],
    reason: str | None,
) -> None:
    caplog.set_level(logging.INFO, "cepheid")
    with set_to(readings.spark, store=streaming.STORES[store]):
        pile_ups(readings, **changes)
    if reason is None:
        assert caplog.text == ""
    else:
        assert "one task takes all events of Crash, PileUp" in caplog.text
        assert f"its statements are split by different keys, and {reason}" in caplog.text
