"""Pictures of a pattern dependency graph: DOT for other tools, and SVG in levels.

The SVG has a column for each level, the types from outside first. Edges that skip a level get a
place of their own in it, so that they run between the boxes. Edges of a cycle are red.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TypeAlias

from cepheid.program.graph import Graph

_CHARACTER, _LINE, _PAD = 7.2, 16, 9  # of a text, in pixels
_ROW, _LANE, _GAP, _MARGIN = 46, 22, 90, 24
_SWEEPS = 12

Key: TypeAlias = str
Edge: TypeAlias = tuple[Key, Key]


@dataclass(frozen=True, slots=True)
class _Box:
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
        return len(self.lines) * _LINE + 10


def to_dot(graph: Graph) -> str:
    """For Graphviz, with the levels as ranks."""
    boxes, edges = _boxes(graph), _edges(graph)
    lines = ["digraph program {", "  rankdir=LR;", "  node [shape=box, fontname=Helvetica];"]
    for level in sorted({box.level for box in boxes}):
        names = []
        for box in (b for b in boxes if b.level == level):
            label = "\\n".join(map(_dot_text, box.lines))
            style = ", style=rounded" if box.is_input else ""
            names.append(f'    "{_dot_text(box.key)}" [label="{label}"{style}];')
        lines += ["  {", "    rank=same;", *names, "  }"]
    red = _cyclic(graph)
    for edge in edges:
        style = " [color=red]" if edge in red else ""
        lines.append(f'  "{_dot_text(edge[0])}" -> "{_dot_text(edge[1])}"{style};')
    return "\n".join([*lines, "}", ""])


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _boxes(graph: Graph) -> list[_Box]:
    taken = dict.fromkeys(n for s in range(len(graph.statements)) for n in graph.inputs_of(s))
    boxes = [_Box(f"type:{name}", 0, (name,), is_input=True) for name in taken]
    for number, statement in enumerate(graph.statements):
        into = (f"into {statement.target}",) if statement.target != statement.name else ()
        boxes.append(_Box(_key(graph, number), graph.levels[number], (statement.name, *into)))
    return boxes


def _edges(graph: Graph) -> list[Edge]:
    given = [
        (f"type:{name}", _key(graph, number))
        for number in range(len(graph.statements))
        for name in graph.inputs_of(number)
    ]
    return [*given, *((_key(graph, p), _key(graph, q)) for p, q in graph.pairs)]


def _cyclic(graph: Graph) -> set[Edge]:
    home = {n: c for c in graph.cycles for n in c}
    inside = ((p, q) for p, q in graph.pairs if p in home and home[p] == home.get(q))
    return {(_key(graph, p), _key(graph, q)) for p, q in inside}


def _key(graph: Graph, number: int) -> Key:
    return f"statement:{graph.statements[number].name}"


# SVG.


@dataclass(frozen=True, slots=True)
class _Placed:
    box: _Box
    x: float  # of its left side
    y: float  # of its middle
    width: float  # that of its column, so that edges begin beside all boxes

    @property
    def right(self) -> float:
        return self.x + self.width


def to_svg(graph: Graph) -> str:
    """A picture that needs no other tool."""
    boxes, edges, red = _boxes(graph), _edges(graph), _cyclic(graph)
    routes = {edge: _route(edge, {b.key: b for b in boxes}) for edge in edges if edge not in red}
    lanes = [box for route in routes.values() for box in route[1:-1]]
    steps = [(a.key, b.key) for route in routes.values() for a, b in pairwise(route)]
    columns = _ordered([*boxes, *lanes], steps)
    placed, width, height = _place(columns)
    parts = [_head(width, height), *_titles(columns, placed)]
    for edge, route in routes.items():
        parts.append(_path(edge, [placed[box.key] for box in route]))
    parts += [_arc(placed[start], placed[end]) for start, end in sorted(red)]
    parts += [_rectangle(place) for place in placed.values() if place.box.lines]
    return "\n".join([*parts, "</svg>", ""])


def _route(edge: Edge, boxes: Mapping[Key, _Box]) -> list[_Box]:
    """The boxes at both ends, and a place in each level between them."""
    start, end = boxes[edge[0]], boxes[edge[1]]
    between = range(start.level + 1, end.level)
    # All edges that leave a box share its places: they part where they must.
    return [start, *(_Box(f"{start.key}@{level}", level) for level in between), end]


def _ordered(boxes: Sequence[_Box], steps: Sequence[Edge]) -> list[list[_Box]]:
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


def _place(columns: Sequence[Sequence[_Box]]) -> tuple[dict[Key, _Placed], float, float]:
    """Columns side by side, each spread over the height of the tallest."""
    tallest = max(sum(map(_room, column)) for column in columns)
    placed: dict[Key, _Placed] = {}
    x: float = _MARGIN
    for column in columns:
        widest = max((box.width for box in column), default=0)
        stretch = tallest / (sum(map(_room, column)) or 1)
        y: float = 2 * _MARGIN
        for box in column:
            height = _room(box) * stretch
            placed[box.key] = _Placed(box, x, y + height / 2, widest)
            y += height
        x += widest + _GAP
    return placed, x - _GAP + 3 * _MARGIN, tallest + 3 * _MARGIN


def _room(box: _Box) -> float:
    return _ROW if box.lines else _LANE


def _head(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
        "<style>.edge{fill:none;stroke:#78889b;stroke-width:1.2} .cycle{stroke:#c62828}"
        " .box{fill:#fff;stroke:#34495e} .input{fill:#e8f1fa} text{fill:#1b2733}"
        " .into,.level{fill:#5f6f80}</style>\n"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#78889b"/></marker>'
        '<marker id="back" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#c62828"/></marker>'
        "</defs>\n"
        '<rect width="100%" height="100%" fill="#fff"/>'
    )


def _titles(columns: Sequence[Sequence[_Box]], placed: Mapping[Key, _Placed]) -> list[str]:
    titles = []
    for level, column in enumerate(columns):
        if column:
            first = placed[column[0].key]
            middle = first.x + first.width / 2
            text = "input" if level == 0 else f"level {level}"
            titles.append(_text(middle, 1.2 * _MARGIN, text, "level", 12))
    return titles


def _text(x: float, y: float, text: str, kind: str, size: int) -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
        f'text-anchor="middle">{escape(text)}</text>'
    )


def _rectangle(place: _Placed) -> str:
    box, top = place.box, place.y - place.box.height / 2
    kind = "box input" if box.is_input else "box"
    parts = [
        f'<rect class="{kind}" x="{place.x:.1f}" y="{top:.1f}" width="{place.width:.1f}" '
        f'height="{box.height:.1f}" rx="{9 if box.is_input else 3}"/>'
    ]
    for number, line in enumerate(box.lines):
        y = top + 17 + number * _LINE - (1 if number else 0)
        middle = place.x + place.width / 2
        parts.append(_text(middle, y, line, "into" if number else "name", 11 if number else 13))
    return "\n".join(parts)


def _path(edge: Edge, places: Sequence[_Placed]) -> str:
    """A smooth line from the right side of the first box to the left side of the last."""
    x, y = places[0].right, places[0].y
    drawn = f"M{x:.1f},{y:.1f}"
    for place in places[1:]:
        bend = (place.x - x) / 2
        drawn += f" C{x + bend:.1f},{y:.1f} {place.x - bend:.1f},{place.y:.1f} {place.x:.1f},{place.y:.1f}"
        x, y = place.right, place.y
        if not place.box.lines:
            drawn += f" L{x:.1f},{y:.1f}"
    title = escape(" → ".join(key.partition(":")[2] for key in edge))
    return f'<path class="edge" marker-end="url(#arrow)" d="{drawn}"><title>{title}</title></path>'


def _arc(start: _Placed, end: _Placed) -> str:
    """An edge inside a cycle, whose boxes stand above each other: around their right sides."""
    rise = -12 if start is end else 0
    from_y, to_y = start.y + 5, end.y - 5 + rise / 2
    reach = max(start.right, end.right) + 30 + abs(from_y - to_y) / 6
    drawn = (
        f"M{start.right:.1f},{from_y:.1f} C{reach:.1f},{from_y:.1f} {reach:.1f},{to_y:.1f} "
        f"{end.right:.1f},{to_y:.1f}"
    )
    return f'<path class="edge cycle" marker-end="url(#back)" d="{drawn}"/>'
