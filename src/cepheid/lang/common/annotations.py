"""Parses annotations: `@Name('x')`, `@EventTime(attribute='ts', unit='minutes')`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import cast

from cepheid.errors import Edit, Fix, warning
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import fits, name_text, signed_number
from cepheid.lang.common.lexer import Kind
from cepheid.lang.common.names import Role
from cepheid.program.tree import Annotation, Scalar

# Those that mean something to Cepheid, or are common in EPL; others are kept as they are.
KNOWN = {
    "Action": "the rows become actions where a run has an outbox",
    "Allow": "@Allow('code', 'why'): silences that finding of `cepheid check` here",
    "Cost": "@Cost(2): the price of a fix",
    "Description": "what this is for",
    "EventTime": "@EventTime(attribute='ts', unit='seconds'): which attribute holds the time of an event",
    "Hint": "has no meaning here",
    "Icon": "@Icon('🚗'): a picture of an event type, or a few letters, for the studio",
    "Name": "@Name('Crash'): what a statement is called",
    "Priority": "@Priority(5): higher ones take an event first",
    "Property": "@Property(kind='never'): a pattern that `cepheid verify` looks into",
    "Tag": "has no meaning here",
}
# What EPL has besides: about deployment, locks, files and the like, which have no counterpart here.
_WITHOUT_EFFECT = (
    *("Audit", "AvroSchemaField", "BusEventType", "EventRepresentation", "Hook"),
    *("IterableUnbound", "JsonSchema", "JsonSchemaField", "NoLock", "Private", "Protected"),
    *("Public", "XMLSchema", "XMLSchemaField", "XMLSchemaNamespacePrefix"),
)
# Arguments that are names: of which annotation, and what they are called there.
_NAMING = {
    ("name", None): Role.STATEMENT,
    ("eventtime", None): Role.TIME_ATTRIBUTE,
    ("eventtime", "attribute"): Role.TIME_ATTRIBUTE,
}
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def annotation_list(cursor: Cursor) -> tuple[Annotation, ...]:
    found = []
    while cursor.token.is_symbol("@"):
        found.append(_annotation(cursor))
    return tuple(found)


def _annotation(cursor: Cursor) -> Annotation:
    start = cursor.advance()
    name = _dotted(cursor, "the name of an annotation after '@'", Role.ANNOTATION)
    _warn_of_slip(cursor, name)
    arguments = []
    opened = cursor.take_symbol("(")
    if opened and not cursor.take_symbol(")"):
        arguments.append(_argument(cursor, name))
        while cursor.take_symbol(","):
            arguments.append(_argument(cursor, name))
        cursor.close(")", opened, f"argument list of @{name}")
    return Annotation(name, tuple(arguments), span=cursor.span_from(start))


def _warn_of_slip(cursor: Cursor, name: str) -> None:
    known = {k.lower(): k for k in (*KNOWN, *_WITHOUT_EFFECT)}
    close = get_close_matches(name.lower(), known, n=1, cutoff=0.75)
    if close and name.lower() not in known:
        span = cursor.previous.span if cursor.previous else None
        meant = known[close[0]]
        fixes = (Fix(f"write @{meant}", (Edit(span, meant),)),) if span else ()
        hint = f"did you mean '@{meant}'?"
        fact = f"no annotation '@{name}'"
        cursor.problems.append(warning("bad-annotation", fact, span, hint, fixes))


def _dotted(cursor: Cursor, what: str, role: Role = Role.OTHER) -> str:
    """Any words joined by dots; reserved ones have no other meaning here."""
    if cursor.token.kind is not Kind.WORD:
        cursor.unexpected(what)
    parts = [cursor.note(cursor.advance(), role).text]
    while cursor.token.is_symbol(".") and cursor.next.kind is Kind.WORD:
        cursor.advance()
        parts.append(cursor.advance().text)
    return ".".join(parts)


def _argument(cursor: Cursor, annotation: str) -> tuple[str | None, Scalar | tuple[Scalar, ...]]:
    name = None
    if cursor.token.kind in (Kind.WORD, Kind.QUOTED) and cursor.next.is_symbol("="):
        name = name_text(cursor.advance())
        cursor.advance()
    role = _NAMING.get((annotation.lower(), name))
    if role is not None and cursor.token.kind is Kind.STRING:
        cursor.note(cursor.token, role)
    return name, _value(cursor)


def _value(cursor: Cursor) -> Scalar | tuple[Scalar, ...]:
    opened = cursor.take_symbol("{")
    if not opened:
        return _scalar(cursor)
    values = []
    if not cursor.token.is_symbol("}"):
        values.append(_scalar(cursor))
        while cursor.take_symbol(","):
            values.append(_scalar(cursor))
    cursor.close("}", opened, "list")
    return tuple(values)


def _scalar(cursor: Cursor) -> Scalar:
    token = cursor.token
    if token.kind is Kind.STRING:
        return str(cursor.advance().value)
    if token.kind is Kind.NUMBER or token.is_symbol("-"):
        return _number(cursor)
    if token.is_word(*_CONSTANTS):
        return _CONSTANTS[str(cursor.advance().value)]
    return _dotted(cursor, "a string, a number, true, false, null or a list in braces")


def _number(cursor: Cursor) -> int | float:
    if cursor.token.is_symbol("-") and cursor.next.kind is not Kind.NUMBER:
        cursor.advance()
        cursor.unexpected("a number after '-'")
    literal = signed_number(cursor)
    return cast("int | float", literal.value) if fits(literal) else 0
