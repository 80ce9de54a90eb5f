"""The watermark of a stream, and the rounds that it closes.

The watermark is the largest time at which anything was known, less the delay. A round is closed when
the watermark has reached the chronon after it: what counts in it can come no more, or comes too
late. Rounds begin at `start`, else with the smallest time seen until the first round is closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cepheid.bitemporal.detections import Detection
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.core.time import Instant


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a stream is."""

    chronon: int
    delay: int
    first: Number | None  # of the rounds
    is_fixed: bool  # the first round is; else earlier times may move it
    outages: tuple[tuple[Number, Number], ...] = ()
    high: Instant | None = None  # the largest time seen
    closed: Number | None = None  # the last chronon whose round is over, if any is

    @property
    def watermark(self) -> Instant | None:
        return None if self.high is None else self.high - self.delay

    def advanced(self, instants: Iterable[Instant]) -> Clock:
        """When these times are seen, too."""
        seen = list(instants)
        if not seen:
            return self
        high = max(seen if self.high is None else (self.high, *seen))
        first = self.first
        if not self.is_fixed:
            lowest = min(seen) // self.chronon
            first = lowest if first is None else min(first, lowest)
        assert first is not None
        over = (high - self.delay) // self.chronon - 1
        if over < first or (self.closed is not None and over <= self.closed):
            return replace(self, high=high, first=first)
        return replace(self, high=high, first=first, is_fixed=True, closed=over)

    def is_late(self, detection: Detection) -> bool:
        """Whether the round in which it counts is over."""
        return self.rounds().at_or_after(detection.known // self.chronon) is not None

    def rounds(self) -> Rounds:
        """The rounds that are over."""
        if self.closed is None or self.first is None:
            return Rounds(self.chronon, 0, -1)
        return Rounds(self.chronon, self.first, self.closed, self.outages)
