"""The streaming operator, driven by a pretended Spark: any arrival, any batches, any restarts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.core.time import Period
from cepheid.core.types import DataType
from cepheid.engines.spark.codec.sort_keys import sorted_events
from cepheid.engines.spark.shared_operator import SharedOperator
from cepheid.engines.spark.stream.state import Bucket, Buckets, Outputs
from cepheid.engines.spark.stream.watermarks import Watermarks
from cepheid.errors import RunError
from cepheid.io.arrow import arrow_type
from cepheid.matcher.operator import columns_of, open_operator
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree, Statement
from tests.effort import examples
from tests.semantics.drive import resolved
from tests.semantics.generators import Features, programs, streams

SECOND = 1_000_000
EPOCH = -3 * SECOND  # where the generated streams begin: before the zero of Spark's watermark
DELAY = 2_000  # milliseconds


def encoder(program: ResolvedProgram, events: Iterable[Event]) -> pa.Table:
    """Events as the streaming operator takes them."""
    events = list(events)
    columns: dict[str, Any] = {
        "@type": pa.array([e.type for e in events], pa.string()),
        "@time": pa.array([e.instant for e in events], pa.int64()),
        "@sequence": pa.array([e.sequence for e in events], pa.int64()),
    }
    for column in columns_of(program):
        values = [e.get(column.attribute) if e.type in column.types else None for e in events]
        columns[column.name] = pa.array(values, stored(program, column.data_type))
    return pa.table(columns)


def stored(program: ResolvedProgram, type: DataType) -> pa.DataType:
    return arrow_type(type, program.types)


@dataclass
class PretendedSpark:
    """Calls buckets as Spark would: those with events, and those whose timeouts have passed."""

    buckets: Buckets
    bucket_of: Callable[[Event], int] = lambda _: 0
    watermarks: Watermarks = field(default_factory=lambda: Watermarks(DELAY))
    saved: dict[int, bytes] = field(default_factory=dict)
    timeouts: dict[int, int] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    watermark: int = 0
    calls: int = 0

    @cached_property
    def shared_operator(self) -> SharedOperator:
        """One for all buckets, as in a worker."""
        return self.buckets.shared_operator()

    def batch(self, events: Sequence[Event]) -> None:
        """A micro-batch; the watermark moves after it."""
        parts: dict[int, list[Event]] = {}
        for event in events:
            parts.setdefault(self.bucket_of(event), []).append(event)
        for number, part in parts.items():
            self.call(number, part)
        for number in [n for n, t in self.timeouts.items() if t < self.watermark]:
            self.call(number, [])
        moments = (self.watermarks.moment(e.instant) // 1_000 for e in events)
        moved = max(moments, default=0) - self.watermarks.delay
        self.watermark = max(self.watermark, moved)

    def call(self, number: int, events: list[Event]) -> None:
        self.calls += 1
        bucket = Bucket(self.buckets, self.shared_operator, self.saved.pop(number, None))
        newest = max((e.instant for e in events), default=None)
        promised = None if newest is None else self.watermarks.promised(newest)
        table = encoder(self.buckets.program, events)
        outputs = bucket.process(table, self.watermarks.ours(self.watermark), promised)
        self.rows += listed(outputs.rows)
        self.late += listed(outputs.late)
        self.timeouts.pop(number, None)
        if bucket.wakes is not None:
            timeout = self.timeouts[number] = self.watermarks.timeout(bucket.wakes)
            assert timeout >= self.watermark, "Spark refuses timeouts before its watermark"
        self.saved[number] = bucket.save()

    def finish(self) -> int:
        """A batch without events, as Spark adds one when the watermark has moved; our watermark."""
        self.batch([])
        return self.watermarks.ours(self.watermark) or 0


def opened(buckets: Buckets, saved: bytes | None = None) -> Bucket:
    return Bucket(buckets, buckets.shared_operator(), saved)


def listed(table: pa.Table | None) -> list[dict[str, Any]]:
    return [] if table is None else table.to_pylist()


def at_once(program: ResolvedProgram, events: Iterable[Event], start: int, end: int) -> list[Any]:
    """The rows of bounded input, up to an instant."""
    if end < start:
        return []
    operator = open_operator(program, timed_out=True)
    operator.start(start)
    table = encoder(program, (e for e in events if e.instant <= end))
    rows: list[Any] = operator.take(table).to_pylist() + operator.advance(end).to_pylist()
    return rows


def later(events: Iterable[Event]) -> list[Event]:
    """The same events, some time after the epoch."""
    return [Event(e.type, e.instant + EPOCH, dict(e), e.sequence) for e in events]


def arrivals(
    events: Sequence[Event], seed: int, size: int, delay: int = DELAY
) -> list[list[Event]]:
    """Micro-batches of events that arrive up to the delay after others that happened later."""
    chance = random.Random(seed)
    due = {e.sequence: e.instant + chance.randrange(delay * 1_000) for e in events}
    arrived = sorted(events, key=lambda e: due[e.sequence])
    return [arrived[i : i + size] for i in range(0, len(arrived), size)]


def shown(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Rows as texts, in which NaN is equal to itself."""
    return [repr(row) for row in rows]


