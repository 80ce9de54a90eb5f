"""Pictures of automata: everything is there, and nothing lies on anything else."""

from __future__ import annotations

from itertools import combinations
from math import hypot
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given, note

import cepheid as cep
from cepheid.cli.stages.automaton import draw
from cepheid.drawing.automaton import to_svg
from cepheid.drawing.automaton_words import all_words
from cepheid.verbs.pipeline import automata
from tests.algebra.forms import SCHEMAS
from tests.algebra.generators import forms
from tests.algebra.test_automaton import SHAPES, automaton
from tests.docs.pages import ROOT, blocks
from tests.effort import examples

SVG = "{http://www.w3.org/2000/svg}"


def program(form: str) -> cep.Program:
    return cep.parse(f"{SCHEMAS}complexEvent found() {{ as {form} }}", language="vepl")


def picture(form: str) -> Element:
    return ElementTree.fromstring(draw(program(form)))


def panels(root: Element) -> list[Element]:
    return root.findall(f"{SVG}g")


def number(element: Element, name: str) -> float:
    return float(element.attrib[name])


def of_kind(root: Element, kind: str) -> list[Element]:
    return [element for element in root.iter() if kind in element.get("class", "").split()]


def texts(root: Element, kind: str) -> list[str]:
    return [element.text or "" for element in of_kind(root, kind)]


def titles(root: Element) -> set[str]:
    return {line for title in root.iter(f"{SVG}title") for line in (title.text or "").split("\n")}


def test_the_usual_signs() -> None:
    root = picture("(a(x, _) -> NOT b(x, _))[within 2 seconds] -> c")
    assert texts(root, "small")[:3] == ["initial", "final", "trap"]
    middles = [(number(c, "cx"), number(c, "cy")) for c in of_kind(root, "state")]
    assert len(middles) - len(set(middles)) == 1, "the final state has a second line"
    [dashed] = of_kind(root, "never")
    assert [title.text for title in dashed] == ["5:39 NOT b(x, _)"]
    assert texts(root, "not") == ["not: b(x)", "✕"]
    assert texts(root, "time") == ["after 2 seconds"]
    [ring] = [c for c in root.iter(f"{SVG}circle") if [t.text for t in c] == ["within 2 seconds"]]
    [legend] = [e for e in root.iter(f"{SVG}text") if (e.text or "").startswith("within 2 seconds")]
    assert legend.text == "within 2 seconds; what is later leads to the trap"
    assert ring.attrib["fill"] in {
        c.get("fill") for c in root.iter(f"{SVG}circle") if c is not ring
    }


def test_what_must_not_complete_has_a_picture_of_its_own() -> None:
    root = picture("a -> NOT (b -> c){2} -> d")
    assert texts(root, "panel") == ["found", "found, not: (b -> c){2}"]


def test_tokens_are_numbers_beside_their_states() -> None:
    known = program("a -> b -> c")
    words = all_words(automata(known.resolve()), known.text_at)
    root = ElementTree.fromstring(to_svg(words, {"found": {1: 3, 2: 1}, "other": {0: 5}}))
    assert texts(root, "count") == ["3", "1"]
    assert {"3 tokens", "1 token"} <= titles(root)
    for count, state in zip(of_kind(root, "badge"), "12", strict=True):
        [middle] = [t for t in of_kind(root, "name") if t.text == state]
        assert abs(number(count, "x") - number(middle, "x")) < 40
    assert not of_kind(picture("a -> b -> c"), "badge")


def test_a_program_without_complex_events_has_an_empty_picture() -> None:
    root = ElementTree.fromstring(draw(cep.parse("create schema A (x int); select * from A;")))
    assert not panels(root)


@examples(100)
@given(forms(2))
def test_every_transition_is_in_the_picture_and_no_state_lies_on_another(form: str) -> None:
    note(form)
    root = picture(form)
    width, height = number(root, "width"), number(root, "height")
    for panel in panels(root):
        states = {(number(c, "cx"), number(c, "cy")) for c in of_kind(panel, "state")}
        assert all(0 < x < width and 0 < y < height for x, y in states)
        assert all(hypot(a[0] - b[0], a[1] - b[1]) > 50 for a, b in combinations(states, 2))
    known, found = program(form), titles(root)
    for transition in automaton(form).transitions:
        assert transition.span is not None
        assert any(title.endswith(known.text_at(transition.span)) for title in found)


@pytest.mark.parametrize(
    "form", [*SHAPES, "(a AND b AND c)[holdsFor 2 seconds]", "(a -> b){+} -> c"]
)
def test_no_label_lies_on_another(form: str) -> None:
    for panel in panels(picture(form)):
        kinds = ("name", "not", "time", "small")
        labels = [e for kind in kinds for e in of_kind(panel, kind) if e.get("text-anchor")]
        for one, other in combinations(labels, 2):
            room = 2.6 * (len(one.text or "") + len(other.text or ""))
            is_beside = abs(number(one, "x") - number(other, "x")) >= room
            is_below = abs(number(one, "y") - number(other, "y")) >= 10
            assert is_beside or is_below, (one.text, other.text)


def test_the_picture_of_the_docs_is_what_is_drawn(rewrite: bool) -> None:
    page = ROOT / "docs" / "vepl.md"
    [text] = [block.body for block in blocks(page) if block.file == "tolerance.vepl"]
    drawn = draw(cep.parse(text, language="vepl"))
    file = ROOT / "docs" / "automata.svg"
    if rewrite:
        file.write_text(drawn, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == drawn
