"""Histograms of times: constant memory, values to within one part in 128 whatever their size."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from cepheid.realtime.graph import Time

_BITS = 7  # that are kept of a value, below its highest


@dataclass(slots=True)
class Histogram:
    """Counts values by their highest bits, as HdrHistogram does."""

    counts: Counter[int] = field(default_factory=Counter)
    count: int = 0
    total: int = 0
    largest: Time = 0

    def add(self, value: Time) -> None:
        value = max(value, 0)
        self.count += 1
        self.total += value
        self.largest = max(self.largest, value)
        shift = max(value.bit_length() - _BITS - 1, 0)
        self.counts[value >> shift << shift] += 1

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(
            self.counts + other.counts,
            self.count + other.count,
            self.total + other.total,
            max(self.largest, other.largest),
        )

    def quantile(self, share: float) -> Time:
        """The value that so many are not above; 0 where there is none."""
        left = max(1, -int(-share * self.count // 1))
        for value in sorted(self.counts):
            left -= self.counts[value]
            if left <= 0:
                # Values in a bucket differ by less than one part in 128: the greatest of it.
                shift = max(value.bit_length() - _BITS - 1, 0)
                return min(value + (1 << shift) - 1, self.largest)
        return self.largest

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0
