"""Tokens that walk over the automaton of a form.

Everything that decides where a token goes stands in the automaton; the operators of the form are not
known here. A token takes a transition if the event is of its type, passes its check and binds its
parameters to values that fit. Zones and watches say when it goes to the trap instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.expr.evaluate import Frame, compile_condition
from cepheid.pattern.automaton import Automaton, Ends, Happens, Transition
from cepheid.semantics.bindings import NOTHING, Env
from cepheid.semantics.construction import construct
from cepheid.semantics.residuals import Plan

Times: TypeAlias = tuple[tuple[int, Instant], ...]
Watched: TypeAlias = "tuple[tuple[int, tuple[Token, ...]], ...]"


@dataclass(frozen=True, slots=True)
class TypedTransition:
    """A transition that events of a type lead along, with its check compiled."""

    transition: Transition
    types: frozenset[str]
    parameters: tuple[tuple[str, str], ...]
    condition: Callable[[Frame], bool]

    def bind(self, event: Event, env: Env) -> Env | None:
        """What is bound when the event leads along here; None if it does not."""
        if event.type not in self.types or not self.condition(Frame(event, now=event.instant)):
            return None
        return env.with_pairs(tuple((name, event.values_.get(a)) for name, a in self.parameters))


class Board:
    """An automaton on which tokens can walk."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.boards = tuple(Board(watch.automaton) for watch in automaton.watches)
        self.typed: list[list[TypedTransition]] = [[] for _ in automaton.states]
        self.ends: list[list[tuple[int, Transition]]] = [[] for _ in automaton.states]
        for transition in automaton.transitions:
            match transition.trigger:
                case Happens(call, types):
                    condition = compile_condition(call.atom.condition)
                    typed = TypedTransition(transition, types, call.parameters, condition)
                    self.typed[transition.source].append(typed)
                case Ends(zone):
                    self.ends[transition.source].append((zone, transition))

    def begin(self) -> tuple[Token, ...]:
        return (Token(self, 0),)

    def fixed(self) -> Iterator[object]:
        yield self
        for board in self.boards:
            yield from board.fixed()

    def spread(self, tokens: Iterable[Token], event: Event) -> tuple[Token, ...]:
        """What comes of tokens, and of a new one, if each may use the event and may leave it."""
        before = tuple(tokens)
        missed = (token.miss(event) for token in before)
        taken = (after for token in (*before, *self.begin()) for after in token.take(event))
        found = (token for token in (*missed, *taken) if token is not None and not token.is_lost)
        return tuple(dict.fromkeys(found))


def on_automaton(plan: Plan) -> Board:
    """A form that is followed by tokens."""
    return Board(construct(plan))


@dataclass(frozen=True, slots=True)
class Token:
    """Stands on a state of an automaton, with what differs from match to match."""

    board: Board
    state: int
    env: Env = NOTHING
    entered: Times = ()  # zones, and when each was entered
    watched: Watched = ()  # watches, each with the tokens of what has begun and must not complete

    @property
    def result(self) -> Env | None:
        return self.env if self._kind == "final" else None

    @property
    def is_lost(self) -> bool:
        return self._kind == "trap"

    @property
    def _kind(self) -> str:
        return self.board.automaton.states[self.state].kind

    @property
    def due(self) -> Instant | None:
        """When the first zone ends that holds it up."""
        ends = dict(self._zone_ends)
        return min((ends[zone] for zone, _ in self.board.ends[self.state]), default=None)

    @property
    def last(self) -> Instant | None:
        """When the first zone ends in which all must happen."""
        zones = self.board.automaton.zones
        return min((end for n, end in self._zone_ends if zones[n].kind == "within"), default=None)

    @property
    def _zone_ends(self) -> Iterator[tuple[int, Instant]]:
        zones = self.board.automaton.zones
        return ((number, zones[number].period.after(begun)) for number, begun in self.entered)

    def take(self, event: Event) -> Iterator[Token]:
        if self._is_late(event.instant):
            return
        for typed in self.board.typed[self.state]:
            env = typed.bind(event, self.env)
            if env is not None:
                yield from replace(self, env=env)._along(typed.transition, event.instant, event)

    def miss(self, event: Event) -> Token | None:
        """Where it is, all watches see the event."""
        if self._is_late(event.instant):
            return None
        return self._watching(event, self.board.automaton.states[self.state].watches)

    def wake(self, now: Instant) -> Iterator[Token]:
        """The first zone that ends now leads on; others may do so after it."""
        ends = dict(self._zone_ends)
        ended = next(zone for zone, _ in self.board.ends[self.state] if ends[zone] == now)
        for zone, transition in self.board.ends[self.state]:
            if zone == ended:
                yield from self._along(transition, now)

    def _is_late(self, instant: Instant) -> bool:
        last = self.last
        return last is not None and instant > last

    def _along(
        self, transition: Transition, now: Instant, event: Event | None = None
    ) -> Iterator[Token]:
        """The token at the other end of a transition, if it is allowed there."""
        automaton = self.board.automaton
        begun = {**dict(self.entered), **dict.fromkeys(transition.enters, now)}
        if any(automaton.zones[n].is_early(begun[n], now) for n in transition.leaves):
            yield Token(self.board, automaton.trap)
            return
        env = self.env.forgetting(transition.forgets)
        after = None if env is None else replace(self, env=env)
        if after is not None and event is not None:
            after = after._watching(event, transition.sees)
        if after is None:
            return
        target = automaton.states[transition.target]
        going_on = {*transition.sees, *transition.keeps}
        watched = {number: tokens for number, tokens in after.watched if number in going_on}
        found = Token(
            self.board,
            target.number,
            after.env,
            tuple((number, begun[number]) for number in target.zones),
            tuple((number, watched.get(number, ())) for number in target.watches),
        )
        if found.result is None or found.env.is_allowed:
            yield found

    def _watching(self, event: Event, watches: Iterable[int]) -> Token | None:
        """The token after watches have seen an event; None if that completed what must not be."""
        watched, env = dict(self.watched), self.env
        for number in watches:
            after = self.board.boards[number].spread(watched[number], event)
            watched[number] = tuple(token for token in after if token.result is None)
            visible = self.board.automaton.watches[number].visible
            for bound in (token.env.bound for token in after if token.result is not None):
                allowed = env.without(tuple(pair for pair in bound if pair[0] in visible))
                if allowed is None:
                    return None
                env = allowed
        return replace(self, env=env, watched=tuple(watched.items()))
