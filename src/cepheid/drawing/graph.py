"""Pictures of a pattern dependency graph: DOT for other tools, and SVG in levels.

The SVG has a column for each level, the types from outside first. Edges of a cycle are red.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

from cepheid.drawing.layers import (
    LINE,
    MARGIN,
    ROW,
    Box,
    Edge,
    Key,
    Placed,
    line_of,
    ordered,
    path_of,
    place_boxes,
    route_of,
    text_at,
)
from cepheid.program.action_annotations import DeclaredAction, declared_actions
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedClass


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


Notes: TypeAlias = Mapping[str, tuple[str, ...]]  # lines for the boxes of statements, by name


def _boxes(graph: Graph, notes: Notes = MappingProxyType({})) -> list[Box]:
    taken = dict.fromkeys(n for s in range(len(graph.statements)) for n in graph.inputs_of(s))
    classes = {declared.name: level for declared, level in _classes(graph)}
    boxes = [
        Box(f"type:{name}", 0, (name,), is_input=True) for name in taken if name not in classes
    ]
    boxes += [Box(f"type:{n}", level, (n,), is_input=not level) for n, level in classes.items()]
    for number, statement in enumerate(graph.statements):
        into = (f"into {statement.target}",) if statement.target != statement.name else ()
        lines = (statement.name, *into, *notes.get(statement.name, ()))
        boxes.append(Box(_key(graph, number), graph.levels[number], lines))
    end = 1 + max((box.level for box in boxes), default=0)
    boxes += [Box(end_key, end, (name, "action")) for end_key, name in _actions(graph).items()]
    return boxes


def _actions(graph: Graph) -> dict[Key, str]:
    """What rows of statements lead to outside of the program."""
    return {f"action:{action.name}": action.name for _, action in _acting(graph)}


def _acting(graph: Graph) -> Iterator[tuple[int, DeclaredAction]]:
    declared = declared_actions([statement.tree for statement in graph.statements])
    for number, actions in enumerate(declared.values()):
        yield from ((number, action) for action in actions)


def _edges(graph: Graph) -> list[Edge]:
    classes = {declared.name for declared, _ in _classes(graph)}
    given = [
        (f"type:{name}", _key(graph, number))
        for number in range(len(graph.statements))
        for name in graph.inputs_of(number)
        if name not in classes
    ]
    of_classes = [
        *(
            (f"type:{name}", _key(graph, number))
            for number, statement in enumerate(graph.statements)
            for name in statement.inputs
            if name in classes
        ),
        *(
            (_key(graph, n), f"type:{s.target}")
            for n, s in enumerate(graph.statements)
            if s.target in classes
        ),
        *(
            (f"type:{name}", f"type:{declared.name}")
            for declared, _ in _classes(graph)
            for name in declared.reads
        ),
    ]
    to_actions = [(_key(graph, n), f"action:{action.name}") for n, action in _acting(graph)]
    between = ((_key(graph, p), _key(graph, q)) for p, q in graph.pairs)
    return [*given, *of_classes, *between, *dict.fromkeys(to_actions)]


def _classes(graph: Graph) -> Iterator[tuple[ResolvedClass, int]]:
    return zip(graph.program.classes, graph.class_levels, strict=True)


def _cyclic(graph: Graph) -> set[Edge]:
    home = {n: c for c in graph.cycles for n in c}
    inside = ((p, q) for p, q in graph.pairs if p in home and home[p] == home.get(q))
    return {(_key(graph, p), _key(graph, q)) for p, q in inside}


def _key(graph: Graph, number: int) -> Key:
    return f"statement:{graph.statements[number].name}"


# Places.


@dataclass(frozen=True, slots=True)
class Layout:
    """Where boxes are, and the lines between them; `cyclic` are the edges of cycles, drawn as arcs."""

    columns: Sequence[Sequence[Box]]
    placed: Mapping[Key, Placed]
    routes: Mapping[Edge, Sequence[Box]]  # of edges outside of cycles
    cyclic: frozenset[Edge]
    width: float
    height: float

    @property
    def boxes(self) -> Iterator[Placed]:
        """Without the places of edges that pass through a level."""
        return (place for place in self.placed.values() if place.box.lines)

    @property
    def paths(self) -> dict[Edge, str]:
        """The lines, as SVG has them."""
        lines = {edge: line_of(self.places(edge)) for edge in self.routes}
        return lines | {edge: _arc(*(self.placed[k] for k in edge)) for edge in sorted(self.cyclic)}

    def places(self, edge: Edge) -> list[Placed]:
        return [self.placed[box.key] for box in self.routes[edge]]


def layout(graph: Graph, notes: Notes = MappingProxyType({})) -> Layout:
    """A graph in levels; `notes` are more lines for the boxes of statements."""
    boxes, edges, red = _boxes(graph, notes), _edges(graph), _cyclic(graph)
    routes = {edge: route_of(edge, {b.key: b for b in boxes}) for edge in edges if edge not in red}
    lanes = [box for route in routes.values() for box in route[1:-1]]
    steps = [(a.key, b.key) for route in routes.values() for a, b in pairwise(route)]
    columns = ordered([*boxes, *lanes], steps)
    highest = max((box.height for box in boxes), default=0)
    placed, width, height = place_boxes(columns, row=max(ROW, highest + ROW - 2 * LINE))
    return Layout(columns, placed, routes, frozenset(red), width, height)


# SVG.


def to_svg(graph: Graph, notes: Notes = MappingProxyType({})) -> str:
    """A picture that needs no other tool; `notes` are more lines for the boxes of statements."""
    drawn = layout(graph, notes)
    parts = [_head(drawn.width, drawn.height), *_titles(drawn.columns, drawn.placed)]
    parts += [path_of(edge, drawn.places(edge)) for edge in drawn.routes]
    for edge in sorted(drawn.cyclic):
        arc = _arc(*(drawn.placed[key] for key in edge))
        parts.append(f'<path class="edge cycle" marker-end="url(#back)" d="{arc}"/>')
    parts += map(_rectangle, drawn.boxes)
    return "\n".join([*parts, "</svg>", ""])


def _head(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
        "<style>.edge{fill:none;stroke:#78889b;stroke-width:1.2} .cycle{stroke:#c62828}"
        " .box{fill:#fff;stroke:#34495e} .input{fill:#e8f1fa} .name{fill:#1b2733}"
        " .into,.level{fill:#5f6f80}</style>\n"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#78889b"/></marker>'
        '<marker id="back" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#c62828"/></marker>'
        "</defs>\n"
        '<rect width="100%" height="100%" fill="#fff"/>'
    )


def _titles(columns: Sequence[Sequence[Box]], placed: Mapping[Key, Placed]) -> list[str]:
    titles = []
    for level, column in enumerate(columns):
        if column:
            first = placed[column[0].key]
            middle = first.x + first.width / 2
            text = "input" if level == 0 else f"level {level}"
            titles.append(text_at(middle, 1.2 * MARGIN, text, "level", 12))
    return titles


def _rectangle(place: Placed) -> str:
    box, top = place.box, place.y - place.box.height / 2
    kind = "box input" if box.is_input else "box"
    parts = [
        f'<rect class="{kind}" x="{place.x:.1f}" y="{top:.1f}" width="{place.width:.1f}" '
        f'height="{box.height:.1f}" rx="{9 if box.is_input else 3}"/>'
    ]
    for number, line in enumerate(box.lines):
        y = top + 17 + number * LINE - (1 if number else 0)
        middle = place.x + place.width / 2
        parts.append(text_at(middle, y, line, "into" if number else "name", 11 if number else 13))
    return "\n".join(parts)


def _arc(start: Placed, end: Placed) -> str:
    """An edge inside a cycle, whose boxes stand above each other: around their right sides."""
    rise = -12 if start is end else 0
    from_y, to_y = start.y + 5, end.y - 5 + rise / 2
    reach = max(start.right, end.right) + 30 + abs(from_y - to_y) / 6
    return (
        f"M{start.right:.1f},{from_y:.1f} C{reach:.1f},{from_y:.1f} {reach:.1f},{to_y:.1f} "
        f"{end.right:.1f},{to_y:.1f}"
    )
