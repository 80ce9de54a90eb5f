"""Making an example small: what shows something is left with nothing that could be left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shortest(items: Sequence[Item], shows: Callable[[Sequence[Item]], bool]) -> tuple[Item, ...]:
    """Some of the items, in their order, of which none can be left out alone.

    Large pieces are tried first, so that a few among thousands are found in a few hundred tries.
    """
    kept = tuple(items)
    size = max(len(kept) // 2, 1)
    while True:
        before = len(kept)
        kept = _without_pieces(kept, size, shows)
        if size == 1 and len(kept) == before:
            return kept
        size = min(max(size // 2, 1), max(len(kept) // 2, 1))


def _without_pieces(
    kept: tuple[Item, ...], size: int, shows: Callable[[Sequence[Item]], bool]
) -> tuple[Item, ...]:
    """Without the pieces of a size that are not needed, from the first to the last."""
    place = 0
    while place < len(kept):
        fewer = kept[:place] + kept[place + size :]
        if shows(fewer):
            kept = fewer
        else:
            place += size
    return kept
