"""Bounded input of any kind as a batch on Spark: the rows of a local run, in their order.

Large files whose columns are plain are looked through here and read by the workers. All else is read here,
as every engine reads it, and laid down as Parquet, a file per type: so order, problems and types are the
same everywhere. Tables stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.core.types import EventType
from cepheid.engines.common.clock import ends_at, starts_at
from cepheid.engines.common.intake import Gate, happens, runnable, typed
from cepheid.engines.common.judging import unfed_types
from cepheid.engines.common.progress import Progress
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.engines.common.table_names import name_of_table
from cepheid.engines.common.table_types import typed_by_tables
from cepheid.engines.spark.batch.file_scan import key_problem, pieces_in, source_of
from cepheid.engines.spark.batch.query import batch_rows
from cepheid.engines.spark.codec.event_frames import (
    EventFrame,
    judged,
    sources_of,
    with_types_of,
)
from cepheid.engines.spark.codec.event_layout import SEQUENCE, TIME, TYPE
from cepheid.engines.spark.codec.input_columns import Options
from cepheid.engines.spark.codec.rows import decode_rows
from cepheid.engines.spark.plan.plan import plan_of
from cepheid.engines.spark.plan.request import SparkRequest
from cepheid.engines.spark.session.failures import failure_of
from cepheid.engines.spark.session.spark_session import runs_here
from cepheid.engines.spark.session.workers import check_other_machines, wake_workers
from cepheid.errors import Diagnostic, LateEvent, Span, UsageError, error
from cepheid.io.arrow import to_column
from cepheid.io.columns.exact import INSTANT, NeedsRecords, refuse
from cepheid.io.columns.reading import Piece, at_once, read_piece
from cepheid.io.source import Source, unwrapped
from cepheid.io.sources import Table, provided_by
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FLUSH = 20_000  # events of a type that wait to be written


def run_records(request: RunRequest, session: SparkSession) -> Outcome:
    """The rows of a program over all its input."""
    wake_workers(session)
    program, records = typed(request.program, request.records())
    with TemporaryDirectory(prefix="cepheid-") as folder:
        spool = _Spool(runnable(program), Path(folder))
        gate = Gate(program, request.on_problem, request.rules)
        for item in gate.let_in(records):
            spool.take(item, gate.place)
        notes = gate.close()
        notes += unfed_types(program, {*gate.provided, *provided_by(request.sources)})
        spool.close()
        asked = _asked(request, program, tuple(spool.sources(session)), SEQUENCE)
        return _outcome(asked, spool.extent, session, request.progress, notes)


def run_files(request: RunRequest, paths: Sequence[str], session: SparkSession) -> Outcome | None:
    """The same over files that workers read in columns; None where it takes records."""
    if not runs_here(session):
        return None
    wake_workers(session)
    extent = _Extent()
    try:
        tables = [Table(path, None) for path in paths]
        program = runnable(typed_by_tables(request.program, tables))
        pieces = pieces_in(paths)
        source = source_of(pieces, program, session)
        notes = judged(program, (source,), request.rules)
        for batches in at_once([partial(_read, piece, program) for piece in pieces]):
            for batch in batches:
                extent.take(batch)
            request.progress(extent.taken, None)
    except NeedsRecords:
        return None
    asked = _asked(request, program, (source,), SEQUENCE)
    try:
        return _outcome(asked, extent, session, request.progress, notes)
    except LateEvent:
        return None


def _asked(
    request: RunRequest,
    program: ResolvedProgram,
    sources: tuple[EventFrame, ...],
    sequence: str | None,
) -> SparkRequest:
    return SparkRequest(
        program=program,
        sources=sources,
        options=Options(sequence=sequence),
        start=request.start,
        end=request.end,
        timed_out=request.timed_out,
    )


def _outcome(
    request: SparkRequest,
    extent: _Extent,
    session: SparkSession,
    progress: Progress,
    notes: Sequence[Diagnostic],
) -> Outcome:
    """The rows of a request whose input has been looked through."""
    first = starts_at(extent.first, request.start, extent.first_place)
    last = ends_at(extent.last, request.end, extent.last_place)
    if first is None:
        return Outcome(program=request.program, rows=[], taken=0, notes=notes)
    progress(0, extent.taken)
    known = replace(request, start=first, end=first if last is None else max(first, last))
    rows = _rows(known, session)
    return Outcome(
        program=request.program, rows=rows, taken=extent.taken, moved=extent.moved, notes=notes
    )


def _read(piece: Piece, program: ResolvedProgram) -> list[pa.RecordBatch]:
    batches = list(read_piece(piece, program.types))
    for batch in batches:
        if key_problem(batch, program) is not None:
            refuse("events without a key")  # whose place only records know
    return batches


@dataclass(slots=True)
class _Extent:
    """Between which instants the input lies, how many events it has and how many come too late."""

    first: Instant | None = None
    last: Instant | None = None
    first_place: Span | None = None  # of the records that have them
    last_place: Span | None = None
    taken: int = 0
    moved: int = 0
    _latest: Instant | None = None

    def pass_time(self, instant: Instant, place: Span | None = None) -> None:
        if self.first is None or instant < self.first:
            self.first, self.first_place = instant, place
        if self.last is None or instant > self.last:
            self.last, self.last_place = instant, place

    def happen(self, instant: Instant) -> None:
        self.taken += 1
        if self._latest is not None and instant < self._latest:
            self.moved += 1
        else:
            self._latest = instant

    def take(self, batch: pa.RecordBatch) -> None:
        """The same for many rows at once; those without a type are no events."""
        times: Any = batch[TIME].to_numpy()
        if not len(times):
            return
        self.pass_time(int(times.min()))
        self.pass_time(int(times.max()))
        events = times[batch[TYPE].is_valid().to_numpy(zero_copy_only=False)]
        if len(events):
            before = events[0] if self._latest is None else self._latest
            latest = np.maximum(np.maximum.accumulate(events), before)
            self.taken += len(events)
            self.moved += int((events < latest).sum())
            self._latest = int(latest[-1])


def run_tables(request: RunRequest, session: SparkSession) -> Outcome:
    """The same over tables that the session knows by name."""
    frames = [
        Source(_table(name_of_table(source), session), request.placement.under(own))
        for source, own in map(unwrapped, request.sources)
    ]
    sources = tuple(one for frame in frames for one in sources_of(frame, request.program))
    program = runnable(with_types_of(request.program, sources))
    notes = judged(program, sources, request.rules)
    is_ordered = all(SEQUENCE in source.frame.columns for source in sources)
    asked = _asked(request, program, sources, SEQUENCE if is_ordered else None)
    bounded = replace(asked.options, start=request.start, end=request.end)
    asked = replace(asked, options=bounded, is_ordered=True)
    rows = _rows(asked, session)
    taken = sum(source.frame.count() for source in sources)
    return Outcome(program=program, rows=rows, taken=taken, notes=notes)


def _table(name: str, session: SparkSession) -> DataFrame:
    if not session.catalog.tableExists(name):
        raise UsageError(error("missing-file", f"the Spark session has no table '{name}'"))
    return session.table(name)


def _rows(request: SparkRequest, session: SparkSession) -> list[Event]:
    check_other_machines(session)
    try:
        table = batch_rows(plan_of(request)).toArrow()
    except (PySparkException, Py4JError) as problem:
        raise failure_of(problem) from None
    return sorted(decode_rows(table, request.program), key=lambda row: row.key)


# Input ----------------------------------------------------------------------------------------


@dataclass
class _Spool:
    """Writes events to a file per type, and remembers between which instants they lie."""

    program: ResolvedProgram
    folder: Path
    extent: _Extent = field(default_factory=_Extent)
    waiting: dict[str, list[Event]] = field(default_factory=dict)
    writers: dict[str, pq.ParquetWriter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.consumed = frozenset(self.program.consumed_types)

    def take(self, item: Event | Instant, place: Span | None) -> None:
        self.extent.pass_time(item.instant if isinstance(item, Event) else item, place)
        if not isinstance(item, Event) or not happens(item):
            return
        self.extent.happen(item.instant)
        if item.type in self.consumed:
            waiting = self.waiting.setdefault(item.type, [])
            waiting.append(item)
            if len(waiting) >= _FLUSH:
                self._flush(item.type)

    def close(self) -> None:
        for name in self.waiting:
            self._flush(name)
        for writer in self.writers.values():
            writer.close()

    def _flush(self, name: str) -> None:
        events, self.waiting[name] = self.waiting[name], []
        table = _table_of(events, self.program.types[name], self.program.types)
        if name not in self.writers:
            self.writers[name] = pq.ParquetWriter(self._path(name), table.schema)
        self.writers[name].write_table(table)

    def _path(self, name: str) -> Path:
        """The names of types need not be names of files."""
        return self.folder / f"{list(self.program.types).index(name)}.parquet"

    def sources(self, session: SparkSession) -> Iterable[EventFrame]:
        """A frame per type; where there are no events, one without any."""
        for name in self.writers:
            yield EventFrame(_frame(self._path(name), session), name)
        if not self.writers:
            yield EventFrame(
                session.createDataFrame([], "`@type` string, `@time` timestamp, `@sequence` long"),
                None,
            )


def _table_of(events: Sequence[Event], type: EventType, types: Mapping[str, EventType]) -> pa.Table:
    columns: dict[str, Any] = {
        TIME: pa.array([event.instant for event in events], INSTANT),
        SEQUENCE: pa.array([event.sequence for event in events], pa.int64()),
    }
    for attribute in type.attributes:
        values = [event.values_.get(attribute.name) for event in events]
        columns[attribute.name] = to_column(values, attribute.type, types)
    return pa.table(columns)


def _frame(path: Path, session: SparkSession) -> DataFrame:
    if runs_here(session):
        schema = from_arrow_schema(pq.read_schema(path), prefer_timestamp_ntz=False)
        return session.read.schema(schema).parquet(str(path))
    return session.createDataFrame(pq.read_table(path))
