"""What a program under way keeps, as data for people and other programs: it never changes.

Two descriptions are equal if the same would be said. All of it can be written as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Literal, TypeAlias

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant, format_instant, to_datetime
from cepheid.errors import Span
from cepheid.io.encode import encode, encode_value

Bound: TypeAlias = "Mapping[str, tuple[Event, ...]]"
TimerKind: TypeAlias = Literal["pattern", "window", "output"]


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a pattern: its number among all parts, parents first, and where it is written."""

    number: int
    text: str
    span: Span | None = None

    def to_json(self) -> dict[str, object]:
        return {"number": self.number, "text": self.text, "span": _span(self.span)}


@dataclass(frozen=True, slots=True)
class Awaited:
    """An event of a type, or an instant, that a partial match waits for, or that must not come."""

    place: Place
    type: str | None = None
    condition: str | None = None
    due: Instant | None = None  # of what time brings; None if it never comes

    def to_json(self) -> dict[str, object]:
        return {
            "place": self.place.to_json(),
            "type": self.type,
            "condition": self.condition,
            "due": _time(self.due),
        }


@dataclass(frozen=True, slots=True)
class PartialMatch:
    """What has begun and may become a match; of one that waits for its first event, nothing is bound.

    An operator whose sides go on together (`and`, `not`, a repeat) has them as parts. A partial match of a
    complex event whose events may belong together in several ways has a part for each.
    """

    place: Place  # the part of the pattern where it stands
    bound: Bound  # tags and their events
    awaits: tuple[Awaited, ...] = ()
    forbids: tuple[Awaited, ...] = ()
    ends: Instant | None = None  # from when on nothing can come of it
    count: int | None = None  # of the rounds of a repeat
    parts: tuple[PartialMatch, ...] = ()
    events: tuple[Event, ...] = ()  # of a complex event, those that it has used
    values: Mapping[str, Value] | None = None  # of a complex event, its parameters
    state: int | None = None  # on the automaton of a complex event

    @property
    def since(self) -> Instant | None:
        """The instant of its first event."""
        bound = (event.instant for events in self.bound.values() for event in events)
        used = (event.instant for event in self.events)
        return min((*bound, *used), default=None)

    def to_json(self) -> dict[str, object]:
        found: dict[str, object] = {
            "place": self.place.to_json(),
            "since": _time(self.since),
            "ends": _time(self.ends),
            "bound": {tag: list(map(event_json, events)) for tag, events in self.bound.items()},
            "awaits": [each.to_json() for each in self.awaits],
            "forbids": [each.to_json() for each in self.forbids],
        }
        if self.count is not None:
            found["count"] = self.count
        if self.values is not None:
            found["events"] = list(map(event_json, self.events))
            found["values"] = {name: encode_value(value) for name, value in self.values.items()}
        if self.state is not None:
            found["state"] = self.state
        if self.parts:
            found["parts"] = [part.to_json() for part in self.parts]
        return found


@dataclass(frozen=True, slots=True)
class WindowRow:
    """A row in a window: an event, or what a match has bound."""

    event: Event | None = None
    bound: Bound | None = None
    values: Mapping[str, Value] | None = None
    leaves: Instant | None = None

    def to_json(self) -> dict[str, object]:
        found: dict[str, object] = {"leaves": _time(self.leaves)}
        if self.event is not None:
            found["event"] = event_json(self.event)
        if self.bound is not None:
            found["bound"] = {t: list(map(event_json, each)) for t, each in self.bound.items()}
        if self.values is not None:
            found["values"] = {name: encode_value(value) for name, value in self.values.items()}
        return found


@dataclass(frozen=True, slots=True)
class WindowContent:
    """The rows that count now, and those that wait for their batch to be full or over."""

    text: str
    rows: tuple[WindowRow, ...]
    gathered: tuple[WindowRow, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "text": self.text,
            "rows": [row.to_json() for row in self.rows],
            "gathered": [row.to_json() for row in self.gathered],
        }


@dataclass(frozen=True, slots=True)
class StatementState:
    """What a statement keeps, or one partition of it."""

    statement: str
    key: tuple[Value, ...]  # of its context
    partial: tuple[PartialMatch, ...]
    window: WindowContent | None
    waiting: int = 0  # results that the output rate holds back

    def to_json(self) -> dict[str, object]:
        return {
            "statement": self.statement,
            "key": list(map(encode_value, self.key)),
            "partial": [match.to_json() for match in self.partial],
            "window": None if self.window is None else self.window.to_json(),
            "waiting": self.waiting,
        }


@dataclass(frozen=True, slots=True)
class ArmedTimer:
    """When which statement is woken, and what for."""

    due: Instant
    statement: str
    kind: TimerKind
    place: Place | None = None  # of a pattern's

    def to_json(self) -> dict[str, object]:
        return {
            "due": _time(self.due),
            "statement": self.statement,
            "kind": self.kind,
            "place": None if self.place is None else self.place.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Inspection:
    """All that a program keeps at one place of its run."""

    clock: Instant | None  # None before it has begun
    statements: tuple[StatementState, ...]
    timers: tuple[ArmedTimer, ...]  # in the order in which they fire
    queue: tuple[Event, ...]  # derived, and not taken yet

    @property
    def time(self) -> datetime | None:
        return None if self.clock is None else to_datetime(self.clock)

    def of(self, statement: str) -> tuple[StatementState, ...]:
        """What one statement keeps, by the keys of its context; nothing before it has begun."""
        return tuple(each for each in self.statements if each.statement == statement)

    def partial(self) -> list[tuple[str, PartialMatch]]:
        """All partial matches that have an event, each with its statement."""
        return [
            (state.statement, match)
            for state in self.statements
            for match in state.partial
            if match.since is not None
        ]

    def to_json(self) -> dict[str, object]:
        return {
            "clock": _time(self.clock),
            "statements": [each.to_json() for each in self.statements],
            "timers": [timer.to_json() for timer in self.timers],
            "queue": list(map(event_json, self.queue)),
        }


def event_json(event: Event) -> dict[str, object]:
    """An event as a file has it, and which one it is: its place in the input, or who derived it."""
    if event.statement is None:
        return {**encode(event), "@sequence": event.sequence}
    return {**encode(event), "@statement": event.statement}


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else format_instant(instant)


def _span(span: Span | None) -> dict[str, object] | None:
    return None if span is None else {f.name: getattr(span, f.name) for f in fields(span)}
