"""Programs over streaming frames: events go to buckets of keys, and wait there for the watermark.

    rows --pack--> packs --by bucket--> state, operator --> packs of rows --unpack--> rows

Data travels in packs, Arrow streams with all events of a task for one bucket, because the exchange
and the state of Spark take rows one at a time. The watermark is that of one query: the largest time
of all input so far, minus the delay. Rows that a program has no use for move it, too; they are packed
as a time and nothing else. Spark lets a bucket wait until its watermark passes what waits there, and
calls the first bucket whenever anything comes, so that a program that is not the one of the
checkpoint is found at once, and one that waits for time alone begins.

Where passes take what others derive, there are several stateful operators, one after the other:

    packs --> operator 1 --+--> operator 2 --> packs of rows --unpack--> rows
                   packs --+

Each gets the packs of the input that are for its own passes and all that the one before it gives:
events that were derived, and packs that it only passes on. The watermark is taken before the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.state import GroupStateTimeout

from cepheid.analysis.retention import needs_start
from cepheid.core.time import Period, parse_period
from cepheid.engines.spark.batch import UNORDERED, Request, spark_schema
from cepheid.engines.spark.buckets import Watermarks
from cepheid.engines.spark.frames import Reading, Source, named, read
from cepheid.engines.spark.packs import (
    BUCKET,
    CONTENT,
    LATE,
    MOMENT,
    PACK,
    PACKS,
    PASSED_ON,
    RESULTS,
    ROWS,
    Packer,
    pack,
    unpack,
)
from cepheid.engines.spark.session import ROCKSDB
from cepheid.engines.spark.spread import spread_of
from cepheid.engines.spark.stages import Relay, relays_of
from cepheid.engines.spark.steps import (
    STATE,
    Feed,
    Stateful,
    StreamPass,
    StreamTask,
    beat,
    late_schema,
    step_alone,
)
from cepheid.engines.spark.wire import TIME, TYPE, Wire, union
from cepheid.errors import UsageError, error
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import to_json

BUCKETS = 32  # more cost time in every micro-batch; with 128 MB of state, each holds 4 MB


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
    relays = stream_relays(request, pace)
    wires = [Wire(one, request.sources, request.options) for relay in relays for one in relay]
    task = task_of(request, relays, wires, pace, buckets)
    packs = reduce(union, _packed(request, wires, task, place=0))
    if pace.idle is not None:
        packs = packs.unionByName(_beats(packs, task))
    watermarks = pace.watermarks
    packs = packs.withWatermark(MOMENT, f"{watermarks.delay + watermarks.grace} milliseconds")
    if task.operators > 1:
        return _chained(request, wires, task, packs)
    return packs.groupBy(named(BUCKET)).applyInPandasWithState(
        partial(step_alone, task),
        outputStructType=RESULTS,
        stateStructType=STATE,
        outputMode="append",
        timeoutConf=GroupStateTimeout.EventTimeTimeout,
    )


def _chained(
    request: Request, wires: Sequence[Wire], task: StreamTask, packs: DataFrame
) -> DataFrame:
    """One operator after the other; each but the first has input of its own, too."""
    for place in range(task.operators):
        if place > 0:
            # What has a watermark comes first: then it is the one of both.
            packs = reduce(union, _packed(request, wires, task, place), packs)
        packs = packs.groupBy(named(BUCKET)).transformWithStateInPandas(
            Stateful(task, place),
            outputStructType=PASSED_ON,
            outputMode="append",
            timeMode="eventTime",
            eventTimeColumnName=MOMENT,
        )
    return packs


def stream_relays(request: Request, pace: Pace) -> tuple[Relay, ...]:
    """The passes of a stream; those that take what others derive run in operators of their own."""
    return relays_of(request.program, hindrance=_hindrance(request, pace))


def _hindrance(request: Request, pace: Pace) -> str | None:
    """Why operators must not follow each other."""
    settings = request.sources[0].frame.sparkSession.conf
    if request.options.sequence is None:
        return UNORDERED
    if pace.idle is not None:
        return "with idle= a bucket that hears nothing goes on alone"
    if settings.get("spark.sql.streaming.stateStore.providerClass", None) != ROCKSDB:
        return "Spark keeps the state of several operators in RocksDB only"
    return None


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


def _can_come(reading: Reading) -> Column:
    """Whether a row can be taken into a stream."""
    return reading.is_fine & (reading.time > 0)


def _problem(reading: Reading) -> Column:
    """Why a row cannot be taken into a stream; null if it can."""
    problems = [] if reading.problem is None else [reading.problem]
    for test, text in (
        (reading.time.isNull(), "error[missing-time]: a row without a time"),
        (reading.time <= 0, "error[bad-time]: the watermark of a stream begins with 1970"),
    ):
        problems.append(F.when(test, F.lit(text)))
    return F.coalesce(*problems)


def _packed(
    request: Request, wires: Sequence[Wire], task: StreamTask, place: int
) -> Iterator[DataFrame]:
    """The packs of the passes of an operator.

    Every source moves the watermark, whether a pass reads it or not: the first pass sees to it.
    """
    for number, (wire, one) in enumerate(zip(wires, task.passes, strict=True)):
        if one.place != place:
            continue
        parts = [_selected(request, wire, n, one, task) for n in range(len(wire.readings))]
        if number == 0:
            sources = {id(reading.source) for reading in wire.readings}
            parts += [_time_alone(request, s) for s in request.sources if id(s) not in sources]
        if parts:
            packer = Packer(
                first=number * task.buckets,
                types=wire.consumed,
                clocks=wire.clocks,
                names=_names(wire),
                woken=task.first_buckets(place) if number == 0 else (),
                spread=one.spread if one.feed else None,
            )
            yield reduce(union, parts).mapInArrow(partial(pack, packer), PACKS)


def _selected(
    request: Request, wire: Wire, number: int, one: StreamPass, task: StreamTask
) -> DataFrame:
    """The rows of a source in the columns of a pass; those it has no use for have no bucket."""
    reading = wire.readings[number]
    columns = wire.columns_from(number, reading)
    is_fine = _can_come(read(reading.source, request.program, request.options))
    frame = reading.source.frame.where(is_fine)
    frame = frame.select(*(c.alias(n) for n, c in columns.items()))
    bucket = F.lit(0) if one.feed else _bucket(wire, task.buckets)
    wanted = F.when(wire.is_wanted(reading.source), bucket)
    frame = frame.withColumn(BUCKET, wanted.cast("smallint"))
    is_wanted = named(BUCKET).isNotNull()
    if one.place > 0:  # the others have moved the watermark already
        frame = frame.where(is_wanted)
    columns = {name: F.when(is_wanted, named(name)) for name in frame.columns}
    columns |= {TIME: named(TIME), BUCKET: named(BUCKET)}
    return wire.slim(frame.select(*(c.alias(n) for n, c in columns.items())))


def _time_alone(request: Request, source: Source) -> DataFrame:
    reading = read(source, request.program, request.options)
    frame = source.frame.where(_can_come(reading))
    nowhere = F.lit(None).cast("smallint").alias(BUCKET)
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
    return seconds.mapInArrow(partial(beat, task), PACKS)


def _unpacked(results: DataFrame, kind: str, schema: T.StructType) -> DataFrame:
    mine = results.where(named(CONTENT) == kind).select(named(PACK))
    return mine.mapInArrow(unpack, schema)


# Tasks ----------------------------------------------------------------------------------------


def task_of(
    request: Request, relays: Sequence[Relay], wires: Sequence[Wire], pace: Pace, buckets: int
) -> StreamTask:
    return StreamTask(
        program=json.dumps(to_json(request.program.tree)),
        types=tuple(request.program.given.items()),
        needed=tuple(s.name for s in request.program.statements),
        passes=_stream_passes(request.program, relays, wires, buckets),
        buckets=buckets,
        watermarks=pace.watermarks,
        patience=None if pace.idle is None else _milliseconds(pace.idle),
        start=request.start,
        timed_out=request.timed_out,
    )


def _stream_passes(
    program: ResolvedProgram, relays: Sequence[Relay], wires: Sequence[Wire], buckets: int
) -> tuple[StreamPass, ...]:
    """The passes of all relays, each as early as what it takes allows."""
    found: list[StreamPass] = []
    for relay in relays:
        first = len(found)
        for one in relay:
            wire = wires[len(found)]
            feed = _feed(program, dict(enumerate(found[first:], first)), wire)
            place = 0 if feed is None else 1 + max(found[n].place for n in feed.givers)
            ties = tuple(_names(wire).get(tie, tie) for tie in wire.ties)
            found.append(StreamPass(one.names, ties, place, feed, spread_of(one, buckets)))
    return tuple(found)


def _feed(program: ResolvedProgram, earlier: Mapping[int, StreamPass], wire: Wire) -> Feed | None:
    """What a pass takes of what earlier ones of its relay derive."""
    parts = {number: program.part(one.statements) for number, one in earlier.items()}
    names = [name for one in earlier.values() for name in one.statements]
    taken = wire.taken_from(program.part(names))
    givers = (n for n, part in parts.items() if any(s.target in taken for s in part.statements))
    return Feed(tuple(givers), tuple(taken.items())) if taken else None


def _names(wire: Wire) -> dict[str, str]:
    """What the operator calls the columns that travel."""
    return {f"c{place}": name for place, name in enumerate(wire.names)}
