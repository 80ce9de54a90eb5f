"""Programs over bounded frames: filter, shuffle by key, sort by time, run an operator per task.

A pass sends every event that a statement of it can take to the task of its key, and every task runs
its events through an operator of its own, batch by batch: what it holds in memory is what is still
alive, not its share of the input. All tasks begin and end at the same instants. In a pipeline the rows
of one pass go with the input of the next, some of them as events, and come out among its own rows:
so each pass runs once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from cepheid.analysis.retention import needs_start, speaks_with_time
from cepheid.core.time import Instant, format_instant
from cepheid.core.types import EventType
from cepheid.engines.spark.batch.external_sort import ExternalSort
from cepheid.engines.spark.batch.file_scan import files_in_packs
from cepheid.engines.spark.batch.shuffle import buckets_in, in_packs
from cepheid.engines.spark.codec.event_encoder import (
    KEY,
    ROW,
    SEQUENCE,
    TIME,
    TYPE,
    EventEncoder,
    decode,
    union,
)
from cepheid.engines.spark.codec.input_columns import Options, Source, named, time_of
from cepheid.engines.spark.plan.passes import Pass, Pipeline, pipelines_of
from cepheid.engines.spark.session.workers import keep_loaded
from cepheid.engines.spark.stream.state import SharedOperator
from cepheid.errors import LateEvent, error
from cepheid.matcher.operator import Operator, rows_schema
from cepheid.pattern.tree import Within, walk
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.serialize import from_json, to_json

if TYPE_CHECKING:
    import pyarrow as pa

UNORDERED = "events of one time have no order for all of them: sequence= gives one"
_PLACE = "@place"  # of an event among those of its time
_MOST_ALIKE = 1 << 32  # events of one time and type


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A program over frames, its types known."""

    program: ResolvedProgram
    sources: tuple[Source, ...]
    options: Options
    start: Instant | None = None
    end: Instant | None = None  # the last time of the input, where that is known
    timed_out: bool = False


def batch_rows(request: Request) -> DataFrame:
    """All rows, in the columns of `rows_schema`, in no particular order: '@key' has it."""
    clock = _clock(request)
    frames = [_run_pipeline(request, pipeline, clock) for pipeline in pipelines(request)]
    return reduce(DataFrame.unionByName, frames)


def pipelines(request: Request) -> tuple[Pipeline, ...]:
    """The passes of a request; events that pass by several must have numbers to order them."""
    can_be_numbered = len(request.sources) == 1 or all(s.event_type for s in request.sources)
    is_ordered = request.options.sequence is not None or can_be_numbered
    return pipelines_of(request.program, obstacle=None if is_ordered else UNORDERED)


def spark_schema(program: ResolvedProgram) -> T.StructType:
    """The columns of the rows of a program."""
    return from_arrow_schema(rows_schema(program), prefer_timestamp_ntz=False)


# Time -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clock:
    """When the program starts and how long time goes on; None where no row depends on it."""

    start: Instant | None = None
    end: Instant | None = None


def _clock(request: Request) -> Clock:
    """The smallest and the largest time of all input, asked for only where rows depend on it."""
    statements = request.program.statements
    if not any(_depends_on_time(s, timed_out=request.timed_out) for s in statements):
        return Clock(request.start)
    if request.start is not None and request.end is not None:
        return Clock(request.start, request.end)
    times = [
        source.frame.select(time_of(source, request.program, request.options).alias(TIME))
        for source in request.sources
    ]
    ends = reduce(DataFrame.union, times).agg(F.min(named(TIME)), F.max(named(TIME)))
    first, last = ends.collect()[0]
    if request.start is not None and first is not None and first < request.start:
        fact = f"an event at {format_instant(first)} is before the start"
        raise LateEvent(error("late-event", fact, hint=f"start is {format_instant(request.start)}"))
    return Clock(first if request.start is None else request.start, last)


def _depends_on_time(statement: ResolvedStatement, *, timed_out: bool) -> bool:
    """Whether rows can come by time alone, or depend on when the program starts."""
    nodes = walk(statement.pattern) if timed_out and statement.pattern else ()
    times_out = any(isinstance(node, Within) for node in nodes)
    return times_out or needs_start(statement) or speaks_with_time(statement)


# Passes ---------------------------------------------------------------------------------------


def _run_pipeline(request: Request, pipeline: Pipeline, clock: Clock) -> DataFrame:
    """The rows of passes that take what earlier ones derive, in the columns of the whole program."""
    if len(pipeline) > 1 and request.options.sequence is None:
        request = _numbered(request, pipeline)
    rows = _run(request, pipeline[0], clock)
    for place, one in enumerate(pipeline[1:], start=1):
        earlier = [name for other in pipeline[:place] for name in other.names]
        rows = _run_on(request, one, clock, rows, request.program.part(earlier))
    return rows


