"""What pictures of counts show: how they are distributed, and how their mean settles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cepheid.simulation.distributions import Numbers
from cepheid.simulation.factories import Words
from cepheid.simulation.statistics import quantile

_MOST_BARS = 40


def edges(counts: Words) -> Numbers:
    """The ends of bars: one for each count, or for several where there are many."""
    least, most = int(counts.min()), int(counts.max())
    step = math.ceil((most - least + 1) / _MOST_BARS)
    found: Numbers = np.arange(least - 0.5, most + 0.5 + step, step)
    return found


@dataclass(frozen=True, slots=True)
class RunningMeans:
    """The mean after one run, after two, and so on, each with its interval."""

    mean: Numbers
    low: Numbers
    high: Numbers


def running_means(counts: Words, confidence: float) -> RunningMeans:
    numbers, runs = counts.astype(float), np.arange(1, len(counts) + 1)
    mean = np.cumsum(numbers) / runs
    variance = np.maximum(np.cumsum(numbers**2) / runs - mean**2, 0)
    reach = quantile(confidence) * np.sqrt(variance / runs)
    return RunningMeans(mean, np.maximum(mean - reach, 0), mean + reach)
