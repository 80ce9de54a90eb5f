"""What happens in a program up to the time that is asked for: which events its statements take, and
which rows they give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepheid.absence.question import Question
from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import Stream
from cepheid.semantics.machine import Machine
from cepheid.semantics.selection import Output
from cepheid.semantics.statement import CompiledStatement


def row_streams(statement: ResolvedStatement, program: ResolvedProgram) -> set[Stream]:
    """Which rows of a statement there are: those that are reported, and those that others take."""
    is_taken = any(statement.target in each.arriving(program.types) for each in program.statements)
    tree = statement.tree
    return {tree.stream, tree.insert_stream} if is_taken else {tree.stream}


@dataclass(frozen=True, slots=True)
class Recording:
    """A run from its start on: all events that were taken, in their order, and all rows."""

    program: ResolvedProgram
    start: Instant
    taken: Sequence[Event]
    rows: Sequence[Event]

    def taken_by(self, plan: CompiledStatement, question: Question) -> list[Event]:
        """What a statement takes up to the time asked for."""
        return [
            event
            for event in self.taken
            if plan.consumes(event.type) and not _is_after(event, question)
        ]

    def rows_of(self, statement: str, question: Question) -> list[Event]:
        found = (row for row in self.rows if row.statement == statement)
        return [row for row in found if question.covers(row.key)]

    def rows_before(self, statement: str, question: Question) -> list[Event]:
        found = (row for row in self.rows if row.statement == statement)
        return [row for row in found if row.instant <= question.last]


def _is_after(event: Event, question: Question) -> bool:
    if event.instant > question.last:
        return True
    return question.event is not None and event.key[:3] > question.event.key[:3]


class Recorder(Machine):
    """A machine that notes what its statements take and give, whether it is reported or inserted."""

    def __init__(self, program: ResolvedProgram) -> None:
        super().__init__(program, trace=True)
        self.taken: list[Event] = []
        self.given: list[Event] = []

    def dispatch(self, event: Event) -> None:
        if self.consumers.get(event.type):
            self.taken.append(event)
        super().dispatch(event)

    def emit(self, plan: CompiledStatement, new: Iterable[Output], old: Iterable[Output]) -> None:
        rows, queued = len(self.rows), len(self.queue)
        super().emit(plan, new, old)
        found = [*self.rows[rows:], *(event for event, _ in list(self.queue)[queued:])]
        # What is both reported and inserted has one key.
        self.given += {event.key: event for event in reversed(found)}.values()


def record(
    program: ResolvedProgram, events: Sequence[Event], start: Instant, end: Instant
) -> Recording:
    """Runs the program, and what it derives, from `start` to `end`."""
    machine = Recorder(program)
    machine.start(start)
    for event in events:
        if event.instant > end:
            break
        machine.take(event)
    machine.advance(end)
    return Recording(program, start, machine.taken, machine.given)
