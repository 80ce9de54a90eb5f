"""From any source to typed events in their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.core.types import EventType
from cepheid.errors import Diagnostic, InputError, ProgramError, Severity, error
from cepheid.io import Decoder, Record, infer_types
from cepheid.io.sources import Table
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.statements import span_of_type

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
    moved: int = 0  # events that were not in the order of their times


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


def take_in(program: ResolvedProgram, records: Iterable[Record], on_problem: OnProblem) -> Intake:
    """All events of bounded input; a type without a schema takes it from its records."""
    program, records = typed(program, records)
    intake = Intake(runnable(program))
    for item in decode(program, records, on_problem):
        instant = item.instant if isinstance(item, Event) else item
        intake.first = instant if intake.first is None else min(intake.first, instant)
        intake.last = instant if intake.last is None else max(intake.last, instant)
        if isinstance(item, Event) and happens(item):
            intake.events.append(item)
    intake.moved = _out_of_order(intake.events)
    if intake.moved:
        intake.events.sort(key=lambda event: (event.instant, event.sequence))
    return intake


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


def decode(
    program: ResolvedProgram, records: Iterable[Record], on_problem: OnProblem
) -> Iterator[Event | Instant]:
    """Events, and instants up to which time passes; what cannot be taken is a problem."""
    decoder = Decoder(program.types)
    for sequence, record in enumerate(records):
        try:
            yield decoder.decode(record, sequence)
        except InputError as refused:
            for problem in refused.diagnostics:
                on_problem(problem)


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
