"""Panels as SVG: lines, texts beside them, and the nodes above all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from cepheid.drawing.layers import LINE, MARGIN, Edge, Placed, text_at
from cepheid.formal.petri.export.labels import Label, Point, Rect, Space
from cepheid.formal.petri.export.panels import Layout, Panel, cut, layout
from cepheid.formal.petri.nets.net import Marking, Net


@dataclass(frozen=True, slots=True)
class Drawing:
    """The parts of a picture, and how large it is."""

    parts: tuple[str, ...]
    labels: tuple[Label, ...]
    nodes: tuple[Rect, ...]
    width: float
    height: float

    def svg(self) -> str:
        """A picture that needs no other tool."""
        return "\n".join([_head(self.width, self.height), *self.parts, "</svg>", ""])


def drawn_panel(panel: Panel, marking: Marking) -> Drawing:
    drawn = layout(panel.net, marking)
    nodes = [p for p in drawn.placed.values() if p.box.lines]
    space = Space([_rect(placed) for placed in nodes])
    space.taken += [_rect_of_title(panel)]
    arcs = _arcs(panel.net, drawn, space)
    parts = [_title(panel), *arcs, *(_node(p, marking) for p in nodes)]
    parts += [label.drawn() for label in space.labels]
    right = max(rect.right for rect in space.taken) + MARGIN
    bottom = max(rect.bottom for rect in space.taken) + 2 * MARGIN
    return Drawing(
        tuple(parts),
        tuple(space.labels),
        tuple(_rect(placed) for placed in nodes),
        max(drawn.width, right),
        max(drawn.height, bottom),
    )


def _rect(placed: Placed) -> Rect:
    """With the number of tokens above it."""
    half = placed.box.height / 2
    top = placed.y - half - (12 if placed.box.is_input else 0)
    return Rect(placed.x, top, placed.x + placed.box.width, placed.y + half)


def _rect_of_title(panel: Panel) -> Rect:
    return Rect(0, 0, MARGIN + 9.6 * len(panel.title) + 6.6 * len(_named(panel)), 22)


def _named(panel: Panel) -> str:
    return f"most transitions also change {', '.join(panel.common)}" if panel.common else ""


def _title(panel: Panel) -> str:
    return (
        f'<text class="panel" x="{MARGIN}" y="16">{escape(panel.title)}'
        f'<tspan class="common" dx="18">{escape(_named(panel))}</tspan></text>'
    )


def _head(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
        "<style>.arc{fill:none;stroke:#78889b;stroke-width:1.1} .back{stroke-dasharray:4 3}"
        " .place{fill:#e8f1fa;stroke:#34495e} .transition{fill:#fff;stroke:#34495e;stroke-width:1.4}"
        " text{fill:#1b2733} .small{fill:#5f6f80} .inscription{fill:#8a5a00} .type{fill:#0b5394} .frame{fill:#f7f9fb;stroke:#c8d2dc} .halo{stroke:#fff;stroke-width:3px}"
        " .tokens{fill:#2e7d32} .panel{font-size:16px;font-weight:bold} .common{font-size:11px;font-weight:normal;fill:#5f6f80}</style>\n"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z" fill="#78889b"/>'
        "</marker></defs>\n"
        '<rect width="100%" height="100%" fill="#fff"/>'
    )


def _inscriptions(net: Net) -> dict[Edge, str]:
    found: dict[Edge, list[str]] = {}
    for transition in net.transitions:
        node = f"t:{transition.name}"
        for arc in transition.inputs:
            found.setdefault((f"p:{arc.place}", node), []).append(str(arc.term))
        for arc in transition.outputs:
            found.setdefault((node, f"p:{arc.place}"), []).append(str(arc.term))
    return {edge: " ++ ".join(texts) for edge, texts in found.items()}


def _arcs(net: Net, drawn: Layout, space: Space) -> list[str]:
    """The lines; their texts find places for themselves."""
    inscriptions = _inscriptions(net)
    parts = []
    for edge in (*drawn.forward, *drawn.back):
        text, mirrored = inscriptions[edge], inscriptions.get((edge[1], edge[0]))
        if mirrored not in (None, text):
            text = f"{text} / {mirrored}"
        if edge in drawn.forward:
            curve = _forward([drawn.placed[box.key] for box in drawn.forward[edge]])
        else:
            curve = _back(drawn.placed[edge[0]], drawn.placed[edge[1]])
        kind = "arc" if edge in drawn.forward else "arc back"
        parts.append(_path(curve.drawn, text, gives_back=mirrored is not None, kind=kind))
        space.put([cut(text)], curve.points)
    return parts


@dataclass(frozen=True, slots=True)
class _Curve:
    """A line, and points of it where a text may stand, the best first."""

    drawn: str
    points: Sequence[Point]


# Near the end first, where lines that begin together have parted.
_SHARES = (0.62, 0.75, 0.5, 0.85, 0.38, 0.25)


def _forward(places: Sequence[Placed]) -> _Curve:
    """A smooth line from the right side of the first node to the left side of the last."""
    x, y = _right(places[0]), places[0].y
    drawn = f"M{x:.1f},{y:.1f}"
    points: list[Point] = []
    for place in places[1:]:
        bend = (place.x - x) / 2
        ends = (x, y), (x + bend, y), (place.x - bend, place.y), (place.x, place.y)
        drawn += " C" + " ".join(f"{a:.1f},{b:.1f}" for a, b in ends[1:])
        points = [*(_at(share, *ends) for share in _SHARES), *points]  # the last part is its own
        x, y = _right(place), place.y
        if not place.box.lines:
            drawn += f" L{x:.1f},{y:.1f}"
    return _Curve(drawn, points)


def _at(share: float, *points: Point) -> Point:
    """A point of a cubic curve."""
    rest = 1 - share
    weights = (rest**3, 3 * rest**2 * share, 3 * rest * share**2, share**3)
    x = sum(w * p[0] for w, p in zip(weights, points, strict=True))
    return x, sum(w * p[1] for w, p in zip(weights, points, strict=True))


def _back(start: Placed, end: Placed) -> _Curve:
    """Below the nodes, from one to another that does not stand behind it."""
    x, y = start.x + start.box.width / 2, start.y + start.box.height / 2
    to_x, to_y = end.x + end.box.width / 2, end.y + end.box.height / 2
    depth = max(y, to_y) + 14 + abs(x - to_x) / 22
    ends = (x, y), (x, depth), (to_x, depth), (to_x, to_y)
    drawn = f"M{x:.1f},{y:.1f} C" + " ".join(f"{a:.1f},{b:.1f}" for a, b in ends[1:])
    return _Curve(drawn, [_at(share, *ends) for share in (0.5, 0.4, 0.6, 0.3, 0.7)])


def _path(drawn: str, text: str, *, gives_back: bool, kind: str = "arc") -> str:
    start = ' marker-start="url(#arrow)"' if gives_back else ""
    return (
        f'<path class="{kind}" marker-end="url(#arrow)"{start} d="{drawn}">'
        f"<title>{escape(text)}</title></path>"
    )


def _right(place: Placed) -> float:
    return place.x + place.box.width if place.box.lines else place.right


def _node(placed: Placed, marking: Marking) -> str:
    box, top = placed.box, placed.y - placed.box.height / 2
    name = box.key.partition(":")[2]
    kind, radius = ("place", box.height / 2) if box.is_input else ("transition", 1)
    parts = [
        f'<rect class="{kind}" x="{placed.x:.1f}" y="{top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{radius:.1f}"><title>{escape(name)}</title></rect>'
    ]
    middle = placed.x + box.width / 2
    for number, line in enumerate(box.lines):
        y = top + 17 + number * LINE - (1 if number else 0)
        parts.append(text_at(middle, y, line, "small" if number else "name", 10 if number else 12))
    tokens = marking[name].size if box.is_input else 0
    if tokens:
        label = f"{tokens} token{'' if tokens == 1 else 's'}"
        parts.append(text_at(middle, top - 3, label, "tokens", 10))
    return "\n".join(parts)
