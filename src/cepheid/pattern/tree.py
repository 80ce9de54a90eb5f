"""Pattern trees: what must happen, in which order, and in which time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache

from cepheid.core.checks import need
from cepheid.core.time import PERIOD_UNITS, Period
from cepheid.errors import Span
from cepheid.expr.tree import Expr
from cepheid.pattern.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Atom(Pattern):
    """One event of a type that satisfies a condition: `a=Motorbike(speed >= 50)`."""

    event_type: str
    tag: str | None = None
    condition: Expr | None = None


@dataclass(frozen=True, slots=True)
class Every(Pattern):
    child: Pattern


@dataclass(frozen=True, slots=True)
class EveryDistinct(Pattern):
    """Like every, but a key seen before, and not expired, gives no match."""

    keys: tuple[Expr, ...]
    child: Pattern
    expiry: Period | None = None

    def __post_init__(self) -> None:
        need(bool(self.keys), "every-distinct needs a key")


@dataclass(frozen=True, slots=True)
class FollowedBy(Pattern):
    """`->`"""

    parts: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        need(len(self.parts) > 1, "`->` needs two parts")


@dataclass(frozen=True, slots=True)
class AllOf(Pattern):
    """`and`"""

    parts: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        need(len(self.parts) > 1, "`and` needs two parts")


@dataclass(frozen=True, slots=True)
class AnyOf(Pattern):
    """`or`"""

    parts: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        need(len(self.parts) > 1, "`or` needs two parts")


@dataclass(frozen=True, slots=True)
class Absent(Pattern):
    """`not`: true from the start, false for good when its child is true."""

    child: Pattern


@dataclass(frozen=True, slots=True)
class Repeat(Pattern):
    """`[low:high] child until end`; both bounds None is plain until; equal bounds is `[n]`."""

    child: Pattern
    low: int | None = None
    high: int | None = None
    until: Pattern | None = None

    def __post_init__(self) -> None:
        low, high = self.low, self.high
        need(low is None or low >= 0, "a repeat counts from zero")
        need(high is None or high >= max(low or 0, 1), "a repeat ends after it begins")
        need(self.is_exact or self.until is not None, "a repeat without a count needs an until")

    @property
    def is_exact(self) -> bool:
        return self.low is not None and self.low == self.high


@dataclass(frozen=True, slots=True)
class Within(Pattern):
    """`where timer:within(p)`, and with a count `timer:withinmax(p, n)`."""

    child: Pattern
    period: Period
    most: int | None = None

    def __post_init__(self) -> None:
        need(self.most is None or self.most >= 0, "a number of matches is never negative")


@dataclass(frozen=True, slots=True)
class WithinOf(Pattern):
    """The same with a period that events before it tell: `where timer:within(a.n sec)`."""

    child: Pattern
    amounts: tuple[Expr, ...]
    units: tuple[str, ...]
    most: int | None = None

    def __post_init__(self) -> None:
        need(self.most is None or self.most >= 0, "a number of matches is never negative")
        _need_units(self.amounts, self.units)


@dataclass(frozen=True, slots=True)
class While(Pattern):
    child: Pattern
    condition: Expr


@dataclass(frozen=True, slots=True)
class Interval(Pattern):
    """`timer:interval(p)`: true once the period has passed."""

    period: Period


@dataclass(frozen=True, slots=True)
class IntervalOf(Pattern):
    """The same with a period that events before it tell: `timer:interval(a.n min 30 sec)`."""

    amounts: tuple[Expr, ...]
    units: tuple[str, ...]

    def __post_init__(self) -> None:
        _need_units(self.amounts, self.units)


def _need_units(amounts: tuple[Expr, ...], units: tuple[str, ...]) -> None:
    need(bool(amounts) and len(amounts) == len(units), "a period has amounts, each with a unit")
    need(PERIOD_UNITS.issuperset(units), "a period has units of time")


@dataclass(frozen=True, slots=True)
class At(Pattern):
    """`timer:at(...)`: true at the next instant of a schedule."""

    schedule: Schedule


def children(pattern: Pattern) -> Iterator[Pattern]:
    """The direct sub-patterns, from left to right."""
    return (part for part in _parts(pattern) if isinstance(part, Pattern))


def expressions(pattern: Pattern) -> Iterator[Expr]:
    """Those of the pattern itself, not of its sub-patterns."""
    return (part for part in _parts(pattern) if isinstance(part, Expr))


def _parts(pattern: Pattern) -> Iterator[object]:
    kind: type = type(pattern)
    for name in _names_of_parts(kind):
        value = getattr(pattern, name)
        yield from value if isinstance(value, tuple) else (value,)


@cache
def _names_of_parts(kind: type) -> tuple[str, ...]:
    """The fields that can hold parts; looked up once, because trees are walked often."""
    return tuple(f.name for f in fields(kind) if f.name != "span")


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and everything in it, parents first."""
    yield pattern
    for child in children(pattern):
        yield from walk(child)


def forbids(whole: Pattern, part: Pattern) -> bool:
    """Whether the part is a `not` of an `and`: what is in it hears an event before the other sides."""
    return isinstance(whole, AllOf) and isinstance(part, Absent)


def atoms(pattern: Pattern) -> Iterator[Atom]:
    return (node for node in walk(pattern) if isinstance(node, Atom))
