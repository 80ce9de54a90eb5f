"""Nets as PNML, the format that Petri net tools exchange.

The file is a place/transition net, the class that every tool knows: places, transitions and arcs with
numbers of tokens. Colours, terms, guards and priorities are marks of this tool, as trees in the words
that the standard has for high-level nets. So a tool that leaves them out reads the net without
colours, in which more can happen than in the coloured one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from cepheid.formal.petri.export.panels import positions
from cepheid.formal.petri.nets.multiset import Colour
from cepheid.formal.petri.nets.net import (
    Arc,
    ColourSet,
    Marking,
    Net,
    Place,
    ProductOf,
    Transition,
)
from cepheid.formal.petri.nets.terms import (
    Apply,
    Call,
    Const,
    If,
    Items,
    Product,
    Term,
    Var,
)

_NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"
_CLASS = "http://www.pnml.org/version-2009/grammar/ptnet"
_TOOL = {"tool": "cepheid", "version": "2"}


def to_pnml(net: Net, marking: Marking) -> str:
    """The text of a PNML file: one page, with positions."""
    root = Element("pnml", xmlns=_NAMESPACE)
    element = SubElement(root, "net", id="program", type=_CLASS)
    _text(element, "name", "program")
    page = SubElement(element, "page", id="page")
    at = positions(net, marking)
    ids = {f"p:{p.name}": f"p{n}" for n, p in enumerate(net.places, start=1)}
    ids |= {f"t:{t.name}": f"t{n}" for n, t in enumerate(net.transitions, start=1)}
    for place in net.places:
        key = f"p:{place.name}"
        _write_place(page, ids[key], place, marking, at[key])
    for transition in net.transitions:
        key = f"t:{transition.name}"
        _write_transition(page, ids[key], transition, at[key])
    numbers = count(1)
    for transition in net.transitions:
        node = ids[f"t:{transition.name}"]
        for place_, arcs in _by_place(transition.inputs).items():
            _write_arc(page, f"a{next(numbers)}", ids[f"p:{place_}"], node, arcs)
        for place_, arcs in _by_place(transition.outputs).items():
            _write_arc(page, f"a{next(numbers)}", node, ids[f"p:{place_}"], arcs)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _by_place(arcs: tuple[Arc, ...]) -> dict[str, list[Arc]]:
    """Two nodes have one arc each way, which says all that it moves."""
    found: dict[str, list[Arc]] = {}
    for arc in arcs:
        found.setdefault(arc.place, []).append(arc)
    return found


def _text(element: Element, tag: str, text: str) -> None:
    SubElement(SubElement(element, tag), "text").text = text


def _node(page: Element, tag: str, identity: str, name: str, at: tuple[float, float]) -> Element:
    element = SubElement(page, tag, id=identity)
    _text(element, "name", name)
    graphics = SubElement(element, "graphics")
    SubElement(graphics, "position", x=f"{at[0]:.0f}", y=f"{at[1]:.0f}")
    return element


def _write_place(
    page: Element, identity: str, place: Place, marking: Marking, at: tuple[float, float]
) -> None:
    element = _node(page, "place", identity, place.name, at)
    tokens = marking[place.name]
    _text(element, "initialMarking", str(tokens.size))
    specific = SubElement(element, "toolspecific", _TOOL)
    SubElement(specific, "type").append(_sort(place.colours))
    if tokens:
        held = SubElement(specific, "hlinitialMarking")
        for colour, number in tokens.items():
            _counted(held, number, _colour(colour))


def _write_transition(
    page: Element, identity: str, transition: Transition, at: tuple[float, float]
) -> None:
    element = _node(page, "transition", identity, transition.name, at)
    specific = SubElement(element, "toolspecific", _TOOL)
    SubElement(specific, "priority").text = str(int(transition.priority))
    if transition.guard is not None:
        condition = SubElement(specific, "condition", text=str(transition.guard))
        condition.append(_term(transition.guard))


def _write_arc(page: Element, identity: str, source: str, target: str, arcs: list[Arc]) -> None:
    element = SubElement(page, "arc", id=identity, source=source, target=target)
    _text(element, "inscription", str(sum(arc.count for arc in arcs)))
    specific = SubElement(element, "toolspecific", _TOOL)
    for arc in arcs:
        inscription = SubElement(specific, "hlinscription", text=str(arc.term))
        _counted(inscription, arc.count, _term(arc.term))


# Colours and terms as trees.


def _sort(colours: ColourSet) -> Element:
    if not isinstance(colours, ProductOf):
        return Element("usersort", declaration=colours.name)
    return _with("productsort", map(_sort, colours.parts))


def _counted(element: Element, number: int, child: Element) -> None:
    SubElement(element, "numberof", value=str(number)).append(child)


def _colour(colour: Colour) -> Element:
    if isinstance(colour, tuple):
        return _with("tuple", map(_colour, colour))
    kind = type(colour).__name__ if isinstance(colour, bool | int | str) else "value"
    return Element("constant", type=kind, value=str(colour))


def _term(term: Term) -> Element:
    match term:
        case Var():
            return Element("variable", refvariable=term.name)
        case Const():
            return _colour(term.value)
        case Product():
            return _with("tuple", map(_term, term.parts))
        case Items():
            return _with("list", map(_term, term.items))
        case Apply():
            return _with("operator", map(_term, (term.left, term.right)), name=term.operator)
        case If():
            return _with("if", map(_term, (term.condition, term.then, term.otherwise)))
        case Call():
            return _with("function", map(_term, term.arguments), name=term.function.name)
    return _with("expression", map(_term, map(Var, term.variables())), text=str(term))


def _with(tag: str, children: Iterable[Element], **attributes: str) -> Element:
    element = Element(tag, attributes)
    for child in children:
        SubElement(element, "subterm").append(child)
    return element
