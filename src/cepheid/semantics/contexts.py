"""Contexts: which of the partial matches of a form may use an event, and what noise does to them.

*Chronicle*: an event advances the oldest partial match that can use it; if none can, it may begin one.
*Immediate*: the same, and an event that does neither clears them. *Strict*: there is one partial match
at most; an event that does not advance it ends it, and may begin the next one.

Where all events of a form bind a parameter, each value of it has partial matches of its own, unless the
context is global. An event without that parameter concerns all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, TypeAlias

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.core.values import is_null
from cepheid.expr.values import group_key
from cepheid.pattern.algebra import (
    Occurrence,
    common_parameters,
    match_parameters,
    walk_taken,
)
from cepheid.pattern.policy import Policy
from cepheid.semantics.bindings import Env
from cepheid.semantics.residuals import EventPlan, Plan, Planner
from cepheid.semantics.timers import Timer, TimerStage

Key: TypeAlias = tuple[Hashable, ...]
Parameters: TypeAlias = "dict[str, Value]"


class Host(Protocol):
    """What partial matches need from the statement that runs them."""

    @property
    def now(self) -> Instant: ...
    def arm(self, timer: Timer, due: Instant) -> None: ...
    def disarm(self, timer: Timer) -> None: ...
    def occurred(self, parameters: Parameters, events: tuple[Event, ...]) -> None: ...


class Way(Hashable, Protocol):
    """One way in which the events of a partial match may belong together; it never changes."""

    @property
    def result(self) -> Env | None:
        """What is bound, if it is complete."""

    @property
    def is_lost(self) -> bool:
        """Whether an event came too early, so that nothing can come of it."""

    @property
    def due(self) -> Instant | None:
        """When it has to be woken."""

    @property
    def last(self) -> Instant | None:
        """The last instant at which an event can still be used; None: any."""

    def take(self, event: Event) -> Iterator[Self]:
        """What may come of it if it uses the event, the more patient first."""

    def miss(self, event: Event) -> Self | None:
        """What comes of it if the event happens and is not used; None if it must not have happened."""

    def wake(self, now: Instant) -> Iterator[Self]:
        """What comes of it when it is due."""


class Follower(Protocol):
    """How a form is followed: by what is left of it, or by tokens on its automaton."""

    def begin(self) -> Sequence[Way]: ...
    def fixed(self) -> Iterator[object]:
        """All that ways refer to and that never changes, in a fixed order."""


Follow: TypeAlias = Callable[[Plan], Follower]


@dataclass(frozen=True, slots=True, eq=False)
class OccurrencePlan:
    """The part of an occurrence that never changes."""

    policy: Policy
    follower: Follower
    declared: tuple[EventPlan, ...]
    parameters: tuple[str, ...]
    key: tuple[str, ...]  # the parameters that partial matches are kept apart by
    unkeyed: frozenset[str]  # types that are forbidden whatever their key is

    def exists(self, event: Event) -> bool:
        """Whether an event passes the check of its type."""
        return any(one.is_met_by(event) for one in self.declared)

    def key_of(self, event: Event) -> Key | None:
        """Whose partial matches an event belongs to; None: it has no key.

        Null equals nothing, so that what begins with it has a key of its own.
        """
        fitting = [one for one in self.declared if event.type in one.types]
        fitting.sort(
            key=lambda one: one.call.atom.event_type != event.type
        )  # the type itself before its ancestors
        for found in (dict(one.pairs(event)) for one in fitting):
            if all(name in found for name in self.key):
                values = [found[name] for name in self.key]
                own = event.key if any(map(is_null, values)) else ()
                return (*map(group_key, values), *own)
        return None


def plan_occurrence(
    pattern: Occurrence, policy: Policy, heirs: Mapping[str, frozenset[str]], follow: Follow
) -> OccurrencePlan:
    names = match_parameters(pattern.form)
    planner = Planner(heirs.__getitem__, frozenset(names))
    declared = (planner.plan(taken) for taken in pattern.declared)
    key = () if policy.is_global else common_parameters(pattern.form)
    unkeyed = (
        taken.atom.event_type
        for taken in walk_taken(pattern.form)
        if not {name for name, _ in taken.parameters}.issuperset(key)
    )
    return OccurrencePlan(
        policy,
        follow(planner.plan(pattern.form)),
        tuple(plan for plan in declared if isinstance(plan, EventPlan)),
        names,
        key,
        frozenset(heir for name in unkeyed for heir in heirs[name]),
    )


class PartialMatch:
    """The events that were used so far, and all that may be left after exactly these."""

    __slots__ = ("armed_for", "events", "key", "matches", "order", "ways")
    stage: ClassVar[TimerStage] = TimerStage.PATTERN

    def __init__(self, matches: PartialMatches, key: Key) -> None:
        self.matches = matches
        self.key = key
        self.order = 0
        self.armed_for: Instant | None = None
        self.events: tuple[Event, ...] = ()
        self.ways: tuple[Way, ...] = tuple(matches.plan.follower.begin())

    def offer(self, event: Event) -> bool:
        """Uses the event if it can; what comes too early ends the ways that it comes too early for."""
        used: dict[Way, None] = {}
        left: list[Way] = []
        for way in self.ways:
            ways = list(way.take(event))
            used.update((after, None) for after in ways if not after.is_lost)
            if not ways:
                left.append(way)
        if used:
            self.ways, self.events = tuple(used), (*self.events, event)
            return True
        self.ways = tuple(left)
        return False

    def miss(self, event: Event) -> None:
        """The event happens, and is not used here."""
        missed = (way.miss(event) for way in self.ways)
        self.ways = tuple(way for way in missed if way is not None)

    @property
    def due(self) -> Instant | None:
        """When time completes a part of it, or ends it: then nothing can be used any more."""
        found = [way.due for way in self.ways if way.due is not None]
        lasts = [way.last for way in self.ways]
        over = max((last for last in lasts if last is not None), default=None)
        if over is not None and None not in lasts:
            found.append(over + 1)
        return min(found, default=None)

    def fire(self) -> None:
        self.matches.wake(self)

    def wake(self, now: Instant) -> None:
        ways: dict[Way, None] = {}
        for way in self.ways:
            if way.last is None or way.last >= now:
                woken = way.wake(now) if way.due == now else [way]
                ways.update((after, None) for after in woken if not after.is_lost)
        self.ways = tuple(ways)

    @property
    def result(self) -> Env | None:
        """What is bound, if it is complete."""
        return next((way.result for way in self.ways if way.result is not None), None)


class PartialMatches:
    """All partial matches of one statement, for each key the oldest first."""

    __slots__ = ("by_key", "host", "plan")

    def __init__(self, plan: OccurrencePlan, host: Host) -> None:
        self.plan = plan
        self.host = host
        self.by_key: dict[Key, list[PartialMatch]] = {}

    def start(self) -> None:
        """Nothing is true before something happens."""

    def take(self, event: Event) -> None:
        if not self.plan.exists(event):
            return
        own = self.plan.key_of(event)
        if own is None or event.type in self.plan.unkeyed:
            for key in [key for key in self.by_key if key != own]:
                self._concern(key, event, is_noise=own is None)
        if own is not None:
            self._take(own, event)

    def _concern(self, key: Key, event: Event, *, is_noise: bool) -> None:
        """An event of no key, or of another one, happens to the partial matches of a key."""
        mine = self.by_key.pop(key)
        if is_noise and self.plan.policy.noise_counts:
            self._end(mine)
            return
        for match in mine:
            match.miss(event)
        self._settle(key, mine)

    def _take(self, key: Key, event: Event) -> None:
        mine = self.by_key.pop(key, [])
        is_used = self._advance(mine, event) or self._begin(mine, key, event)
        if not is_used and self.plan.policy.noise_counts:
            self._end(mine)
            mine = []
        self._settle(key, mine)

    def _advance(self, mine: list[PartialMatch], event: Event) -> bool:
        """Whether one of them uses the event; to all others it just happens."""
        taker = next((match for match in mine if match.offer(event)), None)
        for match in mine:
            if match is not taker:
                match.miss(event)
        return taker is not None

    def _begin(self, mine: list[PartialMatch], key: Key, event: Event) -> bool:
        fresh = PartialMatch(self, key)
        if not fresh.offer(event):
            return False
        if self.plan.policy.takers == "only":
            self._end(mine)
            mine.clear()
        mine.append(fresh)
        return True

    def wake(self, match: PartialMatch) -> None:
        match.armed_for = None
        match.wake(self.host.now)
        mine = self.by_key.pop(match.key)
        self._settle(match.key, mine)

    def _settle(self, key: Key, mine: Iterable[PartialMatch]) -> None:
        """Complete matches are told, what can come to nothing is forgotten, timers are set."""
        kept: list[PartialMatch] = []
        complete: list[tuple[PartialMatch, Env]] = []
        for match in mine:
            result = match.result
            if result is not None:
                complete.append((match, result))
            elif match.ways and (key[len(self.plan.key) :] == () or match.due is not None):
                kept.append(match)  # of a null key, only time can make something
            self._rearm(match, is_kept=result is None)
        if kept:
            self.by_key[key] = kept
        for match, result in complete:
            bound = dict(result.bound)
            values = {name: bound.get(name) for name in self.plan.parameters}
            self.host.occurred(values, match.events)

    def _rearm(self, match: PartialMatch, *, is_kept: bool) -> None:
        due = match.due if is_kept else None
        if due == match.armed_for:
            return  # who set the timer decides its place among others
        if match.armed_for is not None:
            self.host.disarm(match)
        if due is not None:
            self.host.arm(match, due)
        match.armed_for = due

    def _end(self, mine: Iterable[PartialMatch]) -> None:
        for match in mine:
            match.ways = ()
            self._rearm(match, is_kept=False)
