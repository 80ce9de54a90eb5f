"""Pictures of nets and PNML: everything is there, and nothing lies on anything else."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from xml.etree import ElementTree

import pytest

import cepheid as cep
from cepheid.errors import UsageError
from cepheid.formal.petri.export.drawing import drawn_panel
from cepheid.formal.petri.export.overview import overview
from cepheid.formal.petri.export.page import to_html, to_svg
from cepheid.formal.petri.export.panels import layout, panels
from cepheid.formal.petri.export.pnml import to_pnml
from cepheid.formal.petri.export.units import touched_part, units_of
from cepheid.formal.petri.nets.net import Marking, Net
from cepheid.formal.petri.nets.terms import Term
from cepheid.formal.petri.translate import translate
from tests.formal.test_cpn import OPERATORS
from tests.formal.test_translation import EXAMPLES, load

SVG = "{http://www.w3.org/2000/svg}"
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
    root = ElementTree.fromstring(to_svg(net, marking, ["all"]))
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


@by_net
def test_no_text_lies_on_another_or_on_a_node(net: Net, marking: Marking) -> None:
    for drawn in (overview(net), *(drawn_panel(panel, marking) for panel in panels(net))):
        assert drawn.labels
        for one, other in combinations([*(label.rect for label in drawn.labels), *drawn.nodes], 2):
            assert not one.overlaps(other), (one, other)
        for rect in (*(label.rect for label in drawn.labels), *drawn.nodes):
            assert 0 <= rect.left < rect.right <= drawn.width
            assert 0 <= rect.top < rect.bottom <= drawn.height


@by_net
def test_a_folded_net_has_a_box_for_each_operator_that_a_page_opens(
    net: Net, marking: Marking
) -> None:
    root = ElementTree.fromstring(to_svg(net, marking))
    names = [unit.name for unit in units_of(net)]
    links = root.iter(f"{SVG}a")
    assert sorted(link.attrib["href"] for link in links) == sorted(
        f"#unit-{name.replace(' ', '-')}" for name in names
    )
    assert sum(len(unit.transitions) for unit in units_of(net)) == len(net.transitions)
    page = to_html(net, marking, [names[-1]])
    for name in names:
        is_open = " open" if name == names[-1] else ""
        assert f'<details id="unit-{name.replace(" ", "-")}"{is_open}>' in page


@by_net
def test_names_are_whole(net: Net, marking: Marking) -> None:
    text = to_svg(net, marking, ["all"])
    common = {place for panel in panels(net) for place in panel.common}
    for name in {*(p.name for p in net.places), *(t.name for t in net.transitions)} - common:
        assert f">{name}<" in text or f">{name}  (" in text


def test_the_motorbikes_are_on_one_screen(rewrite: bool) -> None:
    net, marking = next(n[1:] for n in NETS if n[0].startswith("motorbike"))
    drawn = overview(net)
    assert drawn.width <= 1280
    assert drawn.height <= 800
    assert drawn_panel(panels(net)[1], marking).height <= 800
    with pytest.raises(UsageError, match="did you mean 'Crash'"):
        to_svg(net, marking, ["Crahs"])
    file = EXAMPLES.parent / "docs" / "motorbike-net.svg"
    if rewrite:
        file.write_text(to_svg(net, marking))
    assert file.read_text() == to_svg(net, marking)


def test_only_what_a_run_touches_is_shown_on_request() -> None:
    program, events = load("comfort/comfort.epl", "comfort/me.events")
    translation = translate(program)
    part = touched_part(translation.net, translation.marking(events, 0, 0))
    assert 0 < len(part.transitions) < len(translation.net.transitions)
    assert {p.name for p in part.places} < {p.name for p in translation.net.places}
    nothing = touched_part(translation.net, translation.marking([], 0, 0))
    assert nothing.transitions == ()


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
def test_pnml_is_a_net_that_every_tool_reads(net: Net, marking: Marking) -> None:
    """As the standard has nets without colours; what it has no words for is for this tool alone."""
    root = ElementTree.fromstring(to_pnml(net, marking))
    (file,) = root
    assert file.attrib["type"] == "http://www.pnml.org/version-2009/grammar/ptnet"
    (page,) = file.iter(f"{GRAMMAR}page")
    nodes = {node.attrib["id"]: node for node in page}
    assert len(nodes) == len(page)
    kinds = {kind: list(page.iter(f"{GRAMMAR}{kind}")) for kind in ("place", "transition", "arc")}
    assert [name_of(p) for p in kinds["place"]] == [p.name for p in net.places]
    assert [name_of(t) for t in kinds["transition"]] == [t.name for t in net.transitions]
    for place in kinds["place"]:
        assert children(place) == ["name", "graphics", "initialMarking", "toolspecific"]
        assert number(place, "initialMarking") == marking[name_of(place)].size
    for transition in kinds["transition"]:
        assert children(transition) == ["name", "graphics", "toolspecific"]
    ends = {}
    for arc in kinds["arc"]:
        assert children(arc) == ["inscription", "toolspecific"]
        source, target = (nodes[arc.attrib[end]] for end in ("source", "target"))
        assert {kind(source), kind(target)} == {"place", "transition"}
        ends[kind(source), name_of(source), name_of(target)] = number(arc, "inscription")
    assert len(ends) == len(kinds["arc"])  # tools want one arc each way
    assert ends == weights(net)


def weights(net: Net) -> dict[tuple[str, str, str], int]:
    found: Counter[tuple[str, str, str]] = Counter()
    for t in net.transitions:
        for arc in t.inputs:
            found["place", arc.place, t.name] += arc.count
        for arc in t.outputs:
            found["transition", t.name, arc.place] += arc.count
    return dict(found)


def kind(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(GRAMMAR)


def children(element: ElementTree.Element) -> list[str]:
    return [kind(child) for child in element]


def name_of(element: ElementTree.Element) -> str:
    return element.findtext(f"{GRAMMAR}name/{GRAMMAR}text") or ""


def number(element: ElementTree.Element, tag: str) -> int:
    return int(element.findtext(f"{GRAMMAR}{tag}/{GRAMMAR}text") or "")


def test_inscriptions_and_markings_in_pnml_are_trees() -> None:
    program, events = load("comfort/comfort.epl", "comfort/me.events")
    translation = translate(program)
    marking = translation.marking(events, 0, 0)
    root = ElementTree.fromstring(to_pnml(translation.net, marking))
    arcs = list(root.iter(f"{GRAMMAR}hlinscription"))
    terms = [a.term for t in translation.net.transitions for a in (*t.inputs, *t.outputs)]
    assert len(arcs) == len(terms)
    for element, term in zip(arcs, sorted_as_written(translation.net), strict=True):
        assert element.attrib["text"] == str(term)
        named = [v.attrib["refvariable"] for v in element.iter(f"{GRAMMAR}variable")]
        assert set(named) == set(term.variables())
    (event,) = [p for p in root.iter(f"{GRAMMAR}place") if name_of(p) == "Ev"]
    held = ElementTree.tostring(event, encoding="unicode").replace("ns0:", "")
    assert '<usersort declaration="INT" />' in held
    assert '<numberof value="1">' in held
    assert '<constant type="int" value="0" />' in held


def sorted_as_written(net: Net) -> list[Term]:
    """The terms in the order of the file: arcs between the same two nodes are one."""
    return [
        arc.term
        for t in net.transitions
        for side in (t.inputs, t.outputs)
        for place in dict.fromkeys(a.place for a in side)
        for arc in side
        if arc.place == place
    ]
