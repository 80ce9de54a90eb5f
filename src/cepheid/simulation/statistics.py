"""What a sample says: summaries, intervals of a proportion, how many runs are enough, when to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cepheid.errors import UsageError, error

Method: TypeAlias = Literal["exact", "wilson"]
Quantile: TypeAlias = Literal["exact", "paper"]
Sample: TypeAlias = tuple[int, int]  # in how many runs something happened, and of how many
METHODS: tuple[Method, ...] = ("exact", "wilson")
_FINEST = 1e-100  # precision; below, its square is none
QUANTILES: tuple[Quantile, ...] = ("exact", "paper")


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Summary:
    """How often something happened in a run; `ci` is the interval of the mean."""

    min: int
    max: int
    median: float
    mean: float
    sd: float
    ci: Interval

    def to_json(self) -> dict[str, object]:
        numbers = {name: getattr(self, name) for name in ("min", "max", "median", "mean", "sd")}
        return {**numbers, "ci": [self.ci.low, self.ci.high]}


def summary(counts: npt.NDArray[np.int64], confidence: float) -> Summary:
    """Of one count per run; the interval is Student's."""
    from scipy.special import stdtrit

    size = len(counts)
    mean = float(np.mean(counts))
    sd = float(np.std(counts, ddof=1)) if size > 1 else 0.0
    reach = 0.0
    if sd:
        reach = float(stdtrit(size - 1, (1 + confidence) / 2)) * sd / math.sqrt(size)
    interval = Interval(max(mean - reach, 0.0), mean + reach)
    least, most = int(counts.min()), int(counts.max())
    return Summary(least, most, float(np.median(counts)), mean, sd, interval)


# Proportions.


def proportion(hits: int, runs: int, confidence: float, method: Method = "exact") -> Interval:
    """The interval of a proportion: Clopper-Pearson, or Wilson's score."""
    return _wilson(hits, runs, confidence) if method == "wilson" else _exact(hits, runs, confidence)


def _exact(hits: int, runs: int, confidence: float) -> Interval:
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, tail))
    high = 1.0 if hits == runs else float(betaincinv(hits + 1, runs - hits, 1 - tail))
    return Interval(low, high)


def _wilson(hits: int, runs: int, confidence: float) -> Interval:
    z = quantile(confidence)
    share, weight = hits / runs, z * z / runs
    centre = (share + weight / 2) / (1 + weight)
    reach = z * math.sqrt(share * (1 - share) / runs + weight / (4 * runs)) / (1 + weight)
    low = 0.0 if hits == 0 else centre - reach
    return Interval(low, 1.0 if hits == runs else centre + reach)


@dataclass(frozen=True, slots=True)
class Difference:
    """Between two proportions; `p_value` is how probable one so large is if there is none."""

    estimate: float
    low: float
    high: float
    p_value: float


def difference(one: Sample, other: Sample, confidence: float) -> Difference:
    """Of the first and the second proportion, by Newcombe's interval and Fisher's exact test."""
    from scipy.stats import fisher_exact

    (hits, runs), (other_hits, other_runs) = one, other
    own, others = (_wilson(*sample, confidence) for sample in (one, other))
    share, other_share = hits / runs, other_hits / other_runs
    gap = share - other_share
    low = gap - math.hypot(share - own.low, others.high - other_share)
    high = gap + math.hypot(own.high - share, other_share - others.low)
    table = [[hits, runs - hits], [other_hits, other_runs - other_hits]]
    return Difference(gap, low, high, float(fisher_exact(table).pvalue))


# How many runs.


