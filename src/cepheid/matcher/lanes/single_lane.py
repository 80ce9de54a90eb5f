"""Statements over single events as a lane: they keep nothing, and what several ask is asked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from cepheid.core.time import Instant
from cepheid.expr.tree import Column, Expr, Literal
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.contents import Contents
from cepheid.matcher.lanes.condition_index import (
    Comparisons,
    Ranges,
    comparisons,
    searched_by,
)
from cepheid.matcher.lanes.expressions import compute
from cepheid.matcher.lanes.filtered_rows import FilteredRows
from cepheid.matcher.lanes.predicates import Bits, Comparison, Known, Values, truth_of
from cepheid.matcher.lanes.routes import Route, grouped
from cepheid.matcher.lanes.rows import Events
from cepheid.matcher.vm.lanes.filter_rows import spread, spread_in_order
from cepheid.semantics.inspection.parts import Texts

_MOST = 16  # indexes that are looked at together: of each, an event has two words


class SingleLane:
    """All filters over the same events."""

    needed = 0

    def __init__(self, routes: Sequence[Route], places: ColumnLookup) -> None:
        self._places = places
        conditions = _Conditions()
        self._groups = [
            _Group(part, conditions) for group in grouped(routes, places) for part in _parts(group)
        ]
        self._found: list[FilteredRows] = []

    # -- events and time --

    def start(self, instant: Instant) -> None:
        """No time matters to them."""

    def next_due(self) -> Instant | None:
        return None

    def pass_time(self, instant: Instant) -> None:
        """No time matters to them."""

    def take(self, batch: Events, pool: Pool) -> None:
        asked = _Asked(batch, pool, self._places)
        rows = (group.rows(asked, pool) for group in self._groups)
        self._found += [found for found in rows if found is not None]

    def take_rows(self, batch: Events | None, pool: Pool) -> list[FilteredRows]:
        found, self._found = self._found, []
        return found

    # -- state: there is none --

    def pack(self, old: Pool, new: Pool) -> dict[str, Words]:
        return {}

    def restore(self, packed: Mapping[str, Words]) -> None:
        """There is nothing to go on from."""

    def tidy(self, old: Pool, new: Pool) -> None:
        """There is nothing to forget."""

    def contents(self, pool: Pool, texts: Texts, most: int) -> Contents:
        return Contents()


@dataclass(frozen=True, slots=True)
class Condition:
    """One on the events of a type, and its number: to look for an expression takes as long as to test it."""

    number: int
    test: Expr


class _Conditions:
    """What filters ask, each condition once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Expr], Condition] = {}

    def of(self, route: Route) -> tuple[Condition, ...]:
        return tuple(self._condition(route.event_type, test) for test in route.tests)

    def _condition(self, event_type: str, test: Expr) -> Condition:
        new = Condition(len(self._known), test)
        return self._known.setdefault((event_type, test), new)


class _Group:
    """Filters that show the same of the same events, in the order of their rows: one, or such as are searched for."""

    def __init__(self, routes: Sequence[Route], conditions: _Conditions) -> None:
        self._routes = routes
        self._event_type = routes[0].event_type
        self._tried = conditions.of(routes[0]) if len(routes) == 1 else ()
        self._searched = [*_indexes(routes)[0].values()]
        self._pool: Pool | None = None
        self._indexes: list[Comparisons] = []
        self._tables = _Tables([])

    def rows(self, asked: _Asked, pool: Pool) -> FilteredRows | None:
        if not asked.has_any(self._event_type):
            return None
        events, codes = self._passed(asked, pool)
        if not len(events):
            return None
        return self._shown(asked, events, codes, pool)

    def _passed(self, asked: _Asked, pool: Pool) -> tuple[Words, Words]:
        """The events that filters take, and the filter of each, in the order of their rows."""
        if len(self._routes) == 1:
            events = asked.passed(self._event_type, self._tried)
            return events, np.zeros(len(events), dtype=np.int64)
        if self._pool is not pool:  # strings have other numbers
            self._indexes = [comparisons(found, pool.intern) for found in self._searched]
            self._tables = _Tables([index.filters for index in self._indexes])
            self._pool = pool
        ranges = [asked.searched(self._event_type, index) for index in self._indexes]
        return self._tables.spread(ranges, len(asked.batch))

    def _shown(self, asked: _Asked, events: Words, codes: Words, pool: Pool) -> FilteredRows:
        instants = asked.batch.instants[events]

        def values_of(known: Known) -> Values:
            return asked.values(self._event_type, known).of(events)

        columns = zip(*(route.shown for route in self._routes), strict=True)
        values = tuple(
            _constants(exprs, pool).of(codes)
            if len(exprs) > 1 and isinstance(exprs[0], Literal)
            else compute(exprs[0], values_of, pool, instants)
            for exprs in columns
        )
        return FilteredRows(self._routes, codes, events, instants, values)


