"""The relation between a form and a stretch of events, by looking for every way in which it holds.

Nothing here goes event by event, keeps a state or knows a context: parts are found anywhere, and then
asked whether they are where they should be. That is slow, and plainly what the operators are said to mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.pattern.algebra import (
    HIDDEN,
    Both,
    Either,
    Follows,
    Form,
    Never,
    Taken,
    Timed,
    Times,
)

Bound = Mapping[str, Value]


@dataclass(frozen=True)
class Absence:
    """What must not be found between two places, but for some of them."""

    form: Form
    after: int
    before: int
    without: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Found:
    """A way in which a form holds: where its events are, what they bind, what must be absent.

    It ends where its last event is, or at an instant, after all events before that. `ending` are absences
    that last until a window around it ends.
    """

    places: tuple[int, ...]
    bound: Bound
    end_place: int
    end: Instant
    absences: tuple[Absence, ...] = ()
    ending: tuple[tuple[Form, int, frozenset[int]], ...] = ()

    @property
    def begin_place(self) -> int:
        return min(self.places)


def occurrences(form: Form, events: Sequence[Event], clock: Instant) -> list[Found]:
    """All ways in which a form holds over events, up to an instant."""
    return [f for f in _found(form, events, clock) if _holds(f, events, clock, f.bound)]


def contains(form: Form, events: Sequence[Event], clock: Instant | None = None) -> bool:
    end = max((event.instant for event in events), default=0) if clock is None else clock
    return bool(occurrences(form, events, end))


def _holds(found: Found, events: Sequence[Event], clock: Instant, bound: Bound) -> bool:
    return not found.ending and not any(
        _is_there(absence, events, clock, bound) for absence in found.absences
    )


def _is_there(absence: Absence, events: Sequence[Event], clock: Instant, bound: Bound) -> bool:
    span = [
        (place, event)
        for place, event in enumerate(events)
        if absence.after < place < absence.before and place not in absence.without
    ]
    inside = [event for _, event in span]
    return any(
        _joined(bound, found.bound) is not None and _holds(found, inside, clock, found.bound)
        for found in _found(absence.form, inside, clock)
    )


def _joined(one: Bound, other: Bound) -> Bound | None:
    if any(one[n] != other[n] or one[n] is None for n in one.keys() & other.keys()):
        return None
    return {**one, **other}


def _found(form: Form, events: Sequence[Event], clock: Instant) -> Iterator[Found]:
    match form:
        case Taken():
            yield from _events(form, events)
        case Either(parts):
            for part in parts:
                yield from _found(part, events, clock)
        case Follows():
            yield from _sequence(_flat(form), events, clock)
        case Times(part, low, high, own):
            # One more than there are events can never be needed.
            most = min(len(events) if high is None else high, len(events))
            rounds = [_renamed(part, own, f"{HIDDEN}{number}") for number in range(most)]
            for count in range(low, most + 1):
                yield from _sequence(rounds[:count], events, clock)
        case Both(parts):
            yield from _together(parts, events, clock)
        case Timed(part):
            for found in _found(part, events, clock):
                yield from _in_window(found, form, events, clock)


def _renamed(form: Form, own: Sequence[str], mark: str) -> Form:
    """A round of a loop: what it binds anew has names of its own."""
    match form:
        case Taken(_, parameters):
            names = ((f"{n}{mark}" if n in own else n, attribute) for n, attribute in parameters)
            return replace(form, parameters=tuple(names))
        case Either(parts) | Follows(parts) | Both(parts):
            return replace(form, parts=tuple(_renamed(part, own, mark) for part in parts))
        case Times(part) | Timed(part) | Never(part):
            return replace(form, part=_renamed(part, own, mark))
    raise TypeError(type(form).__name__)


def _events(taken: Taken, events: Sequence[Event]) -> Iterator[Found]:
    for place, event in enumerate(events):
        if event.type == taken.atom.event_type:
            values = [(name, event.values_.get(attribute)) for name, attribute in taken.parameters]
            bound: Bound | None = {}
            for name, value in values:
                bound = None if bound is None else _joined(bound, {name: value})
            if bound is not None:
                yield Found((place,), bound, place, event.instant)


def _flat(form: Form) -> list[Form]:
    return [x for part in form.parts for x in _flat(part)] if isinstance(form, Follows) else [form]


NOTHING = Found((), {}, -1, -1)


def _sequence(parts: Sequence[Form], events: Sequence[Event], clock: Instant) -> Iterator[Found]:
    """Each part after the one before it; what is absent is so in the gap up to the next event."""
    found: list[tuple[Found, tuple[Form, ...]]] = [(NOTHING, ())]
    for part in parts:
        if isinstance(part, Never):
            found = [(before, (*gap, part.part)) for before, gap in found]
            continue
        longer: list[tuple[Found, tuple[Form, ...]]] = []
        nexts = list(_found(part, events, clock))
        for (before, gap), after in product(found, nexts):
            if not after.places:
                longer.append((before, gap))
            elif before.end_place < after.begin_place and not before.ending:
                joined = _follow(before, gap, after)
                if joined is not None:
                    longer.append((joined, ()))
        found = longer
    for before, gap in found:
        ending = tuple((form, before.end_place, frozenset[int]()) for form in gap)
        yield replace(before, ending=(*before.ending, *ending))


def _follow(before: Found, gap: tuple[Form, ...], after: Found) -> Found | None:
    bound = _joined(before.bound, after.bound)
    if bound is None:
        return None
    absences = tuple(Absence(form, before.end_place, after.begin_place) for form in gap)
    return Found(
        (*before.places, *after.places),
        bound,
        after.end_place,
        after.end,
        (*before.absences, *after.absences, *absences),
        after.ending,
    )


def _together(parts: Sequence[Form], events: Sequence[Event], clock: Instant) -> Iterator[Found]:
    wanted = [part for part in parts if not isinstance(part, Never)]
    absent = [part.part for part in parts if isinstance(part, Never)]
    for ways in product(*(list(_found(part, events, clock)) for part in wanted)):
        places = [place for way in ways for place in way.places]
        bound: Bound | None = {}
        for way in ways:
            bound = None if bound is None else _joined(bound, way.bound)
        if bound is None or len(set(places)) < len(places):
            continue
        last = max(ways, key=lambda way: (way.end, way.end_place))
        own = frozenset(places)
        ending = [one for way in ways for one in way.ending]
        if places:
            ending += [(form, min(places), own) for form in absent]
        absences = tuple(a for way in ways for a in way.absences)
        yield Found(tuple(places), bound, last.end_place, last.end, absences, tuple(ending))


def _in_window(
    found: Found, window: Timed, events: Sequence[Event], clock: Instant
) -> Iterator[Found]:
    if not found.places:
        yield found
        return
    end = window.period.after(events[found.begin_place].instant)
    if found.ending:
        if found.end <= end <= clock:
            before = sum(event.instant < end for event in events)
            gone = tuple(Absence(form, p, before, own) for form, p, own in found.ending)
            yield replace(
                found,
                end=end,
                end_place=max(before - 1, found.end_place),
                absences=(*found.absences, *gone),
                ending=(),
            )
    elif (found.end <= end) if window.kind == "within" else (found.end >= end):
        yield found
