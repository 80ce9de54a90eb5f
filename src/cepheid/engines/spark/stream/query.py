"""Programs over streaming frames: events go to buckets of keys, and wait there for the watermark.

    rows --pack--> packs --by bucket--> state, operator --> packs of rows --unpack--> rows

Data travels in packs, Arrow streams with all events of a task for one bucket, because the shuffle
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
from cepheid.engines.spark.batch.query import UNORDERED, Request, spark_schema
from cepheid.engines.spark.codec.event_encoder import TIME, TYPE, EventEncoder, union
from cepheid.engines.spark.codec.input_columns import Reading, Source, named, read
from cepheid.engines.spark.plan.passes import Pipeline, pipelines_of
from cepheid.engines.spark.session.spark_session import ROCKSDB
from cepheid.engines.spark.shuffle.partitioner import partitioner_of
from cepheid.engines.spark.stream.processor import (
    STATE,
    BucketProcessor,
    PassSpec,
    StreamTask,
    Upstream,
    heartbeat,
    late_schema,
    process_alone,
)
from cepheid.engines.spark.stream.shuffle import (
    BUCKET,
    CONTENT,
    FORWARDED,
    LATE,
    MOMENT,
    PACK,
    PACKS,
    RESULTS,
    ROWS,
    Packer,
    pack,
    unpack,
)
from cepheid.engines.spark.stream.state import Watermarks
from cepheid.errors import UsageError, error
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import to_json

BUCKETS = 32  # more cost time in every micro-batch; with 128 MB of state, each holds 4 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkPolicy:
    """How long a stream waits: for events that come late, to report those that come later still,
    and, by the clock on the wall, for any event at all."""

    delay: Period
    grace: Period | None = None  # as long as the delay
    idle: Period | None = None  # for ever

    @property
    def watermarks(self) -> Watermarks:
        delay = _milliseconds(self.delay)
        return Watermarks(delay, delay if self.grace is None else _milliseconds(self.grace))


def watermark_policy(
    watermark: str | Period | None, grace: str | Period | None, idle: str | Period | None
) -> WatermarkPolicy:
    """The pace that a call asks for; UsageError where it makes no sense."""
    delay = _period(watermark, "watermark")
    if delay is None:
        fact = "a stream needs a watermark: how long an event may come after later ones"
        raise UsageError(error("usage", fact, hint="watermark='10 seconds'"))
    return WatermarkPolicy(delay=delay, grace=_period(grace, "grace"), idle=_period(idle, "idle"))


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


def stream_rows(request: Request, policy: WatermarkPolicy, buckets: int = BUCKETS) -> DataFrame:
    """The rows of a program over a stream, in the columns of `rows_schema`."""
    return rows_of(stream_results(request, policy, buckets), request.program)


def stream_late(request: Request, policy: WatermarkPolicy, buckets: int = BUCKETS) -> DataFrame:
    """The events that came too late: '@type', '@time', the attributes that the program looks at."""
    return late_of(stream_results(request, policy, buckets), request.program)


def stream_results(request: Request, policy: WatermarkPolicy, buckets: int = BUCKETS) -> DataFrame:
    """Packs of rows and of late events, which one query may both write."""
    _require_start(request)
    pipelines = stream_pipelines(request, policy)
    encoders = [
        EventEncoder(one, request.sources, request.options)
        for pipeline in pipelines
        for one in pipeline
    ]
    task = task_of(request, pipelines, encoders, policy, buckets)
    packs = reduce(union, _packed(request, encoders, task, place=0))
    if policy.idle is not None:
        packs = packs.unionByName(_beats(packs, task))
    watermarks = policy.watermarks
    packs = packs.withWatermark(MOMENT, f"{watermarks.delay + watermarks.grace} milliseconds")
    if task.operators > 1:
        return _chained(request, encoders, task, packs)
    return packs.groupBy(named(BUCKET)).applyInPandasWithState(
        partial(process_alone, task),
        outputStructType=RESULTS,
        stateStructType=STATE,
        outputMode="append",
        timeoutConf=GroupStateTimeout.EventTimeTimeout,
    )


def _chained(
    request: Request, encoders: Sequence[EventEncoder], task: StreamTask, packs: DataFrame
) -> DataFrame:
    """One operator after the other; each but the first has input of its own, too."""
    for place in range(task.operators):
        if place > 0:
            # What has a watermark comes first: then it is the one of both.
            packs = reduce(union, _packed(request, encoders, task, place), packs)
        packs = packs.groupBy(named(BUCKET)).transformWithStateInPandas(
            BucketProcessor(task, place),
            outputStructType=FORWARDED,
            outputMode="append",
            timeMode="eventTime",
            eventTimeColumnName=MOMENT,
        )
    return packs


def stream_pipelines(request: Request, policy: WatermarkPolicy) -> tuple[Pipeline, ...]:
    """The passes of a stream; those that take what others derive run in operators of their own."""
    return pipelines_of(request.program, obstacle=_obstacle(request, policy))


def _obstacle(request: Request, policy: WatermarkPolicy) -> str | None:
    """Why operators must not follow each other."""
    settings = request.sources[0].frame.sparkSession.conf
    if request.options.sequence is None:
        return UNORDERED
    if policy.idle is not None:
        return "with idle= a bucket that hears nothing goes on alone"
    if settings.get("spark.sql.streaming.stateStore.providerClass", None) != ROCKSDB:
        return "Spark keeps the state of several operators in RocksDB only"
    return None


def rows_of(result_packs: DataFrame, program: ResolvedProgram) -> DataFrame:
    return _unpacked(result_packs, ROWS, spark_schema(program))


def late_of(result_packs: DataFrame, program: ResolvedProgram) -> DataFrame:
    schema = from_arrow_schema(late_schema(program), prefer_timestamp_ntz=False)
    return _unpacked(result_packs, LATE, schema)


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
    request: Request, encoders: Sequence[EventEncoder], task: StreamTask, place: int
) -> Iterator[DataFrame]:
    """The packs of the passes of an operator.

    Every source moves the watermark, whether a pass reads it or not: the first pass sees to it.
    """
    for number, (encoder, one) in enumerate(zip(encoders, task.passes, strict=True)):
        if one.place != place:
            continue
        parts = [_selected(request, encoder, n, one, task) for n in range(len(encoder.readings))]
        if number == 0:
            sources = {id(reading.source) for reading in encoder.readings}
            parts += [_time_alone(request, s) for s in request.sources if id(s) not in sources]
        if parts:
            packer = Packer(
                first=number * task.buckets,
                types=encoder.consumed,
                time_columns=encoder.time_columns,
                names=_names(encoder),
                notified=task.first_buckets(place) if number == 0 else (),
                partitioner=one.partitioner if one.upstream else None,
            )
            yield reduce(union, parts).mapInArrow(partial(pack, packer), PACKS)


def _selected(
    request: Request, encoder: EventEncoder, number: int, one: PassSpec, task: StreamTask
) -> DataFrame:
    """The rows of a source in the columns of a pass; those it has no use for have no bucket."""
    reading = encoder.readings[number]
    columns = encoder.columns_from(number, reading)
    is_fine = _can_come(read(reading.source, request.program, request.options))
    frame = reading.source.frame.where(is_fine)
    frame = frame.select(*(c.alias(n) for n, c in columns.items()))
    bucket = F.lit(0) if one.upstream else _bucket(encoder, task.buckets)
    wanted = F.when(encoder.is_wanted(reading.source), bucket)
    frame = frame.withColumn(BUCKET, wanted.cast("smallint"))
    is_wanted = named(BUCKET).isNotNull()
    if one.place > 0:  # the others have moved the watermark already
        frame = frame.where(is_wanted)
    columns = {name: F.when(is_wanted, named(name)) for name in frame.columns}
    columns |= {TIME: named(TIME), BUCKET: named(BUCKET)}
    return encoder.without_implied(frame.select(*(c.alias(n) for n, c in columns.items())))


def _time_alone(request: Request, source: Source) -> DataFrame:
    reading = read(source, request.program, request.options)
    frame = source.frame.where(_can_come(reading))
    nowhere = F.lit(None).cast("smallint").alias(BUCKET)
    return frame.select(reading.time.alias(TIME), nowhere)


def _bucket(encoder: EventEncoder, buckets: int) -> Column:
    """Where an event goes: all to one bucket, those of a key to one, or each anywhere."""
    if encoder.key is None:
        return F.lit(0)
    keys = encoder.key_columns() if encoder.key else (named(TIME),)
    return F.pmod(F.xxhash64(*keys), F.lit(buckets))


def _beats(packs: DataFrame, task: StreamTask) -> DataFrame:
    """A row for every bucket, every second, so that all of them hear that nothing comes."""
    seconds = packs.sparkSession.readStream.format("rate").option("numPartitions", 1).load()
    return seconds.mapInArrow(partial(heartbeat, task), PACKS)


def _unpacked(result_packs: DataFrame, kind: str, schema: T.StructType) -> DataFrame:
    mine = result_packs.where(named(CONTENT) == kind).select(named(PACK))
    return mine.mapInArrow(unpack, schema)


# Tasks ----------------------------------------------------------------------------------------


def task_of(
    request: Request,
    pipelines: Sequence[Pipeline],
    encoders: Sequence[EventEncoder],
    policy: WatermarkPolicy,
    buckets: int,
) -> StreamTask:
    return StreamTask(
        program=json.dumps(to_json(request.program.tree)),
        types=tuple(request.program.given.items()),
        needed=tuple(s.name for s in request.program.statements),
        passes=_pass_specs(request.program, pipelines, encoders, buckets),
        buckets=buckets,
        watermarks=policy.watermarks,
        idle_timeout=None if policy.idle is None else _milliseconds(policy.idle),
        start=request.start,
        timed_out=request.timed_out,
    )


def _pass_specs(
    program: ResolvedProgram,
    pipelines: Sequence[Pipeline],
    encoders: Sequence[EventEncoder],
    buckets: int,
) -> tuple[PassSpec, ...]:
    """The passes of all pipelines, each as early as what it takes allows."""
    found: list[PassSpec] = []
    for pipeline in pipelines:
        first = len(found)
        for one in pipeline:
            encoder = encoders[len(found)]
            upstream = _upstream(program, dict(enumerate(found[first:], first)), encoder)
            place = 0 if upstream is None else 1 + max(found[n].place for n in upstream.producers)
            sort_keys = tuple(
                _names(encoder).get(sort_key, sort_key) for sort_key in encoder.sort_keys
            )
            found.append(
                PassSpec(one.names, sort_keys, place, upstream, partitioner_of(one, buckets))
            )
    return tuple(found)


def _upstream(
    program: ResolvedProgram, earlier: Mapping[int, PassSpec], encoder: EventEncoder
) -> Upstream | None:
    """What a pass takes of what earlier ones of its pipeline derive."""
    parts = {number: program.part(one.statements) for number, one in earlier.items()}
    names = [name for one in earlier.values() for name in one.statements]
    taken = encoder.taken_from(program.part(names))
    producers = (n for n, part in parts.items() if any(s.target in taken for s in part.statements))
    return Upstream(tuple(producers), tuple(taken.items())) if taken else None


def _names(encoder: EventEncoder) -> dict[str, str]:
    """What the operator calls the columns that travel."""
    return {f"c{place}": name for place, name in enumerate(encoder.names)}
