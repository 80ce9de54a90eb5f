"""`draw`: the graph of a program, placed, and what its types look like."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.drawing.graph import layout
from cepheid.program.graph import Graph
from cepheid.program.looks import looks_of
from cepheid.program.properties import kind_of
from cepheid.studio.programs import program_of
from cepheid.studio.room import Given, Room, Verb, place_json
from cepheid.verbs.program import Program


def draw(room: Room, given: Given) -> object:
    program = program_of(room, given)
    graph = program.graph()
    drawn = layout(graph)
    places = _places(graph)
    return {
        "width": drawn.width,
        "height": drawn.height,
        "boxes": [
            {
                "key": place.box.key,
                "lines": place.box.lines,
                "level": place.box.level,
                "input": place.box.is_input,
                "x": place.x,
                "y": place.y - place.box.height / 2,
                "width": place.width,
                "height": place.box.height,
                "place": places.get(place.box.key),
            }
            for place in drawn.boxes
        ],
        "edges": [
            {"from": start, "to": end, "path": path, "cycle": (start, end) in drawn.cyclic}
            for (start, end), path in drawn.paths.items()
        ],
        "types": {
            name: [{"name": a.name, "type": str(a.type)} for a in type.attributes]
            for name, type in graph.program.types.items()
        },
        "looks": {
            name: {"icon": look.icon, "description": look.description}
            for name, look in looks_of(graph.program.tree).items()
        },
        "inputs": _inputs(program, graph),
        "derived": list(dict.fromkeys(statement.target for statement in graph.statements)),
        "properties": list(_properties(graph)),
        "times": {
            name: type.time.attribute
            for name, type in graph.program.types.items()
            if type.time is not None
        },
        "units": {
            name: type.time.unit
            for name, type in graph.program.types.items()
            if type.time is not None
        },
        "statements": [statement.name for statement in graph.statements],
    }


def _properties(graph: Graph) -> Iterator[dict[str, object]]:
    """What `verify` can look into."""
    for statement in graph.statements:
        kind, span = kind_of(statement.tree), statement.tree.span
        if kind is not None:
            yield {"name": statement.name, "kind": kind, "place": span and place_json(span)}


def _inputs(program: Program, graph: Graph) -> list[str]:
    """The types that one may type events of: those from outside, and declared ones that are read and derived, too."""
    read = {name for statement in graph.statements for name in statement.inputs}
    declared = [schema.name for schema in program.tree.schemas if schema.name in read]
    found = dict.fromkeys((*graph.program.input_types, *declared))
    return [name for name in found if name in graph.program.types]


def _places(graph: Graph) -> dict[str, object]:
    """Where the text says what boxes stand for."""
    declared = {f"type:{schema.name}": schema.span for schema in graph.program.tree.schemas}
    stated = {f"statement:{s.name}": s.tree.span for s in graph.statements}
    found = {**declared, **stated}
    return {key: place_json(span) for key, span in found.items() if span is not None}


DRAW = Verb("draw", draw, "quick")