def _constants(exprs: Sequence[Expr], pool: Pool) -> Values:
    """Those that filters show, where each has its own."""
    found = [compute(expr, _no_values, pool, np.zeros(1, dtype=np.int64)) for expr in exprs]
    typed = (one.words.dtype for one in found if one.nulls is None)
    words = np.concatenate([one.words for one in found])
    nulls = np.array([one.nulls is not None for one in found])
    stored = next(typed, words.dtype)
    return Values(words.astype(stored, copy=False), nulls if nulls.any() else None)


def _no_values(known: Known) -> Values:
    raise AssertionError(f"{known} is no constant")


class _Tables:
    """Where each filter is among the indexes."""

    def __init__(self, filters: Sequence[Words]) -> None:
        sizes = [len(one) for one in filters]
        self._members = np.concatenate([np.zeros(0, dtype=np.int64), *filters])
        self._begins = np.cumsum([0, *sizes])[:-1]
        self._index_of, self._place_of = np.empty((2, len(self._members)), dtype=np.int64)
        self._index_of[self._members] = np.repeat(np.arange(len(sizes)), sizes)
        self._place_of[self._members] = np.concatenate([np.arange(size) for size in (0, *sizes)])
        is_ordered = (self._members[1:] > self._members[:-1]).all()
        self._is_simple = len(filters) == 1 and bool(is_ordered)

    def spread(self, ranges: Sequence[Ranges], count: int) -> tuple[Words, Words]:
        """What was found by each index among so many events: event by event, and of each filter by filter."""
        rows = sum(int((found.highs - found.lows).sum()) for found in ranges)
        places, codes = np.empty((2, rows), dtype=np.int64)
        if self._is_simple:
            spread_in_order(*ranges[0], self._members, places, codes)
            return places, codes
        events, lows, highs = _side_by_side(ranges, count)
        tables = self._members, self._begins, self._index_of, self._place_of
        spread(events, lows, highs, *tables, places, codes)
        return places, codes


def _side_by_side(ranges: Sequence[Ranges], count: int) -> tuple[Words, Words, Words]:
    """All events, and what each index has found of them."""
    is_found = np.zeros(count, dtype=bool)
    for found in ranges:
        is_found[found.events] = True
    events, numbers = np.flatnonzero(is_found), np.cumsum(is_found) - 1
    lows, highs = np.zeros((2, len(ranges), len(events)), dtype=np.int64)
    for number, found in enumerate(ranges):
        places = numbers[found.events]
        lows[number, places], highs[number, places] = found.lows, found.highs
    return events, lows, highs


def _indexes(
    routes: Sequence[Route],
) -> tuple[dict[tuple[Known, str], list[tuple[int, Comparison]]], list[int]]:
    """The filters that are searched for, index by index, and those that are tried one by one."""
    searched: dict[tuple[Known, str], list[tuple[int, Comparison]]] = {}
    tried: list[int] = []
    for number, route in enumerate(routes):
        found = searched_by(route.tests)
        if found is None:
            tried.append(number)
        else:
            searched.setdefault((found.known, found.sign), []).append((number, found))
    tried += [found[0][0] for found in searched.values() if len(found) == 1]
    return {key: found for key, found in searched.items() if len(found) > 1}, tried


def _parts(routes: Sequence[Route]) -> Iterator[list[Route]]:
    """The routes of a group, of not too many indexes each; such as are tried are alone."""
    searched, tried = _indexes(routes)
    indexes = [[number for number, _ in found] for found in searched.values()]
    for begin in range(0, len(indexes), _MOST):
        numbers = sorted(n for some in indexes[begin : begin + _MOST] for n in some)
        yield [routes[number] for number in numbers]
    yield from ([routes[number]] for number in tried)


class _Asked:
    """What is true of the events of a batch; each condition is tested once."""

    def __init__(self, batch: Events, pool: Pool, places: ColumnLookup) -> None:
        self.batch = batch
        self._pool, self._places = pool, places
        self._types: dict[str, Bits] = {}
        self._tests: dict[int, Bits] = {}

    def passed(self, event_type: str, conditions: Sequence[Condition]) -> Words:
        """The events of a type that satisfy all of some conditions."""
        found = self._type(event_type)
        for condition in conditions:
            found = found & self._test(event_type, condition)
        return np.flatnonzero(found)

    def has_any(self, event_type: str) -> bool:
        """Whether there are events of a type."""
        return bool(self._type(event_type).any())

    def searched(self, event_type: str, index: Comparisons) -> Ranges:
        return index.ranges(self.values(event_type, index.known), self._type(event_type))

    def values(self, event_type: str, known: Known) -> Values:
        assert isinstance(known, Column)
        column = self._places.column(event_type, known.path[0].name)
        return self.batch.values(column, self._pool)

    def _type(self, event_type: str) -> Bits:
        found = self._types.get(event_type)
        if found is None:
            kinds = dict.fromkeys(self._places.kinds_of(event_type), 1)
            found = self._types[event_type] = self.batch.by_type(kinds) != 0
        return found

    def _test(self, event_type: str, condition: Condition) -> Bits:
        found = self._tests.get(condition.number)
        if found is None:
            values_of = partial(self.values, event_type)
            found = truth_of(condition.test, values_of, self._pool.intern).true
            self._tests[condition.number] = found
        return found
