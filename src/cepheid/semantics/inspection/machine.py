"""All that a machine keeps at the moment; what it does later changes nothing in the description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from cepheid.core.event import Value
from cepheid.core.time import Instant
from cepheid.pattern.algebra import Occurrence
from cepheid.semantics import output, windows
from cepheid.semantics.contexts import PartialMatch as Chosen
from cepheid.semantics.contexts import PartialMatches
from cepheid.semantics.inspection.description import (
    ArmedTimer,
    Inspection,
    PartialMatch,
    StatementState,
    TimerKind,
    WindowContent,
    WindowRow,
)
from cepheid.semantics.inspection.occurrences import Occurrences
from cepheid.semantics.inspection.parts import Parts, Texts, bound_events, frozen
from cepheid.semantics.inspection.patterns import LivePatterns
from cepheid.semantics.inspection.patterns import begun as begun_in
from cepheid.semantics.machine import Machine
from cepheid.semantics.pattern import Live, Root
from cepheid.semantics.statement import CompiledStatement, Running
from cepheid.semantics.timers import Armed, Timer, TimerStage

_KINDS: dict[TimerStage, TimerKind] = {
    TimerStage.PATTERN: "pattern",
    TimerStage.WINDOW: "window",
    TimerStage.RATE: "output",
}


class Inspector:
    """Describes one machine, again and again; what never changes is worded once."""

    def __init__(self, machine: Machine, texts: Texts) -> None:
        self._machine = machine
        self._texts = texts
        self._parts = {
            plan.rank: Parts(plan.statement.pattern, texts)
            for plan in machine.plans
            if plan.statement.pattern is not None
        }

    def inspect(self) -> Inspection:
        machine = self._machine
        running = sorted(machine.running.items(), key=lambda item: item[0][0])
        timers = sorted(machine.timers.values(), key=lambda armed: armed.place)
        return Inspection(
            machine.clock if machine.started else None,
            tuple(self._statement(key, each) for (_, key), each in running),
            tuple(map(self._timer, timers)),
            tuple(event for event, _ in machine.queue),
        )

    def _statement(self, key: object, running: Running) -> StatementState:
        return StatementState(
            running.plan.name,
            tuple(map(_value_of, cast("tuple[object, ...]", key))),
            tuple(self._partial(running)),
            self._window(running.window),
            _waiting(running.rate),
        )

    def _partial(self, running: Running) -> Iterator[PartialMatch]:
        plan, root = running.plan, running.root
        if isinstance(root, PartialMatches):
            occurrences = self._occurrences(plan)
            yield occurrences.partial(Chosen(root, ()))  # how one may begin
            for matches in root.by_key.values():
                yield from map(occurrences.partial, matches)
        elif isinstance(root, Root) and root.child is not None:
            yield from LivePatterns(self._parts[plan.rank], self._due).partial(root.child)

    def _occurrences(self, plan: CompiledStatement) -> Occurrences:
        assert isinstance(plan.statement.pattern, Occurrence)
        return Occurrences(plan.statement.pattern, self._parts[plan.rank])

    def _due(self, timer: Timer) -> Instant | None:
        armed = self._machine.timers.get(timer.order)
        return None if armed is None else armed.due

    def _window(self, window: windows.Window) -> WindowContent | None:
        if window.tree is None:
            return None
        leaves: dict[int, Instant] = {}
        gathered: Iterable[windows.Row] = ()
        match window:
            case windows.Time():
                leaves = {id(row): due for due, _, row in window.rows}
            case windows.LengthBatch() | windows.TimeBatch():
                gathered = window.gathered
        rows = (_row(row, leaves.get(id(row))) for row in window.contents())
        text = self._texts.window(window.tree)
        return WindowContent(text, tuple(rows), tuple(map(_row, gathered)))

    def _timer(self, armed: Armed) -> ArmedTimer:
        plan, timer = self._machine.plan_of(armed.rank), armed.timer
        place = None
        if isinstance(timer, Live):
            place = self._parts[plan.rank].place(timer.node.tree)
        elif isinstance(timer, Chosen):
            place = self._occurrences(plan).partial(timer).place
        return ArmedTimer(armed.due, plan.name, _KINDS[timer.stage], place)


def _row(row: windows.Row, leaves: Instant | None = None) -> WindowRow:
    if row.event is not None:
        return WindowRow(row.event, leaves=leaves)
    if row.used:  # by a match whose tags are values
        return WindowRow(values=frozen(cast("dict[str, Value]", row.tags)), leaves=leaves)
    return WindowRow(bound=bound_events(row.tags), leaves=leaves)


def _waiting(rate: output.Rate) -> int:
    match rate:
        case output.Buffered() | output.AllGroups():
            return len(rate.waiting_new) + len(rate.waiting_old)
        case output.Last():
            return len(rate.new) + len(rate.old)
    return 0


def _value_of(key: object) -> Value:
    """A value of a context's key; numbers and texts stand for themselves."""
    if isinstance(key, tuple):
        kind, *parts = key
        return bool(parts[0]) if kind == "boolean" else [_value_of(part) for part in parts]
    return cast("Value", key)


def begun(machine: Machine, statement: str | None) -> Iterator[Instant]:
    """When partial matches began, those of one statement or of all; without describing them."""
    for running in machine.running.values():
        root = running.root
        if statement is None or running.plan.name == statement:
            if isinstance(root, PartialMatches):
                used = (match.events for each in root.by_key.values() for match in each)
                yield from (min(e.instant for e in events) for events in used if events)
            elif isinstance(root, Root):
                yield from begun_in(root)
