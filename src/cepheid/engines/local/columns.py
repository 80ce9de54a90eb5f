"""Bounded input that is read in columns: through the compiled matcher without an event on the way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from cepheid.core.once import once
from cepheid.core.time import Instant
from cepheid.core.types import EventType
from cepheid.engines.common.judging import (
    STRICT,
    Rules,
    ignored_columns,
    input_keys,
    missing_attributes,
    missing_columns,
    unfed_types,
)
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.common.table_types import typed_by_tables
from cepheid.errors import Diagnostic, InputError, Severity
from cepheid.io.arrow import arrow_type, is_stored
from cepheid.io.columns.exact import Array, NeedsRecords, Words
from cepheid.io.columns.lines import line_pieces, read_lines
from cepheid.io.columns.reading import (
    ColumnRules,
    Facts,
    at_once,
    batches_of,
    event_columns,
    pieces_of,
    read_piece,
)
from cepheid.io.read import LINES
from cepheid.io.rows import ColumnarRows, RowTable
from cepheid.io.source import SEQUENCE
from cepheid.io.sources import Table
from cepheid.matcher.columns.texts import encoded
from cepheid.matcher.gaps import left_to_reference
from cepheid.matcher.lanes.lane_rows import LaneRows, RowChunk
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.lanes.plan import lanes_of
from cepheid.matcher.operator import (
    Column,
    columns_of,
    columns_within,
    derived_types,
    open_operator,
    row_shapes,
    rows_schema,
    takes_own_rows,
)
from cepheid.matcher.parts import parts_of, parts_of_pushes
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    from cepheid.matcher.machine.push import Matcher

T_co = TypeVar("T_co", covariant=True)
_CHUNK = 1 << 17  # events between two reports of progress
_Read: TypeAlias = Callable[[ColumnRules], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class ColumnIntake:
    """Bounded input in the columns that an operator takes, sorted by (time, sequence)."""

    program: ResolvedProgram
    events: pa.Table
    # The smallest and the largest time in the input, lines that only carry one included.
    first: Instant | None
    last: Instant | None
    moved: int  # events that were not in the order of their times
    notes: Sequence[Diagnostic] = ()


def _can_run(program: ResolvedProgram) -> bool:
    """Whether columns are all that a program needs: for its input, its statements and its rows."""
    if not _fits_columns(program):
        return False
    left = left_to_reference(program)
    return not left or lanes_of(program) is not None or bool(parts_of(program))


@once
def _fits_columns(program: ResolvedProgram) -> bool:
    """Whether its events and its rows can be columns."""
    is_wrong = any(problem.severity is Severity.ERROR for problem in program.problems)
    has_open_types = any(type.is_open for type in program.types.values())
    if is_wrong or has_open_types:
        return False
    held = (t for attributes in derived_types(program).values() for t in attributes.values())
    return all(is_stored(type, program.types) for type in held)


# Reading --------------------------------------------------------------------------------------


def take_in_columns(
    program: ResolvedProgram,
    sources: Sequence[Table],
    rules: Rules = STRICT,
    progress: Progress = no_progress,
    provided: Collection[str] = (),
) -> ColumnIntake | None:
    """All events of files and tables; None where the program or some of them needs records."""
    try:
        program = typed_by_tables(program, sources)
        if _can_run(program):
            return _read_in(program, sources, rules, progress, provided)
    except NeedsRecords:
        pass
    return None


def take_in_sent(
    program: ResolvedProgram, sources: Sequence[Table], rules: Rules, number: int
) -> ColumnIntake | None:
    """The same for a program that runs: its events are numbered from `number` on in their order.

    There may be events of its other types in what is sent later.
    """
    if not _fits_columns(program):
        return None
    try:
        intake = _read_in(program, sources, rules, no_progress, program.types)
    except NeedsRecords:
        return None
    numbers: Array = pa.array(np.arange(number, number + intake.events.num_rows))
    place = intake.events.schema.get_field_index(SEQUENCE)
    return replace(intake, events=intake.events.set_column(place, SEQUENCE, numbers))


def _read_in(
    program: ResolvedProgram,
    sources: Sequence[Table],
    rules: Rules,
    progress: Progress,
    provided: Collection[str],
) -> ColumnIntake:
    batches: list[pa.RecordBatch] = []
    count = 0
    layout = _Layout(program, sources)
    rule = ColumnRules(keys=input_keys(program), extra=rules.extra)
    for batch in _read_all(sources, layout, rule):
        batches.append(batch)
        count += len(batch)
        progress(count, None)
    notes = _judged(program, rule.facts, rules, provided)
    events = pa.Table.from_batches(batches, layout.schema).unify_dictionaries()
    return replace(_sorted(program, events), notes=notes)


def _judged(
    program: ResolvedProgram, facts: Facts, rules: Rules, provided: Collection[str]
) -> list[Diagnostic]:
    """What there is to say of all tables; InputError where no event has an attribute."""
    if problems := missing_attributes(program, facts.names, rules.optional):
        raise InputError(*problems)
    ignored = ((type, facts.ignored.get(type)) for type in facts.names)
    notes = [ignored_columns(type, names) for type, names in ignored if names]
    notes += missing_columns(facts.renamings)
    return [*notes, *unfed_types(program, {*facts.names, *provided})]


def _read_all(
    sources: Sequence[Table], layout: _Layout, rules: ColumnRules
) -> Iterator[pa.RecordBatch]:
    """The batches of all parts in their order; several parts of files that Arrow reads at once."""
    reads = [read for source in sources for read in _reads(source, layout.program.types)]

    def arranged(read: _Read) -> tuple[list[pa.RecordBatch], Facts]:
        own = replace(rules, facts=Facts())
        return list(map(layout.arrange, read(own))), own.facts

    is_slow = any(isinstance(source.data, str) and not _is_lines(source) for source in sources)
    found = at_once([partial(arranged, r) for r in reads]) if is_slow else map(arranged, reads)
    for batches, facts in found:
        rules.facts.add(facts)
        yield from batches


def _reads(source: Table, types: Mapping[str, EventType]) -> Iterator[_Read]:
    """What there is to do for a source, part by part."""
    place = source.placement
    if _is_lines(source):
        for piece in line_pieces(source.data, place):
            yield partial(read_lines, piece, types)
        return
    if isinstance(source.data, str):
        for piece in pieces_of(source.data, placement=place):
            yield partial(read_piece, piece, types)
        return
    for batch in batches_of(source.data, place):
        yield partial(_event_columns, batch, source, types)


def _is_lines(source: Table) -> bool:
    return isinstance(source.data, str) and Path(source.data).suffix.lower() in LINES


def _event_columns(
    batch: pa.RecordBatch, source: Table, types: Mapping[str, EventType], rules: ColumnRules
) -> Iterator[pa.RecordBatch]:
    rules = replace(rules, placement=source.placement)
    yield event_columns(batch, source.type, types, encode=encoded, rules=rules)


class _Layout:
    """Arranges columns of events as operators expect them."""

    def __init__(self, program: ResolvedProgram, sources: Sequence[Table] = ()) -> None:
        self.program = program
        ordered = {source.placement.sequence is not None for source in sources}
        if len(ordered) > 1:
            raise NeedsRecords("tables with an order beside others")
        self._columns = columns_of(program)
        self._types = {c.name: arrow_type(c.data_type, program.types) for c in self._columns}
        head = {"@type": pa.dictionary(pa.int32(), pa.string()), "@time": pa.int64()}
        head |= {SEQUENCE: pa.int64()} if True in ordered else {}
        self._head = tuple(head)
        self.schema = pa.schema([*head.items(), *self._types.items()])

    def arrange(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [self._values(column, batch) for column in self._columns]
        head = [batch.column(name) for name in self._head]
        return pa.RecordBatch.from_arrays([*head, *columns], schema=self.schema)

    def _values(self, column: Column, batch: pa.RecordBatch) -> Array:
        """Of types that do not agree on an attribute, only one kind has it in a batch."""
        type = self._types[column.name]
        if column.attribute in batch.schema.names:
            found: Array = batch.column(column.attribute)
            if found.type == type:
                return found
        return pa.nulls(len(batch)).cast(type)


def _sorted(program: ResolvedProgram, events: pa.Table) -> ColumnIntake:
    instants: Words = events["@time"].to_numpy()
    moved = _out_of_order(instants)
    first, last = _ends(instants, in_order=not moved)
    has_sequences = SEQUENCE in events.schema.names
    if not has_sequences:
        events = events.append_column(SEQUENCE, pa.array(np.arange(len(instants))))
    if events["@type"].null_count:
        events = events.filter(events["@type"].is_valid())
        instants = events["@time"].to_numpy()
        moved = _out_of_order(instants)
    if has_sequences:
        order: Words = np.lexsort((events[SEQUENCE].to_numpy(), instants))
        events = events.combine_chunks().take(order)
    elif moved:
        events = events.combine_chunks().take(np.argsort(instants, kind="stable"))
    return ColumnIntake(program, events, first, last, moved)


def _ends(instants: Words, *, in_order: bool) -> tuple[Instant, Instant] | tuple[None, None]:
    """The first and the last instant, if there are any."""
    if not len(instants):
        return None, None
    first, last = instants[[0, -1]] if in_order else (instants.min(), instants.max())
    return int(first), int(last)


def _out_of_order(instants: Words) -> int:
    """How many events come after one with a later time."""
    if (instants[1:] >= instants[:-1]).all():
        return 0
    return int((instants < np.maximum.accumulate(instants)).sum())


# Running --------------------------------------------------------------------------------------


def run_columns(intake: ColumnIntake, progress: Progress = no_progress) -> ColumnarRows:
    """The rows of a program over all its input, as records through a runner give them."""
    program = intake.program
    ranked = _needs_ranks(program)
    operator = open_operator(program, keyed=False, ranked=ranked)
    shapes, keys = row_shapes(program), partial(_keys, intake)
    if isinstance(operator, LanesOperator):
        chunks = _drive(_Lanes(operator), intake, progress)
        found = [chunk for some in chunks for chunk in some]
        return LaneRows(found, [*shapes.values()], program.types, keys)
    rows = _table(program, _drive(operator, intake, progress), ranked=ranked)
    return RowTable(rows, shapes, program.types, keys)


def _needs_ranks(program: ResolvedProgram) -> bool:
    """Whether neither types nor keys say which statement a row comes from."""
    targets = [statement.target for statement in program.statements]
    return len(set(targets)) < len(targets) and takes_own_rows(program)


def _keys(intake: ColumnIntake) -> Array:
    """The keys of all rows. Finding them takes as long as the rows, and who looks at events needs them."""
    operator = open_operator(intake.program)
    return _table(intake.program, _drive(operator, intake, no_progress))["@key"]


def send_columns(matcher: Matcher, intake: ColumnIntake) -> ColumnarRows:
    """The rows that a running matcher gives for events that are not before its clock."""
    program = intake.program
    if matcher.clock is None and intake.first is not None:
        matcher.start(intake.first)
    found = matcher.take(intake.events)
    if intake.last is not None and matcher.clock is not None and intake.last > matcher.clock:
        found = pa.concat_tables([found, matcher.advance(intake.last)])
    return RowTable(found, row_shapes(program), program.types, lambda: found["@key"])


def _table(
    program: ResolvedProgram, tables: Iterable[pa.Table], *, ranked: bool = False
) -> pa.Table:
    return pa.concat_tables([rows_schema(program, ranked=ranked).empty_table(), *tables])


class _Lanes:
    """Lanes that are driven like any operator, and give their rows as they have them."""

    def __init__(self, operator: LanesOperator) -> None:
        self.start = operator.start
        self.take = operator.take_chunks
        self._operator = operator

    def advance(self, instant: Instant) -> list[RowChunk]:
        return [self._operator.advance_chunk(instant)]


def steps_reached(intake: ColumnIntake) -> dict[str, Sequence[int]]:
    """How often each event and timer of all patterns is reached: a run that counts them on the way."""
    # Which are slow to load, and seldom asked for this.
    from cepheid.matcher.machine.push import Matcher
    from cepheid.matcher.reference import ReferenceOperator

    program, found = intake.program, dict[str, Sequence[int]]()
    for part in parts_of_pushes(program) or (program,):
        operator = ReferenceOperator(part) if left_to_reference(part) else Matcher(part)
        columns = columns_within(program, part)
        for _ in _drive(operator, replace(intake, events=columns.of(intake.events)), no_progress):
            pass
        found |= operator.reached()
    return {s.name: found[s.name] for s in program.statements if s.name in found}


class _Driven(Protocol[T_co]):
    """What takes batches and time, and gives rows in some form."""

    def start(self, instant: Instant) -> None: ...
    def take(self, events: pa.Table) -> T_co: ...
    def advance(self, instant: Instant) -> T_co: ...


def _drive(operator: _Driven[T_co], intake: ColumnIntake, progress: Progress) -> Iterator[T_co]:
    if intake.first is None:
        return
    operator.start(intake.first)
    total = intake.events.num_rows
    for begin in range(0, total, _CHUNK):
        chunk = intake.events.slice(begin, _CHUNK)
        yield operator.take(chunk)
        progress(begin + len(chunk), total)
    if intake.last is not None:
        yield operator.advance(intake.last)
