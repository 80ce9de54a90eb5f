"""What each operator of the event algebra means, event by event.

A form is a plan; what is left of it after some events is a *rest*. A rest answers three questions:
`take`, in which ways it may use an event and what is then left; `miss`, what is left if the event
happens and is not used, None if it must not have happened; `wake`, what is left when its time has come.
A rest never changes. What is bound on the way is an `Env` beside it.

Alternatives stand beside each other: whoever follows a form keeps all rests that the same events have
led to, the more patient ones first (a loop that goes on before one that ends).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant, Period
from cepheid.errors import Span
from cepheid.expr.evaluate import Frame, compile_condition
from cepheid.pattern import algebra
from cepheid.semantics.bindings import NOTHING, Env, Pairs

Way: TypeAlias = "tuple[Rest, Env]"


# Rests ----------------------------------------------------------------------------------------


class Rest(ABC):
    """What is left of a form."""

    __slots__ = ()

    @abstractmethod
    def take(self, event: Event, env: Env) -> Iterator[Way]: ...

    @abstractmethod
    def miss(self, event: Event, env: Env) -> Way | None: ...

    def wake(self, now: Instant, env: Env) -> Iterator[Way]:
        """Only where it is due now."""
        yield from ()

    @property
    def due(self) -> Instant | None:
        """When it has to be woken."""
        return None

    @property
    def is_held(self) -> bool:
        """Whether nothing is missing but that a window ends without what is forbidden in it."""
        return False

    @property
    def last(self) -> Instant | None:
        """The last instant at which an event can still be used; None: any."""
        return None


@dataclass(frozen=True, slots=True)
class End(Rest):
    """Nothing is left; or, if it came too early, nothing can come of it any more."""

    is_early: bool = False

    def take(self, event: Event, env: Env) -> Iterator[Way]:
        yield from ()

    def miss(self, event: Event, env: Env) -> Way | None:
        return self, env


DONE, EARLY = End(), End(is_early=True)


def is_over(way: Way) -> bool:
    """Whether nothing is left, and what was bound is allowed."""
    return way[0] == DONE and way[1].is_allowed


@dataclass(frozen=True, slots=True)
class Awaited(Rest):
    """One event."""

    plan: EventPlan

    def take(self, event: Event, env: Env) -> Iterator[Way]:
        if self.plan.is_met_by(event):
            found = env.with_pairs(self.plan.pairs(event))
            if found is not None:
                yield DONE, found

    def miss(self, event: Event, env: Env) -> Way | None:
        return self, env


@dataclass(frozen=True, slots=True)
class Guard:
    """What must not complete from now on, as far as it has come: every way to get there counts."""

    plan: ForbiddenPlan
    begun: tuple[Way, ...] = ()

    def after(self, event: Event, env: Env) -> tuple[Guard, Env] | None:
        """The guard after an event; None if that completed what must not be."""
        begun: dict[Way, None] = {}
        for rest, own in self.begun:
            missed = rest.miss(event, own)
            if missed is not None:
                begun[missed] = None
        starts = [(rest, NOTHING) for rest in self.plan.begin()]
        found: Env | None = env
        for rest, own in (*self.begun, *starts):
            for way in rest.take(event, own):
                if is_over(way):
                    shared = tuple(pair for pair in way[1].bound if pair[0] in self.plan.visible)
                    found = found.without(shared) if found is not None else None
                elif not isinstance(way[0], End):
                    begun[way] = None
        return None if found is None else (replace(self, begun=tuple(begun)), found)


Guards: TypeAlias = tuple[Guard, ...]


def _after(guards: Guards, event: Event, env: Env) -> tuple[Guards, Env] | None:
    left: list[Guard] = []
    for guard in guards:
        found = guard.after(event, env)
        if found is None:
            return None
        left.append(found[0])
        env = found[1]
    return tuple(left), env


@dataclass(frozen=True, slots=True)
class Held(Rest):
    """Complete but for the end of the window, up to which nothing forbidden may happen."""

    guards: Guards

    def take(self, event: Event, env: Env) -> Iterator[Way]:
        yield from ()

    def miss(self, event: Event, env: Env) -> Way | None:
        found = _after(self.guards, event, env)
        return None if found is None else (Held(found[0]), found[1])

    @property
    def is_held(self) -> bool:
        return True


class OneAtATime(Rest):
    """Parts of which one is at hand: what becomes of it says what is left of all."""

    __slots__ = ()
    part: Rest

    @abstractmethod
    def _go_on(self, ways: Iterator[Way]) -> Iterator[Way]:
        """What is left where so much is left of the part."""

    def take(self, event: Event, env: Env) -> Iterator[Way]:
        yield from self._go_on(self.part.take(event, env))

    def wake(self, now: Instant, env: Env) -> Iterator[Way]:
        yield from self._go_on(self.part.wake(now, env))

    @property
    def due(self) -> Instant | None:
        return self.part.due

    @property
    def last(self) -> Instant | None:
        return self.part.last


@dataclass(frozen=True, slots=True)
class InSequence(OneAtATime):
    """A part of a sequence; until its first event, guards watch over what comes between."""

    plan: SequencePlan
    place: int
    part: Rest
    guards: Guards

    def _go_on(self, ways: Iterator[Way]) -> Iterator[Way]:
        for rest, env in ways:
            if rest == DONE:
                yield from ((left, env) for left in self.plan.enter(self.place + 1))
            else:
                yield rest if rest == EARLY else replace(self, part=rest, guards=()), env

    def miss(self, event: Event, env: Env) -> Way | None:
        watched = _after(self.guards, event, env)
        missed = None if watched is None else self.part.miss(event, watched[1])
        if watched is None or missed is None:
            return None
        return replace(self, part=missed[0], guards=watched[0]), missed[1]


@dataclass(frozen=True, slots=True)
class InBoth(Rest):
    """All parts at once, each event for one of them; guards watch from the first event on."""

    plan: BothPlan
    parts: tuple[Rest, ...]
    guards: Guards = ()

    def take(self, event: Event, env: Env) -> Iterator[Way]:
        for place, part in enumerate(self.parts):
            for rest, found in part.take(event, env):
                others = self._missed(place, event, found)
                if rest == EARLY:
                    yield EARLY, found
                elif others is not None:
                    yield replace(self, parts=others[0]).with_part(place, rest), others[1]

    def _missed(self, taker: int, event: Event, env: Env) -> tuple[tuple[Rest, ...], Env] | None:
        """The parts after an event that one of them takes: to all others it just happens."""
        parts = list(self.parts)
        for place, part in enumerate(self.parts):
            if place != taker:
                missed = part.miss(event, env)
                if missed is None:
                    return None
                parts[place], env = missed
        return tuple(parts), env

    def with_part(self, place: int, rest: Rest) -> Rest:
        """The same, of one part of which this is left."""
        parts = (*self.parts[:place], rest, *self.parts[place + 1 :])
        if all(part == DONE for part in parts) and not self.plan.forbidden:
            return DONE
        return replace(self, parts=parts, guards=self.guards or self.plan.guards())

    def miss(self, event: Event, env: Env) -> Way | None:
        watched = _after(self.guards, event, env)
        missed = None if watched is None else self._missed(-1, event, watched[1])
        if watched is None or missed is None:
            return None
        return replace(self, parts=missed[0], guards=watched[0]), missed[1]

    def wake(self, now: Instant, env: Env) -> Iterator[Way]:
        for place, part in enumerate(self.parts):
            if part.due == now:
                yield from ((self.with_part(place, r), e) for r, e in part.wake(now, env))
                return

    @property
    def due(self) -> Instant | None:
        return _first(part.due for part in self.parts)

    @property
    def last(self) -> Instant | None:
        return _first(part.last for part in self.parts)

    @property
    def is_held(self) -> bool:
        return all(part == DONE or part.is_held for part in self.parts)


@dataclass(frozen=True, slots=True)
class InLoop(OneAtATime):
    """One of several rounds; so many are over."""

    plan: LoopPlan
    rounds: int
    part: Rest

    def _go_on(self, ways: Iterator[Way]) -> Iterator[Way]:
        for rest, env in ways:
            if rest == DONE:
                after = env.forgetting(self.plan.own)
                if after is not None:
                    yield from ((left, after) for left in self.plan.enter(self.rounds + 1))
            else:
                yield rest if rest == EARLY else replace(self, part=rest), env

    def miss(self, event: Event, env: Env) -> Way | None:
        missed = self.part.miss(event, env)
        return None if missed is None else (replace(self, part=missed[0]), missed[1])


@dataclass(frozen=True, slots=True)
class InWindow(Rest):
    """A part that has so much time, or takes so long; it counts from the first event."""

    plan: WindowPlan
    part: Rest
    end: Instant | None = None

    def take(self, event: Event, env: Env) -> Iterator[Way]:
        end = self.plan.period.after(event.instant) if self.end is None else self.end
        if self._is_over(event.instant):
            return
        for rest, found in self.part.take(event, env):
            if rest != DONE:
                yield rest if rest == EARLY else replace(self, part=rest, end=end), found
            else:
                yield EARLY if self.plan.holds_for and event.instant < end else DONE, found

    def _is_over(self, instant: Instant) -> bool:
        return not self.plan.holds_for and self.end is not None and instant > self.end

    def miss(self, event: Event, env: Env) -> Way | None:
        if self._is_over(event.instant):
            return None
        missed = self.part.miss(event, env)
        return None if missed is None else (replace(self, part=missed[0]), missed[1])

    def wake(self, now: Instant, env: Env) -> Iterator[Way]:
        if self.part.is_held and self.end == now:
            yield DONE, env
        elif self.part.due == now and not self._is_over(now):
            for rest, found in self.part.wake(now, env):
                if rest != DONE:
                    yield replace(self, part=rest), found
                else:
                    is_early = self.plan.holds_for and self.end is not None and now < self.end
                    yield EARLY if is_early else DONE, found

    @property
    def due(self) -> Instant | None:
        return self.end if self.part.is_held else self.part.due

    @property
    def last(self) -> Instant | None:
        return self.part.last if self.plan.holds_for else _first((self.end, self.part.last))


def _first(instants: Iterable[Instant | None]) -> Instant | None:
    return min((instant for instant in instants if instant is not None), default=None)


# Plans ----------------------------------------------------------------------------------------


class Plan(ABC):
    """A form, with its conditions compiled."""

    __slots__ = ()

    @abstractmethod
    def begin(self) -> Iterator[Rest]:
        """The ways to begin; `DONE` where no event is needed."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Plan, ...]: ...

    def walk(self) -> Iterator[Plan]:
        """The plan and everything in it, parents first."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True, eq=False)
class EventPlan(Plan):
    call: algebra.Taken
    types: frozenset[str]  # the type and all that inherit from it
    condition: Callable[[Frame], bool]

    def begin(self) -> Iterator[Rest]:
        yield Awaited(self)

    @property
    def parts(self) -> tuple[Plan, ...]:
        return ()

    def is_met_by(self, event: Event) -> bool:
        return event.type in self.types and self.condition(Frame(event, now=event.instant))

    def pairs(self, event: Event) -> Pairs:
        parameters = self.call.parameters
        return tuple((name, event.values_.get(attribute)) for name, attribute in parameters)


@dataclass(frozen=True, slots=True, eq=False)
class SequencePlan(Plan):
    """Parts, before each of them what must not happen; and what must not happen after the last."""

    steps: tuple[Plan, ...]
    forbidden: tuple[tuple[ForbiddenPlan, ...], ...]  # one more than there are steps

    @property
    def parts(self) -> tuple[Plan, ...]:
        return (*self.steps, *(plan for plans in self.forbidden for plan in plans))

    def begin(self) -> Iterator[Rest]:
        yield from self.enter(0)

    def enter(self, place: int, guards: Guards = ()) -> Iterator[Rest]:
        """The ways to begin with a step; one that needs no event may be left out, and then what must
        not happen before it must not happen before the next one either."""
        guards = (*guards, *map(Guard, self.forbidden[place]))
        if place == len(self.steps):
            yield Held(guards) if guards else DONE
            return
        for rest in self.steps[place].begin():
            if rest == DONE:
                yield from self.enter(place + 1, guards)
            else:
                yield InSequence(self, place, rest, guards)


@dataclass(frozen=True, slots=True, eq=False)
class ForbiddenPlan(Plan):
    """What must not complete."""

    part: Plan
    visible: frozenset[str]  # the parameters that a match has; others are its own
    span: Span | None

    @property
    def parts(self) -> tuple[Plan, ...]:
        return (self.part,)

    def begin(self) -> Iterator[Rest]:
        yield from self.part.begin()


@dataclass(frozen=True, slots=True, eq=False)
class EitherPlan(Plan):
    choices: tuple[Plan, ...]

    @property
    def parts(self) -> tuple[Plan, ...]:
        return self.choices

    def begin(self) -> Iterator[Rest]:
        for choice in self.choices:
            yield from choice.begin()


@dataclass(frozen=True, slots=True, eq=False)
class BothPlan(Plan):
    operands: tuple[Plan, ...]
    forbidden: tuple[ForbiddenPlan, ...]

    @property
    def parts(self) -> tuple[Plan, ...]:
        return (*self.operands, *self.forbidden)

    def begin(self) -> Iterator[Rest]:
        for rests in product(*(operand.begin() for operand in self.operands)):
            yield DONE if all(rest == DONE for rest in rests) else InBoth(self, rests)

    def guards(self) -> Guards:
        return tuple(map(Guard, self.forbidden))


@dataclass(frozen=True, slots=True, eq=False)
class LoopPlan(Plan):
    part: Plan
    low: int
    high: int | None
    own: frozenset[str] = frozenset()  # names that each round binds anew

    @property
    def parts(self) -> tuple[Plan, ...]:
        return (self.part,)

    def begin(self) -> Iterator[Rest]:
        yield from self.enter(0)

    def enter(self, rounds: int) -> Iterator[Rest]:
        """A round more, if there may be one, or none; more than are needed need not be counted."""
        rounds = min(rounds, self.low) if self.high is None else rounds
        if self.high is None or rounds < self.high:
            yield from (InLoop(self, rounds, rest) for rest in self.part.begin() if rest != DONE)
        if rounds >= self.low:
            yield DONE


@dataclass(frozen=True, slots=True, eq=False)
class WindowPlan(Plan):
    part: Plan
    period: Period
    holds_for: bool
    span: Span | None

    @property
    def parts(self) -> tuple[Plan, ...]:
        return (self.part,)

    def begin(self) -> Iterator[Rest]:
        for rest in self.part.begin():
            yield rest if rest == DONE else InWindow(self, rest)


# What contexts follow -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a form, with what is bound."""

    rest: Rest
    env: Env

    @property
    def result(self) -> Env | None:
        return self.env if self.rest == DONE else None

    @property
    def is_lost(self) -> bool:
        return self.rest == EARLY

    @property
    def due(self) -> Instant | None:
        return self.rest.due

    @property
    def last(self) -> Instant | None:
        return self.rest.last

    def take(self, event: Event) -> Iterator[Left]:
        return _ways(self.rest.take(event, self.env))

    def miss(self, event: Event) -> Left | None:
        missed = self.rest.miss(event, self.env)
        return None if missed is None else Left(*missed)

    def wake(self, now: Instant) -> Iterator[Left]:
        return _ways(self.rest.wake(now, self.env))


