"""Two commits beside each other: which of them a ratio is about, and what only one of them has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.compare import compare
from benchmarks.measure import Sizes


class Side:
    """A commit whose measures always take the same time."""

    def __init__(self, times: Mapping[str, float]) -> None:
        self.times = times
        self.measures = list(times)

    def measure(self, name: str) -> float:
        return self.times[name]


@pytest.fixture
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """An old tree, and a new one that takes twice as long for one measure and has one more."""
    times = {"old": {"push": 1.0, "gone": 1.0}, "new": {"push": 2.0, "files": 1.0}}
    for name in times:
        (tmp_path / name / "src" / "cepheid").mkdir(parents=True)

    @contextmanager
    def side(tree: Path, name: str, sizes: Sizes) -> Iterator[Side]:
        yield Side(times[tree.name])

    monkeypatch.setattr("benchmarks.compare._side", side)
    return str(tmp_path / "old"), str(tmp_path / "new")


def test_a_ratio_says_how_long_the_new_commit_takes_relative_to_the_old_one(
    trees: tuple[str, str],
) -> None:
    [figure, _] = compare(*trees, "push", Sizes())
    assert (figure.name, figure.ratio, figure.verdict) == ("push", 2.0, "missed")
    assert (figure.of["new"], figure.of["old"]) == (2.0, 1.0)


def test_what_the_old_commit_cannot_measure_is_said(trees: tuple[str, str]) -> None:
    old, new = trees
    [_, figure] = compare(old, new, "push", Sizes())
    assert (figure.name, figure.verdict) == ("files", "not measured")
    assert figure.note == f"{old} has no such measure"
