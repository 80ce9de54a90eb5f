"""What a worker does in a batch: the events of its partition through an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.core.time import Instant
from cepheid.engines.spark.batch.external_sort import ExternalSort
from cepheid.engines.spark.batch.shuffle import buckets_in
from cepheid.engines.spark.batch.ties import Causes, with_ties, without_ties
from cepheid.engines.spark.codec.event_layout import (
    KEY,
    ROW,
    SEQUENCE,
    TIES,
    TIME,
    TYPE,
    EventLayout,
)
from cepheid.engines.spark.codec.packed_program import PackedProgram
from cepheid.engines.spark.codec.schemas import with_schema
from cepheid.engines.spark.session.workers import keep_loaded
from cepheid.engines.spark.shared_operator import SharedOperator
from cepheid.matcher.operator import Operator, rows_schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Clock:
    """When the program starts and how long time goes on; None where no row depends on it."""

    start: Instant | None = None
    end: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a worker needs to know: small, and the same for all tasks of a pass."""

    program: PackedProgram  # the whole
    statements: tuple[str, ...]  # those of this pass
    layout: EventLayout
    is_fed: bool  # whether some of its events are rows of other passes
    clock: Clock
    timed_out: bool
    why: bool
    tied: tuple[str, ...] = ()  # the types of rows whose causes others must know how to order


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
    for table in ExternalSort(task.layout.sort_keys).merge(packs):
        for batch in table.to_batches():
            rows = operator.take(_events(task, batch, taken))
            if task.tied:
                rows = with_ties(rows, batch, task.layout.sort_keys, task.tied, taken)
            yield from rows.to_batches()
            taken += batch.num_rows
    if task.clock.end is not None:
        rows = operator.advance(task.clock.end)
        yield from (without_ties(rows) if task.tied else rows).to_batches()


def run_downstream_task(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one partition and those that earlier passes forwarded to it.

    What has a key needs events to find anything, and what has none is told how long time goes on: a
    partition that neither comes to only passes on what others found.
    """
    schema = rows_schema(task.program.open(), why=task.why)
    operator: Operator | None = None
    causes = Causes()
    for batch in batches:
        yield from _forwarded_rows(batch, schema).to_batches()
        own = _own_rows(batch)
        events = _events(task, causes.numbered(own) if TIES in own.schema.names else own, 0)
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
    part = task.program.part(task.statements)
    return SharedOperator(part, timed_out=task.timed_out, why=task.why, is_fed=task.is_fed)


def _events(task: Task, batch: pa.RecordBatch, taken: int) -> pa.RecordBatch:
    """A batch under the names that the operator knows; where there is no sequence, numbered."""
    import pyarrow as pa

    sent = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = task.layout.decode(sent, len(batch))
    if not task.layout.has_sequence:
        columns[SEQUENCE] = pa.array(np.arange(taken, taken + len(batch)))
    names = (TYPE, TIME, SEQUENCE, *task.layout.names, *((KEY,) if task.is_fed else ()))
    return pa.RecordBatch.from_pydict({name: columns[name] for name in names})


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
