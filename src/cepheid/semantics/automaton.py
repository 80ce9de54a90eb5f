"""A form as an automaton: what can be left of it, and which events lead from there to where.

States are the rests of `residuals`, but for what differs from match to match: values, times, and how far
something forbidden has come. Whoever follows a form has tokens on these states, one for each way in
which its events may belong together. In the final state nothing is left; what is forbidden, or comes
too early or too late, leads to the trap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from cepheid.core.time import Period
from cepheid.core.types import EventType, lineage
from cepheid.pattern.algebra import Occurrence, WindowKind
from cepheid.pattern.policy import Policy
from cepheid.pattern.tree import atoms
from cepheid.semantics.contexts import plan_occurrence
from cepheid.semantics.residuals import (
    DONE,
    Awaited,
    End,
    EventPlan,
    Guard,
    Guards,
    Held,
    InBoth,
    InLoop,
    InSequence,
    InWindow,
    Plan,
    Rest,
    WindowPlan,
)

StateKind: TypeAlias = Literal["initial", "normal", "final", "trap"]
_BEGUN = 0  # stands for any time in a window that has begun


@dataclass(frozen=True, slots=True)
class State:
    number: int
    kind: StateKind
    zones: tuple[int, ...] = ()  # the timed zones that it lies in
    is_held: bool = False  # whether it is left when a zone ends, not by an event


@dataclass(frozen=True, slots=True)
class Transition:
    """An event leads from a state to another; without a type, the end of a zone does."""

    source: int
    target: int
    event_type: str | None
    parameters: tuple[tuple[str, str], ...] = ()
    is_negative: bool = False  # the event, or what it completes, is forbidden


@dataclass(frozen=True, slots=True)
class Zone:
    """States that lie in a window: entered by its first event, left by its last."""

    number: int
    period: Period
    kind: WindowKind
    states: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Automaton:
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    zones: tuple[Zone, ...]

    def orphans(self) -> tuple[int, ...]:
        """States that no event leads to, or from which none leads to the end; there should be none."""
        forwards = _reached({0}, [(t.source, t.target) for t in self.transitions])
        finals = {s.number for s in self.states if s.kind == "final"}
        backwards = _reached(finals, [(t.target, t.source) for t in self.transitions])
        return tuple(
            s.number
            for s in self.states
            if s.number not in forwards or (s.kind != "trap" and s.number not in backwards)
        )


def _reached(begin: set[int], steps: list[tuple[int, int]]) -> set[int]:
    found = set(begin)
    while more := {target for source, target in steps if source in found} - found:
        found |= more
    return found


def automaton_of(pattern: Occurrence, policy: Policy, types: Mapping[str, EventType]) -> Automaton:
    """The automaton of a resolved occurrence, its states in the order in which they can be reached."""
    heirs = {
        atom.event_type: frozenset(
            name for name in types if atom.event_type in lineage(name, types)
        )
        for atom in atoms(pattern)
    }
    return _Builder(plan_occurrence(pattern, policy, heirs).plan).build()


class _Builder:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._zones = {
            p: n for n, p in enumerate(w for w in plan.walk() if isinstance(w, WindowPlan))
        }
        self._numbers: dict[Rest, int] = {}
        self._transitions: dict[Transition, None] = {}

    def build(self) -> Automaton:
        """From the initial state on, which stands for all ways to begin."""
        waiting = [rest for begun in self._plan.begin() for rest in self._follow(0, begun)]
        while waiting:
            rest = waiting.pop(0)
            waiting += self._follow(self._numbers[rest], rest)
        final, trap = len(self._numbers) + 1, len(self._numbers) + 2
        named = {_FINAL: final, _TRAP: trap}
        transitions = tuple(
            replace(t, target=named.get(t.target, t.target)) for t in self._transitions
        )
        states = [State(0, "initial"), *(self._state(rest) for rest in self._numbers)]
        states.append(State(final, "final"))
        if any(t.target == trap for t in transitions):
            states.append(State(trap, "trap"))
        return Automaton(
            tuple(states), transitions, tuple(self._zone(*z, states) for z in self._zones.items())
        )

    def _follow(self, number: int, rest: Rest) -> Iterator[Rest]:
        """Adds the transitions of a state; gives the states that were not known."""
        for event, left in moves(rest):
            yield from self._add(Transition(number, 0, event.name, event.parameters), left)
        for left in ends(rest):
            yield from self._add(Transition(number, 0, None), left)
        for guard in guards_of(rest):
            for event in (p for p in guard.plan.walk() if isinstance(p, EventPlan)):
                forbidden = Transition(
                    number, _TRAP, event.name, event.parameters, is_negative=True
                )
                self._transitions[forbidden] = None

    def _add(self, transition: Transition, left: Rest) -> Iterator[Rest]:
        shape = shape_of(left)
        if shape == DONE:
            self._transitions[replace(transition, target=_FINAL)] = None
            return
        is_new = shape not in self._numbers
        number = self._numbers.setdefault(shape, len(self._numbers) + 1)
        self._transitions[replace(transition, target=number)] = None
        if is_new:
            yield shape

    def _state(self, rest: Rest) -> State:
        zones = tuple(self._zones[window.plan] for window in windows_of(rest))
        return State(self._numbers[rest], "normal", zones, any(True for _ in ends(rest)))

    def _zone(self, plan: WindowPlan, number: int, states: list[State]) -> Zone:
        inside = tuple(state.number for state in states if number in state.zones)
        return Zone(number, plan.period, "holdsFor" if plan.holds_for else "within", inside)


_FINAL, _TRAP = -1, -2  # until it is known how many states there are


# What events and time make of a rest, whatever values they bring ------------------------------


def moves(rest: Rest) -> Iterator[tuple[EventPlan, Rest]]:
    """The events that a rest waits for, each with what may be left after it."""
    match rest:
        case Awaited(plan):
            yield plan, DONE
        case InSequence() | InLoop() | InWindow():
            for event, left in moves(rest.part):
                yield from ((event, after) for after in _after_part(rest, left))
        case InBoth():
            for place, part in enumerate(rest.parts):
                for event, left in moves(part):
                    yield event, rest.with_part(place, left)


def ends(rest: Rest) -> Iterator[Rest]:
    """What may be left when a window ends that holds it up."""
    match rest:
        case InWindow(_, part) if part.is_held:
            yield DONE
        case InSequence() | InLoop() | InWindow():
            for left in ends(rest.part):
                yield from _after_part(rest, left)
        case InBoth():
            for place, part in enumerate(rest.parts):
                yield from (rest.with_part(place, left) for left in ends(part))


def _after_part(rest: InSequence | InLoop | InWindow, left: Rest) -> Iterator[Rest]:
    """What is left of a rest of whose part something is left, or nothing."""
    match rest:
        case InSequence(plan, place):
            yield from (
                plan.enter(place + 1) if left == DONE else [replace(rest, part=left, guards=())]
            )
        case InLoop(plan, rounds):
            yield from plan.enter(rounds + 1) if left == DONE else [replace(rest, part=left)]
        case InWindow():
            yield DONE if left == DONE else replace(rest, part=left, end=_BEGUN)


def guards_of(rest: Rest) -> Guards:
    """What must not happen now."""
    match rest:
        case Held(guards):
            return guards
        case InSequence(_, _, part, guards):
            return (*guards, *guards_of(part))
        case InBoth(_, parts, guards):
            return (*guards, *(guard for part in parts for guard in guards_of(part)))
        case InLoop() | InWindow():
            return guards_of(rest.part)
    return ()


def windows_of(rest: Rest) -> Iterator[InWindow]:
    """The windows that have begun and not ended."""
    match rest:
        case InWindow():
            yield from () if rest.end is None else (rest,)
            yield from windows_of(rest.part)
        case InSequence() | InLoop():
            yield from windows_of(rest.part)
        case InBoth():
            for part in rest.parts:
                yield from windows_of(part)


def shape_of(rest: Rest) -> Rest:
    """A rest without what differs from match to match; a loop that may go on for ever counts its
    rounds only as long as some are missing."""
    match rest:
        case InSequence():
            return replace(rest, part=shape_of(rest.part), guards=_fresh(rest.guards))
        case InBoth():
            return replace(rest, parts=tuple(map(shape_of, rest.parts)), guards=_fresh(rest.guards))
        case InLoop(plan, rounds):
            known = rounds if plan.high is not None else min(rounds, plan.low)
            return replace(rest, part=shape_of(rest.part), rounds=known)
        case InWindow():
            return replace(rest, part=shape_of(rest.part))
        case Held(guards):
            return Held(_fresh(guards))
        case Awaited() | End():
            return rest
    raise TypeError(f"no shape of {type(rest).__name__}")


def _fresh(guards: Guards) -> Guards:
    return tuple(Guard(guard.plan, guard.visible) for guard in guards)
