"""Firing: which binding elements are enabled, and what happens when one of them fires.

Where several are enabled the definition leaves the choice open. A run takes the one whose first
input has the token that arrived first, so that it is always the same, and waiting tokens are served
in the order of their arrival.

All bindings that may be enabled wait in an agenda, a heap by priority and arrival. They come from
joins of new tokens (`rules`), one at a time; whether one still has its tokens is seen when its turn
comes. What a firing costs depends on what it moves, not on what else lies in the net.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush, heapreplace
from typing import TypeAlias

from cepheid.core.checks import need
from cepheid.errors import RunError, UsageError, error, suggest
from cepheid.formal.petri.firing.rules import Rule, Values, compile_net
from cepheid.formal.petri.nets.invariants import Invariant
from cepheid.formal.petri.nets.multiset import Colour, Multiset
from cepheid.formal.petri.nets.net import Marking, Net


@dataclass(frozen=True, slots=True)
class BindingElement:
    """A transition and a value for each of its variables."""

    transition: str
    binding: tuple[tuple[str, Colour], ...]

    def __getitem__(self, variable: str) -> Colour:
        return dict(self.binding)[variable]

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.binding)
        return f"{self.transition} <{values}>"


class Stop(Enum):
    """Why a run has come back."""

    DEAD = "nothing is enabled"
    BREAKPOINT = "a transition with a breakpoint is next"
    LIMIT = "as many firings as asked for"


# Priority, arrival of the first token, number: the place in the agenda. Then what may fire.
Entry: TypeAlias = tuple[int, int, int, Rule, Values, Iterator[Values]]


class Simulation:
    """A marked net that runs: forward, back, up to a breakpoint."""

    def __init__(self, net: Net, marking: Marking, invariants: Sequence[Invariant] = ()) -> None:
        marking.check(net)
        self.net = net
        self.start = marking
        self.invariants = tuple(invariants)
        self.rules = compile_net(net)
        self.by_name = {rule.transition.name: rule for rule in self.rules.rules}
        self.listeners = [
            [(rule, join) for rule in self.rules.rules for at, join in rule.joins if at == place]
            for place in range(len(net.places))
        ]
        self.reset()

    def reset(self) -> None:
        """Back to the start."""
        self.bags = self.rules.bags()
        self.agenda: list[Entry] = []
        self.arrived = 0  # tokens so far
        self.entered = 0
        # What has fired. Two lists, because so many pairs would keep the garbage collector busy.
        self.fired_rules: list[Rule] = []
        self.fired_values: list[Values] = []
        tokens = [
            (number, token, count)
            for number, place in enumerate(self.net.places)
            for token, count in self.start[place.name].items()
        ]
        for place, token, count in tokens:
            self.arrived += 1
            self.bags[place].add(token, count, self.arrived)
        for place, token, _ in tokens:
            self.consider(place, token)
        self.start_sizes = self.sizes()

    # Looking.

    @property
    def marking(self) -> Marking:
        """The tokens of all places, as data."""
        named = zip(self.net.places, self.bags, strict=True)
        return Marking({place.name: Multiset(bag.tokens) for place, bag in named})

    def sizes(self) -> dict[str, int]:
        """How many tokens each place has."""
        return {place.name: bag.size for place, bag in zip(self.net.places, self.bags, strict=True)}

    @property
    def fired(self) -> tuple[BindingElement, ...]:
        """The firing sequence so far."""
        return tuple(map(_element, self.fired_rules, self.fired_values))

    def enabled(self) -> list[BindingElement]:
        """All enabled binding elements, found by trying everything."""
        found: dict[tuple[int, Values], Rule] = {}
        for number, rule in enumerate(self.rules.rules):
            place, join = rule.joins[0]
            for token in tuple(self.bags[place].tokens):
                for values in join(token, self.bags):
                    if rule.ready(values, self.bags) is not None:
                        found[number, values] = rule
        first = min((rule.priority for rule in found.values()), default=0)
        return [
            _element(rule, values) for (_, values), rule in found.items() if rule.priority == first
        ]

    # Moving.

    def step(self) -> BindingElement | None:
        """Fires once; None if nothing is enabled."""
        entry = self.next()
        if entry is None:
            return None
        self.apply(entry[3], entry[4])
        return _element(entry[3], entry[4])

    def run(self, limit: int | None = None, breakpoints: Collection[str] = ()) -> Stop:
        """Fires until nothing is enabled, a breakpoint comes, or the limit is reached.

        It stops before the transition with the breakpoint; the first firing stops nowhere, so that
        the run can go on from there.
        """
        for name in breakpoints:
            self.rule(name)
        fired = 0
        while limit is None or fired < limit:
            entry = self.next()
            if entry is None:
                return Stop.DEAD
            if fired and entry[3].transition.name in breakpoints:
                return Stop.BREAKPOINT
            self.apply(entry[3], entry[4])
            fired += 1
        return Stop.LIMIT

    def fire(self, element: BindingElement) -> None:
        """Fires a binding element of the user's choice."""
        if element not in self.enabled():
            hint = suggest(str(element), map(str, self.enabled()), "enabled")
            raise UsageError(error("usage", f"{element} is not enabled", hint=hint))
        values = dict(element.binding)
        rule = self.rule(element.transition)
        self.apply(rule, tuple(values[name] for name in rule.variables))

    def back(self, steps: int = 1) -> None:
        """Undoes the last firings, by repeating all others from the start."""
        need(steps >= 0, "a number of steps is never negative")
        kept = max(len(self.fired_rules) - steps, 0)
        rules, values = self.fired_rules[:kept], self.fired_values[:kept]
        self.reset()
        for rule, binding in zip(rules, values, strict=True):
            self.apply(rule, binding)

    def rule(self, name: str) -> Rule:
        if name not in self.by_name:
            hint = suggest(name, self.by_name, "transitions")
            raise UsageError(error("usage", f"no transition {name!r}", hint=hint))
        return self.by_name[name]

    # Inside.

    def next(self) -> Entry | None:
        """The entry of the agenda that fires next; it stays, in case it may fire once more."""
        agenda = self.agenda
        while agenda:
            entry = agenda[0]
            if entry[3].ready(entry[4], self.bags) is not None:
                return entry
            later = self.entry(entry[3], entry[5], entry[2])
            if later is None:
                heappop(agenda)
            else:
                heapreplace(agenda, later)
        return None

    def apply(self, rule: Rule, values: Values) -> None:
        """The firing rule: takes the tokens of the inputs, gives those of the outputs."""
        new = rule.fire(values, self.bags, self.arrived)
        self.arrived += len(new)
        for place, token in new:
            self.consider(place, token)
        self.fired_rules.append(rule)
        self.fired_values.append(values)
        if self.invariants:
            self.check_invariants()

    def consider(self, place: int, token: Colour) -> None:
        """Enters what a new token makes possible into the agenda."""
        for rule, join in self.listeners[place]:
            found = join(token, self.bags)
            if found:
                entry = self.entry(rule, iter(found), self.entered)
                if entry is not None:
                    self.entered += 1
                    heappush(self.agenda, entry)

    def entry(self, rule: Rule, found: Iterator[Values], number: int) -> Entry | None:
        """The next binding of a join that has its tokens."""
        for values in found:
            arrival = rule.ready(values, self.bags)
            if arrival is not None:
                return rule.priority, arrival, number, rule, values, found
        return None

    def check_invariants(self) -> None:
        sizes = self.sizes()
        for invariant in self.invariants:
            if not invariant.holds(sizes, self.start_sizes):
                last = _element(self.fired_rules[-1], self.fired_values[-1])
                fact = f"after firing {len(self.fired_rules)}, {last}: not so: {invariant}"
                raise RunError(error("broken-invariant", fact))


def _element(rule: Rule, values: Values) -> BindingElement:
    return BindingElement(rule.transition.name, tuple(zip(rule.variables, values, strict=True)))


def final_marking(net: Net, marking: Marking) -> Marking:
    """The marking in which nothing is enabled any more."""
    simulation = Simulation(net, marking)
    simulation.run()
    return simulation.marking


def marked(tokens: Mapping[str, Sequence[Colour]]) -> Marking:
    """A marking from lists of tokens."""
    return Marking({place: Multiset.of(colours) for place, colours in tokens.items()})
