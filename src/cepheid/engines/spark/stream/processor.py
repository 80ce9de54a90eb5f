"""What workers do in a stream: buckets take a step in every micro-batch that concerns them.

Passes whose events all come from the input run in the first stateful operator of a query, those that
take what these derive in the second, and so on. An operator runs the packs of its own buckets and
passes on all others. What it gives lies, for Spark, just after the watermark, so that no later
operator drops it.

A bucket that takes what others derive may let everything up to the watermark happen, as nothing that is not after it can
still be derived. For Spark tells all operators the same watermark in a micro-batch, and runs them one
after the other. In the first one, every bucket that holds an event up to the watermark, or a timer, is
called: by its events or by its timeout. It lets all of them happen, and what comes later still is late.
So all rows up to the watermark are there, in packs of this micro-batch or of an earlier one, when the
second operator begins; and then, in the same way, all of the second one when the third begins. Beyond
the watermark only the first operator may go: it knows what its own events promise, not what those of
other buckets do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.core.time import Instant
from cepheid.engines.spark.codec.event_layout import KEY, KIND, SEQUENCE, TIME, TYPE
from cepheid.engines.spark.codec.packed_program import PackedProgram
from cepheid.engines.spark.codec.schemas import with_schema
from cepheid.engines.spark.plan.plan import Upstream
from cepheid.engines.spark.session.workers import keep_loaded
from cepheid.engines.spark.shared_operator import SharedOperator
from cepheid.engines.spark.shuffle.blocks import BUCKET, PACK, by_bucket, from_bytes, to_bytes
from cepheid.engines.spark.shuffle.partition_labels import label, number_of
from cepheid.engines.spark.shuffle.partitioner import Partitioner
from cepheid.engines.spark.stream.packs import (
    CONTENT,
    LATE,
    MOMENT,
    NEWEST,
    PROBLEM,
    REJECTS,
    ROWS,
    in_packs,
    pack_rows,
)
from cepheid.engines.spark.stream.state import Bucket, Buckets
from cepheid.engines.spark.stream.watermarks import Watermarks
from cepheid.errors import CepheidError
from cepheid.io.arrow import arrow_type
from cepheid.matcher.operator import columns_of, rows_schema
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.state import GroupState
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, ValueState

Frames: TypeAlias = "Iterator[pd.DataFrame]"
_MILLISECOND = 1_000  # microseconds


@dataclass(frozen=True, slots=True)
class PassSpec:
    """The statements of a pass, what orders their events, and which operator runs it."""

    statements: tuple[str, ...]
    sort_keys: tuple[str, ...]
    operator: int  # its place in a row of operators
    upstream: Upstream | None
    partitioner: Partitioner  # of what it takes of others, and of the events that these meet


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTask:
    """What a worker needs to know of a stream."""

    program: PackedProgram
    passes: tuple[PassSpec, ...]
    buckets: int  # of each pass
    watermarks: Watermarks
    grace: int | None  # milliseconds that late events are told; None: for ever
    idle_timeout: int | None  # milliseconds without anything new before time goes on without them
    start: Instant | None
    timed_out: bool
    why: bool = False

    @property
    def operators(self) -> int:
        return 1 + max(one.operator for one in self.passes)

    def first_buckets(self, operator: int) -> tuple[int, ...]:
        """Of the passes of an operator, those that hear of everything."""
        return tuple(n * self.buckets for n, p in enumerate(self.passes) if p.operator == operator)


@dataclass(frozen=True)
class Prepared:
    """What a worker makes of a pass, once."""

    task: StreamTask
    number: int

    @cached_property
    def buckets(self) -> Buckets:
        one = self.task.passes[self.number]
        return Buckets(
            self.task.program.part(one.statements),
            self.task.buckets,
            one.sort_keys,
            self.task.start,
            self.task.timed_out,
            is_fed=one.upstream is not None,
            why=self.task.why,
        )

    @cached_property
    def shared_operator(self) -> SharedOperator:
        return self.buckets.shared_operator()

    @cached_property
    def consumers(self) -> tuple[tuple[int, Upstream], ...]:
        """The passes that take what this one derives."""
        passes = enumerate(self.task.passes)
        return tuple(
            (n, p.upstream) for n, p in passes if p.upstream and self.number in p.upstream.producers
        )

    @cached_property
    def events(self) -> pa.Schema:
        """What events look like that come from the input and from other passes."""
        program = self.buckets.program
        fields: list[Any] = [
            pa.field(TYPE, pa.string()),
            pa.field(TIME, pa.int64()),
            pa.field(SEQUENCE, pa.int64()),
            *(
                pa.field(c.name, arrow_type(c.data_type, program.types))
                for c in columns_of(program)
            ),
            pa.field(KEY, pa.list_(pa.int64())),
        ]
        return pa.schema(fields)


@lru_cache(maxsize=64)
def prepared(task: StreamTask, number: int) -> Prepared:
    return Prepared(task, number)


# A step ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BucketInput:
    """What a bucket hears in a micro-batch: packs with their newest times, and how late it is."""

    packs: Sequence[tuple[Instant | None, bytes | None]]
    watermark: int  # Spark's, in milliseconds
    now: int | None = None  # on the clock on the wall, where it counts


@dataclass(frozen=True, slots=True)
class BucketOutput:
    """What a bucket gives for that, and when it wants to be called again."""

    saved: bytes
    timeout: int | None  # Spark's watermark must have passed this
    rows: pa.Table | None
    late: pa.Table | None


def process(
    task: StreamTask, number: int, saved: bytes | None, bucket_input: BucketInput
) -> BucketOutput:
    """A micro-batch in one bucket of all passes."""
    ready = prepared(task, number // task.buckets)
    bucket = Bucket(ready.buckets, ready.shared_operator, saved)
    watermark, until = _watermarks(task, bucket, bucket_input)
    tables = [from_bytes(pack) for _, pack in bucket_input.packs if pack is not None]
    if ready.buckets.is_fed:
        until = None
        tables = [with_schema(table, ready.events) for table in tables]
    outputs = bucket.process(pa.concat_tables(tables) if tables else None, watermark, until)
    timeout = None
    if bucket.wakes is not None:
        timeout = max(task.watermarks.timeout(bucket.wakes), bucket_input.watermark)
    return BucketOutput(bucket.save(), timeout, outputs.rows, _told(task, outputs.late, watermark))


def _told(task: StreamTask, late: pa.Table | None, watermark: Instant | None) -> pa.Table | None:
    """The late events that are told."""
    if late is None or task.grace is None or watermark is None:
        return late
    oldest = pa.scalar(watermark - task.grace * _MILLISECOND, pa.int64())
    return late.filter(pc.greater(late[TIME], oldest))


def _watermarks(
    task: StreamTask, bucket: Bucket, bucket_input: BucketInput
) -> tuple[Instant | None, Instant | None]:
    """The watermark at the start of the micro-batch, and what the next one will be at least."""
    watermark = task.watermarks.ours(bucket_input.watermark)
    times = [newest for newest, _ in bucket_input.packs]
    if task.idle_timeout is not None and bucket_input.now is not None and None in times:
        idle_since = bucket.idle_since(bucket_input.watermark, bucket_input.now)
        idle = task.watermarks.idle(idle_since, bucket_input.now, task.idle_timeout)
        watermark = max((w for w in (watermark, idle) if w is not None), default=None)
    newest = max((time for time in times if time is not None), default=None)
    return watermark, None if newest is None else task.watermarks.promised(newest)


def result_packs(task: StreamTask, bucket_output: BucketOutput) -> Iterator[tuple[str, bytes]]:
    """Packs of rows and of late events, in the columns of the whole program."""
    rows, late = _schemas(task)
    for kind, table, schema in ((ROWS, bucket_output.rows, rows), (LATE, bucket_output.late, late)):
        if table is not None and table.num_rows:
            yield from ((kind, packed) for packed in in_packs(with_schema(table, schema)))


@lru_cache(maxsize=4)
def _schemas(task: StreamTask) -> tuple[pa.Schema, pa.Schema]:
    whole = task.program.open()
    return rows_schema(whole, why=task.why), late_schema(whole)


def forwarded(
    task: StreamTask, number: int, bucket_output: BucketOutput
) -> Iterator[tuple[int, bytes]]:
    """The rows of a bucket that others take as events, for each bucket of theirs."""
    if bucket_output.rows is None or not bucket_output.rows.num_rows:
        return
    for consumer, upstream in prepared(task, number // task.buckets).consumers:
        events = _events_among(bucket_output.rows, upstream, prepared(task, consumer))
        for place, part in by_bucket(events, task.passes[consumer].partitioner.numbers(events)):
            yield consumer * task.buckets + place, to_bytes(part)


def _events_among(rows: pa.Table, upstream: Upstream, consumer: Prepared) -> pa.Table:
    """The rows that a pass takes, in the columns of its operator."""
    tests = (
        pc.and_(pc.equal(rows[TYPE], pa.scalar(name)), pc.is_in(rows[KIND], pa.array(kinds)))
        for name, kinds in upstream.taken
    )
    own = rows.filter(reduce(pc.or_, tests)).combine_chunks()
    columns: dict[str, Any] = {
        TYPE: own[TYPE],
        TIME: own[TIME].cast(pa.int64()),
        SEQUENCE: pa.array([0] * own.num_rows, pa.int64()),
        KEY: own[KEY],
    }
    for column in columns_of(consumer.buckets.program):
        found = [
            pc.struct_field(own[name].combine_chunks(), column.attribute)
            for name in column.types
            if name in own.column_names and _has(own.schema.field(name).type, column.attribute)
        ]
        if found:
            columns[column.name] = pc.coalesce(*found)
    return with_schema(pa.table(columns), consumer.events)


def _has(struct: Any, name: str) -> bool:
    return any(field.name == name for field in struct)


def late_schema(program: ResolvedProgram) -> pa.Schema:
    """The columns of events that came too late."""
    fields: list[Any] = [
        pa.field(TYPE, pa.string()),
        pa.field(TIME, pa.timestamp("us", "UTC")),
        *(pa.field(c.name, arrow_type(c.data_type, program.types)) for c in columns_of(program)),
    ]
    return pa.schema(fields)


# One operator ---------------------------------------------------------------------------------


def process_alone(
    task: StreamTask, key: tuple[int], frames: Iterable[pd.DataFrame], state: GroupState
) -> Frames:
    """A micro-batch in one bucket, where one operator runs all passes: events, or a timeout."""
    import pandas as pd

    number = number_of(int(key[0]))
    if number < 0:  # what is no event is passed on
        for frame in frames:
            yield pd.DataFrame({CONTENT: REJECTS, PACK: frame[PACK]})
        return
    bucket_input = BucketInput(
        _read_packs(frames), state.getCurrentWatermarkMs(), _now(task, state)
    )
    saved = state.get[0] if state.exists else None
    try:
        bucket_output = process(task, number, saved, bucket_input)
    except CepheidError as problem:
        yield pd.DataFrame({CONTENT: [PROBLEM], PACK: [str(problem).encode()]})
        return
    keep_loaded("steps")
    state.update((bucket_output.saved,))
    if bucket_output.timeout is not None:
        state.setTimeoutTimestamp(bucket_output.timeout)
    for kind, packed in result_packs(task, bucket_output):
        yield pd.DataFrame({CONTENT: [kind], PACK: [packed]})


def _now(task: StreamTask, state: GroupState) -> int | None:
    return None if task.idle_timeout is None else state.getCurrentProcessingTimeMs()


def _read_packs(frames: Iterable[pd.DataFrame]) -> list[tuple[Instant | None, bytes | None]]:
    return [
        (None if newest is None or newest != newest else int(newest), packed)  # noqa: PLR0124
        for frame in frames
        for newest, packed in zip(frame[NEWEST], frame[PACK], strict=True)
    ]


def heartbeat(task: StreamTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row without a time for every bucket."""
    if any([batch.num_rows for batch in batches]):  # noqa: C419 (all must be read)
        packs = dict.fromkeys(range(task.buckets * len(task.passes)))
        yield pack_rows(packs, None, task.watermarks)


