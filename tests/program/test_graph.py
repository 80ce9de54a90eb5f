"""The pattern dependency graph: levels, cycles, and its pictures."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import cepheid as cep
from cepheid.drawing.graph import to_dot, to_svg
from cepheid.program.graph import Graph

EXAMPLES = Path(__file__).parents[2] / "examples"
SVG = "{http://www.w3.org/2000/svg}"


def levels(graph: Graph) -> dict[str, int]:
    names = (statement.name for statement in graph.statements)
    return dict(zip(names, graph.levels, strict=True))


def test_the_motorbike_graph_is_that_of_the_paper() -> None:
    graph = cep.load(EXAMPLES / "motorbike" / "motorbike.epl").graph()
    names = [s.name for s in graph.statements]
    assert {(names[p], names[q]) for p, q in graph.pairs} == {
        ("BlowOutTire", "Accident"),
        ("Crash", "Accident"),
        ("DriverLeftSeat", "Accident"),
        ("Accident", "AccidentsReport"),
        ("Crash", "DangerousLocation"),
    }
    assert levels(graph) == {
        "BlowOutTire": 1,
        "Crash": 1,
        "DriverLeftSeat": 1,
        "GhostRider": 1,
        "Accident": 2,
        "DangerousLocation": 2,
        "AccidentsReport": 3,
    }
    assert graph.cycles == ()


def test_the_air_quality_graph_has_four_levels() -> None:
    graph = cep.load(EXAMPLES / "airquality" / "airquality.epl").graph()
    counts = [graph.levels.count(level) for level in range(1, 4)]
    assert counts == [6, 36, 1]  # above the measurements
    assert len(list(graph.pairs)) == 72
    assert graph.cycles == ()


def test_an_heir_feeds_those_who_take_its_ancestor() -> None:
    text = """
    create schema A (v int); create schema B () inherits A;
    @Name('P') insert into B select v from A(v > 1);
    @Name('Q') select v from B;
    @Name('R') select v from A where v > 2
    """
    graph = cep.parse(text).graph()
    assert set(graph.pairs) == {(0, 0), (0, 1), (0, 2)}
    assert graph.cycles == ((0,),)
    assert [graph.inputs_of(n) for n in range(3)] == [("A",), (), ("A",)]


def test_statements_of_a_cycle_share_a_level() -> None:
    text = """
    create schema A (v int);
    @Name('T') select v from C;
    @Name('P') insert into B select v from A;
    @Name('Q') insert into C select v from B;
    @Name('R') insert into B select v from C(v < 3)
    """
    graph = cep.parse(text).graph()
    assert levels(graph) == {"T": 3, "P": 1, "Q": 2, "R": 2}
    assert graph.cycles == ((2, 3),)


def test_the_picture_has_every_statement_and_edge_inside_its_frame() -> None:
    graph = cep.load(EXAMPLES / "motorbike" / "motorbike.epl").graph()
    picture = ElementTree.fromstring(to_svg(graph))
    texts = [element.text for element in picture.iter(f"{SVG}text")]
    assert texts[:4] == ["input", "level 1", "level 2", "level 3"]
    assert set(texts[4:]) == {"Motorbike", *(s.name for s in graph.statements)}
    edges = [e for e in picture.iter(f"{SVG}path") if e.get("class") == "edge"]
    assert len(edges) == 4 + 5
    width, height = float(picture.get("width", "0")), float(picture.get("height", "0"))
    for box in (e for e in picture.iter(f"{SVG}rect") if e.get("class")):
        x, y, w, h = (float(box.get(name, "-1")) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height


def test_boxes_of_a_picture_do_not_overlap_and_levels_are_columns() -> None:
    graph = cep.load(EXAMPLES / "airquality" / "airquality.epl").graph()
    picture = ElementTree.fromstring(to_svg(graph))
    columns: dict[float, list[tuple[float, float]]] = {}
    for box in (e for e in picture.iter(f"{SVG}rect") if e.get("class")):
        top = float(box.get("y", "0"))
        side = columns.setdefault(float(box.get("x", "0")), [])
        side.append((top, top + float(box.get("height", "0"))))
    assert [len(columns[x]) for x in sorted(columns)] == [1, 6, 36, 1]
    for boxes in columns.values():
        ordered = sorted(boxes)
        assert all(a[1] <= b[0] for a, b in pairwise(ordered))


def test_edges_of_a_cycle_are_red() -> None:
    graph = cep.parse("create schema A (v int); @Name('S') insert into A select v from A").graph()
    assert 'class="edge cycle"' in to_svg(graph)
    assert '"statement:S" -> "statement:S" [color=red];' in to_dot(graph)


def test_dot_has_the_levels_as_ranks_and_quotes_names() -> None:
    text = "create schema A (v int); @Name('say \"hi\"') insert into B select v from A"
    assert to_dot(cep.parse(text).graph()).splitlines() == [
        "digraph program {",
        "  rankdir=LR;",
        "  node [shape=box, fontname=Helvetica];",
        "  {",
        "    rank=same;",
        '    "type:A" [label="A", style=rounded];',
        "  }",
        "  {",
        "    rank=same;",
        '    "statement:say \\"hi\\"" [label="say \\"hi\\"\\ninto B"];',
        "  }",
        '  "type:A" -> "statement:say \\"hi\\"";',
        "}",
    ]


def test_a_program_without_statements_has_an_empty_picture() -> None:
    graph = cep.parse("create schema A (v int);").graph()
    assert ElementTree.fromstring(to_svg(graph)).tag == f"{SVG}svg"
    assert to_dot(graph).startswith("digraph")