@examples(400)
@given(
    tree=programs(),
    stream=streams(least=1, most=20),
    seed=st.integers(0, 1000),
    size=st.sampled_from((3, 1, 2, 7, 20)),
)
def test_a_stream_brings_the_rows_of_its_events_at_once(
    tree: ProgramTree, stream: list[Event], seed: int, size: int
) -> None:
    program, events = resolved(tree), later(stream)
    start = EPOCH
    spark = PretendedSpark(Buckets(program, 1, start=start, timed_out=True))
    for batch in arrivals(events, seed, size):
        spark.batch(batch)
    end = spark.finish()
    assert spark.late == []
    assert shown(spark.rows) == shown(at_once(program, events, start, end))


@examples(100)
@given(
    tree=programs(Features(derives=False)),
    stream=streams(least=5, most=20),
    seed=st.integers(0, 1000),
    size=st.sampled_from((3, 1, 7)),
    count=st.sampled_from((2, 5)),
)
def test_keys_in_several_buckets_bring_the_same_rows(
    tree: ProgramTree, stream: list[Event], seed: int, size: int, count: int
) -> None:
    program, events = resolved(per_key(tree)), later(stream)
    keys = (None, "x", "y")
    spark = PretendedSpark(
        Buckets(program, count, timed_out=True), lambda event: keys.index(event["k"]) % count
    )
    for batch in arrivals(events, seed, size):
        spark.batch(batch)
    end = spark.finish()
    expected = at_once(program, events, EPOCH, end)
    assert sorted(shown(without_keys(spark.rows))) == sorted(shown(without_keys(expected)))


def without_keys(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "@key"} for row in rows]


def per_key(tree: ProgramTree) -> ProgramTree:
    """All statements in the context of their key."""
    return ProgramTree(
        tuple(
            replace(d, context="PerKey") if isinstance(d, Statement) else d
            for d in tree.declarations
        )
    )


# One case at a time ---------------------------------------------------------------------------

CRASH = """
    create schema Reading (bike int, speed int);
    @Name('Crash') insert into Crash
    select a.bike as bike from pattern [every a=Reading(speed > 50) ->
        b=Reading(speed = 0 and bike = a.bike) where timer:within(3 sec)];
"""
ALARM = """
    create schema Reading (bike int, speed int);
    insert into Silent select 1 as n from pattern [every (timer:interval(3 sec) and not Reading)];
"""


def program_of(text: str) -> ResolvedProgram:
    return cep.parse(text).resolve()


def reading(second: float, speed: int, sequence: int = 0) -> Event:
    values: dict[str, Value] = {"bike": 1, "speed": speed}
    return Event("Reading", EPOCH + int(second * SECOND), values, sequence)


def process(bucket: Bucket, events: Iterable[Event], watermark: float | None = None) -> Outputs:
    instant = None if watermark is None else EPOCH + int(watermark * SECOND)
    return bucket.process(encoder(program_of(CRASH), events), instant)


