"""XPath 1.0 as lxml has it: generated expressions over generated pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import lxml.html
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lxml import etree

from cepheid.web.evaluation import Given, Scope, evaluate
from cepheid.web.nodes import Node, NodeKind, Page
from cepheid.web.notation import Type
from cepheid.web.parser import parse
from cepheid.web.printer import print_expression
from cepheid.web.rewriting import shortened
from cepheid.web.static import page_of
from cepheid.web.tree import Expr, Predicate, Step
from tests.effort import examples
from tests.web.strategies import PLAIN_AXES, pages, typed


def ours(
    page: Page, tree: Expr, place: int, variables: Mapping[str, str | float] | None = None
) -> object:
    node = [*page.elements()][place]
    value = evaluate(shortened(tree), Scope(node, Given(variables or {})))
    if not isinstance(value, list):
        return value
    # lxml does not show the root of the document, which is no element.
    return [_named(page, each) for each in value if each.kind is not NodeKind.ROOT]


def _named(page: Page, node: Node) -> object:
    if node.kind is NodeKind.ELEMENT:
        return node.number
    return node.text if node.kind in (NodeKind.TEXT, NodeKind.ATTRIBUTE) else str(node.kind)


def theirs(root: Any, text: str, place: int) -> object:
    elements = [each for each in root.iter() if isinstance(each.tag, str)]
    numbers = {each: number for number, each in enumerate(elements)}
    try:
        value = elements[place].xpath(text)
    except etree.XPathEvalError as refused:  # last() and position() outside of predicates
        assume("Invalid context" not in str(refused))
        raise
    if not isinstance(value, list):
        return value
    return [
        numbers.get(each, str(NodeKind.COMMENT)) if isinstance(each, lxml.html.HtmlMixin) else each
        for each in value
    ]


def is_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other) or (math.isnan(one) and math.isnan(other))
    return one == other


RICH = """\
<html lang="en"><head><title>t</title></head><body><div id="a" class="x y"><em>1</em><em>22</em><span>
<em id="b">3</em> tail <!--note--><em>-4</em></span></div><section><div>x<em>5</em>y</div><em>6</em></section>
<em class="x">seven</em><div><div><div id="c">deep</div></div></div></body></html>
"""
TESTS = ("*", "node()", "em", "text()", "div")
PLACES = ("", "[1]", "[2]", "[last()]", "[position() > 1]", "[. = 6]")
# A step of `//` counts positions from each parent, and must not be taken for one step.
SHORT = (
    "[1]",
    "[last()]",
    "[position() = 2]",
    "[count(..)]",
    "[@id]",
    "[not(@id)]",
    "[em[2]]",
    "[$n]",
)
NUMBERS = (
    "-2.5",
    "-0.5",
    "-1",
    "0",
    "0.5",
    "1.5",
    "2.5",
    "3",
    "(1 div 0)",
    "(-1 div 0)",
    "(0 div 0)",
    "'x'",
    "' 7 '",
    "true()",
    "//em",
    "//nothing",
)
OF_ONE = (
    "round",
    "floor",
    "ceiling",
    "number",
    "string",
    "boolean",
    "not",
    "string-length",
    "normalize-space",
)
OF_TWO = ("=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "div", "mod", "and", "or")
TEXT_CALLS = [
    *(f"substring('12345', {a}, {b})" for a in NUMBERS[:12] for b in NUMBERS[:12]),
    *(f"substring('12345', {a})" for a in NUMBERS[:12]),
    *(
        f"{f}('abcb', '{m}')"
        for f in ("substring-before", "substring-after")
        for m in ("", "b", "z")
    ),
    *(f"{f}('abcb', '{m}')" for f in ("contains", "starts-with") for m in ("", "a", "b", "z")),
    *(f"translate('abcabc', '{a}', '{b}')" for a in ("", "ab", "aab") for b in ("", "x", "xyz")),
    *(f"concat('a', {a}, 'b')" for a in NUMBERS),
    *("sum(//em[. < 7])", "sum(//em)", "count(//em | //div | //em)", "name(//em)", "string(//@id)"),
    *("local-name(//@id)", "string(//comment())", "count(//comment())", "name(//text())"),
    *("count(id('a c b a'))", "-//em", "- -3"),
]


def expression_of(text: str) -> Expr:
    tree = parse(f"/self::node()[{text}]").tree
    assert tree is not None, text
    (step,) = tree.path.parts
    assert isinstance(step, Step)
    (predicate,) = step.qualifiers
    assert isinstance(predicate, Predicate)
    return predicate.condition


def assert_same(text: str, places: range, *, is_named: bool = False) -> None:
    """Ours and theirs from these elements of the rich page."""
    root, page, tree = lxml.html.document_fromstring(RICH), page_of(RICH, "u"), expression_of(text)
    elements = [each for each in root.iter() if isinstance(each.tag, str)]
    variables = {"n": 2.0} if is_named else {}
    for place in places:
        expected = theirs(root, text.replace("$n", "2"), place)
        found = ours(page, tree, place, variables)
        assert is_same(found, expected), (text, elements[place].tag, place, found, expected)


COUNT = sum(1 for _ in page_of(RICH, "u").elements())


@pytest.mark.parametrize("axis", PLAIN_AXES)
def test_an_axis_leads_from_every_node_to_where_lxml_goes(axis: str) -> None:
    for test in ("@*", "@id") if axis == "attribute" else (f"{axis}::{each}" for each in TESTS):
        for place in PLACES:
            assert_same(f"{test}{place}", range(COUNT))
            assert_same(f"*/{test}{place}", range(COUNT))
            assert_same(f"(.//em/{test}){place}", range(0, COUNT, 4))
            # Of what follows an attribute, libxml2 leaves out the children of its element; browsers do not.
            if axis != "following":
                assert_same(f"@*/{test}{place}", range(COUNT))


@pytest.mark.parametrize("place", SHORT)
def test_two_slashes_mean_what_they_are_short_for(place: str) -> None:
    for text in ("//em", ".//em", "//div//em", "//*", "div//em", "//text()"):
        assert_same(f"{text}{place}", range(COUNT), is_named=True)


def test_functions_and_operators_give_what_lxml_gives_on_values_of_all_kinds() -> None:
    calls = [f"{name}({value})" for name in OF_ONE for value in NUMBERS]
    pairs = [f"{a} {operator} {b}" for operator in OF_TWO for a in NUMBERS for b in NUMBERS]
    for text in (*calls, *pairs, *TEXT_CALLS):
        assert_same(text, range(1))


@given(pages(), typed(Type.ANY, 3), st.integers(0, 4))
@examples(300)
def test_expressions_give_what_lxml_gives(html: str, tree: Expr, place: int) -> None:
    root = lxml.html.document_fromstring(html)
    text = print_expression(tree)
    page = page_of(html, "u")
    assume(place < sum(1 for _ in page.elements()))
    expected = theirs(root, text, place)
    assert is_same(ours(page, tree, place), expected), (text, html, place)
