"""Pictures of nets: a panel for each statement, places round, transitions square.

A panel shows the transitions of a statement and all places that they touch; shared places such as
`Ev` are drawn again in each, as in the paper. Columns follow the tokens: from the places where they
come from, through transitions, to where they lie at the end. Arcs that lead back are dashed; a
token that is looked at and stays has one line with an arrow at both ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from cepheid.formal.petri.net import Marking, Net, Transition
from cepheid.formal.petri.terms import Term
from cepheid.program.layers import (
    LINE,
    MARGIN,
    Box,
    Edge,
    Key,
    Placed,
    ordered,
    place_boxes,
    route_of,
    text_at,
)

_LONGEST = 34  # of an inscription in the picture; its title has all of it


@dataclass(frozen=True, slots=True)
class Panel:
    """Some transitions, and the places that they touch."""

    title: str
    net: Net


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the nodes of a panel are, and the ways of its arcs."""

    placed: Mapping[Key, Placed]
    forward: Mapping[Edge, Sequence[Box]]
    back: Sequence[Edge]
    width: float
    height: float


def panels(net: Net) -> list[Panel]:
    """The shared part first, then the statements."""
    groups: dict[str, list[Transition]] = {"": []}
    for transition in net.transitions:
        groups.setdefault(_owner(transition.name), []).append(transition)
    return [
        Panel(title or "input and time", _part(net, transitions))
        for title, transitions in groups.items()
        if transitions
    ]


def _owner(name: str) -> str:
    """The statement that a transition belongs to; what all share has no dot in its name."""
    if name.startswith("pattern_"):
        return name.removeprefix("pattern_").split(" ")[0]
    return name.partition(".")[0] if "." in name else ""


def _part(net: Net, transitions: Sequence[Transition]) -> Net:
    touched = {arc.place for t in transitions for arc in (*t.inputs, *t.outputs)}
    return Net(tuple(p for p in net.places if p.name in touched), tuple(transitions))


def layout(net: Net) -> Layout:
    names = [f"p:{p.name}" for p in net.places] + [f"t:{t.name}" for t in net.transitions]
    edges = _edges(net)
    levels = _levels(names, edges)
    lines = {f"p:{p.name}": (p.name, str(p.colours)) for p in net.places}
    for transition in net.transitions:
        guard = () if transition.guard is None else (f"[{_short(transition.guard)}]",)
        title = f"{transition.name}  ({int(transition.priority)})"
        lines[f"t:{transition.name}"] = (title, *guard)
    boxes = {
        name: Box(name, levels[name], tuple(map(_cut, lines[name])), is_input=name.startswith("p:"))
        for name in names
    }
    forward = [(a, b) for a, b in edges if levels[a] < levels[b]]
    routes = {edge: route_of(edge, boxes) for edge in forward}
    lanes = [box for route in routes.values() for box in route[1:-1]]
    steps = [(a.key, b.key) for route in routes.values() for a, b in pairwise(route)]
    placed, width, height = place_boxes(ordered([*boxes.values(), *lanes], steps))
    back = [edge for edge in edges if levels[edge[0]] >= levels[edge[1]]]
    return Layout(placed, routes, back, width, height)


def positions(net: Net) -> dict[Key, tuple[float, float]]:
    """The middle of each node on one page; shared places stand where they come first."""
    found: dict[Key, tuple[float, float]] = {}
    top = 0.0
    for panel in panels(net):
        drawn = layout(panel.net)
        for key, placed in drawn.placed.items():
            if placed.box.lines:
                found.setdefault(key, (placed.x + placed.box.width / 2, top + placed.y))
        top += drawn.height
    for number, place in enumerate(net.places):  # what no transition touches
        found.setdefault(f"p:{place.name}", (-200.0, 60.0 * number))
    return found


def _edges(net: Net) -> list[Edge]:
    edges: dict[Edge, None] = {}
    for transition in net.transitions:
        for arc in transition.inputs:
            edges[f"p:{arc.place}", f"t:{transition.name}"] = None
        for arc in transition.outputs:
            edges[f"t:{transition.name}", f"p:{arc.place}"] = None
    return list(edges)


def _levels(names: Sequence[Key], edges: Sequence[Edge]) -> dict[Key, int]:
    """How far each node is from where tokens come from, without going in circles."""
    after: dict[Key, list[Key]] = {name: [] for name in names}
    before: dict[Key, int] = dict.fromkeys(names, 0)
    for start, end in edges:
        after[start].append(end)
        before[end] += (end, start) not in set(edges)
    levels: dict[Key, int] = {}
    # What nothing leads to comes first; of a circle, the place that is named first.
    for root in sorted(names, key=lambda name: (before[name] > 0, not name.startswith("p:"))):
        waiting = [(root, 0)] if root not in levels else []
        while waiting:
            name, level = waiting.pop(0)
            if name not in levels:
                levels[name] = level
                waiting += [(following, level + 1) for following in after[name]]
    return levels


