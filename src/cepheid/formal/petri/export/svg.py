"""Pictures of nets: a panel for each statement, places round, transitions square.

A panel shows the transitions of a statement and all places that they touch; shared places such as
`Ev` are drawn again in each, as in the paper. Columns follow the tokens: from the places where they
come from, through transitions, to where they lie at the end; what leads back is dashed. A place that
a transition takes a token from and gives one to stands before it, and one line with an arrow at both
ends joins them: it says what is taken, and behind a slash what is given, if that is another token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from cepheid.drawing.layers import (
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
from cepheid.formal.petri.nets.net import Marking, Net, Transition
from cepheid.formal.petri.nets.terms import Term

_LONGEST = 34  # of a text in the picture; where the pointer rests, there is all of it
_ROW, _GAP = 74.0, 170.0
_MANY = 4  # transitions of a panel that may touch a place before its arcs are in the way


@dataclass(frozen=True, slots=True)
class Panel:
    """Some transitions, and the places that they touch."""

    title: str
    net: Net
    common: tuple[str, ...] = ()  # places that most of them touch, which are not drawn


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the nodes of a panel are, the ways of its arcs, and which of them lead back."""

    placed: Mapping[Key, Placed]
    forward: Mapping[Edge, Sequence[Box]]
    back: Sequence[Edge]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class _Flow:
    """The arcs of a net that move tokens on, and the pairs that only change them."""

    moving: Sequence[Edge]
    changing: Sequence[Edge]  # from a place to a transition that gives a token back


def panels(net: Net) -> list[Panel]:
    """The shared part first, then the statements, each with the parts of its pattern after it."""
    groups: dict[str, list[Transition]] = {"": []}
    for transition in net.transitions:
        groups.setdefault(_owner(transition.name), []).append(transition)
    ordered_titles = sorted(groups, key=lambda title: list(groups).index(title.partition(".")[0]))
    return [_panel(net, title, groups[title]) for title in ordered_titles if groups[title]]


def _owner(name: str) -> str:
    """What a transition belongs to: a statement, or a part of its pattern; or nothing, to all."""
    if name.startswith("pattern_"):
        return name.removeprefix("pattern_").split(" ")[0]
    statement, *part = name.split(".")[:-1] or [""]
    return ".".join((statement, *part[:1]))


def _panel(net: Net, title: str, transitions: Sequence[Transition]) -> Panel:
    """Without the arcs to places that most transitions of a large panel change: those are named."""
    touching = Counter(
        place for t in transitions for place in {a.place for a in (*t.inputs, *t.outputs)}
    )
    most = max(_MANY, len(transitions) / 2)
    common = {place for place, count in touching.items() if count > most}
    drawn = [_without(transition, common) for transition in transitions]
    return Panel(title or "input and time", _part(net, drawn), tuple(sorted(common)))


def _without(transition: Transition, common: Collection[str]) -> Transition:
    """For the picture only; at least one input stays."""
    inputs = tuple(a for a in transition.inputs if a.place not in common) or transition.inputs[:1]
    outputs = tuple(a for a in transition.outputs if a.place not in common)
    return _Drawn(transition.name, inputs, outputs, transition.guard, transition.priority)


