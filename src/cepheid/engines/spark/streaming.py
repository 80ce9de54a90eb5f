"""Programs over streaming frames: events go to buckets of keys, and wait there for the watermark.

    rows --pack--> packs --by bucket--> state, operator --> packs of rows --unpack--> rows

Data travels in packs, Arrow streams with all events of a task for one bucket, because the exchange
and the state of Spark take rows one at a time. The watermark is that of one query: the largest time
of all input so far, minus the delay. Rows that a program has no use for move it, too; they are packed
as a time and nothing else. Spark lets a bucket wait until its watermark passes what waits there, and
calls the first bucket whenever anything comes, so that a program that is not the one of the
checkpoint is found at once, and one that waits for time alone begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.state import GroupStateTimeout

from cepheid.analysis.retention import needs_start
from cepheid.core.time import Instant, Period, parse_period
from cepheid.core.types import EventType
from cepheid.engines.spark.batch import Request, fitted, part_of, spark_schema, typed
from cepheid.engines.spark.buckets import Bucket, Buckets, Watermarks, from_bytes, to_bytes
from cepheid.engines.spark.frames import Reading, Source, named, read
from cepheid.engines.spark.stages import Pass, passes_of
from cepheid.engines.spark.wire import TIME, TYPE, Wire, union
from cepheid.errors import UsageError, error
from cepheid.io.arrow import arrow_type
from cepheid.matcher.operator import columns_of, rows_schema
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import to_json

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.state import GroupState

BUCKETS = 32  # more cost time in every micro-batch; with 128 MB of state, each holds 4 MB
ROWS, LATE = "rows", "late"  # what packs of results hold
_BUCKET, _NEWEST, _PACK, _KIND = "@bucket", "@newest", "@pack", "@kind"
_ROWS_PER_PACK = 1 << 20  # of a task; beyond, it sends what it has
_ROWS_PER_RESULT = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a stream waits: for events that come late, to report those that come later still,
    and, by the clock on the wall, for any event at all."""

    delay: Period
    grace: Period | None = None  # as long as the delay
    idle: Period | None = None  # for ever

    @property
    def watermarks(self) -> Watermarks:
        delay = _milliseconds(self.delay)
        return Watermarks(delay, delay if self.grace is None else _milliseconds(self.grace))


def pace_of(
    watermark: str | Period | None, grace: str | Period | None, idle: str | Period | None
) -> Pace:
    """The pace that a call asks for; UsageError where it makes no sense."""
    delay = _period(watermark, "watermark")
    if delay is None:
        fact = "a stream needs a watermark: how long an event may come after later ones"
        raise UsageError(error("usage", fact, hint="watermark='10 seconds'"))
    return Pace(delay=delay, grace=_period(grace, "grace"), idle=_period(idle, "idle"))


def _period(given: str | Period | None, name: str) -> Period | None:
    try:
        period = parse_period(given) if isinstance(given, str) else given
    except ValueError as problem:
        raise UsageError(error("bad-period", f"{name}: {problem}")) from None
    if period is not None and period.months:
        fact = f"{name}: months are not all of one length"
        raise UsageError(error("bad-period", fact, hint="count days"))
    return period


