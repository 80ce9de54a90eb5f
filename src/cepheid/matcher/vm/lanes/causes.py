"""Puts rows in the order of small numbers, each of which many rows share."""

from __future__ import annotations

from typing import Any

from numba import types

from cepheid.matcher.vm.jit import COLUMN, WORDS, entry


@entry(types.void(COLUMN, WORDS, WORDS))
def sort_by_cause(causes: Any, ends: Any, order: Any) -> None:
    """Counts how many rows each cause has, so that each row is put where it belongs.

    Rows of one cause stay in their order. `ends` has a zero for each cause, and one more.
    """
    for row in range(len(causes)):
        ends[causes[row] + 1] += 1
    for cause in range(1, len(ends)):
        ends[cause] += ends[cause - 1]
    for row in range(len(causes)):
        cause = causes[row]
        order[ends[cause]] = row
        ends[cause] += 1
