"""Drawings in levels: boxes in columns, in an order in which few edges cross, and smooth lines.

Edges that skip a level get a place of their own in it, so that they run between the boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

_CHARACTER, _PAD = 7.2, 9  # of a text, in pixels
LINE = 16
ROW, _LANE, _GAP = 46, 22, 90
MARGIN = 24
_SWEEPS = 12

Key: TypeAlias = str
Edge: TypeAlias = tuple[Key, Key]


@dataclass(frozen=True, slots=True)
class Box:
    """`lines` is empty for the place of an edge that passes through a level."""

    key: Key
    level: int
    lines: tuple[str, ...] = ()
    is_input: bool = False

    @property
    def width(self) -> float:
        return max((len(line) for line in self.lines), default=0) * _CHARACTER + 2 * _PAD

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + 10


@dataclass(frozen=True, slots=True)
class Placed:
    box: Box
    x: float  # of its left side
    y: float  # of its middle
    width: float  # that of its column, so that edges begin beside all boxes

    @property
    def right(self) -> float:
        return self.x + self.width


def route_of(edge: Edge, boxes: Mapping[Key, Box]) -> list[Box]:
    """The boxes at both ends, and a place in each level between them."""
    start, end = boxes[edge[0]], boxes[edge[1]]
    between = range(start.level + 1, end.level)
    # All edges that leave a box share its places: they part where they must.
    return [start, *(Box(f"{start.key}@{level}", level) for level in between), end]


def ordered(boxes: Sequence[Box], steps: Sequence[Edge]) -> list[list[Box]]:
    """The boxes of each level, in an order in which few edges cross."""
    unique = {box.key: box for box in boxes}
    count = 1 + max((box.level for box in unique.values()), default=0)
    columns = [[b for b in unique.values() if b.level == level] for level in range(count)]
    before: dict[Key, list[Key]] = {key: [] for key in unique}
    after: dict[Key, list[Key]] = {key: [] for key in unique}
    for start, end in dict.fromkeys(steps):
        before[end].append(start)
        after[start].append(end)
    for sweep in range(_SWEEPS):
        neighbours, order = (before, columns) if sweep % 2 == 0 else (after, columns[::-1])
        rank = {b.key: (i + 0.5) / len(c) for c in columns for i, b in enumerate(c)}
        for column in order:
            means = {
                b.key: _mean([rank[n] for n in neighbours[b.key]], rank[b.key]) for b in column
            }
            column.sort(key=lambda box: means[box.key])
            rank |= {box.key: (i + 0.5) / len(column) for i, box in enumerate(column)}
    return columns


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def place_boxes(
    columns: Sequence[Sequence[Box]], row: float = ROW, gap: float = _GAP
) -> tuple[dict[Key, Placed], float, float]:
    """Columns side by side, each spread over the height of the tallest."""

    def room(box: Box) -> float:
        return row if box.lines else _LANE

    tallest = max(sum(map(room, column)) for column in columns)
    placed: dict[Key, Placed] = {}
    x: float = MARGIN
    for column in columns:
        widest = max((box.width for box in column), default=0)
        stretch = tallest / (sum(map(room, column)) or 1)
        y: float = 2 * MARGIN
        for box in column:
            height = room(box) * stretch
            placed[box.key] = Placed(box, x, y + height / 2, widest)
            y += height
        x += widest + gap
    return placed, x - gap + 3 * MARGIN, tallest + 3 * MARGIN


def text_at(x: float, y: float, text: str, kind: str, size: int) -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
        f'text-anchor="middle">{escape(text)}</text>'
    )


def badge(x: float, y: float, count: int, title: str) -> str:
    """A number on a ground of its own, such as that of tokens."""
    half = 5 + 3.5 * len(str(count))
    return (
        f'<g><rect class="badge" fill="#d7efd8" stroke="#2e7d32" x="{x - half:.1f}" y="{y - 8:.1f}" width="{2 * half:.1f}" height="16" rx="8">'
        f"<title>{escape(title)}</title></rect>{text_at(x, y + 4, str(count), 'count', 11)}</g>"
    )


def path_of(edge: Edge, places: Sequence[Placed]) -> str:
    """The line of an edge, with its ends as a title."""
    title = escape(" → ".join(key.partition(":")[2] for key in edge))
    drawn = line_of(places)
    return f'<path class="edge" marker-end="url(#arrow)" d="{drawn}"><title>{title}</title></path>'


def line_of(places: Sequence[Placed]) -> str:
    """A smooth line from the right side of the first box to the left side of the last."""
    x, y = places[0].right, places[0].y
    drawn = f"M{x:.1f},{y:.1f}"
    for place in places[1:]:
        bend = (place.x - x) / 2
        drawn += f" C{x + bend:.1f},{y:.1f} {place.x - bend:.1f},{place.y:.1f} {place.x:.1f},{place.y:.1f}"
        x, y = place.right, place.y
        if not place.box.lines:
            drawn += f" L{x:.1f},{y:.1f}"
    return drawn
