"""Rows of many filters in one piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.predicates import Values
from cepheid.matcher.lanes.routes import Route
from cepheid.matcher.lanes.rows import Rows


@dataclass(frozen=True, slots=True)
class FilteredRows:
    """Rows of several filters that show the same of the same events: event by event, and route by route."""

    routes: Sequence[Route]
    codes: Words  # of each row the number of its route
    places: Words  # of the events that brought them
    instants: Words
    values: tuple[Values, ...]

    def __len__(self) -> int:
        return len(self.instants)

    @property
    def ranks(self) -> list[int]:
        return [route.statement.rank for route in self.routes]

    @property
    def targets(self) -> list[str]:
        return [route.statement.target for route in self.routes]

    def apart(self) -> Iterator[FilteredRows]:
        """The rows of each filter on its own."""
        if len(self.routes) == 1:
            yield self
            return
        order = np.argsort(_short(self.codes), kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.routes)))
        for route, mine in zip(self.routes, np.split(order, ends[:-1]), strict=True):
            if len(mine):
                yield self._of(route, mine)

    def _of(self, route: Route, mine: Words) -> FilteredRows:
        codes, values = np.zeros(len(mine), dtype=np.int64), tuple(v.of(mine) for v in self.values)
        return FilteredRows([route], codes, self.places[mine], self.instants[mine], values)

    @property
    def single(self) -> Rows:
        """The same if there is one filter."""
        (route,) = self.routes
        return Rows(route.statement, self.instants, lambda: self.places, self.values)


def _short(codes: Words) -> NDArray[Any]:
    """Small numbers are sorted by counting."""
    return codes.astype(np.int16) if len(codes) and codes.max() < 1 << 15 else codes