def _run(request: Request, one: Pass, clock: Clock) -> DataFrame:
    """The rows of a pass that only takes events of the input."""
    encoder = EventEncoder(one, request.sources, request.options)
    events = _input(request, encoder, clock)
    if encoder.readings and not _needs_end_row(encoder, clock):
        events = encoder.without_implied(events)
    task, schema = _task(request, encoder, clock), spark_schema(one.program)
    if encoder.key == {}:  # any split will do
        rows = encoder.ordered(events).mapInArrow(partial(run_task, task), schema)
    else:
        packs = _files_in_packs(one, encoder) or in_packs(events, encoder)
        rows = packs.mapInArrow(partial(run_packed_task, task), schema)
    return _in_columns_of(request.program, one.program, rows)


def _files_in_packs(one: Pass, encoder: EventEncoder) -> DataFrame | None:
    """What workers read and pack at once, without a row on the way; None where it takes frames."""
    sources = [reading.source for reading in encoder.readings]
    if not encoder.key or len(sources) != 1 or sources[0].files is None:
        return None
    return files_in_packs(sources[0], one, encoder)


def _run_on(
    request: Request, one: Pass, clock: Clock, rows: DataFrame, earlier: ResolvedProgram
) -> DataFrame:
    """The rows of a pass and those that earlier ones have found."""
    encoder = EventEncoder(one, request.sources, request.options)
    taken = encoder.taken_from(earlier)
    frame = union(_input(request, encoder, clock), encoder.forwarded(rows, taken))
    task = _task(request, encoder, clock, is_fed=bool(taken))
    ready = encoder.ordered(encoder.shuffled(frame))
    return ready.mapInArrow(partial(run_downstream_task, task), spark_schema(request.program))


def _input(request: Request, encoder: EventEncoder, clock: Clock) -> DataFrame:
    """The events that a pass takes, and where it is one part, a row that says when time ends."""
    frame = encoder.frame()
    if frame is not None and not _needs_end_row(encoder, clock):
        return frame
    # There must be a task even where no event is left.
    end = _end(request, encoder, clock.end)
    return end if frame is None else union(frame, end)


def _needs_end_row(encoder: EventEncoder, clock: Clock) -> bool:
    return encoder.key is None and clock.end is not None


def _task(request: Request, encoder: EventEncoder, clock: Clock, *, is_fed: bool = False) -> Task:
    return Task(
        program=json.dumps(to_json(request.program.tree)),
        types=tuple(request.program.given.items()),
        needed=tuple(statement.name for statement in request.program.statements),
        statements=tuple(statement.name for statement in encoder.program.statements),
        event_types=encoder.consumed,
        columns=encoder.names,
        time_columns=tuple(encoder.time_columns.items()),
        has_sequence=encoder.has_sequence,
        sort_keys=encoder.sort_keys,
        is_fed=is_fed,
        clock=clock,
        timed_out=request.timed_out,
    )


def _numbered(request: Request, pipeline: Pipeline) -> Request:
    """The same events with a sequence, by which each pass orders those of one time alike."""
    names = [name for one in pipeline for name in one.names]
    encoder = EventEncoder(
        Pass(request.program.part(names), None), request.sources, request.options
    )
    types = F.array(*map(F.lit, encoder.consumed))
    sources = []
    for number, reading in enumerate(encoder.readings):
        columns = encoder.columns_from(number, reading)
        order = [columns[sort_key] for sort_key in encoder.sort_keys if sort_key in columns] or [
            F.lit(0)
        ]
        alike = Window.partitionBy(reading.type, reading.time).orderBy(*order)
        rank = F.array_position(types, reading.type).cast("bigint") * F.lit(_MOST_ALIKE)
        frame = reading.source.frame.withColumn(_PLACE, rank + F.row_number().over(alike))
        sources.append(Source(frame, reading.source.event_type))
    options = replace(request.options, sequence=_PLACE)
    return replace(request, sources=tuple(sources) or request.sources, options=options)


def _end(request: Request, encoder: EventEncoder, end: Instant | None) -> DataFrame:
    """A row that only lets time pass."""
    columns = {TYPE: F.lit(None).cast("smallint"), TIME: F.lit(end).cast("bigint")}
    if encoder.has_sequence:
        columns[SEQUENCE] = F.lit(0).cast("bigint")
    session = request.sources[0].frame.sparkSession
    one = session.range(1).select(*(column.alias(name) for name, column in columns.items()))
    return one.where(named(TIME).isNotNull())


def _in_columns_of(program: ResolvedProgram, part: ResolvedProgram, rows: DataFrame) -> DataFrame:
    """The rows of a part of a program in the columns of the whole."""
    own = {field.name: field.dataType for field in spark_schema(part).fields}
    whole = spark_schema(program).fields
    return rows.select(*(_as(f.dataType, f.name, own.get(f.name)).alias(f.name) for f in whole))


def _as(target: T.DataType, name: str, stored: T.DataType | None) -> Column:
    """A struct column with the members of another, which may be more."""
    if stored == target:
        return named(name)
    nothing = F.lit(None).cast(target)
    if stored is None:
        return nothing
    assert isinstance(stored, T.StructType)
    assert isinstance(target, T.StructType)
    kept = set(stored.names)
    members = (
        named(name).getField(m.name) if m.name in kept else F.lit(None).cast(m.dataType)
        for m in target.fields
    )
    named_members = (c.alias(n) for c, n in zip(members, target.names, strict=True))
    return F.when(named(name).isNotNull(), F.struct(*named_members)).otherwise(nothing)


