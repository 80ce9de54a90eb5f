"""Moving averages: `moving_avg(x.feature, n)`, the mean of the last n values of an attribute.

Values are read once in a transaction, at its end: an attribute that the transaction set, also to the
value that it had, gives the value that it has then. So a sensor that says the same again counts,
a transaction that does not speak of the attribute does not, and setting it twice in one transaction
is one reading. Null is no reading. What an object has when the matcher starts, or when it is
created, is its first reading. Before the first reading the average is null; before n of them it is
the mean of those that there are. An object that is deleted loses its readings.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import Any

from cepheid.live.matching.relations import BaseRelation, Columns, Index, Row
from cepheid.live.metamodel import Feature, one_nan
from cepheid.live.model import Model, Object


class Readings:
    """The last values of an attribute, as many as anyone asks for."""

    def __init__(self, model: Model, feature: Feature, kinds: frozenset[str]) -> None:
        self.feature = feature
        self.kinds = kinds
        self.size = 1
        self.windows: dict[Object, deque[Any]] = {}
        self.extents = [model.extents[name] for name in sorted(kinds)]
        model.sampled.add(feature)

    def need(self, size: int) -> None:
        self.size = max(self.size, size)
        self.windows = {}
        for extent in self.extents:
            for one in extent:
                self.read(one)

    def read(self, one: Object) -> None:
        value = one.values.get(self.feature)
        if value is not None:
            if one not in self.windows:
                self.windows[one] = deque(maxlen=self.size)
            self.windows[one].append(value)

    def mean(self, one: Object, size: int) -> float | None:
        """Of the last readings; it depends on them alone, not on how they came."""
        window = self.windows.get(one)
        if not window:
            return None
        mean: float = one_nan(mean_of(list(window)[-size:]))
        return mean


def mean_of(values: list[Any]) -> float:
    try:
        return math.fsum(values) / len(values)
    except (OverflowError, ValueError):  # infinities of both signs, or sums beyond all doubles
        return sum(map(float, values)) / len(values)


class Means(BaseRelation):
    """Objects and the moving averages of an attribute."""

    def __init__(self, readings: Readings, size: int) -> None:
        super().__init__(2)
        self.readings = readings
        self.size = size
        readings.need(size)
        self.means: dict[Object, float | None] = {
            one: readings.mean(one, size) for extent in readings.extents for one in extent
        }

    def update(self, one: Object) -> None:
        """After a reading, or when an object has come or gone."""
        if one in self.means:
            self.change((one, self.means.pop(one)), -1)
        if one.is_alive:
            self.means[one] = self.readings.mean(one, self.size)
            self.change((one, self.means[one]), 1)

    def find(self, columns: Columns) -> Index:
        means = self.means
        if columns == (0, 1):
            return lambda key: (key,) if key[0] in means and means[key[0]] == key[1] else ()
        assert columns == (0,)

        def mean(key: Row) -> Iterable[Row]:
            return ((key[0], means[key[0]]),) if key[0] in means else ()

        return mean
