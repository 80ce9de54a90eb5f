"""Comparisons with NOW, brought to the form `NOW < time`, and the instants at which they change.

`NOW - NEW.occ > 1h` is read as `NOW > NEW.occ + 1h`: a comparison of two times, which compares their
numbers of chronons. What has no such form is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

from cepheid.sql.dialect import TimeLiteral
from cepheid.sql.nodes import SECOND, microseconds

Side: TypeAlias = Literal["new", "old"]


@dataclass(frozen=True, slots=True)
class Crossing:
    """An instant of an event at which a condition may change by itself: when NOW passes it."""

    side: Side
    attribute: str
    offset: int  # microseconds


@dataclass(frozen=True, slots=True)
class Sum:
    """How often NOW is in a sum, the other times with their signs, a length of time.

    `is_number` says that the length was written as a number of seconds.
    """

    now: int = 0
    times: tuple[tuple[int, exp.Expr], ...] = ()
    offset: int = 0
    is_number: bool = False

    @property
    def instants(self) -> int:
        """One for a time, zero for a length of time."""
        return self.now + sum(sign for sign, _ in self.times)

    @property
    def is_bare_number(self) -> bool:
        return self.is_number and not self.now and not self.times

    def plus(self, other: Sum) -> Sum:
        return Sum(
            self.now + other.now,
            self.times + other.times,
            self.offset + other.offset,
            self.is_number or other.is_number,
        )

    def negative(self) -> Sum:
        times = tuple((-sign, node) for sign, node in self.times)
        return Sum(-self.now, times, -self.offset, self.is_number)


def is_now(node: exp.Expr) -> bool:
    is_bare = isinstance(node, exp.Column) and not node.table
    return is_bare and node.name.upper() == "NOW"


def has_now(node: exp.Expr) -> bool:
    return any(map(is_now, node.walk()))


def time_beside_now(node: exp.Expr) -> tuple[int, exp.Expr, int] | None:
    """Of a comparison with NOW: 1 if it is `NOW ? time + offset`, -1 with the sides exchanged."""
    left, right = _sum(node.this), _sum(node.expression)
    if left is None or right is None or not _is_sensible(left, right):
        return None
    total = left.plus(right.negative())
    if abs(total.now) != 1 or len(total.times) != 1 or total.times[0][0] != -total.now:
        return None
    return total.now, total.times[0][1], -total.now * total.offset


def _is_sensible(left: Sum, right: Sum) -> bool:
    """Whether two times are compared, or a difference of times with a length of time."""
    has_number = left.is_number or right.is_number
    if (left.instants, right.instants) == (1, 1):
        return not has_number
    is_length = (left.instants, right.instants) == (0, 0)
    return is_length and (not has_number or left.is_bare_number or right.is_bare_number)


def _sum(node: exp.Expr) -> Sum | None:
    """None where NOW stands in something else than a sum of times."""
    node = node.unnest()
    if is_now(node):
        return Sum(now=1)
    if isinstance(node, TimeLiteral):
        return Sum(offset=node.microseconds)
    if isinstance(node, exp.Literal) and not node.is_string:
        return Sum(offset=round(float(node.name) * SECOND), is_number=True)
    if isinstance(node, exp.Neg):
        inner = _sum(node.this)
        return inner.negative() if inner else None
    if isinstance(node, (exp.Add, exp.Sub)):
        left, right = _sum(node.this), _sum(node.expression)
        if left is None or right is None:
            return None
        return left.plus(right if isinstance(node, exp.Add) else right.negative())
    return None if has_now(node) else Sum(times=((1, node),))


def instants(node: exp.Expr, offset: int = 0) -> Iterator[Crossing]:
    """The instants that a resolved time may be; none of a constant."""
    if isinstance(node, exp.Column):
        yield Crossing("new" if node.table == "new" else "old", node.name, offset)
    elif isinstance(node, (exp.Add, exp.Sub)):
        yield from _moved(node, offset)
    elif isinstance(node, exp.Case):
        for branch in node.args["ifs"]:
            yield from instants(branch.args["true"], offset)
        if default := node.args.get("default"):
            yield from instants(default, offset)
    elif isinstance(node, (exp.Paren, exp.Greatest, exp.Least, exp.Coalesce)):
        for part in (node.this, *node.expressions):
            yield from instants(part, offset)
    elif isinstance(node, exp.Nullif):
        yield from instants(node.this, offset)


def _moved(node: exp.Expr, offset: int) -> Iterator[Crossing]:
    """A time and a length of time, in either order."""
    sides = (node.this, node.expression)
    time, length = sides if isinstance(sides[1].unnest(), exp.Literal) else sides[::-1]
    sign = 1 if isinstance(node, exp.Add) else -1
    yield from instants(time, offset + sign * microseconds(length))
