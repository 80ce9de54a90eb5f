"""Pictures of nets and PNML: everything is there, and nothing lies on anything else."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

import cepheid as cep
from cepheid.formal.petri.export.pnml import to_pnml
from cepheid.formal.petri.export.svg import layout, panels, to_svg
from cepheid.formal.petri.nets.net import Marking, Net
from cepheid.formal.petri.translate import translate
from tests.formal.test_cpn import OPERATORS
from tests.formal.test_translation import EXAMPLES, load

GRAMMAR = "{http://www.pnml.org/version-2009/grammar/pnml}"


def nets() -> list[tuple[str, Net, Marking]]:
    found = []
    for name in ("comfort/comfort.epl", "pregnancy/pregnancy.epl", "motorbike/motorbike.epl"):
        translation = translate(cep.load(EXAMPLES / name).resolve())
        found.append((name, translation.net, translation.marking([], 0, 0)))
    translation = translate(cep.parse(OPERATORS).resolve())
    return [*found, ("operators", translation.net, translation.marking([], 0, 0))]


NETS = nets()
by_net = pytest.mark.parametrize(
    ("net", "marking"), [n[1:] for n in NETS], ids=[n[0] for n in NETS]
)


@by_net
def test_every_node_is_in_the_picture(net: Net, marking: Marking) -> None:
    root = ElementTree.fromstring(to_svg(net, marking))
    boxes = root.iter("{http://www.w3.org/2000/svg}rect")
    titles = {title.text for box in boxes for title in box}
    common = {place for panel in panels(net) for place in panel.common}
    assert {t.name for t in net.transitions} <= titles
    assert {p.name for p in net.places} <= titles | common


@by_net
def test_no_node_lies_on_another(net: Net, marking: Marking) -> None:
    for panel in panels(net):
        placed = [p for p in layout(panel.net, marking).placed.values() if p.box.lines]
        for one, other in combinations(placed, 2):
            apart_x = one.x + one.box.width <= other.x or other.x + other.box.width <= one.x
            apart_y = abs(one.y - other.y) >= (one.box.height + other.box.height) / 2
            assert apart_x or apart_y, (panel.title, one.box.key, other.box.key)


def test_tokens_go_from_left_to_right() -> None:
    program, events = load("comfort/comfort.epl", "comfort/me.events")
    translation = translate(program)
    marking = translation.marking(events, 0, 0)
    panel = next(p for p in panels(translation.net) if p.title == "every1")
    drawn = layout(panel.net, marking)
    way = ["p:every1.control", "t:every1.next_a1", "p:every1.Ev_a1", "t:pattern_every1", "p:every1"]
    xs = [drawn.placed[key].x for key in way]
    assert xs == sorted(xs)
    assert drawn.back == [("t:pattern_every1", "p:every1.control")]


@by_net
def test_pnml_has_every_node_and_arc(net: Net, marking: Marking) -> None:
    root = ElementTree.fromstring(to_pnml(net, marking))
    (page,) = root.iter(f"{GRAMMAR}page")
    assert root.find(f"{GRAMMAR}net").attrib["type"].endswith("/highlevelnet")  # type: ignore[union-attr]
    kinds = {kind: list(page.iter(f"{GRAMMAR}{kind}")) for kind in ("place", "transition", "arc")}
    assert len(kinds["place"]) == len(net.places)
    assert len(kinds["transition"]) == len(net.transitions)
    assert len(kinds["arc"]) == sum(len(t.inputs) + len(t.outputs) for t in net.transitions)
    ids = [node.attrib["id"] for nodes in kinds.values() for node in nodes]
    assert len(ids) == len(set(ids))
    ends = {arc.attrib[end] for arc in kinds["arc"] for end in ("source", "target")}
    assert ends <= set(ids)
    marked = [p for p in kinds["place"] if p.find(f"{GRAMMAR}hlinitialMarking") is not None]
    assert len(marked) == len(marking)