class _Drawn(Transition):
    """Some arcs of a transition: what binds its variables may not be among them."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """A picture needs no binding."""


def _part(net: Net, transitions: Sequence[Transition]) -> Net:
    touched = {arc.place for t in transitions for arc in (*t.inputs, *t.outputs)}
    return Net(tuple(p for p in net.places if p.name in touched), tuple(transitions))


def layout(net: Net, marking: Marking) -> Layout:
    flow = _flow(net)
    levels = _levels(net, marking, flow)
    boxes = {
        name: Box(name, levels[name], lines, is_place) for name, lines, is_place in _nodes(net)
    }
    edges = [*flow.moving, *flow.changing]
    forward = [(a, b) for a, b in edges if levels[a] < levels[b]]
    routes = {edge: route_of(edge, boxes) for edge in forward}
    lanes = [box for route in routes.values() for box in route[1:-1]]
    steps = [(a.key, b.key) for route in routes.values() for a, b in pairwise(route)]
    columns = ordered([*boxes.values(), *lanes], steps)
    placed, width, height = place_boxes(columns, row=_ROW, gap=_GAP)
    back = [edge for edge in edges if levels[edge[0]] >= levels[edge[1]]]
    return Layout(placed, routes, back, width, height)


def _nodes(net: Net) -> Iterator[tuple[Key, tuple[str, ...], bool]]:
    for place in net.places:
        yield f"p:{place.name}", (_cut(place.name), _cut(str(place.colours))), True
    for transition in net.transitions:
        guard = () if transition.guard is None else (_cut(f"[{_short(transition.guard)}]"),)
        title = f"{_cut(transition.name)}  ({int(transition.priority)})"
        yield f"t:{transition.name}", (title, *guard), False


def positions(net: Net, marking: Marking) -> dict[Key, tuple[float, float]]:
    """The middle of each node on one page; shared places stand where they come first."""
    found: dict[Key, tuple[float, float]] = {}
    top = 0.0
    for panel in panels(net):
        drawn = layout(panel.net, marking)
        for key, placed in drawn.placed.items():
            if placed.box.lines:
                found.setdefault(key, (placed.x + placed.box.width / 2, top + placed.y))
        top += drawn.height
    for number, place in enumerate(net.places):  # what no transition touches
        found.setdefault(f"p:{place.name}", (-200.0, 60.0 * number))
    return found


def _flow(net: Net) -> _Flow:
    moving: dict[Edge, None] = {}
    changing: dict[Edge, None] = {}
    for transition in net.transitions:
        node = f"t:{transition.name}"
        inputs = dict.fromkeys(arc.place for arc in transition.inputs)
        outputs = dict.fromkeys(arc.place for arc in transition.outputs)
        changing |= {(f"p:{p}", node): None for p in inputs if p in outputs}
        moving |= {(f"p:{p}", node): None for p in inputs if p not in outputs}
        moving |= {(node, f"p:{p}"): None for p in outputs if p not in inputs}
    return _Flow(list(moving), list(changing))


def _levels(net: Net, marking: Marking, flow: _Flow) -> dict[Key, int]:
    """One more than the highest that leads there; places that tokens never leave stand outside."""
    before: dict[Key, set[Key]] = {f"t:{t.name}": set() for t in net.transitions}
    for start, end in flow.moving:
        before.setdefault(start, set())
        before.setdefault(end, set()).add(start)
    levels: dict[Key, int] = {}
    waiting = dict(before)
    while waiting:
        node = _next(waiting, levels, marking)
        known = [levels[b] for b in waiting.pop(node) if b in levels]
        # Places have even levels and transitions odd ones, so that columns are of one kind.
        lowest = 0 if node.startswith("p:") else 1
        levels[node] = max([lowest, *(level + 1 for level in known)])
    for place, transition in flow.changing:
        if place not in before:
            levels[place] = min(levels.get(place, levels[transition]), levels[transition] - 1)
    for place_ in net.places:
        levels.setdefault(f"p:{place_.name}", 0)
    return levels


def _next(waiting: Mapping[Key, set[Key]], levels: Mapping[Key, int], marking: Marking) -> Key:
    """A node that all that lead to it have a level; of a circle, where a token is at the start."""

    def rank(node: Key) -> tuple[int, bool]:
        is_marked = node.startswith("p:") and bool(marking[node[2:]])
        return sum(b not in levels for b in waiting[node]), not is_marked

    ready = min(waiting, key=rank)
    if rank(ready)[0] == 0:
        return ready
    marked = (node for node in waiting if node.startswith("p:") and marking[node[2:]])
    return next(marked, ready)


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
        drawn = layout(panel.net, marking)
        parts.append(f'<g transform="translate(0,{top:.0f})">')
        parts.append(_title(panel))
        parts += _arcs(panel.net, drawn)
        parts += [_node(p, marking) for p in drawn.placed.values() if p.box.lines]
        parts.append("</g>")
        top += drawn.height + 2 * MARGIN
        widest = max(widest, drawn.width)
    return "\n".join([_head(widest + 2 * MARGIN, top), *parts, "</svg>", ""])


def _title(panel: Panel) -> str:
    common = f"most transitions also change {', '.join(panel.common)}" if panel.common else ""
    return (
        f'<text class="panel" x="{MARGIN}" y="16">{escape(panel.title)}'
        f'<tspan class="common" dx="18">{escape(common)}</tspan></text>'
    )


def _head(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
        "<style>.arc{fill:none;stroke:#78889b;stroke-width:1.1} .back{stroke-dasharray:4 3}"
        " .place{fill:#e8f1fa;stroke:#34495e} .transition{fill:#fff;stroke:#34495e;stroke-width:1.4}"
        " text{fill:#1b2733} .small{fill:#5f6f80} .inscription{fill:#8a5a00} .halo{stroke:#fff;stroke-width:3px}"
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


def _arcs(net: Net, drawn: Layout) -> list[str]:
    inscriptions = _inscriptions(net)
    parts = []
    for edge in (*drawn.forward, *drawn.back):
        text, mirrored = inscriptions[edge], inscriptions.get((edge[1], edge[0]))
        if mirrored not in (None, text):
            text = f"{text} / {mirrored}"
        if edge in drawn.forward:
            places = [drawn.placed[box.key] for box in drawn.forward[edge]]
            parts.append(_line(places, text, gives_back=mirrored is not None))
        else:
            ends = drawn.placed[edge[0]], drawn.placed[edge[1]]
            parts.append(_way_back(*ends, text, gives_back=mirrored is not None))
    return parts


def _line(places: Sequence[Placed], text: str, *, gives_back: bool) -> str:
    """A smooth line from the right side of the first node to the left side of the last."""
    x, y = _right(places[0]), places[0].y
    drawn = f"M{x:.1f},{y:.1f}"
    middle = x, y
    for number, place in enumerate(places[1:]):
        bend = (place.x - x) / 2
        drawn += f" C{x + bend:.1f},{y:.1f} {place.x - bend:.1f},{place.y:.1f} {place.x:.1f},{place.y:.1f}"
        if number == 0:
            # Near the end, where lines that begin together have parted.
            middle = x + 0.62 * (place.x - x), y + 0.70 * (place.y - y)
        x, y = _right(place), place.y
        if not place.box.lines:
            drawn += f" L{x:.1f},{y:.1f}"
    return _path(drawn, text, gives_back=gives_back) + _label(*middle, text)


def _path(drawn: str, text: str, *, gives_back: bool, kind: str = "arc") -> str:
    start = ' marker-start="url(#arrow)"' if gives_back else ""
    return (
        f'<path class="{kind}" marker-end="url(#arrow)"{start} d="{drawn}">'
        f"<title>{escape(text)}</title></path>"
    )


def _right(place: Placed) -> float:
    return place.x + place.box.width if place.box.lines else place.right


def _way_back(start: Placed, end: Placed, text: str, *, gives_back: bool) -> str:
    """Below the nodes, from one to another that does not stand behind it."""
    x, y = start.x + start.box.width / 2, start.y + start.box.height / 2
    to_x, to_y = end.x + end.box.width / 2, end.y + end.box.height / 2
    depth = max(y, to_y) + 14 + abs(x - to_x) / 22
    drawn = f"M{x:.1f},{y:.1f} C{x:.1f},{depth:.1f} {to_x:.1f},{depth:.1f} {to_x:.1f},{to_y:.1f}"
    label = _label((x + to_x) / 2, (y + to_y) / 8 + 0.75 * depth, text)
    return _path(drawn, text, gives_back=gives_back, kind="arc back") + label


def _label(x: float, y: float, text: str) -> str:
    """White below, so that lines do not run through the text."""
    at = x, y - 3, _cut(text)
    return text_at(*at, "halo", 9) + text_at(*at, "inscription", 9)


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