def quantile(confidence: float) -> float:
    """The value that a standard normal variable exceeds in size with the rest of the probability."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """How many runs are needed, and why."""

    runs: int
    confidence: float
    precision: float
    expected: float
    z: float
    quantile: Quantile

    @property
    def reason(self) -> str:
        how = (
            "the quantile at two decimals, rounded to the nearest whole number"
            if self.quantile == "paper"
            else "the exact quantile, rounded up"
        )
        formula = f"{self.z:.6g}² x {self.expected:g} x {1 - self.expected:g} / {self.precision:g}²"
        return f"{formula}, {how}"

    def to_json(self) -> dict[str, object]:
        return {
            "runs": self.runs,
            "confidence": self.confidence,
            "precision": self.precision,
            "expected": self.expected,
            "z": self.z,
            "quantile": self.quantile,
        }


def plan(
    confidence: float, precision: float, expected: float = 0.5, z: Quantile = "exact"
) -> SamplePlan:
    """n = z² p (1 - p) / d². Where nothing is known of p, a half needs the most runs."""
    for name, value in (
        ("confidence", confidence),
        ("precision", precision),
        ("expected", expected),
    ):
        if not 0 < value < 1:
            raise UsageError(error("usage", f"the {name} lies between 0 and 1, not at {value:g}"))
    exact = quantile(confidence)
    used = round(exact, 2) if z == "paper" else exact
    if precision < _FINEST:
        fact = f"a precision of {precision:g} needs more runs than can be counted"
        raise UsageError(error("usage", fact, hint="3 in 100 are usual: 0.03"))
    count = used**2 * expected * (1 - expected) / precision**2
    runs = math.floor(count + 0.5) if z == "paper" else math.ceil(count)
    return SamplePlan(max(runs, 1), confidence, precision, expected, used, z)


# When to stop.


class Finding(Enum):
    """What a sequential test has found out about a probability and a bound."""

    KEPT = "at most the bound"
    EXCEEDED = "more than the bound"
    CLOSE = "within the precision of the bound"


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Whether a probability is at most a bound, as far as the precision tells.

    Two of Wald's tests side by side (Sobel and Wald, 1949): one tells bound - precision from the bound,
    one the bound from bound + precision. Whatever the probability is, a finding is false at most as
    often as the confidence leaves open: a likelihood ratio reaches 1 / (1 - confidence) no more often
    against the truth, however long one looks. Outside of bound - precision to bound + precision the
    test finds KEPT or EXCEEDED as often as the confidence says; inside it may find CLOSE.
    """

    bound: float
    precision: float
    confidence: float

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < 1:
            fact = f"no precision of {self.precision:g} around a bound of {self.bound:g}"
            hint = "bound - precision and bound + precision lie between 0 and 1"
            raise UsageError(error("usage", fact, hint=hint))

    @property
    def low(self) -> float:
        return self.bound - self.precision

    @property
    def high(self) -> float:
        return self.bound + self.precision

    @property
    def _limit(self) -> float:
        return -math.log(1 - self.confidence)

    @property
    def most_runs(self) -> int:
        """After so many it is nearly always over: four times what the slowest case takes on average."""
        share = self.bound * (1 - self.bound)
        return math.ceil(4 * self._limit**2 * share / self.precision**2)

    def decide(self, broken: npt.NDArray[np.bool_]) -> tuple[Finding | None, int]:
        """What is found, and after how many runs; None: nothing yet."""
        is_above_low, after = self._tell(self.low, self.bound, broken)
        is_above_bound, later = self._tell(self.bound, self.high, broken)
        # The first path lies above the second at every run, so they cannot contradict each other.
        if is_above_low is False:
            return Finding.KEPT, after
        if is_above_bound:
            return Finding.EXCEEDED, later
        if is_above_low is None or is_above_bound is None:
            return None, len(broken)
        return Finding.CLOSE, max(after, later)

    def _tell(
        self, low: float, high: float, broken: npt.NDArray[np.bool_]
    ) -> tuple[bool | None, int]:
        """Which of two probabilities the runs speak for, and after how many; None: not yet."""
        hit, miss = math.log(high / low), math.log((1 - high) / (1 - low))
        path = np.cumsum(np.where(broken, hit, miss))
        ended = np.flatnonzero(np.abs(path) >= self._limit)
        if not len(ended):
            return None, len(broken)
        return bool(path[ended[0]] > 0), int(ended[0]) + 1
