"""Automata made deterministic: one token for each partial match.

The events of a partial match may belong together in several ways, each a token on a state of the automaton.
Here a state is the set of all these ways. They share what they carry, so that one token has it for all: a
parameter has one value, and a zone one end, in all ways that have them. Where that is not so, or where the
values of an event decide between ways, a form is not compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.errors import Span
from cepheid.matcher.gaps import NotCompiled, TokenGap
from cepheid.pattern.automaton import Automaton, Ends, Happens, Transition, Watch

MOST_STATES = 1_000
Pairs: TypeAlias = tuple[tuple[str, str], ...]  # parameters, each with an attribute
Way: TypeAlias = tuple[int, frozenset[str]]  # a state of the automaton, and what is bound
Ways: TypeAlias = tuple[Way, ...]  # the more patient first; none: nothing can come any more


@dataclass(frozen=True, slots=True)
class Outcome:
    ways: Ways
    is_used: bool


@dataclass(frozen=True, slots=True)
class Step:
    """What an event of a type does to a token whose values it has: `early` where one of the zones that
    must hold for some time has not, `later` else."""

    compared: Pairs
    bound: Pairs
    entered: tuple[int, ...]
    held: tuple[int, ...]
    later: Outcome
    early: Outcome


@dataclass(frozen=True, slots=True)
class Loss:
    """What is left of a token when an event happens that has these of its values."""

    compared: Pairs
    ways: Ways


@dataclass(frozen=True, slots=True)
class TokenState:
    late: tuple[tuple[int, Ways], ...]  # zones, and what is left when one is over
    steps: Mapping[str, Step]  # by types of events
    losses: Mapping[str, tuple[Loss, ...]]

    @property
    def targets(self) -> Iterator[Ways]:
        yield from (ways for _, ways in self.late)
        for step in self.steps.values():
            yield step.later.ways
            yield step.early.ways
        yield from (loss.ways for losses in self.losses.values() for loss in losses)


def deterministic(automaton: Automaton, key: Sequence[str]) -> dict[Ways, TokenState]:
    """All states, the initial one first; NotCompiled if one token is not enough for a partial match.

    Complete matches have no state of theirs. What is compared is beside the key.
    """
    return _Subsets(automaton, frozenset(key)).build()


class _Subsets:
    def __init__(self, automaton: Automaton, key: frozenset[str]) -> None:
        self._automaton = automaton
        self._key = key
        self._states = automaton.states
        self._happening: list[list[tuple[Happens, Transition]]] = [[] for _ in self._states]
        for transition in automaton.transitions:
            match transition.trigger:
                case Happens() as trigger:
                    self._happening[transition.source].append((trigger, transition))
                case Ends():
                    raise NotCompiled(TokenGap.END_OF_WINDOW, transition.span)
        self._watched = [[*_events_of(watch, key)] for watch in automaton.watches]
        for zone in automaton.zones:
            if zone.period.months:
                raise NotCompiled(TokenGap.MONTHS, zone.span)

    def build(self) -> dict[Ways, TokenState]:
        waiting: list[Ways] = [((0, frozenset()),)]
        found: dict[Ways, TokenState] = {}
        while waiting:
            ways = waiting.pop(0)
            if ways in found or self.is_complete(ways) or not ways:
                continue
            if len(found) == MOST_STATES:
                raise NotCompiled(TokenGap.STATES)
            found[ways] = self._state(ways)
            waiting += found[ways].targets
        return found

    def is_complete(self, ways: Ways) -> bool:
        return any(self._states[state].kind == "final" for state, _ in ways)

    def _state(self, ways: Ways) -> TokenState:
        zones = sorted({zone for state, _ in ways for zone in self._states[state].zones})
        late = (
            (zone, tuple(way for way in ways if zone not in self._states[way[0]].zones))
            for zone in zones
            if self._automaton.zones[zone].kind == "within"
        )
        calls = [trigger.call for state, _ in ways for trigger, _ in self._happening[state]]
        types = dict.fromkeys(call.atom.event_type for call in calls)
        steps = {name: self._step(ways, name) for name in types}
        return TokenState(
            tuple(late),
            {name: step for name, step in steps.items() if step is not None},
            self._losses(ways),
        )

    # -- an event that is used --

    def _step(self, ways: Ways, event_type: str) -> Step | None:
        found = [
            (way, trigger.call.parameters, transition)
            for way in ways
            for trigger, transition in self._happening[way[0]]
            if trigger.call.atom.event_type == event_type
            and not self._is_forbidden(transition, event_type)
        ]
        if not found:
            return None
        span = found[0][2].span
        asked = {(pairs, way[1] & _names(pairs)) for way, pairs, _ in found}
        if len(asked) > 1:
            raise NotCompiled(TokenGap.SEVERAL_WAYS, span)
        [(pairs, known)] = asked
        if len(_names(pairs)) < len(pairs):
            raise NotCompiled(TokenGap.REPEATED_NAME, span)
        transitions = [(way, transition) for way, _, transition in found]
        held = self._held(transition for _, transition in transitions)
        return Step(
            tuple(pair for pair in pairs if pair[0] in known - self._key),
            tuple(pair for pair in pairs if pair[0] not in known),
            self._entered([transition for _, transition in transitions]),
            held,
            self._outcome(ways, _names(pairs), transitions, frozenset()),
            self._outcome(ways, _names(pairs), transitions, frozenset(held)),
        )

    def _is_forbidden(self, transition: Transition, event_type: str) -> bool:
        """Whether what a part takes must not happen to another one."""
        seen = [
            pairs
            for watch in transition.sees
            for name, pairs in self._watched[watch]
            if name == event_type
        ]
        if any(seen):
            raise NotCompiled(TokenGap.NOT_IN_AND, transition.span)
        return bool(seen)

    def _outcome(
        self,
        ways: Ways,
        names: frozenset[str],
        transitions: Sequence[tuple[Way, Transition]],
        unfulfilled: frozenset[int],
    ) -> Outcome:
        """What comes of an event while some zones must hold on."""
        used = {
            (transition.target, (way[1] | names) - transition.forgets): None
            for way, transition in transitions
            if self._states[transition.target].kind != "trap"
            and unfulfilled.isdisjoint(transition.leaves)
        }
        if used:
            complete = [way for way in used if self._states[way[0]].kind == "final"]
            return Outcome(tuple(complete[:1] or used), is_used=True)
        takers = {way for way, _ in transitions}
        return Outcome(tuple(way for way in ways if way not in takers), is_used=False)

    def _held(self, transitions: Iterable[Transition]) -> tuple[int, ...]:
        """The zones that must have held when they are left."""
        zones = self._automaton.zones
        found: dict[tuple[int, ...], Span | None] = {}
        for transition in transitions:
            inside = self._states[transition.source].zones
            held = (z for z in transition.leaves if zones[z].kind == "holdsFor" and z in inside)
            if kept := tuple(held):
                found[kept] = transition.span
        if len(found) > 1:
            raise NotCompiled(TokenGap.SEVERAL_ENDS, next(iter(found.values())))
        return next(iter(found), ())

    def _entered(self, transitions: Sequence[Transition]) -> tuple[int, ...]:
        """The zones that begin, for all ways that are in them."""
        begun: dict[int, bool] = {}
        for transition in transitions:
            for zone in self._states[transition.target].zones:
                is_new = zone in transition.enters
                if begun.setdefault(zone, is_new) != is_new:
                    raise NotCompiled(TokenGap.SEVERAL_BEGINS, transition.span)
        return tuple(zone for zone, is_new in begun.items() if is_new)

    # -- an event that only happens --

    def _losses(self, ways: Ways) -> dict[str, tuple[Loss, ...]]:
        found: dict[str, list[Loss]] = {}
        for watch in sorted({watch for state, _ in ways for watch in self._states[state].watches}):
            watching = [way for way in ways if watch in self._states[way[0]].watches]
            left = tuple(way for way in ways if way not in watching)
            for name, pairs in self._watched[watch]:
                if not all(bound >= _names(pairs) for _, bound in watching):
                    span = self._automaton.watches[watch].span
                    raise NotCompiled(TokenGap.OPEN_NOT, span)
                found.setdefault(name, []).append(Loss(pairs, left))
        return {name: tuple(losses) for name, losses in found.items()}


def _events_of(watch: Watch, key: frozenset[str]) -> Iterator[tuple[str, Pairs]]:
    """The events that must not happen, with what they share with a match beside the key."""
    automaton = watch.automaton
    for transition in automaton.transitions:
        trigger = transition.trigger
        is_final = automaton.states[transition.target].kind == "final"
        if transition.source != 0 or not is_final or not isinstance(trigger, Happens):
            raise NotCompiled(TokenGap.LONG_NOT, watch.span)
        pairs = trigger.call.parameters
        if not _names(pairs) >= key:
            raise NotCompiled(TokenGap.UNKEYED_NOT, watch.span)
        if len(_names(pairs)) < len(pairs):
            raise NotCompiled(TokenGap.REPEATED_NAME, trigger.call.span)
        yield (
            trigger.call.atom.event_type,
            tuple(pair for pair in pairs if pair[0] in watch.visible - key),
        )


def _names(pairs: Pairs) -> frozenset[str]:
    return frozenset(name for name, _ in pairs)
