"""A form becomes an automaton: what can be left of it are states.

States are the rests of `residuals`, but for what tokens carry: values, times, and how far something
forbidden has come. Each part of a form stands in it once, so that a window is a zone, and what must not
happen a watch, that a token has once at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from cepheid.core.types import EventType, lineage
from cepheid.errors import ProgramError, Span, error
from cepheid.pattern.algebra import Occurrence, WindowKind, match_parameters
from cepheid.pattern.automaton import (
    Automaton,
    Completes,
    Ends,
    Happens,
    State,
    Transition,
    Trigger,
    Watch,
    Zone,
)
from cepheid.pattern.tree import atoms
from cepheid.semantics.residuals import (
    DONE,
    Awaited,
    EventPlan,
    ForbiddenPlan,
    Guard,
    Guards,
    Held,
    InBoth,
    InLoop,
    InSequence,
    InWindow,
    Plan,
    Planner,
    Rest,
    WindowPlan,
)

MOST_STATES = 10_000  # AND multiplies those of its parts
_BEGUN = 0  # stands for any time in a window that has begun
_FINAL, _TRAP = -1, -2  # until it is known how many states there are
Numbered = TypeVar("Numbered", WindowPlan, ForbiddenPlan)


def automaton_of(pattern: Occurrence, types: Mapping[str, EventType]) -> Automaton:
    """The automaton of a resolved occurrence; ProgramError if it would be too large."""
    heirs = {
        atom.event_type: frozenset(
            name for name in types if atom.event_type in lineage(name, types)
        )
        for atom in atoms(pattern)
    }
    visible = frozenset(match_parameters(pattern.form))
    return construct(Planner(heirs.__getitem__, visible).plan(pattern.form), pattern.span)


def construct(plan: Plan, span: Span | None = None) -> Automaton:
    """The automaton of a plan, its states in the order in which they can be reached."""
    return _Builder(plan, span).build()


class _Builder:
    def __init__(self, plan: Plan, span: Span | None) -> None:
        self._plan = plan
        self._span = span
        own = list(_own_parts(plan))
        self._zones = _numbered([p for p in own if isinstance(p, WindowPlan)])
        self._watches = _numbered([p for p in own if isinstance(p, ForbiddenPlan)])
        self._states: dict[Rest, State] = {}
        self._transitions: dict[Transition, None] = {}

    def build(self) -> Automaton:
        """From the initial state on, which stands for all ways to begin."""
        initial = State(0, "initial")
        waiting = [rest for begun in self._plan.begin() for rest in self._follow(initial, begun)]
        while waiting:
            rest = waiting.pop(0)
            waiting += self._follow(self._states[rest], rest)
            self._forbid(self._states[rest])
        final, trap = len(self._states) + 1, len(self._states) + 2
        named = {_FINAL: final, _TRAP: trap}
        transitions = tuple(
            replace(t, target=named.get(t.target, t.target)) for t in self._transitions
        )
        states = [initial, *self._states.values(), State(final, "final")]
        if self._zones or self._watches:
            states.append(State(trap, "trap"))
        zones = tuple(self._zone(number, plan, states) for plan, number in self._zones.items())
        watches = tuple(
            Watch(number, construct(plan.part, plan.span), plan.visible, plan.span)
            for plan, number in self._watches.items()
        )
        return Automaton(tuple(states), transitions, zones, watches)

    def _follow(self, source: State, rest: Rest) -> Iterator[Rest]:
        """Adds the transitions of a state, those of events first; gives the states that are new."""
        for move in sorted(moves(rest), key=lambda move: isinstance(move.cause, WindowPlan)):
            target = self._target(source, move)
            if target is None:
                target = self._add_state(move.left)
                yield move.left
            self._transitions[self._transition(source, target, move)] = None

    def _target(self, source: State, move: Move) -> State | None:
        """Where a move leads to; None if that state is new."""
        begun = [plan for plan in move.leaves if self._zones[plan] not in source.zones]
        if any(plan.holds_for for plan in begun):  # it is over before any time has passed
            return State(_TRAP, "trap")
        return State(_FINAL, "final") if move.left == DONE else self._states.get(move.left)

    def _transition(self, source: State, target: State, move: Move) -> Transition:
        leaves = tuple(self._zones[plan] for plan in move.leaves)
        enters = {*target.zones, *leaves} - {*source.zones}
        sees = tuple(n for n in map(self._watch, move.beside) if n in target.watches)
        keeps = tuple(n for n in map(self._watch, move.kept) if n in target.watches)
        trigger: Trigger
        if isinstance(move.cause, EventPlan):
            trigger, span = Happens(move.cause.call, move.cause.types), move.cause.call.span
        else:
            trigger, span = Ends(self._zones[move.cause]), move.cause.span
            sees, keeps = (), (*sees, *keeps)  # there is no event that they could see
        return Transition(
            source.number,
            target.number,
            trigger,
            span,
            tuple(sorted(enters)),
            leaves,
            sees,
            keeps,
            move.forgets,
        )

    def _forbid(self, state: State) -> None:
        spans = {number: plan.span for plan, number in self._watches.items()}
        for watch in state.watches:
            forbidden = Transition(state.number, _TRAP, Completes(watch), spans[watch])
            self._transitions[forbidden] = None

    def _add_state(self, rest: Rest) -> State:
        number = len(self._states) + 1
        if number > MOST_STATES:
            fact = f"the automaton of this has more than {MOST_STATES:,} states"
            hint = "AND multiplies the states of its parts, a multiplicity repeats them"
            raise ProgramError(error("not-in-automaton", fact, self._span, hint))
        zones = tuple(self._zones[window.plan] for window in windows_in(rest))
        watches = tuple(map(self._watch, guards_in(rest)))
        return self._states.setdefault(rest, State(number, "normal", zones, watches))

    def _watch(self, guard: Guard) -> int:
        return self._watches[guard.plan]

    def _zone(self, number: int, plan: WindowPlan, states: list[State]) -> Zone:
        inside = tuple(state.number for state in states if number in state.zones)
        kind: WindowKind = "holdsFor" if plan.holds_for else "within"
        return Zone(number, plan.period, kind, inside, plan.span)


def _own_parts(plan: Plan) -> Iterator[Plan]:
    """The plan and everything in it, but for what is inside of something forbidden."""
    yield plan
    for part in () if isinstance(plan, ForbiddenPlan) else plan.parts:
        yield from _own_parts(part)


def _numbered(plans: list[Numbered]) -> dict[Numbered, int]:
    return {plan: number for number, plan in enumerate(plans)}


# What events and time make of a rest, whatever values they bring ------------------------------


@dataclass(frozen=True, slots=True)
class Move:
    """An event, or the end of a window, and what may be left of a rest after it."""

    cause: EventPlan | WindowPlan
    left: Rest
    leaves: tuple[WindowPlan, ...] = ()  # the windows that it completes, inner ones first
    beside: Guards = ()  # in parts of an AND to which it just happens
    kept: Guards = ()  # of the AND itself, which does not forbid what it consists of
    forgets: frozenset[str] = frozenset()


def moves(rest: Rest) -> Iterator[Move]:
    match rest:
        case Awaited(event):
            yield Move(event, DONE)
        case InWindow(window, part) if part.is_held:
            yield Move(window, DONE, (window,))
        case InSequence() | InLoop() | InWindow():
            for move in moves(rest.part):
                yield from _after_part(rest, move)
        case InBoth():
            for place, part in enumerate(rest.parts):
                others = (*rest.parts[:place], *rest.parts[place + 1 :])
                beside = tuple(guard for other in others for guard in guards_in(other))
                for move in moves(part):
                    yield replace(
                        move,
                        left=rest.with_part(place, move.left),
                        beside=(*move.beside, *beside),
                        kept=(*move.kept, *rest.guards),
                    )


def _after_part(rest: InSequence | InLoop | InWindow, move: Move) -> Iterator[Move]:
    """What becomes of a rest by what becomes of its part."""
    is_over = move.left == DONE
    match rest:
        case InSequence(plan, place):
            lefts = plan.enter(place + 1) if is_over else [replace(rest, part=move.left, guards=())]
            yield from (replace(move, left=left) for left in lefts)
        case InLoop(plan, rounds) if is_over:
            for left in plan.enter(rounds + 1):
                yield replace(move, left=left, forgets=move.forgets | plan.own)
        case InLoop():
            yield replace(move, left=replace(rest, part=move.left))
        case InWindow(plan) if is_over:
            yield replace(move, leaves=(*move.leaves, plan))
        case InWindow():
            yield replace(move, left=replace(rest, part=move.left, end=_BEGUN))


def guards_in(rest: Rest) -> Guards:
    """What must not happen now."""
    match rest:
        case Held(guards):
            return guards
        case InSequence(_, _, part, guards):
            return (*guards, *guards_in(part))
        case InBoth(_, parts, guards):
            return (*guards, *(guard for part in parts for guard in guards_in(part)))
        case InLoop() | InWindow():
            return guards_in(rest.part)
    return ()


def windows_in(rest: Rest) -> Iterator[InWindow]:
    """The windows that have begun and not ended."""
    match rest:
        case InWindow():
            yield from () if rest.end is None else (rest,)
            yield from windows_in(rest.part)
        case InSequence() | InLoop():
            yield from windows_in(rest.part)
        case InBoth():
            for part in rest.parts:
                yield from windows_in(part)
