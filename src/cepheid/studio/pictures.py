"""Drawings as data, of which a page makes elements: no text of theirs is ever read as markup there."""

from __future__ import annotations

from typing import TypeAlias
from xml.etree import ElementTree

from cepheid.errors import UsageError, error

# A tag, its attributes, and what is in it; of these tags and attributes only.
Picture: TypeAlias = "list[str | dict[str, str] | list[Picture | str]]"
_TAGS = {"svg", "g", "rect", "circle", "path", "text", "tspan", "title", "defs", "marker"}
_ATTRIBUTES = {
    *(
        "class",
        "id",
        "x",
        "y",
        "dx",
        "dy",
        "cx",
        "cy",
        "r",
        "rx",
        "d",
        "width",
        "height",
        "viewBox",
    ),
    *("fill", "stroke", "transform", "text-anchor", "font-size", "marker-start", "marker-end"),
    *("refX", "refY", "markerWidth", "markerHeight", "orient"),
}
_AS_GROUP = "a"  # a link, which leads nowhere here


def picture_of(svg: str) -> Picture:
    """A drawing without its styles and its ground, which are the page's."""
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError:  # a name with what XML has no way to write
        raise UsageError(error("unsupported", "a name in this cannot be drawn")) from None
    return _picture(root)


def _picture(element: ElementTree.Element) -> Picture:
    tag = element.tag.rpartition("}")[2]
    inside: list[Picture | str] = [element.text] if (element.text or "").strip() else []  # type: ignore[list-item]
    for child in element:
        name = child.tag.rpartition("}")[2]
        if name in _TAGS | {_AS_GROUP} and child.get("width") != "100%":
            inside.append(_picture(child))
    attributes = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    return ["g" if tag == _AS_GROUP else tag, attributes, inside]