def _ways(ways: Iterator[Way]) -> Iterator[Left]:
    """Those that are allowed."""
    return (Left(*way) for way in ways if way[0] != DONE or is_over(way))


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """A form that is followed by what is left of it."""

    plan: Plan

    def begin(self) -> tuple[Left, ...]:
        return tuple(Left(rest, NOTHING) for rest in self.plan.begin())

    def fixed(self) -> Iterator[object]:
        return self.plan.walk()


# Forms as plans -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes plans of the resolved forms of one statement."""

    heirs: Callable[[str], frozenset[str]]  # a type and all that inherit from it
    visible: frozenset[str]  # the parameters of the positive calls

    def plan(self, form: algebra.Form) -> Plan:
        match form:
            case algebra.Taken(atom):
                condition = compile_condition(atom.condition)
                return EventPlan(form, self.heirs(atom.event_type), condition)
            case algebra.Follows(parts):
                return self._sequence(parts)
            case algebra.Either(parts):
                return EitherPlan(tuple(map(self.plan, parts)))
            case algebra.Both(parts):
                wanted = (part for part in parts if not isinstance(part, algebra.Never))
                absent = (part for part in parts if isinstance(part, algebra.Never))
                return BothPlan(tuple(map(self.plan, wanted)), tuple(map(self._forbidden, absent)))
            case algebra.Times(part, low, high, own):
                least = 0 if algebra.can_be_empty(part) else low
                return LoopPlan(self.plan(part), least, high, frozenset(own))
            case algebra.Timed(part, period, kind):
                return WindowPlan(self.plan(part), period, kind == "holdsFor", form.span)
        raise TypeError(f"no meaning of {type(form).__name__}")

    def _sequence(self, parts: tuple[algebra.Form, ...]) -> Plan:
        steps: list[Plan] = []
        forbidden: list[tuple[ForbiddenPlan, ...]] = [()]
        for part in _flat(parts):
            if isinstance(part, algebra.Never):
                forbidden[-1] = (*forbidden[-1], self._forbidden(part))
            else:
                steps.append(self.plan(part))
                forbidden.append(())
        return SequencePlan(tuple(steps), tuple(forbidden))

    def _forbidden(self, form: algebra.Never) -> ForbiddenPlan:
        inner = replace(self, visible=frozenset(algebra.match_parameters(form.part)))
        return ForbiddenPlan(inner.plan(form.part), self.visible, form.span)


def _flat(parts: tuple[algebra.Form, ...]) -> Iterator[algebra.Form]:
    """Sequences in a sequence are one: what is absent at the end of one is so up to the next part."""
    for part in parts:
        if isinstance(part, algebra.Follows):
            yield from _flat(part.parts)
        else:
            yield part
