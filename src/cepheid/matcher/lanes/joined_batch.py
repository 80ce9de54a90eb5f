"""Events of a batch that some statements take: of the input, and what others derived from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from cepheid.matcher.columns.batches import as_arrow
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.lanes.order import Order, merged
from cepheid.matcher.lanes.predicates import Bits, Values, stored_as
from cepheid.matcher.lanes.rows import Events, Rows
from cepheid.matcher.operator import Column


class Part(Protocol):
    """Some events of a joined batch, in their order."""

    @property
    def order(self) -> Order: ...

    def by_type(self, words: Mapping[str, int]) -> Words | int:
        """For each event the word of its type, or that of all."""
        ...

    def values(self, column: Column, pool: Pool) -> Values | None:
        """None where no event of the part has a value there."""
        ...


@dataclass(frozen=True, slots=True)
class InputPart:
    """Some events of the input."""

    batch: Events
    places: Words
    order: Order

    def by_type(self, words: Mapping[str, int]) -> Words:
        found: Words = self.batch.by_type(words)[self.places]
        return found

    def values(self, column: Column, pool: Pool) -> Values:
        return self.batch.values(column, pool).of(self.places)


@dataclass(frozen=True, slots=True)
class DerivedPart:
    """What a statement derived."""

    rows: Rows
    order: Order

    def by_type(self, words: Mapping[str, int]) -> int:
        return words.get(self.rows.statement.target, 0)

    def values(self, column: Column, pool: Pool) -> Values | None:
        del pool  # its strings are numbers already
        if self.rows.statement.target not in column.types:
            return None
        return self.rows.by_name.get(column.attribute)


class JoinedBatch:
    """Events of one or more parts in their order; each column is joined once, when it is asked for."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._values: dict[str, Values] = {}
        if len(parts) == 1:
            self.order, self._places = parts[0].order, None
        else:
            self.order, self._places = merged([part.order for part in parts])

    def __len__(self) -> int:
        return len(self.order)

    @property
    def instants(self) -> Words:
        return self.order.instants

    @cached_property
    def sequences(self) -> Words:
        return np.zeros(len(self), dtype=np.int64)  # the order says all that they would

    def by_type(self, words: Mapping[str, int]) -> Words:
        found = [part.by_type(words) for part in self._parts]
        if all(isinstance(one, int) and one == found[0] for one in found):
            return np.full(len(self), found[0], dtype=np.int64)
        sizes = [len(part.order) for part in self._parts]
        joined = np.concatenate(
            [np.broadcast_to(one, size) for one, size in zip(found, sizes, strict=True)]
        )
        return joined if self._places is None else joined[self._places]

    def values(self, column: Column, pool: Pool) -> Values:
        found = self._values.get(column.name)
        if found is None:
            found = self._values[column.name] = self._joined(column, pool)
        return found

    def array(self, column: Column, pool: Pool) -> Array:
        return as_arrow(self.values(column, pool), column.data_type, pool)

    def _joined(self, column: Column, pool: Pool) -> Values:
        found = [part.values(column, pool) for part in self._parts]
        # Whatever a batch has, events of all batches have the words of their type.
        stored = stored_as(column.data_type)
        sizes = [len(part.order) for part in self._parts]
        words = [
            np.zeros(size, stored) if values is None else values.words.astype(stored, copy=False)
            for values, size in zip(found, sizes, strict=True)
        ]
        nulls = _nulls(found, sizes)
        if self._places is None:
            return Values(words[0], nulls)
        joined = np.concatenate(words)[self._places]
        return Values(joined, None if nulls is None else nulls[self._places])


def _nulls(found: Sequence[Values | None], sizes: Sequence[int]) -> Bits | None:
    if all(values is not None and values.nulls is None for values in found):
        return None
    return np.concatenate(
        [
            np.full(size, values is None)
            if values is None or values.nulls is None
            else values.nulls
            for values, size in zip(found, sizes, strict=True)
        ]
    )
