"""What is asked: why there is no row in some time, or with some event."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.core.event import Event, SortKey
from cepheid.core.time import Instant, format_instant


@dataclass(frozen=True, slots=True)
class Question:
    """Between two instants, both included; with an event, what happens by it alone counts."""

    first: Instant
    last: Instant
    event: Event | None = None

    def covers(self, key: SortKey) -> bool:
        """Whether what has this key happens in the time asked for."""
        if self.event is not None:
            return key[:3] == self.event.key[:3]
        return self.first <= key[0] <= self.last

    def __str__(self) -> str:
        if self.event is not None:
            return f"with {self.event.type} at {format_instant(self.first)}"
        if self.first == self.last:
            return f"at {format_instant(self.first)}"
        return f"from {format_instant(self.first)} to {format_instant(self.last)}"
