"""Nets as data: places, transitions with guards and priorities, arcs with inscriptions, markings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from cepheid.core.checks import need
from cepheid.formal.petri.nets.multiset import EMPTY, Colour, Multiset
from cepheid.formal.petri.nets.terms import Product, Term, Var


class Priority(IntEnum):
    """The usual levels; a net may have any others. Low numbers go first."""

    P_HIGH = 1
    P_NORMAL = 2
    P_LOW = 3
    P_LOW2 = 4


@dataclass(frozen=True, slots=True)
class Simple:
    """A colour set of plain values."""

    name: str
    of: type

    def has(self, colour: Colour) -> bool:
        return isinstance(colour, self.of) and (self.of is bool or not isinstance(colour, bool))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ProductOf:
    """A colour set of tuples."""

    parts: tuple[ColourSet, ...]

    def has(self, colour: Colour) -> bool:
        return (
            isinstance(colour, tuple)
            and len(colour) == len(self.parts)
            and all(part.has(c) for part, c in zip(self.parts, colour, strict=True))
        )

    def __str__(self) -> str:
        return " * ".join(map(str, self.parts))


ColourSet: TypeAlias = Simple | ProductOf
INT = Simple("INT", int)
STRING = Simple("STRING", str)
BOOL = Simple("BOOL", bool)
UNIT = ProductOf(())


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    colours: ColourSet


@dataclass(frozen=True, slots=True)
class Arc:
    """Between a transition and a place: so many tokens of the colour that the term gives."""

    place: str
    term: Term
    count: int = 1

    def __post_init__(self) -> None:
        need(self.count > 0, "an arc moves at least one token")


@dataclass(frozen=True, slots=True)
class Transition:
    """`inputs` are the arcs from places, `outputs` those to places. No guard is always true.

    Several arcs may join a place and a transition: together they are its one inscription.
    """

    name: str
    inputs: tuple[Arc, ...]
    outputs: tuple[Arc, ...] = ()
    guard: Term | None = None
    priority: int = Priority.P_NORMAL

    def __post_init__(self) -> None:
        need(bool(self.inputs), f"the transition {self.name!r} needs an input")
        missing = set(self.variables()) - set(self.bindable())
        fact = f"no input of {self.name!r} binds {', '.join(sorted(missing))}"
        need(not missing, fact)

    def variables(self) -> Iterator[str]:
        for arc in (*self.inputs, *self.outputs):
            yield from arc.term.variables()
        if self.guard is not None:
            yield from self.guard.variables()

    def bindable(self) -> Iterator[str]:
        """The variables that a token can give a value: they stand bare, or in a tuple."""
        for arc in self.inputs:
            yield from _bindable(arc.term)


def _bindable(term: Term) -> Iterator[str]:
    if isinstance(term, Var):
        yield term.name
    elif isinstance(term, Product):
        for part in term.parts:
            yield from _bindable(part)


@dataclass(frozen=True, slots=True)
class Net:
    places: tuple[Place, ...]
    transitions: tuple[Transition, ...]

    def __post_init__(self) -> None:
        names = [*(p.name for p in self.places), *(t.name for t in self.transitions)]
        twice = sorted({name for name in names if names.count(name) > 1})
        need(not twice, f"two nodes are called {', '.join(twice)}")
        known = {place.name for place in self.places}
        for transition in self.transitions:
            for arc in (*transition.inputs, *transition.outputs):
                need(
                    arc.place in known, f"{transition.name!r} has an arc to no place {arc.place!r}"
                )

    def place(self, name: str) -> Place:
        return next(place for place in self.places if place.name == name)

    def transition(self, name: str) -> Transition:
        return next(t for t in self.transitions if t.name == name)


class Marking(Mapping[str, Multiset]):
    """The tokens of every place, as data; a place that is not named has none."""

    __slots__ = ("_tokens",)

    def __init__(self, tokens: Mapping[str, Multiset]) -> None:
        self._tokens = {place: bag for place, bag in tokens.items() if bag}

    def __getitem__(self, place: str) -> Multiset:
        return self._tokens.get(place, EMPTY)

    def __contains__(self, place: object) -> bool:
        return place in self._tokens

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens)

    def __len__(self) -> int:
        return len(self._tokens)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Marking) and self._tokens == other._tokens

    def __hash__(self) -> int:
        return hash(frozenset(self._tokens.items()))

    def __repr__(self) -> str:
        return "; ".join(f"{place}: {bag!r}" for place, bag in self.items())

    def check(self, net: Net) -> None:
        """Every token must belong to the colours of its place."""
        colours = {place.name: place.colours for place in net.places}
        for place, bag in self.items():
            need(place in colours, f"no place {place!r}")
            for colour in bag:
                fits = colours[place].has(colour)
                need(fits, f"{colour!r} is no colour of {place!r}, {colours[place]}")
