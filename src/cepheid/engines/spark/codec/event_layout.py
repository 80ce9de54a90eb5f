"""The columns in which events travel to the tasks of a pass, and how tasks read them.

`event_encoder` writes them with Spark's columns; here workers turn them into what an operator takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TYPE, TIME, SEQUENCE = "@type", "@time", "@sequence"
KEY, KIND, ROW, TIES = "@key", "@kind", "@row", "@ties"


@dataclass(frozen=True, slots=True)
class EventLayout:
    """What workers must know of the columns of a pass: small, and the same for all its tasks."""

    types: tuple[str, ...]  # by their numbers
    names: tuple[str, ...]  # what the operator calls c0, c1, ...
    time_columns: tuple[tuple[str, int], ...]  # that only hold the time, in so many microseconds
    sort_keys: tuple[str, ...]  # the columns that order events of one time
    has_sequence: bool

    def name_of(self, column: str) -> str:
        """What the operator calls a column that travels."""
        return self._names.get(column, column)

    @property
    def _names(self) -> dict[str, str]:
        return {travelling(place): name for place, name in enumerate(self.names)}

    def decode(self, sent: Mapping[str, Any], count: int) -> dict[str, Any]:
        """The columns of so many events as the operator knows them.

        Types get their names back, and what need not travel, as the times say it, is there again.
        """
        import numpy as np
        import pyarrow as pa

        numbers: Any = sent.get(TYPE, np.zeros(count, np.int16))
        types = pa.DictionaryArray.from_arrays(numbers, pa.array(self.types, pa.string()))
        times = {
            name: pa.array(sent[TIME].to_numpy() // unit)
            for name, unit in self.time_columns
            if name not in sent
        }
        names = self._names
        columns = {**sent, TYPE: types, **times}
        return {names.get(name, name): column for name, column in columns.items()}


def travelling(place: int) -> str:
    """The name of a column on its way: a number, so that no attribute is in the way of another."""
    return f"c{place}"
