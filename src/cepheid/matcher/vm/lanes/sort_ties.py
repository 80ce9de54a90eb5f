"""Puts rows of one time in order, where few are of one time or most are in order already."""

from __future__ import annotations

from typing import Any

from cepheid.matcher.vm.jit import entry, part

MOST = 16  # places by which a row is moved, on average: more is better sorted in another way


@part
def _is_before(ranks: Any, row: Any, other: Any) -> Any:
    for number in range(len(ranks)):
        if ranks[number, row] != ranks[number, other]:
            return ranks[number, row] < ranks[number, other]
    return False


@part
def _insert(ranks: Any, order: Any, begin: Any, place: Any) -> Any:
    """Moves a row to its place among those before it, which are in order; says how far."""
    row, end = order[place], place
    while place > begin and _is_before(ranks, row, order[place - 1]):
        order[place] = order[place - 1]
        place -= 1
    order[place] = row
    return end - place


@entry("boolean(int64[::1], int64[:, ::1], int64[::1])")
def sort_ties(times: Any, ranks: Any, order: Any) -> Any:
    """Sorts rows, whose times are in order, by their ranks, the first of which counts most.

    False, and nothing is said of the order, where they are too far from their places.
    """
    begin, moved = 0, 0
    for place in range(1, len(order)):
        if times[place] != times[begin]:
            begin = place
            continue
        moved += _insert(ranks, order, begin, place)
        if moved > MOST * len(order):
            return False
    return True
