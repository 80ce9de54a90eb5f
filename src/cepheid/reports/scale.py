"""Where an instant stands on a timeline: evenly, but for long times in which nothing happens.

A report at midnight on one minute of readings would leave that minute no room. So a gap that is far
longer than is usual, and takes much of the whole, is drawn as a narrow strip.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from cepheid.core.time import Instant

_CUTS = 6  # at most
_MUCH = 0.2  # of the time that is drawn
_UNUSUAL = 20  # times the median gap
_STRIP = 4.0  # percent of the width
_MARGIN = 1.0  # so that nothing is cut in half


@dataclass(frozen=True, slots=True)
class Piece:
    """A time that is drawn evenly, between two places in percent."""

    first: Instant
    last: Instant
    left: float
    right: float

    def place(self, instant: Instant) -> float:
        length = self.last - self.first
        share = (instant - self.first) / length if length else 0.5
        return self.left + share * (self.right - self.left)


@dataclass(frozen=True, slots=True)
class Scale:
    """Pieces of time from left to right, with a strip between each and the next."""

    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, instants: Iterable[Instant]) -> Scale:
        """For these instants, of which there is one at least."""
        known = sorted(set(instants))
        cuts = _cuts(known)
        parts = [
            (begin, end)
            for begin, end in zip(
                [known[0], *(after for _, after in cuts)],
                [*(before for before, _ in cuts), known[-1]],
                strict=True,
            )
        ]
        # What lasts no time has a little room, too.
        total = sum(end - begin for begin, end in parts)
        least = max(total // 50, 1)
        weights = [max(end - begin, least) for begin, end in parts]
        room = 100 - 2 * _MARGIN - _STRIP * len(cuts)
        pieces, left = list[Piece](), _MARGIN
        for (begin, end), weight in zip(parts, weights, strict=True):
            right = left + room * weight / sum(weights)
            pieces.append(Piece(begin, end, left, right))
            left = right + _STRIP
        return cls(tuple(pieces))

    @property
    def first(self) -> Instant:
        return self.pieces[0].first

    @property
    def last(self) -> Instant:
        return self.pieces[-1].last

    @property
    def strips(self) -> list[tuple[Piece, Piece]]:
        """The pieces on both sides of each."""
        return list(pairwise(self.pieces))

    def place(self, instant: Instant) -> float:
        """In percent; of an instant that is in one of the pieces."""
        number = bisect_right([piece.first for piece in self.pieces], instant) - 1
        return self.pieces[max(number, 0)].place(instant)


def _cuts(instants: Sequence[Instant]) -> list[tuple[Instant, Instant]]:
    """The gaps that are not drawn evenly, in the order of time."""
    gaps = sorted(((b - a, a, b) for a, b in pairwise(instants)), reverse=True)
    if not gaps:
        return []
    usual, left = median(gap for gap, *_ in gaps), instants[-1] - instants[0]
    cuts: list[tuple[Instant, Instant]] = []
    for gap, before, after in gaps[:_CUTS]:
        if gap < _MUCH * left or gap < _UNUSUAL * usual:
            break
        cuts.append((before, after))
        left -= gap
    return sorted(cuts)
