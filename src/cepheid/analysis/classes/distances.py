"""How far times of one row can lie apart, by the comparisons that it satisfies.

From `(a + 30m) > b` follows that b - a is at most 30 minutes. Such bounds add up along the way from one time to another,
and the shortest way counts. Of sums and differences of times, of `abs`, and of the greatest or least of several times the
meaning is known; any other condition bounds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from cepheid.analysis.classes.constellations import constant
from cepheid.sql.nodes import is_time


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of times with factors, and a constant, in microseconds or some part of them."""

    factors: Mapping[str, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)

    def plus(self, other: Linear, factor: int | Fraction = 1) -> Linear:
        names = {**self.factors, **other.factors}
        found = {n: self.factors.get(n, 0) + factor * other.factors.get(n, 0) for n in names}
        kept = {n: Fraction(value) for n, value in found.items() if value}
        return Linear(kept, self.constant + factor * other.constant)

    def times(self, factor: Fraction) -> Linear:
        return Linear().plus(self, factor)


@dataclass(frozen=True, slots=True)
class Bound:
    """`later` is at most some microseconds after `earlier`."""

    later: str
    earlier: str
    most: Fraction


class Distances:
    """The bounds that follow from some."""

    def __init__(self, bounds: Iterable[Bound]) -> None:
        self._most: dict[tuple[str, str], Fraction] = {}
        names: dict[str, None] = {}
        for bound in bounds:
            pair = bound.later, bound.earlier
            self._most[pair] = min(bound.most, self._most.get(pair, bound.most))
            names.update(dict.fromkeys(pair))
        for middle in names:
            for later in names:
                for earlier in names:
                    self._shorten(later, middle, earlier)

    def _shorten(self, later: str, middle: str, earlier: str) -> None:
        one, other = self._most.get((later, middle)), self._most.get((middle, earlier))
        if one is not None and other is not None:
            known = self._most.get((later, earlier))
            self._most[later, earlier] = one + other if known is None else min(known, one + other)

    def most(self, later: str, earlier: str) -> Fraction | None:
        """By how much one time can be after another; None: by any."""
        return Fraction(0) if later == earlier else self._most.get((later, earlier))


def most_after(later: str, time: exp.Expr, known: Distances) -> Fraction | None:
    """By how much one time can be after another that is worked out; None: by any."""
    match time:
        case exp.Alias() | exp.Paren():
            return most_after(later, time.this, known)
        case exp.Column():
            return known.most(later, name_of(time.table, time.name))
        case exp.Max() if not time.expressions:  # every row of the group is before it
            return most_after(later, time.this, known)
        case exp.Add() | exp.Sub() if isinstance(time.expression, exp.Literal):
            inner = most_after(later, time.this, known)
            shift = Fraction(str(constant(time.expression)))
            return (
                None if inner is None else inner + (-shift if isinstance(time, exp.Add) else shift)
            )
        case exp.Greatest() | exp.Least():
            found = [most_after(later, part, known) for part in (time.this, *time.expressions)]
            sure = [most for most in found if most is not None]
            if isinstance(time, exp.Greatest):
                return min(sure, default=None)
            return max(sure) if len(sure) == len(found) else None
    return None


def bounds(condition: exp.Expr, prefix: str = "") -> Iterator[Bound]:
    """What a comparison says of two times."""
    if not isinstance(condition, exp.EQ | exp.LT | exp.LTE | exp.GT | exp.GTE):
        return
    if isinstance(condition, exp.EQ | exp.LT | exp.LTE):
        yield from _not_above(condition.this, condition.expression, prefix)
    if isinstance(condition, exp.EQ | exp.GT | exp.GTE):
        yield from _not_above(condition.expression, condition.this, prefix)


def _not_above(low: exp.Expr, high: exp.Expr, prefix: str) -> Iterator[Bound]:
    for below in _forms(low, 1, prefix):
        for above in _forms(high, -1, prefix):
            found = below.plus(above, -1)
            if len(found.factors) == 2 and not sum(found.factors.values()):
                later = next(name for name, factor in found.factors.items() if factor > 0)
                earlier = next(name for name, factor in found.factors.items() if factor < 0)
                most = -found.constant / found.factors[later]
                yield Bound(later, earlier, most)


def _forms(node: exp.Expr, sign: int, prefix: str) -> Iterator[Linear]:
    """Sums that are never above (sign 1) or never below (sign -1) a value."""
    match node:
        case exp.Paren() | exp.Cast():
            yield from _forms(node.this, sign, prefix)
        case exp.Column() if is_time(node):
            yield Linear({name_of(node.table, node.name, prefix): Fraction(1)})
        case exp.Max() | exp.Min() if isinstance(node.this, exp.Column):
            label = f"{node.key} {name_of(node.this.table, node.this.name, prefix)}"
            yield Linear({label: Fraction(1)})
        case exp.Literal() if not node.is_string:
            yield Linear(constant=Fraction(str(constant(node))))
        case exp.Neg():
            yield from (form.times(Fraction(-1)) for form in _forms(node.this, -sign, prefix))
        case exp.Add() | exp.Sub():
            yield from _sum_forms(node, sign, prefix)
        case exp.Div() if isinstance(node.expression, exp.Literal):
            by = Fraction(str(constant(node.expression)))
            yield from (form.times(1 / by) for form in _forms(node.this, sign, prefix) if by > 0)
        case exp.Abs() | exp.Greatest() | exp.Least():
            yield from _extreme_forms(node, sign, prefix)


def _sum_forms(node: exp.Expr, sign: int, prefix: str) -> Iterator[Linear]:
    factor = 1 if isinstance(node, exp.Add) else -1
    for left in _forms(node.this, sign, prefix):
        for right in _forms(node.expression, factor * sign, prefix):
            yield left.plus(right, factor)


def _extreme_forms(node: exp.Expr, sign: int, prefix: str) -> Iterator[Linear]:
    """The greatest of several times is above each of them, the least below; the other way nothing is known."""
    if isinstance(node, exp.Abs) and sign > 0:
        yield from _forms(node.this, 1, prefix)
        yield from (form.times(Fraction(-1)) for form in _forms(node.this, -1, prefix))
    if isinstance(node, exp.Greatest if sign > 0 else exp.Least):
        for part in (node.this, *node.expressions):
            yield from _forms(part, sign, prefix)


def name_of(alias: str, column: str, prefix: str = "") -> str:
    return f"{prefix}{alias}.{column}"
