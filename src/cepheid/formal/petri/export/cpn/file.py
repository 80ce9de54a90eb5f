"""The files of CPN Tools; `reading` reads them back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from cepheid.errors import Diagnostic, ProgramError, Span, error
from cepheid.formal.petri.export.cpn.colours import (
    LISTS,
    UNIONS,
    declarations,
    is_written,
    marking_text,
    name_of,
)
from cepheid.formal.petri.export.cpn.prelude import DEFINITIONS, FUNCTIONS
from cepheid.formal.petri.export.cpn.printing import Printer, Unwritable, definitions
from cepheid.formal.petri.export.panels import positions
from cepheid.formal.petri.nets.net import (
    ColourSet,
    Marking,
    Net,
    Place,
    ProductOf,
    Transition,
)
from cepheid.formal.petri.nets.terms import Product, Term, Var, functions_in

_DOCTYPE = (
    '<?xml version="1.0" encoding="utf-8"?>\n'
    '<!DOCTYPE workspaceElements PUBLIC "-//CPN//DTD CPNXML 1.0//EN" '
    '"http://cpntools.org/DTD/6/cpn.dtd">\n'
)
_KEYWORDS = frozenset(
    [
        "abstype",
        "and",
        "andalso",
        "as",
        "case",
        "datatype",
        "do",
        "else",
        "end",
        "exception",
        "fn",
        "fun",
        "handle",
        "if",
        "in",
        "infix",
        "infixr",
        "let",
        "local",
        "nonfix",
        "of",
        "op",
        "open",
        "orelse",
        "raise",
        "rec",
        "then",
        "type",
        "val",
        "with",
        "withtype",
        "while",
        "eqtype",
        "functor",
        "include",
        "sharing",
        "sig",
        "signature",
        "struct",
        "structure",
        "where",
        "div",
        "mod",
        "true",
        "false",
        "nil",
        "ref",
        "before",
        "empty",
        "size",
        "NULL",
        "I",
        "R",
        "S",
        "B",
        "One",
        "Many",
    ]
)
OWN = "Functions of the program"  # the block of what a net brings along
_DEFINED = frozenset(re.findall(r"^fun (\w+)", DEFINITIONS, re.MULTILINE))


class Names:
    """How variables are called in a file: each has one colour set there, and no name of ML."""

    def __init__(self, net: Net) -> None:
        self.colours: dict[str, str] = {}
        self.names: dict[tuple[str, str], str] = {}  # of a transition and a variable
        places = {place.name: place.colours for place in net.places}
        for transition in net.transitions:
            for arc in transition.inputs:
                for variable, colours in _typed(arc.term, places[arc.place]):
                    self.note(transition.name, variable, colours)

    def note(self, transition: str, variable: str, colours: str) -> None:
        if (transition, variable) in self.names:
            return
        name = variable
        is_plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and not name.startswith("v_")
        if not is_plain or name in _KEYWORDS | _DEFINED or name in FUNCTIONS:
            name = "v_" + "".join(c if c.isascii() and c.isalnum() else f"_{ord(c)}_" for c in name)
        if self.colours.setdefault(name, colours) != colours:
            name = f"v_{name}_{colours}"
            self.colours[name] = colours
        self.names[transition, variable] = name

    def printer(self, transition: str) -> Printer:
        return Printer(lambda variable: self.names[transition, variable])


def _typed(term: Term, colours: ColourSet) -> Iterator[tuple[str, str]]:
    if isinstance(term, Var):
        yield term.name, name_of(colours)
    elif isinstance(term, Product) and isinstance(colours, ProductOf):
        for part, of in zip(term.parts, colours.parts, strict=True):
            yield from _typed(part, of)


def to_cpn(net: Net, marking: Marking, spans: Mapping[str, Span | None]) -> str:
    """The text of a file for CPN Tools.

    ProgramError names everything for which there is no CPN ML here; `spans` are the places of
    statements in the program.
    """
    _check(net, marking, spans)
    names, ids = Names(net), _Ids()
    root = Element("workspaceElements")
    SubElement(root, "generator", tool="CPN Tools", version="4.0.1", format="6")
    cpnet = SubElement(root, "cpnet")
    _write_declarations(SubElement(cpnet, "globbox"), net, names, ids)
    page = SubElement(cpnet, "page", id=ids.new())
    SubElement(page, "pageattr", name="program")
    _write_page(page, net, marking, names, ids)
    instances = SubElement(cpnet, "instances")
    SubElement(instances, "instance", id=ids.new(), page=page.attrib["id"])
    ElementTree.indent(root)
    return _DOCTYPE + ElementTree.tostring(root, encoding="unicode") + "\n"


def _check(net: Net, marking: Marking, spans: Mapping[str, Span | None]) -> None:
    problems: dict[tuple[str, str], Unwritable] = {}
    for owner, problem in (*_unwritten_places(net, marking), *_unwritten_terms(net)):
        problems.setdefault((owner, problem.what), problem)
    # What has no colour set has no functions either: that need not be said twice.
    opaque = {owner for owner, what in problems if what in _WITHOUT_TEXT.values()}
    found = {
        (owner, what): problem
        for (owner, what), problem in problems.items()
        if owner not in opaque or what in _WITHOUT_TEXT.values() or problem.span is not None
    }
    if found:
        raise ProgramError(*(_finding(owner, p, spans) for (owner, _), p in found.items()))


_CLAUSES = "an output rate, a limit, 'distinct', 'order by', the remove stream or an aggregate"
# What stands behind the colour sets that have no text.
_WITHOUT_TEXT = {
    **dict.fromkeys(("ROWS", "REMEMBERED", "RESULTS"), _CLAUSES),
}


def _unwritten_places(net: Net, marking: Marking) -> Iterator[tuple[str, Unwritable]]:
    for place in net.places:
        if is_written(place.colours):
            try:
                marking_text(marking[place.name], place.colours)
            except TypeError as problem:
                yield _owner(place.name), Unwritable(str(problem))
        else:
            names = re.findall(r"\w+", str(place.colours))
            what = next(_WITHOUT_TEXT[name] for name in names if name in _WITHOUT_TEXT)
            yield _owner(place.name), Unwritable(what)


def _unwritten_terms(net: Net) -> Iterator[tuple[str, Unwritable]]:
    names = Names(net)
    for transition in net.transitions:
        printer = names.printer(transition.name)
        arcs = (*transition.inputs, *transition.outputs)
        for term in (*(arc.term for arc in arcs), transition.guard):
            try:
                if term is not None:
                    printer.term(term)
                    for function in functions_in(term):
                        definitions(function)
            except Unwritable as problem:
                yield _owner(transition.inputs[0].place), problem


def _owner(name: str) -> str:
    """The statement that a place belongs to."""
    return name.partition(".")[0]


def _finding(statement: str, problem: Unwritable, spans: Mapping[str, Span | None]) -> Diagnostic:
    place = f" of '{statement}'" if statement in spans else ""
    fact = f"{problem.what}{place} has no form in CPN ML here"
    hint = "the net itself has it: --to svg and --to pnml draw it, --engine petri runs it"
    return error("not-in-cpn", fact, problem.span or spans.get(statement), hint)


class _Ids:
    def __init__(self) -> None:
        self.numbers = count(1_000_000)

    def new(self) -> str:
        return f"ID{next(self.numbers)}"


def _write_declarations(globbox: Element, net: Net, names: Names, ids: _Ids) -> None:
    levels = sorted({int(t.priority) for t in net.transitions})
    block = _block(globbox, "Standard priorities", ids)
    for level in levels:
        _ml(block, f"val {_priority(level)} = {level};", ids)
    block = _block(globbox, "Colour sets", ids)
    for name, definition in declarations(net):
        _colour(block, name, definition, ids)
    block = _block(globbox, "Variables", ids)
    for name, colours in names.colours.items():
        variable = SubElement(block, "var", id=ids.new())
        SubElement(SubElement(variable, "type"), "id").text = colours
        SubElement(variable, "id").text = name
        SubElement(variable, "layout").text = f"var {name}: {colours};"
    block = _block(globbox, "Functions", ids)
    for definition in re.split(r"\n(?=fun )", DEFINITIONS):
        _ml(block, definition, ids)
    block = _block(globbox, OWN, ids)
    for definition in _own_definitions(net).values():
        _ml(block, definition, ids)


def _own_definitions(net: Net) -> dict[str, str]:
    found: dict[str, str] = {}
    for transition in net.transitions:
        terms = [arc.term for arc in (*transition.inputs, *transition.outputs)]
        terms += [transition.guard] if transition.guard is not None else []
        for function in (f for term in terms for f in functions_in(term)):
            found |= definitions(function)
    return found


def _priority(level: int) -> str:
    return f"P_{level}"


def _block(globbox: Element, title: str, ids: _Ids) -> Element:
    block = SubElement(globbox, "block", id=ids.new())
    SubElement(block, "id").text = title
    return block


def _ml(block: Element, text: str, ids: _Ids) -> None:
    element = SubElement(block, "ml", id=ids.new())
    element.text = text
    SubElement(element, "layout").text = text


def _colour(block: Element, name: str, definition: str, ids: _Ids) -> None:
    colour = SubElement(block, "color", id=ids.new())
    SubElement(colour, "id").text = name
    kind, _, parts = definition.partition(" ")
    element = SubElement(colour, kind)
    if kind == "product":
        for part in parts.split(" * "):
            SubElement(element, "id").text = part
    elif kind == "list":
        SubElement(element, "id").text = LISTS[name]
    elif kind == "union":
        for constructor, of in UNIONS[name]:
            field = SubElement(element, "unionfield")
            SubElement(field, "id").text = constructor
            if of is not None:
                SubElement(SubElement(field, "type"), "id").text = of
    SubElement(colour, "layout").text = f"colset {name} = {definition};"


def _write_page(page: Element, net: Net, marking: Marking, names: Names, ids: _Ids) -> None:
    at = positions(net, marking)
    nodes: dict[str, str] = {}
    for place in net.places:
        nodes[f"p:{place.name}"] = _write_place(page, place, marking, at, ids)
    for transition in net.transitions:
        key = f"t:{transition.name}"
        nodes[key] = _write_transition(page, transition, at[key], names, ids)
    for transition in net.transitions:
        printer = names.printer(transition.name)
        ends = (("PtoT", transition.inputs), ("TtoP", transition.outputs))
        for orientation, arcs in ends:
            for arc in arcs:
                element = SubElement(page, "arc", id=ids.new(), orientation=orientation, order="1")
                SubElement(element, "transend", idref=nodes[f"t:{transition.name}"])
                SubElement(element, "placeend", idref=nodes[f"p:{arc.place}"])
                text = printer.term(arc.term)
                _text(element, "annot", text if arc.count == 1 else f"{arc.count}`{text}", ids)


def _node(page: Element, tag: str, name: str, at: tuple[float, float], ids: _Ids) -> Element:
    element = SubElement(page, tag, id=ids.new())
    SubElement(element, "posattr", x=f"{at[0]:.1f}", y=f"{-at[1]:.1f}")
    SubElement(element, "text").text = name
    return element


def _text(element: Element, tag: str, text: str, ids: _Ids) -> None:
    child = SubElement(element, tag, id=ids.new())
    SubElement(child, "text", tool="CPN Tools", version="4.0.1").text = text


def _write_place(
    page: Element,
    place: Place,
    marking: Marking,
    at: Mapping[str, tuple[float, float]],
    ids: _Ids,
) -> str:
    element = _node(page, "place", place.name, at[f"p:{place.name}"], ids)
    SubElement(element, "ellipse", w=f"{40 + 6 * len(place.name)}", h="40")
    _text(element, "type", name_of(place.colours), ids)
    tokens = marking[place.name]
    _text(element, "initmark", marking_text(tokens, place.colours) if tokens else "", ids)
    return element.attrib["id"]


def _write_transition(
    page: Element, transition: Transition, at: tuple[float, float], names: Names, ids: _Ids
) -> str:
    element = _node(page, "trans", transition.name, at, ids)
    SubElement(element, "box", w=f"{40 + 6 * len(transition.name)}", h="40")
    guard = transition.guard
    printed = "" if guard is None else names.printer(transition.name).term(guard)
    _text(element, "cond", f"[{printed}]" if printed else "", ids)
    _text(element, "priority", _priority(int(transition.priority)), ids)
    return element.attrib["id"]
