"""Files of CPN Tools, as `file` writes them, read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from cepheid.errors import UsageError, error
from cepheid.formal.petri.export.cpn.colours import colours_of
from cepheid.formal.petri.export.cpn.file import OWN
from cepheid.formal.petri.export.cpn.parsing import parse_definition, parse_marking, parse_term
from cepheid.formal.petri.nets.net import Arc, Marking, Net, Place, Transition
from cepheid.formal.petri.nets.terms import Function

# What reading raises where a file is almost as we write it: parts are missing, or fit nothing.
_UNREADABLE = (
    ElementTree.ParseError,
    ArithmeticError,
    AttributeError,
    LookupError,
    NameError,
    RecursionError,
    TypeError,
    ValueError,
)


def from_cpn(text: str) -> tuple[Net, Marking]:
    """The net of a file as we write it, and its initial marking; UsageError if it is none."""
    try:
        root = ElementTree.fromstring(text.partition("\n")[2] if text.startswith("<?") else text)
        return _read(root)
    except _UNREADABLE as problem:
        fact = f"this is no file of CPN Tools as we write them: {problem}"
        raise UsageError(error("bad-file", fact)) from None


def _read(root: Element) -> tuple[Net, Marking]:
    own = _own_functions(root)
    places = _places(root)
    arcs = _arcs(root, places, own)
    levels = _levels(root)
    transitions = []
    for element in root.iter("trans"):
        inputs, outputs = arcs[element.attrib["id"]]
        guard = _content(element, "cond/text")
        transitions.append(
            Transition(
                _content(element, "text"),
                tuple(inputs),
                tuple(outputs),
                parse_term(guard[1:-1], own) if guard else None,
                levels[_content(element, "priority/text")],
            )
        )
    tokens = {
        _content(element, "text"): parse_marking(_content(element, "initmark/text"))
        for element in root.iter("place")
    }
    return Net(tuple(places.values()), tuple(transitions)), Marking(tokens)


def _levels(root: Element) -> dict[str, int]:
    found = (re.match(r"val (P_\w+) = (\d+);", ml.text or "") for ml in root.iter("ml"))
    return {match[1]: int(match[2]) for match in found if match is not None}


def _own_functions(root: Element) -> dict[str, Function]:
    own: dict[str, Function] = {}
    for block in root.iter("block"):
        for ml in block.iter("ml") if block.findtext("id") == OWN else ():
            function = parse_definition((ml.text or "").strip(), own)
            own[function.name] = function
    return own


def _places(root: Element) -> dict[str, Place]:
    """The places by their ids."""
    products = {
        _content(colour, "id"): tuple(part.text or "" for part in product)
        for colour in root.iter("color")
        if (product := colour.find("product")) is not None and "x" in _content(colour, "id")
    }
    return {
        element.attrib["id"]: Place(
            _content(element, "text"), colours_of(_content(element, "type/text"), products)
        )
        for element in root.iter("place")
    }


def _arcs(
    root: Element, places: Mapping[str, Place], own: Mapping[str, Function]
) -> dict[str, tuple[list[Arc], list[Arc]]]:
    """The inputs and outputs of each transition, by its id."""
    found: dict[str, tuple[list[Arc], list[Arc]]] = {}
    for element in root.iter("arc"):
        place = places[_end(element, "placeend")].name
        inputs, outputs = found.setdefault(_end(element, "transend"), ([], []))
        ends = inputs if element.attrib["orientation"] == "PtoT" else outputs
        ends.append(_read_arc(place, _content(element, "annot/text"), own))
    return found


def _content(element: Element, path: str) -> str:
    return element.find(path).text or ""  # type: ignore[union-attr]


def _end(element: Element, tag: str) -> str:
    return element.find(tag).attrib["idref"]  # type: ignore[union-attr]


def _read_arc(place: str, text: str, own: Mapping[str, Function]) -> Arc:
    match = re.match(r"(\d+)`", text)
    if match is None:
        return Arc(place, parse_term(text, own))
    return Arc(place, parse_term(text[match.end() :], own), int(match[1]))