# A task ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a worker needs to know: small, and the same for all tasks of a pass."""

    program: str  # the JSON form of the whole program
    types: tuple[tuple[str, EventType], ...]  # those that it does not declare
    needed: tuple[str, ...]  # the statements of all passes
    statements: tuple[str, ...]  # those of this one
    event_types: tuple[str, ...]  # by their numbers
    columns: tuple[str, ...]
    time_columns: tuple[
        tuple[str, int], ...
    ]  # columns that hold a time, and their unit in microseconds
    has_sequence: bool
    sort_keys: tuple[str, ...]  # what orders events of one time
    is_fed: bool  # whether some of its events are rows of other passes
    clock: Clock
    timed_out: bool


def run_task(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one partition, whose events are in the order of time."""
    import pyarrow as pa

    filled = filter(len, batches)
    return _rows(task, ((b[TIME][0].as_py(), pa.Table.from_batches([b])) for b in filled))


def run_packed_task(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of the buckets of one partition, one bucket after the other."""
    for packs in buckets_in(batches):
        yield from _rows(task, packs)


def _rows(task: Task, packs: Iterable[tuple[Instant, pa.Table]]) -> Iterator[pa.RecordBatch]:
    """The rows of events that come in packs, each with its first time."""
    operator = _started(task)
    taken = 0
    for table in ExternalSort(task.sort_keys).merge(packs):
        for batch in table.to_batches():
            yield from operator.take(_events(task, batch, taken)).to_batches()
            taken += batch.num_rows
    if task.clock.end is not None:
        yield from operator.advance(task.clock.end).to_batches()


def run_downstream_task(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one partition and those that earlier passes forwarded to it.

    What has a key needs events to find anything, and what has none is told how long time goes on: a
    partition that neither comes to only passes on what others found.
    """
    schema = rows_schema(part_of(task.program, task.types, task.needed))
    operator: Operator | None = None
    for batch in batches:
        yield from _forwarded_rows(batch, schema).to_batches()
        events = _events(task, _own_rows(batch), 0)
        if events.num_rows:
            operator = operator or _started(task)
            yield from with_schema(operator.take(events), schema).to_batches()
    if operator is not None and operator.clock is not None:
        end = operator.clock if task.clock.end is None else task.clock.end
        yield from with_schema(operator.advance(end), schema).to_batches()


def _started(task: Task) -> Operator:
    operator = _shared_operator(task).operator(None)
    if task.clock.start is not None:
        operator.start(task.clock.start)
    keep_loaded("batch")
    return operator


@lru_cache(maxsize=4)
def _shared_operator(task: Task) -> SharedOperator:
    part = part_of(task.program, task.types, task.statements)
    return SharedOperator(part, timed_out=task.timed_out, is_fed=task.is_fed)


@lru_cache(maxsize=16)
def part_of(
    program: str, types: tuple[tuple[str, EventType], ...], statements: tuple[str, ...]
) -> ResolvedProgram:
    """The statements of a program that a worker runs, put together once."""
    return resolve_program(from_json(json.loads(program)), dict(types)).part(statements)


def _events(task: Task, batch: pa.RecordBatch, taken: int) -> pa.RecordBatch:
    """A batch under the names that the operator knows; where there is no sequence, numbered."""
    import pyarrow as pa

    sent = dict(zip(batch.schema.names, batch.columns, strict=True))
    sent = decode(sent, len(batch), task.event_types, dict(task.time_columns))
    if not task.has_sequence:
        sent[SEQUENCE] = pa.array(np.arange(taken, taken + len(batch)))
    columns = {
        **{name: sent[name] for name in (TYPE, TIME, SEQUENCE)},
        **{name: sent[f"c{place}"] for place, name in enumerate(task.columns)},
        **({KEY: sent[KEY]} if task.is_fed else {}),
    }
    return pa.RecordBatch.from_pydict(columns)


def _own_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a batch that are not only passed on."""
    import pyarrow.compute as pc

    is_own = pc.or_(pc.is_valid(batch.column(TYPE)), pc.is_null(batch.column(ROW)))
    return batch.filter(is_own)


def _forwarded_rows(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """The rows of other passes in a batch."""
    import pyarrow as pa

    rows: Any = batch.column(ROW).drop_null()
    return with_schema(pa.Table.from_batches([pa.RecordBatch.from_struct_array(rows)]), schema)


def with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with other columns: those that it lacks are null, and so are members of structs."""
    import pyarrow as pa

    columns = [
        _fitted(table[field.name].combine_chunks(), field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _fitted(array: Any, type: pa.DataType) -> Any:
    import pyarrow as pa

    if array.type == type:
        return array
    if not isinstance(type, pa.StructType):
        return array.cast(type)
    own = {field.name for field in array.type}
    members = [
        _fitted(array.field(field.name), field.type)
        if field.name in own
        else pa.nulls(len(array), field.type)
        for field in type
    ]
    return pa.StructArray.from_arrays(members, fields=list(type), mask=array.is_null())
