"""What can be said about a wrapper before it visits a page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from cepheid.core.located import Located
from cepheid.core.time import zone_named
from cepheid.core.words import counted
from cepheid.errors import Diagnostic, error, suggest
from cepheid.web.notation import FUNCTIONS, Type
from cepheid.web.times import reader_of
from cepheid.web.tree import (
    UNION,
    Action,
    AttributeMarker,
    Binary,
    Call,
    Expr,
    Filtered,
    Literal,
    Negate,
    Number,
    Path,
    Predicate,
    RecordMarker,
    Star,
    Step,
    TestKind,
    Variable,
    Wrapper,
    all_parts,
    children,
)

Classes = Mapping[str, Collection[str]]  # attributes of classes


def check(
    wrapper: Wrapper,
    variables: Collection[str] | None = None,
    classes: Classes | None = None,
) -> list[Diagnostic]:
    """All findings, in the order of the text; None: nobody says which variables or classes there are."""
    found = [*_calls(wrapper), *_types(wrapper), *_styles(wrapper), *_stars(wrapper)]
    found += _markers(wrapper, classes)
    if variables is not None:
        found += _variables(wrapper, variables)
    return sorted(
        found, key=lambda each: (each.span.line, each.span.column) if each.span else (0, 0)
    )


def variables_of(wrapper: Wrapper) -> list[str]:
    """In the order of their first use."""
    names = (part.name for part in all_parts(wrapper) if isinstance(part, Variable))
    return list(dict.fromkeys(names))


def _variables(wrapper: Wrapper, known: Collection[str]) -> Iterator[Diagnostic]:
    for part in all_parts(wrapper):
        if isinstance(part, Variable) and part.name not in known:
            hint = suggest(part.name, known, "given variables") or "give it: --var NAME=VALUE"
            yield error("unbound-variable", f"nothing gives ${part.name} a value", part.span, hint)


# Functions and types.


def _calls(wrapper: Wrapper) -> Iterator[Diagnostic]:
    for part in all_parts(wrapper):
        if not isinstance(part, Call):
            continue
        function = FUNCTIONS.get(part.name)
        if function is None:
            hint = suggest(part.name, FUNCTIONS, "functions")
            yield error("unknown-function", f"no function '{part.name}'", part.span, hint)
            continue
        count = len(part.arguments)
        if count < function.least or (function.most is not None and count > function.most):
            least, most = function.least, function.most
            range = f"{least} or more" if most is None else f"{least} to {most}"
            wanted = counted(least, "argument") if most == least else f"{range} arguments"
            fact = f"'{part.name}' takes {wanted}, not {count}"
            yield error("wrong-arguments", fact, part.span)
        elif part.name == "toUnixTime":
            yield from _format(part)


def _format(call: Call) -> Iterator[Diagnostic]:
    """Formats and zones that are written out can be judged before any page is read."""
    for argument, read in zip(call.arguments[1:], (reader_of, zone_named), strict=False):
        if isinstance(argument, Literal):
            try:
                read(argument.value)
            except ValueError as problem:
                yield error("bad-format", str(problem), argument.span)


def _types(wrapper: Wrapper) -> Iterator[Diagnostic]:
    for part in all_parts(wrapper):
        for needy in _needing_nodes(part):
            if type_of(needy) not in (Type.NODES, Type.ANY):
                fact = f"nodes are needed here, not a {type_of(needy)}"
                yield error("type-mismatch", fact, needy.span)


def _needing_nodes(part: Located) -> Iterator[Expr]:
    match part:
        case Path(start=Expr() as start):
            yield start
        case Filtered(subject=subject):
            yield subject
        case Binary(operator=operator, left=left, right=right) if operator == UNION:
            yield from (left, right)
        case Call(name=name, arguments=arguments) if name in FUNCTIONS:
            wanted = FUNCTIONS[name].takes
            for argument, type in zip(arguments, wanted, strict=False):
                if type is Type.NODES:
                    yield argument


def type_of(tree: Expr) -> Type:
    match tree:
        case Path() | Filtered():
            return Type.NODES
        case Literal():
            return Type.TEXT
        case Number() | Negate():
            return Type.NUMBER
        case Call(name=name):
            return FUNCTIONS[name].gives if name in FUNCTIONS else Type.ANY
        case Binary(operator=operator):
            if operator == UNION:
                return Type.NODES
            return Type.NUMBER if operator in ("+", "-", "*", "div", "mod") else Type.TRUTH
    # A variable holds a text or a number, neither of which is nodes.
    return Type.TEXT


def _styles(wrapper: Wrapper) -> Iterator[Diagnostic]:
    for part in all_parts(wrapper):
        if isinstance(part, Step) and part.axis == "style":
            test = part.test
            if test.kind is not TestKind.NAME or not test.name or test.id or test.classes:
                fact = "the style axis needs the name of a property"
                yield error("syntax", fact, part.span, "write for example style::color")


# Stars.


def _stars(wrapper: Wrapper) -> Iterator[Diagnostic]:
    for part in all_parts(wrapper):
        if isinstance(part, Star) and part.most is None and not _can_end(part.path):
            fact = "nothing in this star can come to an end"
            hint = "let a step in it find something, or bound it: (...)*{1,20}"
            yield error("endless-star", fact, part.span, hint)


def _can_end(path: Path) -> bool:
    """Whether it may lead nowhere, or to where it has been: all steps but those that stay."""
    acts = any(isinstance(part, Action) for part in all_parts(path))
    return not acts or any(_may_find_nothing(part) for part in path.parts)


def _may_find_nothing(part: Located) -> bool:
    if isinstance(part, Star):
        return part.least > 0 and _can_end(part.path)
    if not isinstance(part, Step):
        return False
    is_filtered = any(isinstance(each, Predicate) for each in part.qualifiers)
    stays = part.axis in ("self", "descendant-or-self") and part.test.kind is TestKind.NODE
    return is_filtered or not stays


# Markers.


def _markers(wrapper: Wrapper, classes: Classes | None) -> Iterator[Diagnostic]:
    yield from _below(wrapper.path, None, classes)


def _below(part: Located, record: str | None, classes: Classes | None) -> Iterator[Diagnostic]:
    """Markers in a part, which stand in a record of this type, if in any.

    In a path, what stands to the right of a marker is in its record; from a predicate, nothing gets out.
    """
    for each in children(part):
        if isinstance(each, AttributeMarker):
            yield from _attribute(each, record, classes)
        elif isinstance(each, RecordMarker):
            yield from _class(each, classes)
        yield from _below(each, record, classes)
        if isinstance(part, Path | Step):
            record = _record_after(each, record)


def _record_after(part: Located, record: str | None) -> str | None:
    """The record of what stands to the right; a star may be walked no times at all."""
    match part:
        case RecordMarker(type=own):
            return own
        case Step() | Path():
            for each in children(part):
                record = _record_after(each, record)
        case Star() if part.least:
            return _record_after(part.path, record)
    return record


def _class(marker: RecordMarker, classes: Classes | None) -> Iterator[Diagnostic]:
    if classes is not None and marker.type not in classes:
        hint = suggest(marker.type, classes, "classes")
        yield error("unknown-class", f"no class '{marker.type}'", marker.span, hint)


def _attribute(
    marker: AttributeMarker, record: str | None, classes: Classes | None
) -> Iterator[Diagnostic]:
    if record is None:
        fact = f"'{marker.name}' is an attribute of no record"
        hint = "a marker such as :<Flight> comes before its attributes"
        yield error("misplaced-marker", fact, marker.span, hint)
    elif classes is not None and record in classes and marker.name not in classes[record]:
        fact = f"class '{record}' has no attribute '{marker.name}'"
        meant = suggest(marker.name, classes[record], "attributes")
        yield error("unknown-attribute", fact, marker.span, meant)
