"""Programs over bounded frames: filter, exchange by key, sort by time, run an operator per task.

A pass sends every event that a statement of it can take to the task of its key, and every task runs
its events through an operator of its own, batch by batch: what it holds in memory is what is still
alive, not its share of the input. All tasks begin and end at the same instants.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from cepheid.analysis.retention import needs_start, speaks_with_time
from cepheid.core.time import Instant, format_instant
from cepheid.core.types import EventType
from cepheid.engines.spark.frames import Options, Source, named, time_of
from cepheid.engines.spark.stages import Pass, passes_of
from cepheid.engines.spark.wire import SEQUENCE, TIME, TYPE, Wire, union
from cepheid.errors import LateEvent, error
from cepheid.matcher.operator import open_operator, rows_schema
from cepheid.pattern.tree import Within, walk
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.serialize import from_json, to_json

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A program over frames, its types known."""

    program: ResolvedProgram
    sources: tuple[Source, ...]
    options: Options
    start: Instant | None = None
    timed_out: bool = False


def batch_rows(request: Request) -> DataFrame:
    """All rows, in the columns of `rows_schema`, in no particular order: '@key' has it."""
    clock = _clock(request)
    frames = [_run(request, one, clock) for one in passes_of(request.program)]
    return reduce(DataFrame.unionByName, frames)


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


# A pass ---------------------------------------------------------------------------------------


def _run(request: Request, one: Pass, clock: Clock) -> DataFrame:
    wire = Wire(one, request.sources, request.options)
    frame = wire.frame()
    if frame is None or (one.key is None and clock.end is not None):
        # There must be a task even where no event is left.
        end = _end(request, wire, clock.end)
        frame = end if frame is None else union(frame, end)
    task = Task(
        program=json.dumps(to_json(request.program.tree)),
        types=tuple(request.program.given.items()),
        statements=one.names,
        columns=wire.names,
        has_sequence=wire.has_sequence,
        clock=clock,
        timed_out=request.timed_out,
    )
    ready = wire.ordered(wire.exchanged(frame))
    rows = ready.mapInArrow(partial(run_task, task), spark_schema(one.program))
    return _in_columns_of(request.program, one.program, rows)


def _end(request: Request, wire: Wire, end: Instant | None) -> DataFrame:
    """A row that only lets time pass."""
    columns = {TYPE: F.lit(None).cast("string"), TIME: F.lit(end).cast("bigint")}
    if wire.has_sequence:
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
    statements: tuple[str, ...]
    columns: tuple[str, ...]
    has_sequence: bool
    clock: Clock
    timed_out: bool


def run_task(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one partition, as its batches come."""
    operator = open_operator(
        part_of(task.program, task.types, task.statements), timed_out=task.timed_out
    )
    if task.clock.start is not None:
        operator.start(task.clock.start)
    taken = 0
    for batch in batches:
        yield from operator.take(_events(task, batch, taken)).to_batches()
        taken += batch.num_rows
    if task.clock.end is not None:
        yield from operator.advance(task.clock.end).to_batches()


@lru_cache(maxsize=16)
def part_of(
    program: str, types: tuple[tuple[str, EventType], ...], statements: tuple[str, ...]
) -> ResolvedProgram:
    """The statements of a program that a worker runs, put together once."""
    return resolve_program(from_json(json.loads(program)), dict(types)).part(statements)


def _events(task: Task, batch: pa.RecordBatch, taken: int) -> pa.RecordBatch:
    """A batch under the names that the operator knows; where there is no sequence, numbered."""
    import pyarrow as pa

    count = 3 if task.has_sequence else 2
    head = batch.columns[:count]
    if not task.has_sequence:
        head.append(pa.array(range(taken, taken + batch.num_rows), pa.int64()))
    attributes = batch.columns[count : count + len(task.columns)]
    return pa.RecordBatch.from_arrays(
        [*head, *attributes], names=[TYPE, TIME, SEQUENCE, *task.columns]
    )
