"""Puts rows of one time in order, where few are of one time."""

from __future__ import annotations

from typing import Any

from cepheid.matcher.vm.jit import entry, part

MOST = 64  # rows of one time: more of them are better sorted in another way


@part
def _is_before(ranks: Any, row: Any, other: Any) -> Any:
    for number in range(len(ranks)):
        if ranks[number, row] != ranks[number, other]:
            return ranks[number, row] < ranks[number, other]
    return False


@part
def _insert(ranks: Any, order: Any, begin: Any, place: Any) -> None:
    """Moves a row to its place among those before it, which are in order."""
    row = order[place]
    while place > begin and _is_before(ranks, row, order[place - 1]):
        order[place] = order[place - 1]
        place -= 1
    order[place] = row


@entry("boolean(int64[::1], int64[:, ::1], int64[::1])")
def sort_ties(times: Any, ranks: Any, order: Any) -> Any:
    """Sorts rows, whose times are in order, by their ranks, the first of which counts most.

    False, and nothing is said of the order, where too many are of one time.
    """
    begin = 0
    for end in range(1, len(order) + 1):
        if end < len(order) and times[end] == times[begin]:
            continue
        if end - begin > MOST:
            return False
        for place in range(begin + 1, end):
            _insert(ranks, order, begin, place)
        begin = end
    return True
