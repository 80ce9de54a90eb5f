"""Runs that the host of a machine disturbs are done again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks import measure


@pytest.mark.parametrize(
    ("stolen", "found", "again"),
    [
        ([0.0], 0, 0),
        ([0.01], 0, 0),
        ([0.5, 0.0], 1, 1),
        ([0.5, 0.2, 0.3], 1, 2),  # never quiet: the least disturbed
    ],
)
def test_the_quietest_of_a_few_tries_counts(
    monkeypatch: pytest.MonkeyPatch, stolen: Sequence[float], found: int, again: int
) -> None:
    clock, taken, tries = [0.0], [0.0], iter(enumerate(stolen))
    monkeypatch.setattr("benchmarks.measure.time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("benchmarks.measure.stolen_seconds", lambda: taken[0])

    def job() -> int:
        number, lost = next(tries)
        clock[0] += 1
        taken[0] += lost
        return number

    assert measure.quietest(job, 0.01, 3) == (found, again)


def test_what_a_host_takes_only_grows() -> None:
    before = measure.stolen_seconds()
    assert 0 <= before <= measure.stolen_seconds()
