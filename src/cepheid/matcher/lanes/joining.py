"""What statements find in a batch, and how others take it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from cepheid.matcher.columns.batches import Batch
from cepheid.matcher.lanes.filtered_rows import FilteredRows
from cepheid.matcher.lanes.joined_batch import DerivedPart, InputPart, JoinedBatch, Part
from cepheid.matcher.lanes.order import Arrangement, InputOrder, Order, arranged
from cepheid.matcher.lanes.rows import Events, Rows


class Found:
    """Rows of a statement, with their order as soon as someone asks for it."""

    def __init__(self, rows: Rows, events: Events | None, find_order: Callable[[], Order]) -> None:
        self.rows = rows
        self.events = events
        self._find_order = find_order

    @cached_property
    def order(self) -> Order:
        return self._find_order()

    def apart(self) -> Iterator[Found]:
        yield self


class FoundTogether:
    """The same of several filters."""

    def __init__(
        self, rows: FilteredRows, events: Events, find_order: Callable[[FilteredRows], Order]
    ) -> None:
        self.rows = rows
        self._events = events
        self._find_order = find_order

    @cached_property
    def order(self) -> Order:
        return self._find_order(self.rows)

    def apart(self) -> Iterator[Found]:
        """The rows of each statement."""
        for rows in self.rows.apart():
            yield Found(rows.single, self._events, partial(self._find_order, rows))


AnyFound: TypeAlias = Found | FoundTogether


def found_in(rows: Rows | FilteredRows, events: Events | None, input: InputOrder) -> AnyFound:
    """Rows that some events have brought, or time."""
    parents = events.order if isinstance(events, JoinedBatch) else None
    if isinstance(rows, Rows):
        return Found(rows, events, partial(input.of_rows, rows, parents))
    assert events is not None
    return FoundTogether(rows, events, partial(input.of_filtered, parents=parents))


def in_turn(found: Sequence[AnyFound]) -> list[AnyFound]:
    """So that the order of all rows is found soonest; those that timers brought stay as they follow each other."""
    return [*found] if len(found) < 2 else sorted(found, key=lambda each: each.order.turn)


def arrangement_of(found: Sequence[AnyFound]) -> Arrangement | None:
    """Of the rows of all statements, which one comes where; None where they lie in their order."""
    if len(found) < 2:
        return None
    return arranged([each.order for each in found])


class Joining:
    """What statements have derived from a batch so far, joined for those that take it."""

    def __init__(self, batch: Batch | None, input: InputOrder) -> None:
        self.input = input
        self._batch = batch
        self._derived: dict[str, list[DerivedPart]] = {}
        self._joined: dict[frozenset[str], JoinedBatch | None] = {}

    def add(self, found: Found) -> None:
        self._derived.setdefault(found.rows.statement.target, []).append(
            DerivedPart(found.rows, found.order)
        )

    def events(self, kinds: frozenset[str]) -> JoinedBatch | None:
        """All events of some types; those that take the same ones share their columns."""
        if kinds not in self._joined:
            parts: list[Part] = [part for kind in kinds for part in self._derived.get(kind, ())]
            if self._batch is not None and self._batch.has_any(kinds):
                places = np.flatnonzero(self._batch.by_type(dict.fromkeys(kinds, 1)) != 0)
                parts.append(InputPart(self._batch, places, self.input.of(places)))
            parts.sort(key=lambda part: part.order.turn)
            self._joined[kinds] = JoinedBatch(parts) if parts else None
        return self._joined[kinds]
