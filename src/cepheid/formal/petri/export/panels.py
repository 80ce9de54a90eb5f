"""Where the nodes of a net stand: a panel for each unit, places round, transitions square.

A panel shows the transitions of a unit and all places that they touch; shared places such as
`Ev` are drawn again in each, as in the paper. Columns follow the tokens: from the places where they
come from, through transitions, to where they lie at the end; what leads back is dashed. A place that
a transition takes a token from and gives one to stands before it, and one line with an arrow at both
ends joins them: it says what is taken, and behind a slash what is given, if that is another token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cepheid.drawing.layers import (
    Box,
    Edge,
    Key,
    Placed,
    ordered,
    place_boxes,
    route_of,
)
from cepheid.formal.petri.export.units import part_of, units_of
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
    """One for each unit."""
    return [_panel(net, unit.name, unit.transitions) for unit in units_of(net)]


def _panel(net: Net, title: str, transitions: Sequence[Transition]) -> Panel:
    """Without the arcs to places that most transitions of a large panel change: those are named."""
    touching = Counter(
        place for t in transitions for place in {a.place for a in (*t.inputs, *t.outputs)}
    )
    most = max(_MANY, len(transitions) / 2)
    common = {place for place, count in touching.items() if count > most}
    drawn = [_without(transition, common) for transition in transitions]
    return Panel(title, part_of(net, drawn), tuple(sorted(common)))


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
        yield f"p:{place.name}", (place.name, cut(str(place.colours))), True
    for transition in net.transitions:
        guard = () if transition.guard is None else (cut(f"[{_short(transition.guard)}]"),)
        title = f"{transition.name}  ({int(transition.priority)})"
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


def cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
