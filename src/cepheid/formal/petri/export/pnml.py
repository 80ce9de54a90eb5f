"""Nets as PNML, the format that Petri net tools exchange: a high-level net with text inscriptions."""

from __future__ import annotations

from itertools import count
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from cepheid.formal.petri.export.panels import positions
from cepheid.formal.petri.nets.net import Arc, Marking, Net, Place, Transition

_NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"
_KIND = "http://www.pnml.org/version-2009/grammar/highlevelnet"
_TOOL = {"tool": "cepheid", "version": "1"}


def to_pnml(net: Net, marking: Marking) -> str:
    """The text of a PNML file: one page, with positions; priorities are marks of this tool."""
    root = Element("pnml", xmlns=_NAMESPACE)
    element = SubElement(root, "net", id="program", type=_KIND)
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
        for arc in transition.inputs:
            _write_arc(page, f"a{next(numbers)}", ids[f"p:{arc.place}"], node, arc)
        for arc in transition.outputs:
            _write_arc(page, f"a{next(numbers)}", node, ids[f"p:{arc.place}"], arc)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


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
    _text(element, "type", str(place.colours) or "UNIT")
    if marking[place.name]:
        _text(element, "hlinitialMarking", repr(marking[place.name]))


def _write_transition(
    page: Element, identity: str, transition: Transition, at: tuple[float, float]
) -> None:
    element = _node(page, "transition", identity, transition.name, at)
    if transition.guard is not None:
        _text(element, "condition", str(transition.guard))
    specific = SubElement(element, "toolspecific", _TOOL)
    SubElement(specific, "priority").text = str(int(transition.priority))


def _write_arc(page: Element, identity: str, source: str, target: str, arc: Arc) -> None:
    element = SubElement(page, "arc", id=identity, source=source, target=target)
    text = str(arc.term) if arc.count == 1 else f"{arc.count}`{arc.term}"
    _text(element, "hlinscription", text)
