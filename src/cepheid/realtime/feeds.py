"""Where a real run gets its events: suppliers that push by their rates or a file, and edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.graph import Time


class Feed(Protocol):
    """Pushes that are due. A push has the time at which it was due, so that no delay is overlooked."""

    def due(self) -> Time | None:
        """When to ask for the next ones; None where there will be none."""

    def poll(self, now: Time) -> Sequence[Arrival]: ...


class Scheduled:
    """Arrivals whose times are known beforehand."""

    def __init__(self, arrivals: Iterator[Arrival]) -> None:
        self._arrivals = arrivals
        self._next = next(arrivals, None)

    def due(self) -> Time | None:
        return None if self._next is None else self._next.time

    def poll(self, now: Time) -> Sequence[Arrival]:
        found = []
        while self._next is not None and self._next.time <= now:
            found.append(self._next)
            self._next = next(self._arrivals, None)
        return found
