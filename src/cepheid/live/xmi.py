"""Reads models from XMI files: every object with its place, and all that does not fit at once.

A file is read in two steps. The first turns elements into objects and values of the metamodel, and
texts such as `//@hosts.1` into the objects that they stand for; only a file without a mistake comes to
the second, which makes a model of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, DataType
from cepheid.core.values import shown
from cepheid.errors import Diagnostic, InputError, Span, UsageError, error, reason_of, suggest
from cepheid.live.edges import holds
from cepheid.live.metamodel import Attribute, Feature, Kind, Metamodel
from cepheid.live.model import Model, Object, arrange
from cepheid.live.transaction import Transaction, broken_bounds

_XMI = "http://www.omg.org/XMI"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_STEP = re.compile(r"@(\w+)(?:\.([0-9]{1,9}))?")
_ROOT = re.compile(r"[0-9]{0,9}")
FROM_TEXT: Mapping[DataType, Callable[[str], object]] = {
    BOOLEAN: {"true": True, "false": False, "1": True, "0": False}.__getitem__,
    **dict.fromkeys((INT, LONG), lambda text: int(_plain(text))),
    **dict.fromkeys((FLOAT, DOUBLE), lambda text: float(_plain(text))),
}


def _plain(text: str) -> str:
    """Python takes `1_000` for a number, files do not."""
    return text.replace("_", "?")


def value_of(text: str, feature: Feature) -> Any:
    """The value of an attribute that a text stands for; ValueError where it is none."""
    assert feature.type is not None
    try:
        value = feature.coerce(FROM_TEXT.get(feature.type, str)(text))
    except (KeyError, ValueError):
        raise ValueError(f"'{text}' is no value of '{feature.name}'") from None
    if feature.literals and value not in feature.literals:
        raise ValueError(f"'{feature.name}' cannot be {shown(value)}")
    return value


def read_xml(path: str | Path) -> Any:
    """The root element of a file; InputError with the place where it is no XML."""
    try:
        from lxml import etree
    except ImportError:
        hint = "pip install 'cepheid[live]'"
        raise UsageError(error("no-ecore", "models in files need pyecore", hint=hint)) from None
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise UsageError(error("missing-file", f"no file '{path}'")) from None
    except OSError as problem:
        fact = f"'{path}' cannot be read: {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None
    try:
        # What a file says of entities and of other files is not followed.
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as problem:
        fact = f"this is no XML: {(problem.msg or 'it is empty').partition(', line')[0]}"
        place, hint = place_in(path, problem.lineno or 1), "is the file whole?"
        raise InputError(error("bad-model", fact, place, hint)) from None


def place_in(path: str | Path, line: int) -> Span:
    return Span(line, 1, line, 1, str(path))


def read_model(path: str | Path, metamodel: Metamodel) -> Model:
    """The model of a file; InputError with all that does not fit the metamodel."""
    reader = _Reader(path, metamodel)
    reader.read(read_xml(path))
    if not reader.problems:
        reader.link()
    reader.require()
    return reader.model()


@dataclass(eq=False, slots=True)
class _Element:
    """An object of a file."""

    kind: Kind
    line: int
    container: _Element | None
    values: dict[Feature, list[Any]] = field(default_factory=dict)  # of attributes
    named: dict[Feature, list[str]] = field(default_factory=dict)  # of references, as texts
    parts: dict[Feature, list[_Element | None]] = field(default_factory=dict)
    targets: dict[Feature, list[_Element]] = field(default_factory=dict)

    def held(self) -> Iterator[tuple[Feature, int]]:
        """The features, each with how many values the file gives it."""
        for values in (self.values, self.named, self.parts):
            yield from ((feature, len(given)) for feature, given in values.items())


class _Reader:
    def __init__(self, path: str | Path, metamodel: Metamodel) -> None:
        self.path = path
        self.metamodel = metamodel
        self.kinds = metamodel.schema.kinds
        self.roots: list[_Element | None] = []
        self.elements: list[_Element] = []  # containers before their parts
        self.ids: dict[str, _Element] = {}
        self.problems: list[Diagnostic] = []

    def require(self) -> None:
        if self.problems:
            raise InputError(*self.problems)

    def report(self, code: str, line: int, fact: str, hint: str | None = None) -> None:
        self.problems.append(error(code, fact, place_in(self.path, line), hint))

    # Elements and what stands in them.

    def read(self, root: Any) -> None:
        is_list = root.tag == f"{{{_XMI}}}XMI"
        for node in _children(root) if is_list else [root]:
            uri, name = _qualified(node.tag)
            kind = self.find_kind(uri, name, node.sourceline)
            self.roots.append(self.element(node, kind, None) if kind else None)

    def find_kind(self, uri: str | None, name: str, line: int) -> Kind | None:
        packages = self.metamodel.by_uri
        if uri not in packages:
            hint = suggest(str(uri), packages, "URIs")
            self.report("bad-model", line, f"{self.metamodel.name} has no URI '{uri or ''}'", hint)
            return None
        known = packages[uri]
        if name not in known:
            hint = suggest(name, known, "classes")
            self.report("unknown-class", line, f"no class '{name}' in {self.metamodel.name}", hint)
            return None
        return self.kinds[known[name]]

    def element(self, node: Any, kind: Kind, container: _Element | None) -> _Element | None:
        line = node.sourceline
        if kind.is_abstract:
            hint = f"name one by xsi:type: {', '.join(sorted(kind.subclasses))}"
            self.report("bad-model", line, f"'{kind}' is abstract and has no objects", hint)
            return None
        made = _Element(kind, line, container)
        self.elements.append(made)
        for key, text in node.attrib.items():
            uri, name = _qualified(key)
            if uri == _XMI and name == "id":
                self.identify(text, made)
            elif uri is None and name != "href":
                self.attribute(made, name, text)
        for child in _children(node):
            self.child(made, child)
        for feature, count in made.held():
            if count > 1 and not feature.is_many:
                fact = f"'{feature.name}' has {count} values, and takes one"
                self.report("bad-model", line, fact, "leave out the others")
        return made

    def identify(self, text: str, element: _Element) -> None:
        if text in self.ids:
            fact = f"'{text}' is the id of another object, too (line {self.ids[text].line})"
            self.report("bad-model", element.line, fact, "ids are there to tell objects apart")
        self.ids.setdefault(text, element)

    def feature(self, kind: Kind, name: str, line: int) -> Feature | None:
        found = kind.features.get(name)
        if found is None:
            hint = suggest(name, kind.features, "features")
            self.report("unknown-feature", line, f"no feature '{name}' in {kind}", hint)
        return found

    def attribute(self, element: _Element, name: str, text: str) -> None:
        """A value, several in a row, or what references lead to."""
        feature = self.feature(element.kind, name, element.line)
        if feature is None:
            return
        if feature.is_containment:
            hint = f"write an element <{name}> for each"
            self.report("bad-model", element.line, f"'{name}' contains objects, no text", hint)
        elif feature.is_attribute:
            for one in text.split() if feature.is_many else [text]:
                self.value(element, feature, one, element.line)
            if isinstance(feature.declared, Attribute) and feature.declared.is_id:
                self.identify(text, element)
        else:
            element.named.setdefault(feature, []).extend(text.split())

    def value(self, element: _Element, feature: Feature, text: str, line: int) -> None:
        try:
            element.values.setdefault(feature, []).append(value_of(text, feature))
        except ValueError as problem:
            is_one_of = feature.literals
            hint = (
                suggest(text, is_one_of, "its values")
                if is_one_of
                else f"its type is {feature.type}"
            )
            self.report("bad-value", line, str(problem), hint)

    def child(self, element: _Element, node: Any) -> None:
        """An object that is contained, a value, or a reference."""
        line = node.sourceline
        feature = self.feature(element.kind, _qualified(node.tag)[1], line)
        if feature is None or node.get(f"{{{_XSI}}}nil") == "true":
            return
        reference = node.get("href") or node.get(f"{{{_XMI}}}idref")
        if feature.is_attribute:
            self.value(element, feature, node.text or "", line)
        elif reference is not None:
            element.named.setdefault(feature, []).append(reference)
        elif feature.is_containment:
            kind = self.kind_of_part(node, feature)
            part = self.element(node, kind, element) if kind else None
            element.parts.setdefault(feature, []).append(part)
        else:
            hint = f'write {feature.name}="..."'
            self.report("bad-model", line, f"'{feature.name}' contains nothing: it refers", hint)

    def kind_of_part(self, node: Any, feature: Feature) -> Kind | None:
        given = node.get(f"{{{_XSI}}}type") or node.get(f"{{{_XMI}}}type")
        if given is None:
            return self.kinds[feature.target]
        prefix, _, name = given.rpartition(":")
        if (prefix or None) not in node.nsmap:
            fact = f"nothing says what the prefix '{prefix}' of '{given}' stands for"
            self.report("bad-model", node.sourceline, fact, f'xmlns:{prefix}="..." does')
            return None
        kind = self.find_kind(node.nsmap[prefix or None], name, node.sourceline)
        if kind is not None and feature.target not in kind.ancestors:
            fact = f"'{feature.name}' contains {feature.target} objects, not {kind} objects"
            hint = f"it takes {', '.join(sorted(self.kinds[feature.target].subclasses))}"
            self.report("bad-model", node.sourceline, fact, hint)
            return None
        return kind

    # What references lead to.

    def link(self) -> None:
        for element in self.elements:
            for feature, texts in element.named.items():
                for text in texts:
                    self.refer(element, feature, text)

    def refer(self, element: _Element, feature: Feature, text: str) -> None:
        target = self.find(text.removeprefix("#"))
        if target is None:
            is_outside = "#" in text.removeprefix("#")
            what = "an object outside the file" if is_outside else "an object that is not there"
            fact = f"'{feature.name}' refers to {what}: '{text}'"
            hint = "write the way to it from the root, '//@feature.0', or its id"
            self.report("unknown-object", element.line, fact, hint)
        elif feature.target not in target.kind.ancestors:
            fact = (
                f"'{feature.name}' leads to {feature.target} objects, not to {target.kind} objects"
            )
            self.report("bad-model", element.line, fact, f"'{text}' is on line {target.line}")
        elif feature.is_container and target is not element.container:
            fact = f"'{feature.name}' refers to an object that does not contain this one: '{text}'"
            hint = "leave it out: an object is in the element around it"
            self.report("bad-model", element.line, fact, hint)
        else:
            element.targets.setdefault(feature, []).append(target)

    def find(self, text: str) -> _Element | None:
        """By `//@hosts.1`, in the second root by `/1/@hosts.1`, or by its id."""
        if not text.startswith("/"):
            return self.ids.get(text)
        root, *steps = text[1:].split("/")
        place = int(root or 0) if _ROOT.fullmatch(root) else len(self.roots)
        found = self.roots[place] if place < len(self.roots) else None
        for step in (step for step in steps if step):
            found = found and _part(found, step)
        return found

    # The model.

    def model(self) -> Model:
        model = Model(self.metamodel)
        with model.transaction() as change:
            made = {element: change.create(element.kind.name) for element in self.elements}
            held = {element: _held(element, made) for element in self.elements}
            for element, one in made.items():
                for feature, values in held[element].items():
                    _give(change, one, feature, values)
            for element, one in made.items():
                for feature, values in held[element].items():
                    self.check_opposite(element, one, feature, values)
                    if feature.is_many:
                        arrange(one, feature, values)
                for feature in one.kind.features.values():
                    fact = broken_bounds(one, feature)
                    if fact:
                        hint = f"the metamodel says how many values '{feature!r}' has"
                        self.report("bad-model", element.line, fact, hint)
            self.require()  # of a file that does not fit, nothing is left
        return model

    def check_opposite(
        self, element: _Element, one: Object, feature: Feature, values: list[Any]
    ) -> None:
        """That no other end of an edge says something else."""
        for value in values:
            if feature.opposite is not None and not holds(one, feature, value):
                fact = (
                    f"'{feature.name}' refers to an object whose '{feature.opposite.name}' does not"
                )
                hint = "two that are opposites name each other"
                self.report("bad-model", element.line, f"{fact} refer back", hint)


def _children(node: Any) -> Any:
    """The elements, without comments."""
    return node.iterchildren(tag="*")


def _qualified(tag: str) -> tuple[str | None, str]:
    """`{uri}name`, or a name alone."""
    uri, _, name = tag.removeprefix("{").rpartition("}")
    return uri or None, name


def _part(element: _Element, step: str) -> _Element | None:
    """`@hosts.1`: the second of the hosts that it contains."""
    found = _STEP.fullmatch(step)
    feature = element.kind.features.get(found[1]) if found else None
    if found is None or feature is None:
        return None
    parts = element.parts.get(feature, [])
    place = int(found[2] or 0)
    return parts[place] if place < len(parts) else None


def _held(element: _Element, made: Mapping[_Element, Object]) -> dict[Feature, list[Any]]:
    found: dict[Feature, list[Any]] = dict(element.values)
    for feature, parts in element.parts.items():
        found[feature] = [made[part] for part in parts if part is not None]
    for feature, targets in element.targets.items():
        found[feature] = [made[target] for target in targets]
    return {f: found[f] for f in element.kind.features.values() if f in found}


def _give(change: Transaction, one: Object, feature: Feature, values: list[Any]) -> None:
    step = change.add if feature.is_many else change.set
    for value in values:
        step(one, feature.name, value)
