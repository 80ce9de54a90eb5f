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

from collections.abc import Iterator
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.state import GroupStateTimeout

from cepheid.engines.spark.codec.event_encoder import EventEncoder, union
from cepheid.engines.spark.codec.event_frames import EventFrame, named
from cepheid.engines.spark.codec.event_layout import TIME
from cepheid.engines.spark.codec.input_columns import Reading, read
from cepheid.engines.spark.codec.packed_program import PackedProgram
from cepheid.engines.spark.codec.rejects import everything_schema, reject_columns
from cepheid.engines.spark.codec.schemas import spark_schema
from cepheid.engines.spark.codec.sql_columns import (
    Column,
    call,
    field,
    lit,
    nothing,
    struct,
    when,
)
from cepheid.engines.spark.plan.plan import Plan, PlannedPass
from cepheid.engines.spark.plan.request import SparkRequest, WatermarkPolicy
from cepheid.engines.spark.shuffle.blocks import BUCKET, PACK
from cepheid.engines.spark.shuffle.partitioner import partitioner_of
from cepheid.engines.spark.stream.chained import STATE, BucketProcessor
from cepheid.engines.spark.stream.packs import (
    CONTENT,
    FORWARDED,
    LATE,
    MOMENT,
    PACKS,
    REJECTED,
    RESULTS,
    ROWS,
    Packer,
    ended_by_problems,
    never_late,
    pack,
    unpack,
    unpack_everything,
)
from cepheid.engines.spark.stream.processor import (
    PassSpec,
    StreamTask,
    heartbeat,
    late_schema,
    process_alone,
)
from cepheid.engines.spark.stream.watermarks import Watermarks, milliseconds
from cepheid.errors import UsageError, error
from cepheid.program.resolved import ResolvedProgram

BUCKETS = 32  # more cost time in every micro-batch; with 128 MB of state, each holds 4 MB


# Frames ---------------------------------------------------------------------------------------


def stream_rows(plan: Plan, buckets: int = BUCKETS) -> DataFrame:
    """The rows of a program over a stream, in the columns of `rows_schema`."""
    request = plan.request
    return rows_of(stream_results(plan, buckets), request.program, why=request.why)


def stream_late(plan: Plan, buckets: int = BUCKETS) -> DataFrame:
    """The events that came too late: '@type', '@time', the attributes that the program looks at."""
    return late_of(stream_results(plan, buckets), plan.request.program)


def stream_everything(plan: Plan, buckets: int = BUCKETS) -> DataFrame:
    """Rows, events that came too late and rows that are no events, in one query."""
    program = plan.request.program
    results = stream_results(plan, buckets).select(named(CONTENT), named(PACK))
    schema = from_arrow_schema(everything_schema(program), prefer_timestamp_ntz=False)
    return results.mapInArrow(partial(unpack_everything, PackedProgram.of(program)), schema)


def stream_results(plan: Plan, buckets: int = BUCKETS) -> DataFrame:
    """Packs of rows and of late events, which one query may both write."""
    _require_start(plan)
    task = task_of(plan, buckets)
    packs = reduce(union, _packed(plan, task, operator=0))
    if task.idle_timeout is not None:
        packs = packs.unionByName(_heartbeats(packs, task))
    if not task.watermarks.is_brought:
        packs = packs.withWatermark(MOMENT, f"{task.watermarks.delay} milliseconds")
    found = _chained(plan, task, packs) if plan.operators > 1 else _alone(task, packs)
    return ended_by_problems(found)


def _alone(task: StreamTask, packs: DataFrame) -> DataFrame:
    """One operator for all passes."""
    return (
        never_late(packs, task.watermarks.delay)
        .groupBy(named(BUCKET))
        .applyInPandasWithState(
            partial(process_alone, task),
            outputStructType=RESULTS,
            stateStructType=STATE,
            outputMode="append",
            timeoutConf=GroupStateTimeout.EventTimeTimeout,
        )
    )


def _chained(plan: Plan, task: StreamTask, packs: DataFrame) -> DataFrame:
    """One operator after the other; each but the first has input of its own, too."""
    for operator in range(plan.operators):
        if operator > 0:
            # What has a watermark comes first: then it is the one of both.
            packs = reduce(union, _packed(plan, task, operator), packs)
        packs = never_late(packs, task.watermarks.delay)
        packs = packs.groupBy(named(BUCKET)).transformWithStateInPandas(
            BucketProcessor(task, operator),
            outputStructType=FORWARDED,
            outputMode="append",
            timeMode="eventTime",
            eventTimeColumnName=MOMENT,
        )
    return packs


def rows_of(result_packs: DataFrame, program: ResolvedProgram, *, why: bool = False) -> DataFrame:
    return _unpacked(result_packs, ROWS, spark_schema(program, why=why))


def late_of(result_packs: DataFrame, program: ResolvedProgram) -> DataFrame:
    schema = from_arrow_schema(late_schema(program), prefer_timestamp_ntz=False)
    return _unpacked(result_packs, LATE, schema)


def _require_start(plan: Plan) -> None:
    for statement in plan.needs_start:
        if plan.request.start is None:
            fact = (
                f"a stream does not say when '{statement.name}' starts, and its rows depend on it"
            )
            raise UsageError(error("usage", fact, statement.tree.span, "give start="))


