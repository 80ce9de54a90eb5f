"""From any source to typed events in their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.core.types import EventType
from cepheid.engines.common.judging import (
    STRICT,
    Rules,
    ignored_columns,
    input_keys,
    missing_attributes,
    missing_columns,
    null_key_of,
)
from cepheid.errors import Diagnostic, InputError, ProgramError, Severity, Span, error
from cepheid.io import Decoder, Record, infer_types
from cepheid.io.records import sequence_of
from cepheid.io.source import Renamings
from cepheid.io.sources import Table
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.statements import span_of_type
from cepheid.program.uses import uses_of

OnProblem = Callable[[Diagnostic], None]
SMALL = 2**17  # bytes of files whose records are read before all is loaded that columns need


@dataclass(slots=True)
class Intake:
    """Bounded input, decoded and sorted by (time, sequence)."""

    program: ResolvedProgram
    events: list[Event] = field(default_factory=list)
    # The smallest and the largest time in the input, lines that only carry one included.
    first: Instant | None = None
    last: Instant | None = None
    first_place: Span | None = None  # of the records that have them
    last_place: Span | None = None
    moved: int = 0  # events that were not in the order of their times
    provided: Collection[str] = ()  # the types of records
    notes: list[Diagnostic] = field(default_factory=list)

    def pass_time(self, instant: Instant, place: Span | None) -> None:
        if self.first is None or instant < self.first:
            self.first, self.first_place = instant, place
        if self.last is None or instant > self.last:
            self.last, self.last_place = instant, place


def runnable(program: ResolvedProgram) -> ResolvedProgram:
    """The program, or ProgramError with all that is wrong with it."""
    errors = [p for p in program.problems if p.severity is Severity.ERROR]
    if errors:
        raise ProgramError(*errors)
    return program


def with_schemas(program: ResolvedProgram) -> ResolvedProgram:
    """The program, or ProgramError where it consumes types of which nothing is known.

    Only all events of a type together say what it looks like; one at a time they cannot.
    """
    derived = {s.target for s in program.statements}
    problems: dict[str, Diagnostic] = {}
    for statement in program.statements:
        for name in statement.inputs:
            if program.types[name].is_open and name not in {*derived, *problems}:
                fact = f"type '{name}' has no schema"
                span = span_of_type(statement.tree, name)
                hint = f"create schema {name} (...), or types={{...}}"
                problems[name] = error("no-schema", fact, span, hint)
    if problems:
        raise ProgramError(*problems.values())
    return program


def take_in(
    program: ResolvedProgram,
    records: Iterable[Record],
    on_problem: OnProblem,
    rules: Rules = STRICT,
) -> Intake:
    """All events of bounded input; a type without a schema takes it from its records."""
    program, records = typed(program, records)
    intake = Intake(runnable(program))
    gate = Gate(program, on_problem, rules)
    for item in gate.let_in(records):
        intake.pass_time(item.instant if isinstance(item, Event) else item, gate.place)
        if isinstance(item, Event) and happens(item):
            intake.events.append(item)
    intake.notes += gate.close()
    intake.provided = gate.provided
    intake.moved = _out_of_order(intake.events)
    if intake.moved or gate.has_sequences:
        intake.events.sort(key=lambda event: (event.instant, event.sequence))
    return intake


class Gate:
    """Lets records in as events, and keeps in mind what is to be said of all of them together."""

    def __init__(
        self, program: ResolvedProgram, on_problem: OnProblem, rules: Rules = STRICT
    ) -> None:
        self.has_sequences = False  # a column orders events of one time
        self.provided: set[str] = set()  # the types of records
        self.place: Span | None = None  # of the record that was let in last
        self._program = program
        self._on_problem = on_problem
        self._rules = rules
        self._decoder = Decoder(program.types, rules.extra)
        self._uses = uses_of(program)
        self._keys = input_keys(program)
        self._keyless: list[Diagnostic] = []
        self._renamings = Renamings()
        self._seen: dict[str, set[str]] = {}  # the names of attributes, while some are missing
        self._missing: dict[str, set[str]] = {}  # of types that have events

    def let_in(self, records: Iterable[Record]) -> Iterator[Event | Instant]:
        """Events, and instants up to which time passes; what cannot be taken is a problem."""
        for place, record in enumerate(records):
            if record.type is not None:
                self.provided.add(record.type)
            self._renamings.see(record.placement, record.given)
            try:
                item = self._decoder.decode(record, self._sequence(record, place))
            except InputError as refused:
                for problem in refused.diagnostics:
                    self._on_problem(problem)
                continue
            if isinstance(item, Event) and happens(item) and not self._takes(item, record):
                continue
            self.place = record.span
            yield item

    def close(self) -> list[Diagnostic]:
        """What is worth a note when all records are in; InputError where no event has an attribute.

        Only then it is known whether a key is null, or missing everywhere.
        """
        lacking = {type: self._seen[type] for type, names in self._missing.items() if names}
        problems = missing_attributes(self._program, lacking, self._rules.optional)
        if problems:
            raise InputError(*problems)
        for problem in self._keyless:
            self._on_problem(problem)
        ignored = self._decoder.ignored.items()
        notes = [ignored_columns(type, names) for type, names in ignored if names]
        return [*notes, *missing_columns(self._renamings)]

    def _takes(self, event: Event, record: Record) -> bool:
        missing = self._missing.get(event.type)
        if missing is None:
            missing = self._missing[event.type] = set(self._uses[event.type])
        if missing:
            self._seen.setdefault(event.type, set()).update(record.present)
            missing.difference_update(record.present)
        keyless = null_key_of(event, self._keys, record.span)
        if keyless is not None:
            self._keyless.append(keyless)
        return keyless is None

    def _sequence(self, record: Record, place: int) -> int:
        column = record.placement.sequence
        if column is None or record.type is None:
            return place
        self.has_sequences = True
        return sequence_of(record, column)


def typed(
    program: ResolvedProgram, records: Iterable[Record]
) -> tuple[ResolvedProgram, Iterable[Record]]:
    """The program with all types known, those without a schema from all their records."""
    open_types = {t.name for t in program.types.values() if t.is_open}
    if not open_types:
        return program, records
    records = list(records)
    return _with_inferred_types(program, records, open_types), records


def happens(event: Event) -> bool:
    """Whether it is an event, not a row that another program gave for one that ceased to count."""
    return not (event.is_old or event.is_timeout)


def _with_inferred_types(
    program: ResolvedProgram, records: Sequence[Record], open_types: set[str]
) -> ResolvedProgram:
    known = {name: type for name, type in program.types.items() if name not in open_types}
    return with_types(program, infer_types((r for r in records if r.type in open_types), known))


def with_types(program: ResolvedProgram, found: Mapping[str, EventType]) -> ResolvedProgram:
    """The program with what its input says about types of which it knows nothing."""
    new = {n: type for n, type in found.items() if n in program.types and program.types[n].is_open}
    return resolve_program(program.tree, {**program.given, **new})


def _out_of_order(events: Sequence[Event]) -> int:
    """How many events come after one with a later time."""
    moved, latest = 0, None
    for event in events:
        if latest is not None and event.instant < latest:
            moved += 1
        else:
            latest = event.instant
    return moved


def are_small(tables: Iterable[Table]) -> bool:
    """Whether they are files with so few events that columns are not worth their while."""
    paths = [table.data for table in tables]
    are_files = all(isinstance(path, str) for path in paths)
    return are_files and sum(map(os.path.getsize, paths)) < SMALL
