"""What the reference semantics keeps, in the form that all operators share."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.core.event import Event
from cepheid.matcher.contents import (
    Contents,
    KeptEvent,
    KeptMatch,
    KeptRow,
    KeptTimer,
    KeptWindow,
    first,
)
from cepheid.semantics.inspection.description import (
    Awaited,
    Inspection,
    PartialMatch,
    StatementState,
    WindowRow,
)


def told(found: Inspection, most: int) -> Contents:
    begun = [
        (state, match)
        for state in found.statements
        for match in state.partial
        if match.since is not None
    ]
    return Contents(
        tuple(_match(state, match) for state, match in begun[:most]),
        len(begun),
        tuple(_window(state, most) for state in found.statements if state.window is not None),
        tuple(KeptTimer(timer.due, timer.statement) for timer in found.timers[:most]),
    )


def _match(state: StatementState, match: PartialMatch) -> KeptMatch:
    bound = [_event(event, tag) for tag, events in match.bound.items() for event in events]
    used = [_event(event) for event in match.events]
    return KeptMatch(
        state.statement, (*bound, *used), tuple(_awaited(match)), match.ends, state.key
    )


def _awaited(match: PartialMatch) -> Iterator[str]:
    forbidden = {each.place.text for each in _forbidden(match)}
    yield from (text for text in dict.fromkeys(_awaits(match)) if text not in forbidden)
    yield from (f"no {text}" for text in sorted(forbidden))


def _awaits(match: PartialMatch) -> Iterator[str]:
    yield from (awaited.place.text for awaited in match.awaits)
    for part in match.parts:
        yield from _awaits(part)


def _forbidden(match: PartialMatch) -> Iterator[Awaited]:
    yield from match.forbids
    for part in match.parts:
        yield from _forbidden(part)


def _event(event: Event, tag: str | None = None) -> KeptEvent:
    values = {name: value for name, value in event.values_.items() if value is not None}
    return KeptEvent(event.type, tag, event.instant, values)


def _window(state: StatementState, most: int) -> KeptWindow:
    window = state.window
    assert window is not None
    rows = (*window.rows, *window.gathered)
    newest = first(reversed(rows), most)
    return KeptWindow(state.statement, window.text, tuple(map(_row, newest)), len(rows))


def _row(row: WindowRow) -> KeptRow:
    values = dict(row.values or {})
    if row.event is not None:
        values |= row.event.values_
    for tag, events in (row.bound or {}).items():
        values |= {f"{tag}.{n}": v for event in events for n, v in event.values_.items()}
    return KeptRow({n: v for n, v in values.items() if v is not None}, row.leaves)
