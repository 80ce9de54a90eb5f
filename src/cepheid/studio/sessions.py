"""Debuggers that a process keeps, and what the page shows of where one stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant
from cepheid.debugging.breakpoints import Breakpoint
from cepheid.debugging.debugger import Debugger
from cepheid.editing.places import Lines
from cepheid.errors import Span, UsageError, error
from cepheid.formal.petri.firing.boundaries import EventBoundaries
from cepheid.semantics.inspection.description import (
    Awaited,
    Inspection,
    PartialMatch,
    StatementState,
    WindowRow,
)
from cepheid.studio.room import Given, Room, place_json
from cepheid.studio.runs import cell, event_json
from cepheid.verbs.program import Program

_MOST = 2  # sessions: the last one, and the one before for other pages
_SHOWN = 30  # rows, matches at a place, rows of a window, timers, waiting events
_SESSIONS = "sessions"
_LINE = re.compile(r"\s*\n\s*")  # an end of a line, with how far the next one is indented
Piece = tuple[str, str]  # a part of a text, and what it is: "", "here" or "awaited"


@dataclass(slots=True)
class Session:
    number: int
    program: Program
    begin: Callable[[str], Debugger]  # the same run on an engine
    debugger: Debugger
    _walker: Debugger | None = None
    _net: EventBoundaries | None = None

    def on_automata(self) -> Debugger:
        """The same run, whose complex events walk on automata; made when it is first asked for."""
        self._walker = self._walker or self.begin("automaton")
        return self._walker

    def net(self) -> EventBoundaries:
        """The net of the same run; RunError where there is too much of it."""
        if self._net is None:
            events, span = self.debugger.events, self.debugger.span
            self._net = EventBoundaries(self.debugger.program, events, *(span or (0, 0)))
        return self._net


def keep_session(room: Room, program: Program, begin: Callable[[str], Debugger]) -> Session:
    sessions = _sessions(room)
    number = 1 + max(sessions, default=0)
    sessions[number] = Session(number, program, begin, begin("reference"))
    for old in sorted(sessions)[:-_MOST]:
        del sessions[old]
    return sessions[number]


def session_of(room: Room, given: Given) -> Session:
    """The one that a question is about; UsageError where it is gone."""
    found = _sessions(room).get(given.whole("session"))
    if found is None:
        fact = "the studio has let go of this run"
        raise UsageError(error("usage", fact, hint="start the debugger again"))
    return found


def _sessions(room: Room) -> dict[int, Session]:
    return room.kept.setdefault(_SESSIONS, {})  # type: ignore[return-value]


# What is shown.


def state_json(session: Session, stopped: Iterable[Breakpoint] = ()) -> dict[str, object]:
    """Where it stands, what has come out so far, and what the program keeps there."""
    debugger, position = session.debugger, session.debugger.position
    kept, rows = debugger.inspect(), debugger.rows
    return {
        "session": session.number,
        "events": position.events,
        "step": position.step,
        "of": len(debugger.events),
        "clock": _time(kept.clock),
        "said": str(position).partition(": ")[2],
        "over": debugger.is_over,
        "event": None if position.event is None else _event(position.event),
        "statement": _named(session, position.statement),
        "rows": len(rows),
        "latest": [_event(row) for row in reversed(rows[-_SHOWN:])],
        "new": len(position.rows),
        "breakpoints": [{"number": b.number, "text": _text(b)} for b in debugger.breakpoints],
        "stopped": [each.number for each in stopped],
        "partial": list(_partial(session, kept)),
        "windows": [_window(state) for state in kept.statements if state.window is not None],
        "timers": [
            {"due": format_instant(t.due), "statement": t.statement, "kind": t.kind}
            for t in kept.timers[:_SHOWN]
        ],
        "timed": len(kept.timers),
        "queue": [_event(event) for event in kept.queue[:_SHOWN]],
        "queued": len(kept.queue),
    }


def _text(breakpoint: Breakpoint) -> str:
    return str(breakpoint).partition(": ")[2]


def _named(session: Session, name: str | None) -> object:
    """A statement with its place in the text."""
    trees = {each.name: each.tree for each in session.program.resolve().statements}
    span = trees[name].span if name in trees else None
    return None if name is None else {"name": name, "place": span and place_json(span)}


def _partial(session: Session, kept: Inspection) -> Iterator[dict[str, object]]:
    """Partial matches by statement, partition, and the part of the pattern where they stand."""
    statements = session.program.resolve().statements
    patterns = {each.name: each.pattern.span for each in statements if each.pattern is not None}
    for state in kept.statements:
        begun = [match for match in state.partial if match.since is not None]
        begun.sort(key=_stands)
        pattern = patterns.get(state.statement)
        for _, group in groupby(begun, key=_stands):
            matches = list(group)
            yield {
                "statement": state.statement,
                "key": [cell(value) for value in state.key],
                "place": matches[0].place.span and place_json(matches[0].place.span),
                "pattern": _pieces(session.program, pattern, matches[0]),
                "count": len(matches),
                "matches": [_match(match) for match in matches[:_SHOWN]],
            }


def _stands(match: PartialMatch) -> tuple[int, ...]:
    return (match.place.number, *(awaited.place.number for awaited in _awaited(match)))


def _awaited(match: PartialMatch) -> Iterator[Awaited]:
    yield from match.awaits
    for part in match.parts:
        yield from _awaited(part)


def _pieces(program: Program, pattern: Span | None, match: PartialMatch) -> list[Piece]:
    """The text of a pattern in pieces: where a partial match stands, and what it awaits."""
    whole = pattern or match.place.span
    text = program.sources.get(whole.file or "<text>", "") if whole else ""
    if whole is None or not text:
        return [(match.place.text, "here")]
    lines = Lines(text)
    start, end = lines.range(whole)
    kinds = [""] * (end - start)
    spans = [(match.place.span, "here"), *((a.place.span, "awaited") for a in _awaited(match))]
    for span, kind in spans:
        first, last = lines.range(span) if span else (start, start)
        for at in range(max(first, start), min(last, end)):
            kinds[at - start] = kind
    shown = zip(text[start:end], kinds, strict=True)
    pieces = groupby(shown, key=lambda each: each[1])
    return [(_LINE.sub(" ", "".join(c for c, _ in piece)), kind) for kind, piece in pieces]


def _match(match: PartialMatch) -> dict[str, object]:
    ways = match.parts or (match,)  # of a complex event
    values = [f"{name} = {cell(v)}" for w in ways for name, v in (w.values or {}).items()]
    return {
        "since": _time(match.since),
        "ends": _time(match.ends),
        "count": match.count,
        "bound": [*_bound(match.bound), *(["", _event(event)] for event in match.events)],
        "values": values[:_SHOWN],
        "awaits": [_awaits(awaited) for awaited in _awaited(match)],
        "forbids": [forbidden.place.text for forbidden in match.forbids],
    }


def _awaits(awaited: Awaited) -> str:
    if awaited.type is None and awaited.due is not None:
        return f"{awaited.place.text}, at {format_instant(awaited.due)}"
    return awaited.place.text


def _window(state: StatementState) -> dict[str, object]:
    window = state.window
    assert window is not None
    return {
        "statement": state.statement,
        "key": [cell(value) for value in state.key],
        "text": window.text,
        "rows": [_row(row) for row in window.rows[-_SHOWN:]],
        "count": len(window.rows),
        "waiting": len(window.gathered),
    }


def _row(row: WindowRow) -> dict[str, object]:
    values = row.values or {}
    return {
        "leaves": _time(row.leaves),
        "events": [
            *([] if row.event is None else [["", _event(row.event)]]),
            *_bound(row.bound or {}),
        ],
        "values": [f"{name} = {cell(value)}" for name, value in values.items()],
    }


def _bound(bound: Mapping[str, Sequence[Event]]) -> list[list[object]]:
    """Tags, each with one of its events."""
    return [[tag, _event(event)] for tag, each in bound.items() for event in each[:_SHOWN]]


def _event(event: Event) -> dict[str, object]:
    """Those of the input have their place in it."""
    is_input = event.statement is None
    return event_json(event, ("in", event.sequence) if is_input else ("out", None))


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else format_instant(instant)
