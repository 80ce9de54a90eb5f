"""Ways from an event of the input through filters, one after the other, to the rows of the last of them.

A filter that takes what only filters derive need not wait for their rows: its conditions, and what it shows, can
be said of the event of the input that led to them. So a tree of filters looks at each event once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cepheid.core.types import NULL, DataType
from cepheid.expr.tree import Binary, Column, Expr, Literal, conjuncts, mapped
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.expressions import can_compute
from cepheid.matcher.lanes.predicates import (
    LEAST,
    Comparison,
    Known,
    can_test,
    comparison_in,
    is_bound,
    is_own,
)
from cepheid.matcher.lanes.single_plan import Single
from cepheid.program.resolved import ResolvedStatement

MOST = 64  # ways to one statement: where each level of filters has two, their number doubles
_NULL = Literal(None, type=NULL)


@dataclass(frozen=True, slots=True)
class Route:
    """The filters on the way, and what all of them together ask of an event, and show of it."""

    statements: tuple[ResolvedStatement, ...]
    event_type: str
    tests: tuple[Expr, ...]
    shown: tuple[Expr, ...]  # the select list of the last filter

    @property
    def statement(self) -> ResolvedStatement:
        """The one whose rows these are."""
        return self.statements[-1]

    @property
    def place(self) -> tuple[int, ...]:
        """Where its row comes among those of one event: the nearer ones first, then by rank."""
        return len(self.statements), *(statement.rank for statement in self.statements)


def direct(single: Single) -> Route:
    """From the events that a filter takes to its rows."""
    shown = (_with_columns(column.expr, _untagged) for column in single.statement.columns)
    tests = tuple(strongest(single.tests))
    return Route((single.statement,), single.event_type, tests, tuple(shown))


def through_filters(
    singles: Mapping[int, Single], producers: Sequence[Sequence[int]], places: ColumnLookup
) -> dict[int, tuple[Route, ...]]:
    """For the filters that are reached by nothing but filters, all ways to each; by statements' numbers.

    Filters come after those whose rows they take.
    """
    found: dict[int, tuple[Route, ...]] = {}
    for number, single in singles.items():
        if any(maker not in found for maker in producers[number]):
            continue
        before = [route for maker in producers[number] for route in found[maker]]
        beyond = [_extended(route, single, places) for route in before]
        if len(beyond) < MOST and None not in beyond:
            found[number] = direct(single), *(route for route in beyond if route is not None)
    return found


def _extended(route: Route, single: Single, places: ColumnLookup) -> Route | None:
    """The way that goes on through a filter; None where that asks more than what columns hold."""
    names = (column.name for column in route.statement.columns)
    given = dict(zip(names, route.shown, strict=True))

    def of_the_input(column: Column) -> Expr:
        return given.get(column.path[0].name, _NULL)

    after = direct(single)
    tests = [_with_columns(test, of_the_input) for test in after.tests]
    shown = tuple(_with_columns(expr, of_the_input) for expr in after.shown)
    types = places.derived[single.statement.target].values()
    if not (all(map(can_test, tests)) and all(map(_can_show, shown, types))):
        return None
    all_tests = tuple(strongest([*route.tests, *tests]))
    return Route((*route.statements, single.statement), route.event_type, all_tests, shown)


def _can_show(expr: Expr, type: DataType) -> bool:
    return can_compute(expr, is_own) and expr.type in (type, NULL)


def _untagged(column: Column) -> Expr:
    return replace(column, tag=None)


def _with_columns(expr: Expr, function: Callable[[Column], Expr]) -> Expr:
    """The expression with something else for each attribute."""
    if isinstance(expr, Column):
        return function(expr)
    return mapped(expr, partial(_with_columns, function=function))


def strongest(tests: Sequence[Expr]) -> Iterator[Expr]:
    """The same conditions without those that others imply: each bound of an attribute once."""
    bounds: dict[tuple[Known, str], tuple[Comparison, Expr]] = {}
    for test in dict.fromkeys(one for all_ in tests for one in conjuncts(all_)):
        found = comparison_in(test) if isinstance(test, Binary) else None
        if found is None or not is_bound(found):
            yield test
            continue
        other = bounds.get((found.known, found.sign))
        if other is None or _is_stronger(found, other[0]):
            bounds[found.known, found.sign] = found, test
    yield from (test for _, test in bounds.values())


def _is_stronger(bound: Comparison, other: Comparison) -> bool:
    if bound.sign in LEAST:
        return bool(bound.constant > other.constant)
    return bool(bound.constant < other.constant)


def grouped(routes: Collection[Route], places: ColumnLookup) -> list[list[Route]]:
    """Those over the same events that show the same of them, but for constants, in the order of their rows."""
    found: dict[object, list[Route]] = {}
    for route in sorted(routes, key=lambda route: route.place):
        held = tuple(places.derived[route.statement.target].items())
        shown = tuple(None if isinstance(one, Literal) else one for one in route.shown)
        found.setdefault((route.event_type, held, shown), []).append(route)
    return list(found.values())
