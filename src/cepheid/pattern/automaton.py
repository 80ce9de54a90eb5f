"""Automata of forms, as data: states, what leads from one to another, timed zones, and watches.

Whoever follows a form has tokens on the states, one for each way in which its events may belong
together. A token carries what differs from match to match: what its parameters are bound to, when it
entered each zone, and for each watch the tokens of its automaton, which say how far something forbidden
has come. In the final state nothing is left; the trap is where nothing can come any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.core.time import Instant, Period
from cepheid.errors import Span
from cepheid.pattern.algebra import Taken, WindowKind

StateKind: TypeAlias = Literal["initial", "normal", "final", "trap"]


@dataclass(frozen=True, slots=True)
class State:
    number: int
    kind: StateKind
    zones: tuple[int, ...] = ()  # the timed zones that it lies in
    watches: tuple[int, ...] = ()  # what must not complete while a token is here


@dataclass(frozen=True, slots=True)
class Happens:
    """An event of a type, or of one that inherits from it."""

    call: Taken
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class Ends:
    """A zone ends, and nothing forbidden has happened in it."""

    zone: int


@dataclass(frozen=True, slots=True)
class Completes:
    """What must not be completes: a negative transition."""

    watch: int


Trigger: TypeAlias = Happens | Ends | Completes


@dataclass(frozen=True, slots=True)
class Transition:
    """Leads a token from a state to another; those of a state stand in the order in which they count."""

    source: int
    target: int
    trigger: Trigger
    span: Span | None = None  # the part of the pattern that it comes from
    enters: tuple[int, ...] = ()  # zones that begin with it
    leaves: tuple[int, ...] = ()  # zones that end with it
    sees: tuple[int, ...] = ()  # watches that go on, and to which the event happens
    keeps: tuple[int, ...] = ()  # watches that go on, and do not count what the match consists of
    forgets: frozenset[str] = frozenset()  # names that the next round of a loop binds anew

    @property
    def is_negative(self) -> bool:
        return isinstance(self.trigger, Completes)


@dataclass(frozen=True, slots=True)
class Zone:
    """States that lie in a window: entered by its first event, left by its last.

    A token that is in a zone `within` when that is over, or leaves a zone `holdsFor` before it is,
    goes to the trap.
    """

    number: int
    period: Period
    kind: WindowKind
    states: tuple[int, ...]
    span: Span | None = None

    def is_early(self, entered: Instant, now: Instant) -> bool:
        """Whether a token must not leave it yet."""
        return self.kind == "holdsFor" and now < self.period.after(entered)


@dataclass(frozen=True, slots=True)
class Watch:
    """What must not complete, as an automaton of its own. Every event may begin it anew."""

    number: int
    automaton: Automaton
    visible: frozenset[str]  # the parameters that a match has; others are its own
    span: Span | None = None

    @property
    def call(self) -> Taken | None:
        """What must not happen, if it is one event."""
        match self.automaton.transitions:
            case (Transition(trigger=Happens(call)),):
                return call
        return None


@dataclass(frozen=True, slots=True)
class Automaton:
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    zones: tuple[Zone, ...] = ()
    watches: tuple[Watch, ...] = ()

    @property
    def trap(self) -> int:
        """The last state, if there are zones or watches."""
        return len(self.states) - 1

    def walk(self) -> Iterator[Automaton]:
        """The automaton and those of its watches, and of theirs."""
        yield self
        for watch in self.watches:
            yield from watch.automaton.walk()

    def orphans(self) -> tuple[State | Transition, ...]:
        """States that are on no way from the initial state to the final one, nor a trap that such a way
        may end in, and transitions that no token can take; there should be none."""
        steps = [(t.source, t.target) for t in self.transitions]
        finals = {state.number for state in self.states if state.kind == "final"}
        forwards = _reached({0}, steps)
        alive = forwards & _reached(finals, [(target, source) for source, target in steps])
        traps = {state.number for state in self.states if state.kind == "trap"}
        is_left = any(alive & {*zone.states} for zone in self.zones)  # by who is late or early
        kept = alive | (traps if is_left else traps & forwards)
        states = (state for state in self.states if state.number not in kept)
        return (*states, *(t for t in self.transitions if not self._is_used(t, alive, kept)))

    def _is_used(self, transition: Transition, alive: set[int], kept: set[int]) -> bool:
        """Whether it is between states that matter, and what it is about is there."""
        if transition.source not in alive or transition.target not in kept:
            return False
        source, target = self.states[transition.source], self.states[transition.target]
        match transition.trigger:
            case Completes(watch) if watch not in source.watches or target.kind != "trap":
                return False
            case Ends(zone) if zone not in source.zones:
                return False
        inside = {*source.zones, *transition.enters}
        return (
            inside >= {*transition.leaves}
            and inside - {*transition.leaves} >= {*target.zones}
            and {*source.watches} & {*target.watches} >= {*transition.sees, *transition.keeps}
        )


def _reached(begin: set[int], steps: Iterable[tuple[int, int]]) -> set[int]:
    known, found = list(steps), set(begin)
    while more := {target for source, target in known if source in found} - found:
        found |= more
    return found
