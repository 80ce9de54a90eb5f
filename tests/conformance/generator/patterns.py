"""Patterns over some types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis.strategies import DrawFn

from cepheid.core.types import EventType
from tests.conformance.generator.expressions import Expressions, Names, names_of

SCHEDULES = (
    *(
        f"timer:at(*, *, *, *, *, {s})"
        for s in ("*/2", "3", "[0, 5, 7]", "*/2, 500", "*, '+01:00'")
    ),
    "timer:at(*, *, [1 weekday, last], *, [2, 4 last], */3)",
)
PERIODS = ("1 sec", "2 sec", "3 sec", "500 msec")


@dataclass
class Bound:
    """The tags of a pattern so far, with their types; a repeated one holds several events."""

    tags: dict[str, str] = field(default_factory=dict)
    repeated: frozenset[str] = frozenset()
    everies: int = 2  # how many more there may be: each multiplies the matches
    # All tags, those out of sight too, and the types of their events.
    used: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def aside(self, everies: int | None = None) -> Bound:
        """The same place, where what is bound later is not seen."""
        rest = self.everies if everies is None else min(everies, self.everies)
        return Bound(dict(self.tags), self.repeated, rest, self.used, self.read)


Maker: TypeAlias = Callable[[Bound, int], str]


class Patterns(Expressions):
    """Draws patterns over some types. Each method adds what it binds to the given tags."""

    def __init__(
        self, draw: DrawFn, number: int, types: Mapping[str, EventType], among: tuple[str, ...]
    ) -> None:
        super().__init__(draw)
        self.place, self.types, self.among = number, types, among

    def pattern(self) -> tuple[str, Bound]:
        bound = Bound()
        top = self.pick(self.every_atom_then, self.every, self.every_then, self.any)
        return top(bound, self.pick(1, 0, 2, 1, 0, 3)), bound

    def names(self, bound: Bound) -> Names:
        found = Names()
        for tag, type in bound.tags.items():
            path = f"{tag}[0]" if tag in bound.repeated else tag
            found += Names(events=(tag,)) + names_of(f"{path}.", self.types[type], self.types)
        return found

    def any(self, bound: Bound, deep: int) -> str:
        if deep == 0 or self.happens(6):
            return self.leaf(bound)
        kinds = [self.then, self.then, self.either, self.both, self.absence, self.within]
        kinds += [self.times, self.until, self.while_, self.unless, self.then, self.either]
        kinds += [self.every, self.every, self.distinct] if bound.everies else []
        return self.pick(*kinds)(bound, deep - 1)

    def leaf(self, bound: Bound) -> str:
        if len(bound.used) < 12 and not self.happens(8):
            return self.atom(bound)
        return self.timer(bound)

    def timer(self, bound: Bound) -> str:
        told = [name for name in self.names(bound).numbers if self.happens(2)]
        if told and self.happens(4):
            return f"timer:interval({self.pick(*told)} {self.pick('sec', 'msec')})"
        return self.pick(*(f"timer:interval({p})" for p in (*PERIODS, "0 sec")), *SCHEDULES)

    def atom(self, bound: Bound) -> str:
        type = self.pick(*self.among)
        condition = ""
        if self.pick(False, False, True):
            own = names_of("", self.types[type], self.types, deep=1)
            condition = f"({self.truth(own + own + self.names(bound))})"
        bound.read.add(type)
        if self.happens(3):
            return f"{type}{condition}"
        # No attribute of an earlier statement is called so.
        tag = f"{'abcdefghijkl'[len(bound.used)]}{self.place}"
        bound.used.append(tag)
        bound.tags[tag] = type
        return f"{tag}={type}{condition}"

    def every_atom_then(self, bound: Bound, deep: int) -> str:
        first = f"every {self.atom(bound)}"
        bound.everies -= 1
        return f"({first} -> {self.any(bound, deep)})"

    def every_then(self, bound: Bound, deep: int) -> str:
        """Many instances that wait for the same events, begun by this or that."""
        first = self.every(bound, 0, self.pick(self.either, self.both, self.any))
        last = self.pick(self.every, self.any)
        return f"({first} -> {last(bound, max(deep - 1, 0))})"

    def then(self, bound: Bound, deep: int) -> str:
        return f"({self.any(bound, deep)} -> {self.any(bound, deep)})"

    def _sides(self, bound: Bound, deep: int) -> tuple[str, str]:
        """Two patterns that start together: neither sees what the other binds."""
        sides = bound.aside(1), bound.aside(1)
        left, right = (self.any(side, deep) for side in sides)
        for side in sides:
            bound.tags |= side.tags
            bound.repeated |= side.repeated
        bound.everies = min(side.everies for side in sides)
        return left, right

    def either(self, bound: Bound, deep: int) -> str:
        left, right = self._sides(bound, deep)
        return f"({left} or {right})"

    def both(self, bound: Bound, deep: int) -> str:
        left, right = self._sides(bound, deep)
        return f"({left} and {right})"

    def unless(self, bound: Bound, deep: int) -> str:
        absent = self.any(bound.aside(), deep)
        present = self.any(bound, deep)
        return self.pick(f"({present} and not ({absent}))", f"(not ({absent}) and {present})")

    def absence(self, bound: Bound, deep: int) -> str:
        absent = self.any(bound.aside(), min(deep, 1))
        return f"({self.timer(bound)} and not ({absent}))"

    def within(self, bound: Bound, deep: int) -> str:
        inner, period = self.any(bound, deep), self.pick(*PERIODS)
        most = self.pick("", "max")
        end = f"timer:withinmax({period}, {self.pick(1, 2)})" if most else f"timer:within({period})"
        return f"({inner} where {end})"

    def while_(self, bound: Bound, deep: int) -> str:
        inner = self.any(bound, deep)
        return f"({inner} while ({self.truth(self.names(bound))}))"

    def _repeated(self, bound: Bound, deep: int) -> str:
        inside = bound.aside()
        inner = self.any(inside, deep)
        bound.repeated |= inside.tags.keys() - bound.tags.keys()
        bound.tags |= inside.tags
        bound.everies = inside.everies
        return inner

    def times(self, bound: Bound, deep: int) -> str:
        return f"([{self.pick(2, 1, 3)}] {self._repeated(bound, deep)})"

    def until(self, bound: Bound, deep: int) -> str:
        end = bound.aside(0)
        inner = self._repeated(bound, deep)
        last = self.leaf(end)
        bound.tags |= end.tags
        times = self.pick("", "", "[2:] ", "[:2] ", "[1:3] ", "[2] ")
        return f"({times}{inner} until {last})"

    def every(self, bound: Bound, deep: int, make: Maker | None = None) -> str:
        return f"every {self._in_every(bound, deep, make or self.any)}"

    def distinct(self, bound: Bound, deep: int) -> str:
        before = self.names(bound).values
        inner = self._in_every(bound, deep, self.any)
        keys = [name for name in self.names(bound).values if name not in before] or ["1"]
        period = self.pick("", *(f", {p}" for p in PERIODS))
        return f"every-distinct({self.pick(*keys)}{period}) {inner}"

    def _in_every(self, bound: Bound, deep: int, make: Maker) -> str:
        """Every in every doubles with each match, so there is none inside."""
        rest, bound.everies = bound.everies - 1, 0
        inner = make(bound, deep)
        bound.everies = max(rest, 0)
        return inner if inner.startswith("(") else f"({inner})"