def _milliseconds(period: Period) -> int:
    return -(-period.microseconds // 1_000)


# Frames ---------------------------------------------------------------------------------------


def stream_rows(request: Request, pace: Pace, buckets: int = BUCKETS) -> DataFrame:
    """The rows of a program over a stream, in the columns of `rows_schema`."""
    return rows_of(stream_results(request, pace, buckets), request.program)


def stream_late(request: Request, pace: Pace, buckets: int = BUCKETS) -> DataFrame:
    """The events that came too late: '@type', '@time', the attributes that the program looks at."""
    return late_of(stream_results(request, pace, buckets), request.program)


def stream_results(request: Request, pace: Pace, buckets: int = BUCKETS) -> DataFrame:
    """Packs of rows and of late events, which one query may both write."""
    _require_start(request)
    passes = passes_of(request.program)
    wires = [Wire(one, request.sources, request.options) for one in passes]
    task = _task(request, passes, wires, pace, buckets)
    packs = reduce(union, _packed(request, wires, buckets))
    if pace.idle is not None:
        packs = packs.unionByName(_beats(packs, task))
    watermarks = pace.watermarks
    delay = f"{watermarks.delay + watermarks.grace} milliseconds"
    grouped = packs.withWatermark(f"`{TIME}`", delay).groupBy(named(_BUCKET))
    return grouped.applyInPandasWithState(
        partial(step, task),
        outputStructType=_RESULTS,
        stateStructType=_STATE,
        outputMode="append",
        timeoutConf=GroupStateTimeout.EventTimeTimeout,
    )


def rows_of(results: DataFrame, program: ResolvedProgram) -> DataFrame:
    return _unpacked(results, ROWS, spark_schema(program))


def late_of(results: DataFrame, program: ResolvedProgram) -> DataFrame:
    schema = from_arrow_schema(late_schema(program), prefer_timestamp_ntz=False)
    return _unpacked(results, LATE, schema)


def stream_rejects(request: Request) -> DataFrame:
    """Rows that are no events of the program: '@type', '@time', why ('@problem'), '@row' as JSON."""
    frames = []
    for source in request.sources:
        reading = read(source, request.program, request.options)
        original = F.to_json(F.struct(*map(named, source.frame.columns)))
        columns = {
            TYPE: reading.type,
            TIME: F.timestamp_micros(reading.time),
            "@problem": _problem(reading),
            "@row": original,
        }
        frames.append(source.frame.select(*(c.alias(n) for n, c in columns.items())))
    return reduce(union, frames).where(named("@problem").isNotNull())


def _require_start(request: Request) -> None:
    for statement in request.program.statements:
        if request.start is None and statement.context is None and needs_start(statement):
            fact = (
                f"a stream does not say when '{statement.name}' starts, and its rows depend on it"
            )
            raise UsageError(error("usage", fact, statement.tree.span, "give start="))


def _problem(reading: Reading) -> Column:
    """Why a row cannot be taken into a stream; null if it can."""
    problems = [] if reading.problem is None else [reading.problem]
    for test, text in (
        (reading.time.isNull(), "error[missing-time]: a row without a time"),
        (reading.time <= 0, "error[bad-time]: the watermark of a stream begins with 1970"),
    ):
        problems.append(F.when(test, F.lit(text)))
    return F.coalesce(*problems)


_PACKS = T.StructType(
    [
        T.StructField(_BUCKET, T.IntegerType()),
        T.StructField(TIME, T.TimestampType()),
        T.StructField(_NEWEST, T.LongType()),  # the same, as Python gets it
        T.StructField(_PACK, T.BinaryType()),
    ]
)
_STATE = T.StructType([T.StructField("bucket", T.BinaryType())])
_RESULTS = T.StructType(
    [T.StructField(_KIND, T.StringType()), T.StructField(_PACK, T.BinaryType())]
)


def _packed(request: Request, wires: Sequence[Wire], buckets: int) -> Iterator[DataFrame]:
    """The packs of each pass; every source moves the watermark, whether a pass reads it or not."""
    for place, wire in enumerate(wires):
        parts = [
            _selected(request, wire, number, reading, buckets)
            for number, reading in enumerate(wire.readings)
        ]
        if place == 0:
            sources = {id(reading.source) for reading in wire.readings}
            parts += [_time_alone(request, s) for s in request.sources if id(s) not in sources]
        if parts:
            packer = Packer(
                first=place * buckets,
                types=wire.consumed,
                names=_names(wire),
                woken=tuple(p * buckets for p in range(len(wires))) if place == 0 else (),
            )
            yield reduce(union, parts).mapInArrow(partial(pack, packer), _PACKS)


def _selected(
    request: Request, wire: Wire, number: int, reading: Reading, buckets: int
) -> DataFrame:
    """The rows of a source in the columns of a pass; those it has no use for have no bucket."""
    columns = wire.columns_from(number, reading)
    problem = _problem(read(reading.source, request.program, request.options))
    frame = reading.source.frame.where(problem.isNull())
    frame = frame.select(*(c.alias(n) for n, c in columns.items()))
    wanted = F.when(wire.is_wanted(reading.source), _bucket(wire, buckets))
    frame = frame.withColumn(_BUCKET, wanted.cast("smallint"))
    is_wanted = named(_BUCKET).isNotNull()
    columns = {name: F.when(is_wanted, named(name)) for name in frame.columns}
    columns |= {TIME: named(TIME), _BUCKET: named(_BUCKET)}
    return frame.select(*(c.alias(n) for n, c in columns.items()))


def _time_alone(request: Request, source: Source) -> DataFrame:
    reading = read(source, request.program, request.options)
    frame = source.frame.where(_problem(reading).isNull())
    nowhere = F.lit(None).cast("smallint").alias(_BUCKET)
    return frame.select(reading.time.alias(TIME), nowhere)


def _bucket(wire: Wire, buckets: int) -> Column:
    """Where an event goes: all to one bucket, those of a key to one, or each anywhere."""
    if wire.key is None:
        return F.lit(0)
    keys = wire.key_columns() if wire.key else (named(TIME),)
    return F.pmod(F.xxhash64(*keys), F.lit(buckets))


def _beats(packs: DataFrame, task: StreamTask) -> DataFrame:
    """A row for every bucket, every second, so that all of them hear that nothing comes."""
    seconds = packs.sparkSession.readStream.format("rate").option("numPartitions", 1).load()
    return seconds.mapInArrow(partial(beat, task), _PACKS)


def _unpacked(results: DataFrame, kind: str, schema: T.StructType) -> DataFrame:
    mine = results.where(named(_KIND) == kind).select(named(_PACK))
    return mine.mapInArrow(unpack, schema)


# Workers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamPass:
    """The statements of a pass, and what orders their events."""

    statements: tuple[str, ...]
    ties: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTask:
    """What a worker needs to know of a stream."""

    program: str  # the JSON form of the whole program
    types: tuple[tuple[str, EventType], ...]  # those that it does not declare
    needed: tuple[str, ...]  # the statements that run
    passes: tuple[StreamPass, ...]
    buckets: int  # of each pass
    watermarks: Watermarks
    patience: int | None  # milliseconds without news before time goes on without them
    start: Instant | None
    timed_out: bool


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a worker makes of a task, once."""

    buckets: tuple[Buckets, ...]  # of each pass
    rows: pa.Schema
    late: pa.Schema


@lru_cache(maxsize=4)
def prepared(task: StreamTask) -> Prepared:
    whole = part_of(task.program, task.types, task.needed)
    buckets = tuple(
        Buckets(
            part_of(task.program, task.types, one.statements),
            task.buckets,
            one.ties,
            task.start,
            task.timed_out,
        )
        for one in task.passes
    )
    return Prepared(buckets, rows_schema(whole), late_schema(whole))


def _task(
    request: Request, passes: Sequence[Pass], wires: Sequence[Wire], pace: Pace, buckets: int
) -> StreamTask:
    return StreamTask(
        program=json.dumps(to_json(request.program.tree)),
        types=tuple(request.program.given.items()),
        needed=tuple(s.name for s in request.program.statements),
        passes=tuple(
            StreamPass(one.names, tuple(_names(wire).get(tie, tie) for tie in wire.ties))
            for one, wire in zip(passes, wires, strict=True)
        ),
        buckets=buckets,
        watermarks=pace.watermarks,
        patience=None if pace.idle is None else _milliseconds(pace.idle),
        start=request.start,
        timed_out=request.timed_out,
    )


def _names(wire: Wire) -> dict[str, str]:
    """What the operator calls the columns that travel."""
    return {f"c{place}": name for place, name in enumerate(wire.names)}


@dataclass(frozen=True, slots=True)
class Packer:
    """How a task packs the events of a pass."""

    first: int  # the pass's first bucket
    types: tuple[str, ...]  # by their numbers
    names: dict[str, str]
    woken: tuple[int, ...]  # buckets that hear of everything


def pack(packer: Packer, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One pack for each bucket, and the largest time for those that hear of everything."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(b.num_rows for b in held) >= _ROWS_PER_PACK:
            yield _packs(packer, pa.Table.from_batches(held))
            held = []
    if any(batch.num_rows for batch in held):
        yield _packs(packer, pa.Table.from_batches(held))


def _packs(packer: Packer, rows: pa.Table) -> pa.RecordBatch:
    newest = pc.max(rows[TIME]).as_py()
    packs: dict[int, bytes | None] = dict.fromkeys(packer.woken)
    events = _typed(packer, rows.filter(pc.is_valid(rows[_BUCKET])).combine_chunks())
    numbers = events[_BUCKET].to_numpy()
    order = np.argsort(numbers, kind="stable")
    events = events.drop_columns(_BUCKET).take(order)
    events = events.rename_columns([packer.names.get(n, n) for n in events.column_names])
    found, begins = np.unique(numbers[order], return_index=True)
    for number, (begin, end) in zip(found, pairwise([*begins, len(order)]), strict=True):
        packs[packer.first + int(number)] = to_bytes(events.slice(begin, end - begin))
    return _pack_rows(packs, newest)


def _typed(packer: Packer, events: pa.Table) -> pa.Table:
    """With the names of types instead of their numbers."""
    if TYPE not in events.column_names:  # no source has events for this pass
        return events
    names = typed(events[TYPE].combine_chunks(), packer.types)
    return events.set_column(events.column_names.index(TYPE), TYPE, names)


def _pack_rows(packs: dict[int, bytes | None], newest: Instant | None) -> pa.RecordBatch:
    times = pa.array([newest] * len(packs), pa.int64())
    columns: list[Any] = [
        pa.array(packs, pa.int32()),
        times.cast(pa.timestamp("us", "UTC")),
        times,
        pa.array(packs.values(), pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=_PACKS.names)


def beat(task: StreamTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row without a time for every bucket."""
    if any([batch.num_rows for batch in batches]):  # noqa: C419 (all must be read)
        yield _pack_rows(dict.fromkeys(range(task.buckets * len(task.passes))), None)


def step(
    task: StreamTask, key: tuple[int], frames: Iterable[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """A micro-batch in one bucket: events, or a timeout."""
    packs = [pack for frame in frames for pack in _read_packs(frame)]
    ready = prepared(task)
    bucket = Bucket(
        ready.buckets[int(key[0]) // task.buckets], state.get[0] if state.exists else None
    )
    watermark, until = _watermarks(task, bucket, packs, state)
    tables = [from_bytes(pack) for _, pack in packs if pack is not None]
    events = pa.concat_tables(tables) if tables else None
    outputs = bucket.step(events, watermark, until)
    state.update((bucket.save(),))
    if bucket.wakes is not None:
        timeout = task.watermarks.timeout(bucket.wakes)
        state.setTimeoutTimestamp(max(timeout, state.getCurrentWatermarkMs()))
    yield from _results(ROWS, outputs.rows, ready.rows)
    yield from _results(LATE, outputs.late, ready.late)


def _read_packs(frame: pd.DataFrame) -> Iterator[tuple[Instant | None, bytes | None]]:
    for newest, packed in zip(frame[_NEWEST], frame[_PACK], strict=True):
        yield (None if newest is None or newest != newest else int(newest)), packed  # noqa: PLR0124


def _watermarks(
    task: StreamTask,
    bucket: Bucket,
    packs: Sequence[tuple[Instant | None, bytes | None]],
    state: GroupState,
) -> tuple[Instant | None, Instant | None]:
    """The watermark at the start of the micro-batch, and what the next one will be at least."""
    spark = state.getCurrentWatermarkMs()
    watermark = task.watermarks.ours(spark)
    if task.patience is not None and any(newest is None for newest, _ in packs):
        now = state.getCurrentProcessingTimeMs()
        idle = task.watermarks.idle(bucket.silence(spark, now), now, task.patience)
        watermark = max((w for w in (watermark, idle) if w is not None), default=None)
    newest = max((newest for newest, _ in packs if newest is not None), default=None)
    return watermark, None if newest is None else task.watermarks.promised(newest)


def _results(kind: str, table: pa.Table | None, schema: pa.Schema) -> Iterator[pd.DataFrame]:
    import pandas as pd

    if table is None or not table.num_rows:
        return
    fitting = fitted(table, schema)
    for begin in range(0, fitting.num_rows, _ROWS_PER_RESULT):
        part = to_bytes(fitting.slice(begin, _ROWS_PER_RESULT))
        yield pd.DataFrame({_KIND: [kind], _PACK: [part]})


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield from from_bytes(packed.as_py()).to_batches()


# Tables ---------------------------------------------------------------------------------------


def late_schema(program: ResolvedProgram) -> pa.Schema:
    fields: list[Any] = [
        pa.field(TYPE, pa.string()),
        pa.field(TIME, pa.timestamp("us", "UTC")),
        *(pa.field(c.name, arrow_type(c.data_type, program.types)) for c in columns_of(program)),
    ]
    return pa.schema(fields)
