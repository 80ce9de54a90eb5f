"""Partial matches of complex events: what is left of a form, or tokens on its automaton."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from cepheid.errors import Span
from cepheid.pattern.algebra import Never, Occurrence, Taken, Timed
from cepheid.pattern.automaton import Happens
from cepheid.pattern.tree import Pattern, walk
from cepheid.semantics.construction import guards_in
from cepheid.semantics.contexts import PartialMatch as Chosen
from cepheid.semantics.contexts import Way
from cepheid.semantics.inspection.description import Awaited, PartialMatch, Place
from cepheid.semantics.inspection.parts import Parts, bound_events, frozen
from cepheid.semantics.residuals import Awaited as AwaitedRest
from cepheid.semantics.residuals import EventPlan, InBoth, InWindow, Left, OneAtATime, Rest
from cepheid.semantics.tokens import Token

Forbidden: TypeAlias = tuple[
    Span | None, Taken | None
]  # where it stands, and the event if it is one


class Occurrences:
    """The partial matches of one complex event."""

    def __init__(self, pattern: Occurrence, parts: Parts) -> None:
        self._pattern = pattern
        self._parts = parts

    def partial(self, match: Chosen) -> PartialMatch:
        """One, with a part for each way in which its events may belong together if there are several."""
        ways = tuple(map(self._way, match.ways))
        if len(ways) == 1:
            return replace(ways[0], events=match.events)
        ends = [way.ends for way in ways if way.ends is not None]
        return replace(
            self._standing(
                (awaited for way in ways for awaited in way.awaits),
                (awaited for way in ways for awaited in way.forbids),
            ),
            place=self._parts.whole,
            ends=max(ends) if ways and len(ends) == len(ways) else None,
            events=match.events,
            parts=ways,
        )

    def _way(self, way: Way) -> PartialMatch:
        match way:
            case Left(rest, env):
                awaits = [self._event(call) for call in _awaited(rest)]
                forbidden = [
                    (guard.plan.span, _event_of(guard.plan.part)) for guard in guards_in(rest)
                ]
                window, state = _held(rest), None
            case Token(board, state, env):
                triggers = (typed.transition.trigger for typed in board.typed[state])
                awaits = [self._event(each.call) for each in triggers if isinstance(each, Happens)]
                watches = (
                    board.automaton.watches[n] for n in board.automaton.states[state].watches
                )
                forbidden = [(watch.span, watch.call) for watch in watches]
                zones = [zone for zone, _ in board.ends[state]]
                window = board.automaton.zones[zones[0]].span if zones else None
            case _:
                raise TypeError(f"no description of {type(way).__name__}")
        if way.due is not None:
            awaits.append(self._parts.time(self._part_at(window, Timed), way.due))
        found = self._standing(awaits, map(self._forbidden, forbidden))
        last = None if way.last is None else way.last + 1
        return replace(found, values=frozen(dict(env.bound)), ends=last, state=state)

    def _standing(self, awaits: Iterable[Awaited], forbids: Iterable[Awaited]) -> PartialMatch:
        """Where one event is awaited it stands there, else in the form as a whole."""
        events = tuple(dict.fromkeys(awaits))
        place: Place = events[0].place if len(events) == 1 else self._parts.whole
        return PartialMatch(
            place, bound_events({}), events, tuple(dict.fromkeys(forbids)), values=frozen({})
        )

    def _event(self, call: Taken) -> Awaited:
        return self._parts.event(call, call.atom)

    def _forbidden(self, forbidden: Forbidden) -> Awaited:
        span, call = forbidden
        if call is not None:
            return self._event(call)
        return Awaited(self._parts.place(self._part_at(span, Never)))

    def _part_at(self, span: Span | None, kind: type[Pattern]) -> Pattern:
        """The part of a kind that is written at a place; the whole where none is."""
        found = (p for p in walk(self._pattern) if isinstance(p, kind) and p.span == span)
        return next(found, self._pattern)


def _awaited(rest: Rest) -> Iterator[Taken]:
    """The events that could be used next."""
    match rest:
        case AwaitedRest(plan):
            yield plan.call
        case InBoth(_, parts):
            for part in parts:
                yield from _awaited(part)
        case OneAtATime() | InWindow():
            yield from _awaited(rest.part)


def _event_of(plan: object) -> Taken | None:
    return plan.call if isinstance(plan, EventPlan) else None


def _held(rest: Rest) -> Span | None:
    """The window whose end completes something."""
    match rest:
        case InWindow(plan, part):
            return plan.span if part.is_held else _held(part)
        case OneAtATime():
            return _held(rest.part)
        case InBoth(_, parts):
            return next((span for span in map(_held, parts) if span is not None), None)
    return None
