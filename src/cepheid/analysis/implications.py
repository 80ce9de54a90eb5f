"""Statements that another one makes superfluous.

- A statement that says the same as one before it, whatever its tags are called, is a *duplicate*.
- A statement is *implied* by another if each of its matches is one of the other's too: for single
  events, and for `every a=A -> b=B -> ...` of the same types step by step. The nearest one is told.

What is seen: what the solver sees (`solver`). What is not seen: implications between statements of
which many take the same types, other than those whose attributes lie in intervals that contain each
other, and those beyond the `MOST_COMPARED` nearest of them, of which a note tells.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias

from cepheid.analysis.matches import Feeds, World
from cepheid.errors import Diagnostic, note, warning
from cepheid.expr.tree import Binary, Cast, Column, Expr, InList, InRange, Literal, conjuncts, walk
from cepheid.pattern.tree import Atom, Every, FollowedBy, Pattern, atoms
from cepheid.program.duplicates import essence
from cepheid.program.resolved import ResolvedStatement

MOST_COMPARED = 8  # others that a statement is compared with

Place: TypeAlias = tuple[int, str]  # an attribute of the events of a step
End: TypeAlias = tuple[int, object]  # of an interval: (0, None) below all values, (2, None) above
_LOWEST: End = (0, None)
_HIGHEST: End = (2, None)


def find(feeds: Feeds, statements: Sequence[ResolvedStatement]) -> Iterator[Diagnostic]:
    first: dict[object, ResolvedStatement] = {}
    for statement in statements:
        original = first.setdefault(essence(statement), statement)
        if original is not statement:
            yield _duplicate(statement, original)
    alike: dict[tuple[str, ...], list[_Filter]] = {}
    for statement in first.values():
        found = _filter_of(statement)
        if found is not None:
            alike.setdefault(found.types, []).append(found)
    for filters in alike.values():
        yield from _Comparison(feeds, filters).run()


def _duplicate(statement: ResolvedStatement, original: ResolvedStatement) -> Diagnostic:
    place = original.tree.span
    where = f" in line {place.line}" if place else ""
    fact = f"'{statement.name}' says the same as '{original.name}'{where}"
    return warning("duplicate-statement", fact, statement.tree.span, "leave one of them out")


# What statements ask of their events.


@dataclass(frozen=True, slots=True)
class Interval:
    """All values between two ends, which may belong to it or not."""

    low: End = _LOWEST
    high: End = _HIGHEST

    def __contains__(self, other: object) -> bool:
        assert isinstance(other, Interval)
        return self.low <= other.low and other.high <= self.high

    def __and__(self, other: Interval) -> Interval:
        return Interval(max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True, slots=True)
class _Filter:
    """A statement whose matches are so many events of some types, with conditions on them."""

    statement: ResolvedStatement
    types: tuple[str, ...]
    conditions: tuple[tuple[int, Expr], ...]  # each with the step of the event at hand
    intervals: dict[Place, Interval] = field(default_factory=dict)
    places: frozenset[Place] = frozenset()  # all attributes that it looks at

    def is_within(self, other: _Filter) -> bool:
        """Whether its intervals say that it may imply the other."""
        return other.places <= self.places and all(
            self.intervals.get(place, Interval()) in interval
            for place, interval in other.intervals.items()
        )


def _filter_of(statement: ResolvedStatement) -> _Filter | None:
    """None for what cannot be compared with others.

    What counts rows cannot, nor can `where` over several events: it tests a match that is there
    already, where a filter waits for another event.
    """
    tree = statement.tree
    counts = (tree.window, tree.output, tree.limit, statement.having, statement.context)
    chain = _chain(statement.pattern) if statement.pattern is not None else []
    is_long = statement.pattern is not None and len(chain) != 1
    if any(counts) or (is_long and (not chain or statement.where is not None)):
        return None
    types = tuple(atom.event_type for atom in chain) or (statement.event_type or "",)
    steps = {atom.tag: step for step, atom in enumerate(chain) if atom.tag is not None}
    parts = [(step, atom.condition) for step, atom in enumerate(chain)]
    parts += [(0, statement.condition), (0, statement.where)]
    conditions = tuple((step, part) for step, whole in parts for part in conjuncts(whole))
    found = _Filter(statement, types, conditions)
    return _with_intervals(found, steps)


def _chain(pattern: Pattern) -> list[Atom]:
    """The events of `every a=A -> b=B -> ...`, or of `every a=A`; none for other patterns."""
    first, *rest = pattern.parts if isinstance(pattern, FollowedBy) else (pattern,)
    if not (isinstance(first, Every) and isinstance(first.child, Atom)):
        return []
    if not all(isinstance(part, Atom) for part in rest):
        return []
    return list(atoms(pattern))


def _with_intervals(found: _Filter, steps: dict[str, int]) -> _Filter:
    intervals: dict[Place, Interval] = {}
    places: set[Place] = set()
    for step, condition in found.conditions:
        columns = [e for e in walk(condition) if isinstance(e, Column)]
        inside = {_place(column, step, steps) for column in columns}
        places |= inside
        interval = _interval_of(condition)
        if interval is not None and len(inside) == 1:
            [place] = inside
            intervals[place] = intervals.get(place, Interval()) & interval
    return _Filter(found.statement, found.types, found.conditions, intervals, frozenset(places))


def _place(column: Column, step: int, steps: dict[str, int]) -> Place:
    at = step if column.tag is None else steps.get(column.tag, step)
    return at, ".".join(part.name for part in column.path)


def _interval_of(condition: Expr) -> Interval | None:
    """Where the one attribute of a condition lies; None where that is not plain."""
    match condition:
        case Binary(operator, left, right) if operator in _SIDES:
            if (value := _value(right)) is not None and _is_attribute(left):
                return _SIDES[operator](value)
            if (value := _value(left)) is not None and _is_attribute(right):
                return _SIDES[_MIRRORED[operator]](value)
        case InRange(operand, low, high, negated=False) if _is_attribute(operand):
            ends = [_value(low), _value(high)]
            if None not in ends:
                return Interval(min(filter(None, ends)), max(filter(None, ends)))
        case InList(operand, items, negated=False) if _is_attribute(operand):
            values = [_value(item) for item in items]
            known = [value for value in values if value is not None]
            return Interval(min(known), max(known)) if len(known) == len(values) else None
    return None


def _is_attribute(expr: Expr) -> bool:
    expr = expr.operand if isinstance(expr, Cast) else expr
    return isinstance(expr, Column) and expr.is_attribute


def _value(expr: Expr) -> End | None:
    expr = expr.operand if isinstance(expr, Cast) else expr
    return (1, expr.value) if isinstance(expr, Literal) and expr.value is not None else None


_SIDES = {
    "=": lambda value: Interval(value, value),
    "<": lambda value: Interval(high=value),
    "<=": lambda value: Interval(high=value),
    ">": lambda value: Interval(low=value),
    ">=": lambda value: Interval(low=value),
}
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


# Comparing them.


class _Comparison:
    """Finds for each of several statements the nearest that it implies."""

    def __init__(self, feeds: Feeds, filters: Sequence[_Filter]) -> None:
        self.feeds = feeds
        self.filters = filters
        self.told: set[frozenset[str]] = set()
        self.limited = 0  # statements with more candidates than they were compared with
        candidates = [f for f in filters if f.conditions]  # others are there to take everything
        self.few = candidates if len(candidates) <= MOST_COMPARED else None
        self.index = _Index(candidates)

    def run(self) -> Iterator[Diagnostic]:
        for one in self.filters:
            other = next((o for o in self._nearest(one) if self._is_news(one, o)), None)
            if other is not None:
                self.told.add(_pair(one, other))
                fact = (
                    f"every match of '{one.statement.name}' is one of '{other.statement.name}', too"
                )
                span = one.statement.tree.span
                yield note("implied", fact, span, "perhaps one of them is enough")
        if self.limited:
            types = " and ".join(f"'{name}'" for name in dict.fromkeys(self.filters[0].types))
            fact = (
                f"{self.limited} of {len(self.filters)} statements on {types} were compared with the"
                f" {MOST_COMPARED} nearest others only: some that imply each other may be missed"
            )
            yield note("check-limit", fact, self.filters[0].statement.tree.span)

    def _nearest(self, one: _Filter) -> Iterator[_Filter]:
        if self.few is not None:
            yield from (other for other in self.few if other is not one)
            return
        for count, other in enumerate(self.index.around(one)):
            if count > MOST_COMPARED:  # it is among them itself
                self.limited += 1
                return
            if other is not one and one.is_within(other):
                yield other

    def _is_news(self, one: _Filter, other: _Filter) -> bool:
        return _pair(one, other) not in self.told and _implies(self.feeds, one, other)


def _pair(one: _Filter, other: _Filter) -> frozenset[str]:
    return frozenset((one.statement.name, other.statement.name))


class _Index:
    """Statements by an attribute whose values they restrict, in the order of the values."""

    def __init__(self, filters: Sequence[_Filter]) -> None:
        self.points: dict[tuple[Place, End], list[_Filter]] = {}
        self.ranges: dict[Place, list[tuple[Interval, _Filter]]] = {}
        self.others: list[_Filter] = []
        for each in filters:
            self._add(each)
        for ranges in self.ranges.values():
            ranges.sort(key=lambda found: (found[0].low, _Backwards(found[0].high)))
        self.furthest = {
            place: list(accumulate((interval.high for interval, _ in ranges), max))
            for place, ranges in self.ranges.items()
        }

    def _add(self, each: _Filter) -> None:
        """Under one attribute, that with one value if there is one."""
        if not each.intervals:
            self.others.append(each)
            return
        place, interval = min(each.intervals.items(), key=lambda item: item[1].low != item[1].high)
        if interval.low == interval.high:
            self.points.setdefault((place, interval.low), []).append(each)
        else:
            self.ranges.setdefault(place, []).append((interval, each))

    def around(self, one: _Filter) -> Iterator[_Filter]:
        """Those whose interval may contain the statement's own, the nearest first."""
        for place, interval in one.intervals.items():
            if interval.low == interval.high:
                yield from self.points.get((place, interval.low), ())
            yield from self._containing(place, interval)
        yield from self.others

    def _containing(self, place: Place, interval: Interval) -> Iterator[_Filter]:
        ranges, furthest = self.ranges.get(place, []), self.furthest.get(place, [])
        at = bisect_right(ranges, interval.low, key=lambda found: found[0].low) - 1
        while at >= 0 and furthest[at] >= interval.high:
            yield ranges[at][1]
            at -= 1


@dataclass(frozen=True, slots=True)
class _Backwards:
    """Orders ends the other way round."""

    end: End

    def __lt__(self, other: _Backwards) -> bool:
        return other.end < self.end


def _implies(feeds: Feeds, one: _Filter, other: _Filter) -> bool:
    """Whether the conditions of one match are at least those of the other, for the same events."""
    world = World(feeds)
    solver = world.solver
    first, second = (world.match(each.statement, depth=0) for each in (one, other))
    if second.is_cut:
        return False
    held = [*first.facts, *(solver.holds(expr, events) for expr, events in first.conditions)]
    required = [solver.holds(expr, events) for expr, events in second.conditions]
    same = [
        solver.same(solver.attribute(a, name, term.type), solver.attribute(b, name, term.type))
        for a, b in zip(first.bound, second.bound, strict=True)
        for name, term in {**a.attributes, **b.attributes}.items()
    ]
    return not solver.can_hold([*held, *same, solver.z3.Not(solver.z3.And(*required))])
