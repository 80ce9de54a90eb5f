"""Programs over bounded frames: filter, shuffle by key, sort by time, run an operator per task.

A pass sends every event that a statement of it can take to the task of its key, and every task runs
its events through an operator of its own, batch by batch: what it holds in memory is what is still
alive, not its share of the input. All tasks begin and end at the same instants. In a pipeline the rows
of one pass go with the input of the next, some of them as events, and come out among its own rows:
so each pass runs once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from cepheid.core.time import Instant
from cepheid.engines.common.clock import ends_at, starts_at
from cepheid.engines.spark.batch.file_scan import files_in_packs
from cepheid.engines.spark.batch.footers import ends_in_footers
from cepheid.engines.spark.batch.shuffle import in_packs
from cepheid.engines.spark.batch.task import (
    Clock,
    Task,
    run_downstream_task,
    run_packed_task,
    run_task,
)
from cepheid.engines.spark.codec.event_encoder import EventEncoder, union
from cepheid.engines.spark.codec.event_frames import named
from cepheid.engines.spark.codec.event_layout import SEQUENCE, TIES, TIME, TYPE
from cepheid.engines.spark.codec.input_columns import read, time_of
from cepheid.engines.spark.codec.packed_program import PackedProgram
from cepheid.engines.spark.codec.rejects import rejected, with_rejects
from cepheid.engines.spark.codec.schemas import spark_schema
from cepheid.engines.spark.codec.sql_columns import (
    Column,
    call,
    field,
    lit,
    nothing,
    quoted,
    struct,
    when,
)
from cepheid.engines.spark.plan.passes import Pass
from cepheid.engines.spark.plan.plan import Plan, PlannedPass, are_ordered_by_values, plan_of
from cepheid.engines.spark.plan.request import SparkRequest

_PLACE = "@place"  # of an event among those of its time
_MOST_ALIKE = 1 << 32  # events of one time and type


def batch_rows(plan: Plan) -> DataFrame:
    """All rows, in the columns of `rows_schema`, in no particular order: '@key' has it."""
    clock = _clock(plan)
    frames = [_run_pipeline(plan.request, pipeline, clock) for pipeline in plan.pipelines]
    return reduce(DataFrame.unionByName, frames)


def batch_and_rejects(plan: Plan) -> DataFrame:
    """The rows of what are events, and beside them what is none."""
    request = plan.request
    readings = [read(source, request.program, request.options) for source in request.sources]
    fine = tuple(
        replace(r.source, frame=r.source.frame.where(r.is_fine.text), files=None) for r in readings
    )
    rows = batch_rows(plan_of(replace(request, sources=fine)))
    return with_rejects(rows, rejected(request))


# Time -----------------------------------------------------------------------------------------


def _clock(plan: Plan) -> Clock:
    """The smallest and the largest time of all input, asked for only where rows depend on it."""
    request = plan.request
    if not plan.depends_on_time:
        return Clock(request.start)
    if request.start is not None and request.end is not None:
        return Clock(request.start, request.end)
    told = [ends_in_footers(source, request.program) for source in request.sources]
    known = [ends for ends in told if ends is not None]
    if len(known) == len(told):
        first, last = min(first for first, _ in known), max(last for _, last in known)
        return Clock(starts_at(first, request.start), ends_at(last, request.end))
    times = [
        source.frame.selectExpr(time_of(source, request.program, request.options).named(TIME))
        for source in request.sources
    ]
    ends = reduce(DataFrame.union, times).agg(F.min(named(TIME)), F.max(named(TIME)))
    first, last = ends.collect()[0]
    return Clock(starts_at(first, request.start), ends_at(last, request.end))


# Passes ---------------------------------------------------------------------------------------


def _run_pipeline(
    request: SparkRequest, pipeline: Sequence[PlannedPass], clock: Clock
) -> DataFrame:
    """The rows of passes that take what earlier ones derive, in the columns of the whole program."""
    tied: tuple[str, ...] = ()
    if len(pipeline) > 1 and request.options.sequence is None:
        if are_ordered_by_values(request, pipeline):
            tied = pipeline[1].encoder.consumed
        else:
            request = _numbered(request, pipeline)
            pipeline = [one.over(request) for one in pipeline]
    rows = _run(request, pipeline[0], clock, tied)
    for one in pipeline[1:]:
        rows = _run_on(request, one, clock, rows)
    return rows


def _run(
    request: SparkRequest, one: PlannedPass, clock: Clock, tied: tuple[str, ...] = ()
) -> DataFrame:
    """The rows of a pass that only takes events of the input."""
    encoder = one.encoder
    events = _input(request, encoder, clock)
    if encoder.readings and not _needs_end_row(encoder, clock):
        events = encoder.without_implied(events)
    task = replace(_task(request, one, clock), tied=tied)
    schema = spark_schema(one.program, why=request.why)
    if tied:
        schema = schema.add(TIES, T.ArrayType(T.LongType()))
    if encoder.key == {}:  # any split will do
        rows = encoder.ordered(events).mapInArrow(partial(run_task, task), schema)
    else:
        packs = _files_in_packs(one) or in_packs(events, encoder)
        rows = packs.mapInArrow(partial(run_packed_task, task), schema)
    whole = spark_schema(request.program, why=request.why)
    return _in_columns_of(whole, schema, rows, kept=(TIES,) if tied else ())


def _files_in_packs(one: PlannedPass) -> DataFrame | None:
    """What workers read and pack at once, without a row on the way; None where it takes frames."""
    sources = [reading.source for reading in one.encoder.readings]
    if not one.encoder.key or len(sources) != 1 or sources[0].files is None:
        return None
    return files_in_packs(sources[0], one)


def _run_on(request: SparkRequest, one: PlannedPass, clock: Clock, rows: DataFrame) -> DataFrame:
    """The rows of a pass and those that earlier ones have found."""
    encoder = one.encoder
    taken = dict(one.upstream.taken) if one.upstream else {}
    frame = union(_input(request, encoder, clock), encoder.forwarded(rows, taken))
    ready = encoder.ordered(encoder.shuffled(frame))
    task = _task(request, one, clock)
    schema = spark_schema(request.program, why=request.why)
    return ready.mapInArrow(partial(run_downstream_task, task), schema)


def _input(request: SparkRequest, encoder: EventEncoder, clock: Clock) -> DataFrame:
    """The events that a pass takes, and where it is one part, a row that says when time ends."""
    frame = encoder.frame()
    if frame is not None and not _needs_end_row(encoder, clock):
        return frame
    # There must be a task even where no event is left.
    end = _end(request, encoder, clock.end)
    return end if frame is None else union(frame, end)


def _needs_end_row(encoder: EventEncoder, clock: Clock) -> bool:
    return encoder.key is None and clock.end is not None


def _task(request: SparkRequest, one: PlannedPass, clock: Clock) -> Task:
    return Task(
        program=PackedProgram.of(request.program),
        statements=one.names,
        layout=one.layout,
        is_fed=one.upstream is not None,
        clock=clock,
        timed_out=request.timed_out,
        why=request.why,
    )


def _numbered(request: SparkRequest, pipeline: Sequence[PlannedPass]) -> SparkRequest:
    """The same events with a sequence, by which each pass orders those of one time alike."""
    names = [name for one in pipeline for name in one.names]
    encoder = EventEncoder(
        Pass(request.program.part(names), None), request.sources, request.options, request.program
    )
    types = call("ARRAY", *encoder.consumed)
    sources = []
    for number, reading in enumerate(encoder.readings):
        columns = encoder.columns_from(number, reading)
        order = [columns[key].text for key in encoder.sort_keys if key in columns] or ["0"]
        alike = f"PARTITION BY {reading.type.text}, {reading.time.text} ORDER BY {', '.join(order)}"
        rank = call("ARRAY_POSITION", types, reading.type).cast("bigint") * lit(_MOST_ALIKE)
        place = rank + Column(f"ROW_NUMBER() OVER ({alike})")
        frame = reading.source.frame.selectExpr("*", place.named(_PLACE))
        sources.append(replace(reading.source, frame=frame, files=None))
    options = replace(request.options, sequence=_PLACE)
    return replace(request, sources=tuple(sources) or request.sources, options=options)


def _end(request: SparkRequest, encoder: EventEncoder, end: Instant | None) -> DataFrame:
    """A row that only lets time pass."""
    columns = {TYPE: nothing("smallint"), TIME: lit(end).cast("bigint")}
    if encoder.has_sequence:
        columns[SEQUENCE] = lit(0).cast("bigint")
    session = request.sources[0].frame.sparkSession
    one = session.range(1).selectExpr(*(column.named(name) for name, column in columns.items()))
    return one.where(field(TIME).is_not_null().text)


def _in_columns_of(
    whole: T.StructType, part: T.StructType, rows: DataFrame, kept: Sequence[str] = ()
) -> DataFrame:
    """The rows of a part of a program in the columns of the whole, and some of their own."""
    own = {each.name: each.dataType for each in part.fields}
    items = (_as(f.dataType, f.name, own.get(f.name)).named(f.name) for f in whole.fields)
    return rows.selectExpr(*items, *map(quoted, kept))


def _as(target: T.DataType, name: str, stored: T.DataType | None) -> Column:
    """A struct column with the members of another, which may be more."""
    if stored == target:
        return field(name)
    if stored is None:
        return nothing(target)
    assert isinstance(stored, T.StructType)
    assert isinstance(target, T.StructType)
    kept = set(stored.names)
    members = {
        m.name: field(name).member(m.name) if m.name in kept else nothing(m.dataType)
        for m in target.fields
    }
    return when(field(name).is_not_null(), struct(**members)).otherwise(nothing(target))
