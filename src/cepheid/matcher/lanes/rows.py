"""What lanes take, and what statements give: events and rows in columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.lanes.predicates import Values
from cepheid.matcher.operator import Column
from cepheid.program.resolved import ResolvedStatement


class Events(Protocol):
    """Events in their order."""

    @property
    def instants(self) -> Words: ...

    @property
    def sequences(self) -> Words: ...

    def __len__(self) -> int: ...

    def by_type(self, words: Mapping[str, int]) -> Words:
        """For each event the word of its type; 0 if that has none."""
        ...

    def values(self, column: Column, pool: Pool) -> Values:
        """The values of a column: numbers, or the numbers of strings in the pool."""
        ...

    def array(self, column: Column, pool: Pool) -> Array:
        """The same as an array of Arrow."""
        ...


@dataclass(frozen=True)
class Rows:
    """Rows of one statement, in their order. What not everyone asks for is found on demand, until the next batch."""

    statement: ResolvedStatement
    instants: Words
    find_places: Callable[[], Words]
    values: tuple[Values, ...]  # the columns of the select list; strings are numbers of the pool
    # Their keys, in the form that the reference semantics defines; only of statements that take input.
    keys: Callable[[], Array] | None = None

    @property
    def ranks(self) -> list[int]:
        """Those of the statements that may have given rows."""
        return [self.statement.rank]

    @property
    def targets(self) -> list[str]:
        return [self.statement.target]

    @cached_property
    def places(self) -> Words:
        """Of the events that brought them; NONE where a timer did."""
        return self.find_places()

    @cached_property
    def by_name(self) -> Mapping[str, Values]:
        names = (column.name for column in self.statement.columns)
        return dict(zip(names, self.values, strict=True))

    def __len__(self) -> int:
        return len(self.instants)


def numbers_of(places: Words) -> Words | int:
    """The number of each row among those that one event brought; 1 if there are no others."""
    is_first = np.append(True, places[1:] != places[:-1])
    if is_first.all():
        return 1
    rows = np.arange(len(places))
    numbers: Words = rows - np.maximum.accumulate(np.where(is_first, rows, 0)) + 1
    return numbers
