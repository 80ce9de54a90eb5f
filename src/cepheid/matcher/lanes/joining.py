"""What statements find in a batch, and how others take it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from cepheid.matcher.columns.batches import Batch
from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.joined_batch import DerivedPart, InputPart, JoinedBatch, Part
from cepheid.matcher.lanes.order import InputOrder, Order, arranged
from cepheid.matcher.lanes.rows import Events, Rows


class Found:
    """Rows of a statement, with their order as soon as someone asks for it."""

    def __init__(self, rows: Rows, events: Events | None, input: InputOrder) -> None:
        self.rows = rows
        self._events = events
        self._input = input

    @cached_property
    def order(self) -> Order:
        parents = self._events.order if isinstance(self._events, JoinedBatch) else None
        return self._input.of_rows(self.rows, parents)


def order_of(found: Sequence[Found]) -> Words | None:
    """The places of the rows of all statements in their order; None where they lie in it."""
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
                places = np.flatnonzero(self._batch.by_type(dict.fromkeys(kinds, 1)))
                parts.append(InputPart(self._batch, places, self.input.of(places)))
            self._joined[kinds] = JoinedBatch(parts) if parts else None
        return self._joined[kinds]