def test_events_wait_until_the_watermark_passes_them() -> None:
    bucket = opened(Buckets(program_of(CRASH), 1))
    assert len(listed(process(bucket, [reading(2, 0, 1), reading(1, 90)]).rows)) == 0
    assert bucket.wakes == EPOCH + SECOND
    assert len(listed(process(bucket, [], 1.5).rows)) == 0
    assert bucket.wakes == EPOCH + 2 * SECOND
    assert len(listed(process(bucket, [], 2).rows)) == 1


def test_events_up_to_the_watermark_are_late() -> None:
    bucket = opened(Buckets(program_of(CRASH), 1))
    late = listed(process(bucket, [reading(2, 90), reading(3, 0), reading(3.5, 0)], 3).late)
    assert [event["@time"] for event in late] == [EPOCH + 2 * SECOND, EPOCH + 3 * SECOND]


def test_events_before_the_start_are_late() -> None:
    bucket = opened(Buckets(program_of(CRASH), 1, start=EPOCH + SECOND))
    late = listed(process(bucket, [reading(0.5, 90), reading(1, 90), reading(2, 0)]).late)
    assert [event["@time"] for event in late] == [EPOCH + SECOND // 2]


def test_what_is_released_at_once_is_not_saved() -> None:
    def saved(count: int, until: float) -> int:
        bucket = opened(Buckets(program_of(CRASH), 1))
        events = encoder(program_of(CRASH), [reading(i / 1000, 1, i) for i in range(count)])
        bucket.process(events, None, EPOCH + int(until * SECOND))
        return len(bucket.save())

    assert saved(1000, until=1) < saved(1, until=1) + 10
    assert saved(1000, until=0.5) > saved(1, until=1) + 10 * 500


def test_events_of_one_time_are_ordered_as_spark_orders_them() -> None:
    nan = float("nan")
    table = pa.table(
        {
            "@time": [2] + [1] * 7,
            "text": ["a", "b", "b", "b", "b", None, "Z", "b"],
            "number": [None, 0.5, nan, None, -0.5, 9.0, 9.0, 0.5],
            "list": [None, [1, None], None, None, None, None, None, [1]],
        }
    )
    rows = sorted_events(table, ("text", "number", "list")).to_pylist()
    assert [repr((r["text"], r["number"], r["list"])) for r in rows] == [
        "(None, 9.0, None)",
        "('Z', 9.0, None)",
        "('b', None, None)",
        "('b', -0.5, None)",
        "('b', 0.5, [1])",
        "('b', 0.5, [1, None])",
        "('b', nan, None)",
        "('a', None, None)",
    ]


def test_events_without_a_sequence_are_numbered() -> None:
    bucket = opened(Buckets(program_of(CRASH), 1, sort_keys=("speed",)))
    events = encoder(program_of(CRASH), [reading(1, 90), reading(1, 0)]).drop_columns("@sequence")
    assert len(listed(bucket.process(events, None, EPOCH + SECOND).rows)) == 0
    assert len(listed(bucket.process(events, EPOCH + 2 * SECOND).late)) == 2


def test_absence_is_decided_by_the_watermark() -> None:
    program = program_of(ALARM)
    bucket = opened(Buckets(program, 1, start=EPOCH))
    nothing = encoder(program, [])
    assert bucket.wakes == EPOCH + 3 * SECOND
    assert len(listed(bucket.process(nothing, EPOCH + 3 * SECOND - 1).rows)) == 0
    assert len(listed(bucket.process(nothing, EPOCH + 3 * SECOND).rows)) == 1
    assert bucket.wakes == EPOCH + 6 * SECOND


def test_a_longer_delay_after_a_restart_does_not_turn_the_clock_back() -> None:
    buckets = Buckets(program_of(CRASH), 1)
    bucket = opened(buckets)
    process(bucket, [reading(1, 90), reading(5, 0)], 4)
    again = opened(buckets, bucket.save())
    assert len(listed(process(again, [reading(3, 0)], 2).late)) == 1


def test_an_idle_bucket_is_not_called() -> None:
    spark = PretendedSpark(Buckets(program_of(CRASH), 2), lambda _: 0)
    for second in range(10):
        spark.batch([reading(second, 1, second)])
    spark.batch([])
    before = spark.calls
    spark.batch([])
    assert spark.calls == before
    assert set(spark.saved) == {0}


@pytest.mark.parametrize(
    ("text", "count", "fact"),
    [
        (CRASH, 3, "began with 2 buckets, not 3"),
        (CRASH.replace("50", "60"), 2, "another program"),
        (CRASH + "select * from Crash;", 2, "another program"),
    ],
)
def test_foreign_state_is_refused(text: str, count: int, fact: str) -> None:
    bucket = opened(Buckets(program_of(CRASH), 2))
    process(bucket, [reading(1, 90)], 0)
    with pytest.raises(RunError, match=fact):
        opened(Buckets(program_of(text), count), bucket.save())


def test_a_program_written_differently_goes_on() -> None:
    bucket = opened(Buckets(program_of(CRASH), 2))
    process(bucket, [reading(1, 90), reading(2, 0)])
    rewritten = "// what a crash is\n" + CRASH.replace("\n", "\n\n")
    again = opened(Buckets(program_of(rewritten), 2), bucket.save())
    assert len(listed(process(again, [], 2).rows)) == 1


def test_damage_is_found() -> None:
    bucket = opened(Buckets(program_of(CRASH), 1))
    process(bucket, [reading(1, 90)], 0)
    saved = bucket.save()
    for place in range(0, len(saved), 7):
        damaged = saved[:place] + bytes([saved[place] ^ 1]) + saved[place + 1 :]
        with pytest.raises(RunError):
            opened(Buckets(program_of(CRASH), 1), damaged)


def test_other_columns_than_those_that_wait_are_refused() -> None:
    bucket = opened(Buckets(program_of(CRASH), 1))
    process(bucket, [reading(1, 90)], 0)
    with pytest.raises(RunError, match="columns"):
        bucket.process(encoder(program_of(ALARM), []), EPOCH)


def test_time_goes_on_without_events_when_a_source_is_idle() -> None:
    marks = Watermarks(DELAY)
    bucket = opened(Buckets(program_of(ALARM), 1, start=EPOCH))
    spark = marks.moment(EPOCH + SECOND) // 1_000 - DELAY  # after an event at second 1

    def watermark(now: int) -> float | None:
        saved = bucket.save()
        instant = marks.idle(
            opened(Buckets(program_of(ALARM), 1), saved).idle_since(spark, now), now, 5_000
        )
        return None if instant is None else (instant - EPOCH) / SECOND

    bucket.idle_since(spark, 0)
    assert [watermark(now) for now in (0, 4_999, 5_000, 7_000)] == [None, None, 1, 3]
    assert marks.idle(bucket.idle_since(spark + 1, 7_000), 7_000, 5_000) is None
    assert marks.idle(bucket.idle_since(0, 0), 7_000, 5_000) is None


def test_a_delay_is_never_shorter_than_what_was_said() -> None:
    assert [Watermarks.of(Period(us)).delay for us in (0, 1, 1_000, 1_001)] == [0, 1, 1, 2]
    assert Watermarks.brought(Period(1_001)).delay == 2


def test_a_watermark_is_promised_unless_others_may_hold_it_back() -> None:
    delay = Period(2 * SECOND)
    for newest in (-5 * SECOND, 5 * SECOND):
        assert Watermarks.of(delay).promised(newest) == newest - 2 * SECOND
        assert Watermarks.brought(delay).promised(newest) is None


def test_a_watermark_that_a_frame_brings_counts_from_the_epoch() -> None:
    marks = Watermarks.brought(Period(0))
    assert (marks.ours(0), marks.ours(7)) == (None, 7_000)
    assert marks.moment(7_001) == 7_001
    assert [marks.timeout(instant) for instant in (-SECOND, 1_000, 1_001, 9_000)] == [1, 1, 1, 8]


@pytest.mark.parametrize("beyond", [0, 1, 999])
def test_spark_calls_when_our_watermark_has_reached_an_instant_and_not_before(beyond: int) -> None:
    """Spark's watermark counts milliseconds, an instant counts microseconds."""
    marks = Watermarks(DELAY)
    timeout = marks.timeout(EPOCH + beyond)
    before, called = (marks.ours(watermark) for watermark in (timeout, timeout + 1))
    assert before is not None
    assert called is not None
    assert before < EPOCH + beyond <= called
