"""Two things measured in turn, pair by pair, until it is clear how they relate.

A machine is never as quiet as one would like, and what disturbs it comes and goes. Two runs right after
each other see much the same of it, so that the ratios of such pairs say more than the ratio of averages.
Their median has an interval that supposes nothing about how they are distributed.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import TypeAlias

Measure: TypeAlias = Callable[[], float]  # runs once, and tells how long that took

LEAST, MOST = 7, 31  # pairs
NARROW = 0.1  # as wide as an interval may be
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Ratios:
    """Pairs of measured times, in the order in which they were taken."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def all(self) -> list[float]:
        return [one / other for one, other in zip(self.ours, self.theirs, strict=True)]

    @property
    def median(self) -> float:
        return statistics.median(self.all)

    @property
    def interval(self) -> tuple[float, float]:
        return median_interval(self.all)

    @property
    def is_clear(self) -> bool:
        """Whether no more pairs are needed, or worth it."""
        count = len(self.ours)
        if not LEAST <= count < MOST:
            return count >= MOST
        low, high = self.interval
        return high - low < NARROW


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The smallest and largest value that the median may have, whatever the distribution.

    Each value lies below the median with a probability of one half. So the k-th smallest lies above it
    as rarely as a fair coin shows heads less than k times, and k is the largest for which that is rare.
    The interval of few values is all that there is.
    """
    ordered, count = sorted(values), len(values)
    rare, rank, beyond = (1 - confidence) / 2, 0, 1 / 2**count
    while beyond <= rare:
        rank += 1
        beyond += comb(count, rank) / 2**count
    left_out = max(rank - 1, 0)
    return ordered[left_out], ordered[count - 1 - left_out]


def paired(ours: Measure, theirs: Measure) -> Ratios:
    """Measures both in turn; who is first alternates, as the second may find things warmer."""
    found = Ratios((), ())
    while not found.is_clear:
        if len(found.ours) % 2:
            other, one = theirs(), ours()
        else:
            one, other = ours(), theirs()
        found = Ratios((*found.ours, one), (*found.theirs, other))
    return found
