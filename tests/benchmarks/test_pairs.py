"""Pairs of measurements: the interval of their median ratio, and when there are enough of them."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator

import pytest
from benchmarks.pairs import LEAST, MOST, Ratios, median_interval, paired
from benchmarks.report import Figure, Goal


@pytest.mark.parametrize(
    ("count", "left_out"), [(1, 0), (5, 0), (7, 0), (8, 0), (9, 1), (12, 2), (20, 5), (31, 9)]
)
def test_the_interval_leaves_out_as_many_values_at_each_end_as_tables_say(
    count: int, left_out: int
) -> None:
    values = [float(number) for number in range(count)]
    random.Random(count).shuffle(values)
    assert median_interval(values) == (left_out, count - 1 - left_out)


@pytest.mark.parametrize("count", [7, 15, 31])
def test_the_interval_holds_the_median_nineteen_times_of_twenty(count: int) -> None:
    rng = random.Random(count)
    held = 0
    for _ in range(2_000):
        low, high = median_interval([rng.lognormvariate(0, 1) for _ in range(count)])
        held += low <= 1 <= high
    assert held / 2_000 > 0.94


def test_seven_pairs_are_enough_where_all_ratios_are_alike() -> None:
    found = paired(lambda: 3.0, lambda: 2.0)
    assert (len(found.ours), found.median, found.interval) == (LEAST, 1.5, (1.5, 1.5))


def test_there_are_no_more_than_thirty_one_pairs_however_much_they_differ() -> None:
    rng = random.Random(1)
    found = paired(lambda: rng.uniform(1, 9), lambda: 1.0)
    assert len(found.ours) == len(found.theirs) == MOST


def test_pairs_are_taken_until_the_interval_is_narrow() -> None:
    rng = random.Random(2)
    found = paired(lambda: rng.gauss(1, 0.06), lambda: 1.0)
    before = Ratios(found.ours[:-1], found.theirs[:-1])
    widths = [high - low for high, low in (r.interval[::-1] for r in (before, found))]
    assert LEAST < len(found.ours) < MOST
    assert widths[1] < 0.1 <= widths[0]


def test_a_machine_that_gets_slower_changes_no_ratio() -> None:
    def slower() -> Iterator[float]:
        yield from (1.1**number for number in range(1_000))

    pace = slower()
    found = paired(lambda: 2 * next(pace), lambda: next(pace))
    assert found.median == pytest.approx(2, rel=0.11)
    assert statistics.mean(found.all) == pytest.approx(2, rel=0.05)


def test_a_strict_goal_is_for_all_of_the_interval() -> None:
    found = Ratios((1.0, 1.0, 1.2, 1.0, 1.0, 1.0, 1.0), (1.0,) * 7)
    assert Figure.of_pairs("x", found, Goal("at most", 1.1)).verdict == "met"
    assert Figure.of_pairs("x", found, Goal("at most", 1.1), is_strict=True).verdict == "missed"
