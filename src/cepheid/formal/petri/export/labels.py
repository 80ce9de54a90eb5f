"""Texts beside lines: each as near to its own line as it can be without lying on anything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

SIZE = 9
_CHARACTER = 0.6  # of the size, on average
_ROOM = 2.0  # between texts
_STEP = 6.0

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rect:
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Rect) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


@dataclass(frozen=True, slots=True)
class Label:
    """A text of some lines, around the middle of `rect`."""

    lines: tuple[str, ...]
    rect: Rect
    kind: str = "inscription"
    size: int = SIZE

    def drawn(self) -> str:
        """White below, so that lines do not run through the text."""
        x, height = self.rect.left + _ROOM / 2, self.size + 2
        at = [(x, self.rect.top + height * (n + 1) - 2, line) for n, line in enumerate(self.lines)]
        return "".join(
            _text(*place, kind, self.size) for place in at for kind in ("halo", self.kind)
        )


def _text(x: float, y: float, text: str, kind: str, size: int) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}">{escape(text)}</text>'


def size_of(lines: Sequence[str], size: int = SIZE) -> Point:
    return max(map(len, lines)) * size * _CHARACTER + _ROOM, len(lines) * (size + 2) + _ROOM


@dataclass(slots=True)
class Space:
    """What is taken already; texts look for a place in what is left."""

    taken: list[Rect] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def put(self, lines: Sequence[str], points: Sequence[Point], kind: str = "inscription") -> None:
        """Beside the first of some points of a line where there is room; else as near as there is."""
        rect = next(
            rect
            for rect in self._tries(size_of(lines), points)
            if not any(rect.overlaps(other) for other in self.taken)
        )
        self.taken.append(rect)
        self.labels.append(Label(tuple(lines), rect, kind))

    def _tries(self, size: Point, points: Sequence[Point]) -> Iterator[Rect]:
        distance = 0.0
        while True:
            for x, y in points:
                yield _around(x, y - size[1] / 2 - distance, size)
                yield _around(x, y + size[1] / 2 + distance, size)
            distance += _STEP


def _around(x: float, y: float, size: Point) -> Rect:
    width, height = size
    top = max(y - height / 2, 0.0)
    left = max(x - width / 2, 0.0)
    return Rect(left, top, left + width, top + height)