def _short(term: Term) -> str:
    text = str(term)
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# SVG.


def to_svg(net: Net, marking: Marking) -> str:
    """A picture that needs no other tool."""
    parts: list[str] = []
    top, widest = float(MARGIN), 0.0
    for panel in panels(net):
        drawn = layout(panel.net)
        parts.append(f'<g transform="translate(0,{top:.0f})">')
        parts.append(f'<text class="panel" x="{MARGIN}" y="16">{escape(panel.title)}</text>')
        parts += _arcs(panel.net, drawn)
        parts += [_node(p, marking) for p in drawn.placed.values() if p.box.lines]
        parts.append("</g>")
        top += drawn.height + 2 * MARGIN
        widest = max(widest, drawn.width)
    return "\n".join([_head(widest + 2 * MARGIN, top), *parts, "</svg>", ""])


def _head(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
        "<style>.arc{fill:none;stroke:#78889b;stroke-width:1.1} .back{stroke-dasharray:4 3}"
        " .place{fill:#e8f1fa;stroke:#34495e} .transition{fill:#fff;stroke:#34495e;stroke-width:1.4}"
        " text{fill:#1b2733} .small{fill:#5f6f80} .inscription{fill:#8a5a00}"
        " .tokens{fill:#2e7d32} .panel{font-size:16px;font-weight:bold}</style>\n"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z" fill="#78889b"/>'
        "</marker></defs>\n"
        '<rect width="100%" height="100%" fill="#fff"/>'
    )


def _inscriptions(net: Net) -> dict[Edge, list[str]]:
    found: dict[Edge, list[str]] = {}
    for transition in net.transitions:
        for arc in transition.inputs:
            edge = f"p:{arc.place}", f"t:{transition.name}"
            found.setdefault(edge, []).append(str(arc.term))
        for arc in transition.outputs:
            edge = f"t:{transition.name}", f"p:{arc.place}"
            found.setdefault(edge, []).append(str(arc.term))
    return found


def _arcs(net: Net, drawn: Layout) -> list[str]:
    inscriptions = _inscriptions(net)
    parts = []
    for edge, route in drawn.forward.items():
        mirrored = inscriptions.get((edge[1], edge[0]))
        stays = mirrored == inscriptions[edge]
        places = [drawn.placed[box.key] for box in route]
        parts.append(_line(places, " ++ ".join(inscriptions[edge]), stays=stays))
    for edge in drawn.back:
        text = inscriptions[edge]
        if inscriptions.get((edge[1], edge[0])) != text or (edge[1], edge[0]) not in drawn.forward:
            parts.append(_way_back(drawn.placed[edge[0]], drawn.placed[edge[1]], " ++ ".join(text)))
    return parts


def _line(places: Sequence[Placed], text: str, *, stays: bool) -> str:
    """A smooth line from the right side of the first node to the left side of the last."""
    x, y = _right(places[0]), places[0].y
    drawn = f"M{x:.1f},{y:.1f}"
    for place in places[1:]:
        bend = (place.x - x) / 2
        drawn += f" C{x + bend:.1f},{y:.1f} {place.x - bend:.1f},{place.y:.1f} {place.x:.1f},{place.y:.1f}"
        middle = (x + place.x) / 2, (y + place.y) / 2
        x, y = _right(place), place.y
        if not place.box.lines:
            drawn += f" L{x:.1f},{y:.1f}"
    start = ' marker-start="url(#arrow)"' if stays else ""
    return (
        f'<path class="arc" marker-end="url(#arrow)"{start} d="{drawn}">'
        f"<title>{escape(text)}</title></path>" + _label(*middle, text)
    )


def _right(place: Placed) -> float:
    return place.x + place.box.width if place.box.lines else place.right


def _way_back(start: Placed, end: Placed, text: str) -> str:
    """Below the nodes, from one to another that stands before it."""
    x, y = start.x + start.box.width / 2, start.y + start.box.height / 2
    to_x, to_y = end.x + end.box.width / 2, end.y + end.box.height / 2
    depth = max(y, to_y) + 14 + abs(x - to_x) / 22
    drawn = f"M{x:.1f},{y:.1f} C{x:.1f},{depth:.1f} {to_x:.1f},{depth:.1f} {to_x:.1f},{to_y:.1f}"
    path = f'<path class="arc back" marker-end="url(#arrow)" d="{drawn}">'
    label = _label((x + to_x) / 2, (y + to_y) / 8 + 0.75 * depth, text)
    return f"{path}<title>{escape(text)}</title></path>" + label


def _label(x: float, y: float, text: str) -> str:
    return text_at(x, y - 3, _cut(text), "inscription", 9)


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
