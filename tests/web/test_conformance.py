"""XPath 1.0 as lxml has it: generated expressions over generated pages."""

from __future__ import annotations

import math
from typing import Any

import lxml.html
from hypothesis import assume, given
from hypothesis import strategies as st
from lxml import etree

from cepheid.web.evaluation import Given, Scope, evaluate
from cepheid.web.nodes import Node, NodeKind, Page
from cepheid.web.notation import Type
from cepheid.web.printer import print_expression
from cepheid.web.rewriting import shortened
from cepheid.web.static import page_of
from cepheid.web.tree import Expr
from tests.effort import examples
from tests.web.strategies import pages, typed


def ours(page: Page, tree: Expr, place: int) -> object:
    node = [*page.elements()][place]
    value = evaluate(shortened(tree), Scope(node, Given({})))
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


@given(pages(), typed(Type.ANY, 3), st.integers(0, 4))
@examples(300)
def test_expressions_give_what_lxml_gives(html: str, tree: Expr, place: int) -> None:
    root = lxml.html.document_fromstring(html)
    text = print_expression(tree)
    page = page_of(html, "u")
    assume(place < sum(1 for _ in page.elements()))
    expected = theirs(root, text, place)
    assert is_same(ours(page, tree, place), expected), (text, html, place)
