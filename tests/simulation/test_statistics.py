"""What samples say: the formula of the paper, intervals from the literature, tests that end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from cepheid.errors import UsageError
from cepheid.simulation.statistics import (
    METHODS,
    Finding,
    SequentialTest,
    difference,
    plan,
    proportion,
    summary,
)
from tests.effort import examples

# Table 3: confidence, Z, runs for p = 0.5 and for p = 0.05, with a precision of 0.03.
TABLE = (
    (0.80, 1.28, 455, 86),
    (0.85, 1.44, 576, 109),
    (0.90, 1.64, 747, 142),
    (0.95, 1.96, 1067, 203),
    (0.98, 2.33, 1508, 287),
    (0.99, 2.58, 1849, 351),
)


@pytest.mark.parametrize(("confidence", "z", "half", "twentieth"), TABLE)
def test_the_numbers_of_runs_are_those_of_the_paper(
    confidence: float, z: float, half: int, twentieth: int
) -> None:
    for expected, runs in ((0.5, half), (0.05, twentieth)):
        found = plan(confidence, 0.03, expected, "paper")
        assert (found.z, found.runs) == (z, runs)


def test_by_default_the_quantile_is_exact_and_runs_are_rounded_up() -> None:
    found = plan(0.95, 0.03)
    assert found.z == pytest.approx(1.959963985)
    assert found.runs == math.ceil(1.959963985**2 * 0.25 / 0.0009) == 1068
    assert "the exact quantile, rounded up" in found.reason
    assert "two decimals" in plan(0.95, 0.03, z="paper").reason


@pytest.mark.parametrize("wrong", [(0, 0.1, 0.5), (1, 0.1, 0.5), (0.9, 0, 0.5), (0.9, 0.1, 1)])
def test_shares_lie_between_zero_and_one(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        plan(*wrong)


@pytest.mark.parametrize(
    ("hits", "runs", "method", "low", "high"),
    [  # Newcombe (1998), Table I
        (81, 263, "exact", 0.2527, 0.3676),
        (81, 263, "wilson", 0.2553, 0.3662),
        (15, 148, "exact", 0.0578, 0.1617),
        (15, 148, "wilson", 0.0624, 0.1605),
        (0, 20, "exact", 0.0, 0.1684),
        (0, 20, "wilson", 0.0, 0.1611),
        (1, 29, "exact", 0.0009, 0.1776),
        (1, 29, "wilson", 0.0061, 0.1718),
        (29, 29, "exact", 0.8806, 1.0),
    ],
)
def test_intervals_are_those_of_the_literature(
    hits: int, runs: int, method: str, low: float, high: float
) -> None:
    found = proportion(hits, runs, 0.95, method)  # type: ignore[arg-type]
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)


@examples(100)
@given(st.integers(1, 200), st.data(), st.sampled_from(METHODS))
def test_an_interval_holds_the_estimate_and_mirrors_its_contrary(
    runs: int, data: st.DataObject, method: str
) -> None:
    hits = data.draw(st.integers(0, runs))
    found = proportion(hits, runs, 0.9, method)  # type: ignore[arg-type]
    other = proportion(runs - hits, runs, 0.9, method)  # type: ignore[arg-type]
    assert hits / runs in found
    assert (found.low, found.high) == pytest.approx((1 - other.high, 1 - other.low))


def test_a_difference_is_that_of_the_literature() -> None:
    found = difference((56, 70), (48, 80), 0.95)  # Newcombe (1998), method 10
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=6e-5)
    assert found.estimate == pytest.approx(0.2)
    assert found.p_value < 0.02
    assert difference((5, 70), (5, 70), 0.95).p_value == pytest.approx(1)


def test_a_summary_counts() -> None:
    found = summary(np.array([1, 2, 3, 10]), 0.95)
    assert (found.min, found.max, found.median, found.mean) == (1, 10, 2.5, 4)
    assert found.sd == pytest.approx(math.sqrt(50 / 3))
    assert found.ci.high == pytest.approx(4 + 3.182446 * found.sd / 2, rel=1e-6)
    assert found.ci.low == 0
    assert summary(np.array([7]), 0.95).ci.high == 7


TESTS = (
    SequentialTest(0.5, 0.03, 0.95),
    SequentialTest(0.15, 0.05, 0.95),
    SequentialTest(0.05, 0.02, 0.99),
)


def coins(test: SequentialTest, away: float, seeds: int) -> list[tuple[Finding | None, int]]:
    """What a test finds where the truth is so many precisions away from its bound."""
    truth = test.bound + away * test.precision
    return [
        test.decide(np.random.default_rng(seed).random(test.most_runs) < truth)
        for seed in range(seeds)
    ]


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("away", [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
def test_a_sequential_test_errs_as_rarely_as_it_promises(test: SequentialTest, away: float) -> None:
    """30 seeds as people would try it, and 300 that would show half as many errors again."""
    if not 0 < test.bound + away * test.precision < 1:
        return
    true = {Finding.KEPT} if away <= 0 else {Finding.EXCEEDED}
    true |= {Finding.CLOSE} if abs(away) <= 1 else set()
    promised = 1 - test.confidence
    for seeds in (30, 300):
        found = [finding for finding, _ in coins(test, away, seeds)]
        allowed = binom.ppf(0.99, seeds, promised)
        assert sum(finding is not None and finding not in true for finding in found) <= allowed
        if abs(away) >= 1:  # out of the band there is a verdict
            verdict = Finding.KEPT if away < 0 else Finding.EXCEEDED
            assert sum(finding is not verdict for finding in found) <= allowed
        else:  # in the band it is given up before long
            assert sum(finding is None for finding in found) <= seeds * 0.05


def test_a_sequential_test_is_over_at_the_run_that_decides() -> None:
    test = SequentialTest(0.15, 0.05, 0.95)
    for truth in (0.02, 0.15, 0.4):
        broken = np.random.default_rng(1).random(test.most_runs) < truth
        found, runs = test.decide(broken)
        assert found is not None
        assert test.decide(broken[:runs]) == (found, runs)
        assert test.decide(broken[: runs - 1]) == (None, runs - 1)
    assert runs < plan(0.95, 0.05).runs / 3  # far from the bound it takes few


def test_a_sequential_test_needs_room_around_its_bound() -> None:
    with pytest.raises(UsageError, match=r"no precision of 0\.03 around"):
        SequentialTest(0.01, 0.03, 0.95)


@pytest.mark.parametrize("bound", [0.03, 0.97])
def test_a_precision_may_not_reach_zero_or_one(bound: float) -> None:
    with pytest.raises(UsageError, match=r"no precision of 0\.03 around"):
        SequentialTest(bound, 0.03, 0.95)


def test_a_sequential_test_asks_for_no_more_than_its_confidence() -> None:
    """A ratio of 1.5 for each run passes 20 with the eighth."""
    test = SequentialTest(0.5, 0.25, 0.95)
    assert test.decide(np.ones(20, bool)) == (Finding.EXCEEDED, 8)
    assert test.decide(np.zeros(20, bool)) == (Finding.KEPT, 8)
