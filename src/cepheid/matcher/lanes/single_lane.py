"""Statements over single events as a lane: they keep nothing, and what several ask is asked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from cepheid.core.time import Instant
from cepheid.expr.tree import Column, Expr
from cepheid.matcher.columns.batches import equal_lists
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.lanes.expressions import computed_columns
from cepheid.matcher.lanes.predicates import Bits, Known, Values, truth_of
from cepheid.matcher.lanes.rows import Events, Rows
from cepheid.matcher.lanes.single_plan import Single


class SingleLane:
    """All statements over single events that take the same events."""

    needed = 0

    def __init__(self, plans: Sequence[Single], places: ColumnLookup) -> None:
        self._plans = plans
        self._places = places
        self._found: list[Rows] = []

    # -- events and time --

    def start(self, instant: Instant) -> None:
        """No time matters to them."""

    def next_due(self) -> Instant | None:
        return None

    def pass_time(self, instant: Instant) -> None:
        """No time matters to them."""

    def take(self, batch: Events, pool: Pool) -> None:
        asked = _Asked(batch, pool, self._places)
        for plan in self._plans:
            places = np.flatnonzero(asked.all_of(plan.event_type, plan.tests))
            if len(places):
                self._found.append(self._rows(plan, batch, places, pool))

    def _rows(self, plan: Single, batch: Events, places: Words, pool: Pool) -> Rows:
        is_all = len(places) == len(batch)

        def values_of(known: Known) -> Values:
            assert isinstance(known, Column)
            values = batch.values(self._places.column(plan.event_type, known.path[0].name), pool)
            return values if is_all else values.of(places)

        instants = batch.instants[places]
        values = computed_columns(plan.statement, values_of, pool, instants)
        return Rows(plan.statement, instants, places, values, partial(_keys, plan, batch, places))

    def take_rows(self, batch: Events | None, pool: Pool) -> list[Rows]:
        found, self._found = self._found, []
        return found

    # -- state: there is none --

    def pack(self, old: Pool, new: Pool) -> dict[str, Words]:
        return {}

    def restore(self, packed: Mapping[str, Words]) -> None:
        """There is nothing to go on from."""

    def tidy(self, old: Pool, new: Pool) -> None:
        """There is nothing to forget."""


def _keys(plan: Single, batch: Events, places: Words) -> Array:
    sequences, instants = batch.sequences[places], batch.instants[places]
    return equal_lists((instants, 1, sequences, 1, plan.statement.rank, 1), len(places))


class _Asked:
    """What is true of the events of a batch; each condition is tested once."""

    def __init__(self, batch: Events, pool: Pool, places: ColumnLookup) -> None:
        self._batch, self._pool, self._places = batch, pool, places
        self._types: dict[str, Bits] = {}
        self._tests: dict[tuple[str, Expr], Bits] = {}

    def all_of(self, event_type: str, tests: Sequence[Expr]) -> Bits:
        """Where events are of a type, and all conditions are true."""
        found = self._type(event_type)
        for test in tests:
            found = found & self._test(event_type, test)
        return found

    def _type(self, event_type: str) -> Bits:
        found = self._types.get(event_type)
        if found is None:
            kinds = dict.fromkeys(self._places.kinds_of(event_type), 1)
            found = self._types[event_type] = self._batch.by_type(kinds) != 0
        return found

    def _test(self, event_type: str, test: Expr) -> Bits:
        found = self._tests.get((event_type, test))
        if found is None:
            values_of = partial(self._values, event_type)
            found = truth_of(test, values_of, self._pool.intern).true
            self._tests[event_type, test] = found
        return found

    def _values(self, event_type: str, known: Known) -> Values:
        assert isinstance(known, Column)
        column = self._places.column(event_type, known.path[0].name)
        return self._batch.values(column, self._pool)
