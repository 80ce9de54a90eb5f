"""A graph as a picture: suppliers on the left, consumers on the right, a colour for each priority."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise

from cepheid.drawing.layers import (
    LINE,
    MARGIN,
    Box,
    Edge,
    Placed,
    ordered,
    path_of,
    place_boxes,
    route_of,
    text_at,
)
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier, Time, in_order
from cepheid.realtime.payload import Payload

# Of the priorities from the highest on; what comes after them is grey.
_COLOURS = ("#f6c7b6", "#fbe6a2", "#cfe3c4", "#c9dcee", "#ddd3ea")
_NOBODY = "#eeeeee"
_LEGEND = 20


def to_svg(graph: Graph, payloads: Mapping[str, Payload]) -> str:
    """A picture that needs no other tool."""
    boxes = list(_boxes(graph, payloads).values())
    by_key = {box.key: box for box in boxes}
    edges = _edges(graph)
    routes = {edge: route_of(edge, by_key) for edge in edges}
    lanes = [box for route in routes.values() for box in route[1:-1]]
    steps = [(a.key, b.key) for route in routes.values() for a, b in pairwise(route)]
    placed, width, height = place_boxes(ordered([*boxes, *lanes], steps), row=70)
    levels = _levels(graph)
    parts = [_head(width, height + 1.5 * _LEGEND)]
    for edge, route in routes.items():
        parts.append(path_of(edge, [placed[box.key] for box in route]))
    colours = _colours(graph)
    parts += [
        _rectangle(each, colours.get(levels[each.box.key] or 0, _NOBODY))
        for each in placed.values()
        if each.box.lines
    ]
    parts += _legend(graph, height)
    return "\n".join([*parts, "</svg>", ""])


def shown_time(time: Time) -> str:
    """`10 ms`, `250 µs`."""
    for unit, length in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)):
        if time >= length:
            return f"{time / length:.4g} {unit}"
    return f"{time} ns"


def _boxes(graph: Graph, payloads: Mapping[str, Payload]) -> dict[str, Box]:
    found: dict[str, Box] = {}
    for supplier in graph.suppliers:
        rate = f"{1_000_000_000 / supplier.period:.4g} Hz, {payloads[supplier.name]}"
        valid = f"valid {shown_time(supplier.validity)}"
        key = f"source:{supplier.name}"
        found[supplier.name] = Box(key, 0, (supplier.name, rate, valid), is_input=True)
    for operator in in_order(graph):
        level = 1 + max(found[name].level for name in operator.inputs)
        made = f"{operator.kind}: {payloads[operator.name]}"
        found[operator.name] = Box(f"source:{operator.name}", level, (operator.name, made))
    last = 1 + max(box.level for box in found.values())
    for consumer in graph.consumers:
        key = f"consumer:{consumer.name}"
        found[key] = Box(key, last, (consumer.name, _wants(consumer)), is_input=True)
    return found


def _wants(consumer: Consumer) -> str:
    deadline = "" if consumer.deadline is None else f"{shown_time(consumer.deadline)}, "
    return f"priority {consumer.priority}, {deadline}{consumer.late}"


def _edges(graph: Graph) -> list[Edge]:
    inside = [(f"source:{n}", f"source:{o.name}") for o in graph.operators for n in o.inputs]
    return [*inside, *((f"source:{c.input}", f"consumer:{c.name}") for c in graph.consumers)]


def _levels(graph: Graph) -> dict[str, int | None]:
    sources: tuple[Supplier | Operator, ...] = (*graph.suppliers, *graph.operators)
    return {f"source:{each.name}": graph.levels.get(each.name) for each in sources} | {
        f"consumer:{each.name}": each.priority for each in graph.consumers
    }


def _colours(graph: Graph) -> dict[int, str]:
    ranks = sorted({consumer.priority for consumer in graph.consumers})
    return dict(zip(ranks, _COLOURS, strict=False))


def _head(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
        "<style>.edge{fill:none;stroke:#78889b;stroke-width:1.2} .box{stroke:#34495e}"
        " text{fill:#1b2733} .more{fill:#44525f}</style>\n"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#78889b"/></marker>'
        "</defs>\n"
        '<rect width="100%" height="100%" fill="#fff"/>'
    )


def _rectangle(place: Placed, colour: str) -> str:
    box, top = place.box, place.y - place.box.height / 2
    parts = [
        f'<rect class="box" fill="{colour}" x="{place.x:.1f}" y="{top:.1f}" '
        f'width="{place.width:.1f}" height="{box.height:.1f}" rx="{9 if box.is_input else 3}"/>'
    ]
    for number, line in enumerate(box.lines):
        y = top + 17 + number * LINE - (1 if number else 0)
        middle = place.x + place.width / 2
        parts.append(text_at(middle, y, line, "more" if number else "name", 10 if number else 13))
    return "\n".join(parts)


def _legend(graph: Graph, height: float) -> list[str]:
    """Which priority has which colour."""
    parts, x = [], float(MARGIN)
    for priority, colour in _colours(graph).items():
        parts.append(
            f'<rect class="box" fill="{colour}" x="{x:.1f}" y="{height:.1f}" width="14" height="14"/>'
            f'<text x="{x + _LEGEND:.1f}" y="{height + 11:.1f}" font-size="11">'
            f"{escape(f'priority {priority}')}</text>"
        )
        x += 95
    return parts