# Several --------------------------------------------------------------------------------------


class ChainedBuckets:
    """The buckets of one of several operators, each of which takes what those before it derive."""

    def __init__(
        self, task: StreamTask, operator: int, handle: StatefulProcessorHandle, state: ValueState
    ) -> None:
        self._task = task
        self._operator = operator
        self._handle = handle
        self._state = state

    def take(self, key: tuple[int], frames: Iterable[pd.DataFrame], watermark: int) -> Frames:
        number = number_of(int(key[0]))
        if number < 0 or self._task.passes[number // self._task.buckets].operator != self._operator:
            for frame in frames:
                given = _just_after(watermark, frame)
                if number < 0:  # the input says nothing of what it cannot take but that
                    given[CONTENT] = given[CONTENT].fillna(REJECTS)
                yield given
        else:
            yield from self._process_input(number, BucketInput(_read_packs(frames), watermark))

    def wake(self, key: tuple[int], watermark: int, expired: int) -> Frames:
        """The timer of a bucket has expired."""
        yield from self._process_input(
            number_of(int(key[0])), BucketInput((), watermark), expired=expired
        )

    def _process_input(
        self, number: int, bucket_input: BucketInput, expired: int | None = None
    ) -> Frames:
        saved = self._state.get()
        try:
            bucket_output = process(self._task, number, saved[0] if saved else None, bucket_input)
        except CepheidError as problem:
            yield _passed_on(bucket_input.watermark, number, PROBLEM, str(problem).encode())
            return
        keep_loaded("steps")
        self._state.update((bucket_output.saved,))
        self._call_after(bucket_output.timeout, expired)
        yield from self._given(number, bucket_output, bucket_input.watermark)

    def _call_after(self, timeout: int | None, expired: int | None) -> None:
        """Sets the one timer of a bucket.

        Spark 4.0 calls when its watermark is past a timer, 4.3 when it has reached one: perhaps too
        early, so that the bucket waits on. What has just expired it takes away itself, afterwards.
        """
        if timeout is not None and timeout == expired:
            timeout += 1
        timers = set(self._handle.listTimers()) - {expired}
        for timer in timers - {timeout}:
            self._handle.deleteTimer(timer)
        if timeout is not None and timeout not in timers:
            self._handle.registerTimer(timeout)

    def _given(self, number: int, bucket_output: BucketOutput, watermark: int) -> Frames:
        import pandas as pd

        for kind, packed in result_packs(self._task, bucket_output):
            yield _passed_on(watermark, number, kind, packed)
        packs: dict[int, bytes | None] = {}
        if number == self._task.first_buckets(self._operator)[0]:
            packs |= dict.fromkeys(self._task.first_buckets(self._operator + 1))
        packs |= dict(forwarded(self._task, number, bucket_output))
        if packs:
            labels = list(map(label, packs))
            frame = pd.DataFrame({BUCKET: labels, PACK: list(packs.values()), CONTENT: None})
            yield _just_after(watermark, frame)


def _passed_on(watermark: int, number: int, kind: str, packed: bytes) -> pd.DataFrame:
    """A result, which later operators do not open."""
    import pandas as pd

    frame = pd.DataFrame({BUCKET: [-1 - number], PACK: [packed], CONTENT: [kind]})
    return _just_after(watermark, frame)


def _just_after(watermark: int, frame: pd.DataFrame) -> pd.DataFrame:
    """For Spark, what an operator gives must not lie before the watermark."""
    import pandas as pd

    given = frame.copy()
    # In milliseconds: nanoseconds end with the year 2262, and moments go on.
    moments = np.full(len(frame), watermark + 1, "datetime64[ms]")
    given[MOMENT] = pd.Series(moments, index=frame.index).dt.tz_localize("UTC")
    given[NEWEST] = (watermark + 1) * _MILLISECOND
    return given