def _packed(plan: Plan, task: StreamTask, operator: int) -> Iterator[DataFrame]:
    """The packs of the passes of an operator.

    Every source moves the watermark, whether a pass reads it or not: the first pass sees to it.
    """
    request = plan.request
    for number, one in enumerate(plan.passes):
        if one.operator != operator:
            continue
        readings = one.encoder.readings
        rejects = request.rejects and number == 0
        parts = [_selected(one, n, task.buckets, rejects=rejects) for n in range(len(readings))]
        if number == 0:
            sources = {id(reading.source) for reading in readings}
            parts += [_time_alone(request, s) for s in request.sources if id(s) not in sources]
        if parts:
            packer = Packer(
                first=number * task.buckets,
                layout=one.layout,
                notified=task.first_buckets(operator) if number == 0 else (),
                watermarks=task.watermarks,
                partitioner=task.passes[number].partitioner if one.upstream else None,
            )
            yield reduce(union, parts).mapInArrow(partial(pack, packer), PACKS)


def _selected(one: PlannedPass, number: int, buckets: int, *, rejects: bool) -> DataFrame:
    """The rows of a source in the columns of a pass; those it has no use for have no bucket.

    What is no event is left out, or told in a column of its own, without a time.
    """
    encoder = one.encoder
    reading, judgement = encoder.readings[number], encoder.judgements[number]
    columns = encoder.columns_from(number, reading)
    frame = reading.source.frame
    if rejects:
        columns |= {REJECTED: _rejected(judgement), TIME: when(judgement.is_fine, reading.time)}
    else:
        frame = frame.where(judgement.is_fine.text)
    frame = frame.selectExpr(*(c.named(n) for n, c in columns.items()))
    bucket = lit(0) if one.upstream else _bucket(encoder, buckets)
    wanted = when(encoder.is_wanted(reading.source), bucket)
    if rejects:
        wanted = when(field(REJECTED).is_null(), wanted)
    frame = frame.selectExpr("*", wanted.cast("smallint").named(BUCKET))
    is_wanted = field(BUCKET).is_not_null()
    if one.operator > 0:  # the others have moved the watermark already
        frame = frame.where(is_wanted.text)
    columns = {name: when(is_wanted, field(name)) for name in frame.columns}
    columns |= {name: field(name) for name in frame.columns if name in (TIME, BUCKET, REJECTED)}
    return encoder.without_implied(frame.selectExpr(*(c.named(n) for n, c in columns.items())))


def _time_alone(request: SparkRequest, source: EventFrame) -> DataFrame:
    reading = read(source, request.program, request.options)
    nowhere = nothing("smallint").named(BUCKET)
    if not request.rejects:
        fine = source.frame.where(reading.is_fine.text)
        return fine.selectExpr(reading.time.named(TIME), nowhere)
    time = when(reading.is_fine, reading.time).named(TIME)
    return source.frame.selectExpr(time, nowhere, _rejected(reading).named(REJECTED))


def _rejected(reading: Reading) -> Column:
    return when(~reading.is_fine, struct(**reject_columns(reading)))


def _bucket(encoder: EventEncoder, buckets: int) -> Column:
    """Where an event goes: all to one bucket, those of a key to one, or each anywhere."""
    if encoder.key is None:
        return lit(0)
    keys = encoder.key_columns() if encoder.key else (field(TIME),)
    return call("PMOD", call("XXHASH64", *keys), buckets)


def _heartbeats(packs: DataFrame, task: StreamTask) -> DataFrame:
    """A row for every bucket, every second, so that all of them hear that nothing comes."""
    seconds = packs.sparkSession.readStream.format("rate").option("numPartitions", 1).load()
    return seconds.mapInArrow(partial(heartbeat, task), PACKS)


def _unpacked(result_packs: DataFrame, kind: str, schema: T.StructType) -> DataFrame:
    mine = result_packs.where(named(CONTENT) == kind).select(named(PACK))
    return mine.mapInArrow(unpack, schema)


# Tasks ----------------------------------------------------------------------------------------


def task_of(plan: Plan, buckets: int) -> StreamTask:
    request = plan.request
    assert request.watermark is not None
    grace, idle = request.watermark.grace, request.watermark.idle
    return StreamTask(
        program=PackedProgram.of(request.program),
        passes=tuple(_spec(one, buckets) for one in plan.passes),
        buckets=buckets,
        watermarks=_watermarks(request.watermark),
        grace=None if grace is None else milliseconds(grace),
        idle_timeout=None if idle is None else milliseconds(idle),
        start=request.start,
        timed_out=request.timed_out,
        why=request.why,
    )


def _spec(one: PlannedPass, buckets: int) -> PassSpec:
    sort_keys = tuple(map(one.layout.name_of, one.layout.sort_keys))
    partitioner = partitioner_of(one.logical, buckets)
    return PassSpec(one.names, sort_keys, one.operator, one.upstream, partitioner)


def _watermarks(policy: WatermarkPolicy) -> Watermarks:
    return (Watermarks.brought if policy.is_brought else Watermarks.of)(policy.delay)
