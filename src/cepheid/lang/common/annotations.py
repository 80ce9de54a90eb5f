"""Parses annotations: `@Name('x')`, `@EventTime(attribute='ts', unit='minutes')`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import cast

from cepheid.errors import warning
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import fits, name_text, signed_number
from cepheid.lang.common.lexer import Kind
from cepheid.program.tree import Annotation, Scalar

# Those that mean something to Cepheid, or are common in EPL; others are kept as they are.
_KNOWN = (
    "Action",
    "Allow",
    "Description",
    "EventTime",
    "Hint",
    "Name",
    "Priority",
    "Property",
    "Tag",
)
# What EPL has besides: about deployment, locks, files and the like, which have no counterpart here.
_WITHOUT_EFFECT = (
    *("Audit", "AvroSchemaField", "BusEventType", "EventRepresentation", "Hook"),
    *("IterableUnbound", "JsonSchema", "JsonSchemaField", "NoLock", "Private", "Protected"),
    *("Public", "XMLSchema", "XMLSchemaField", "XMLSchemaNamespacePrefix"),
)
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def annotation_list(cursor: Cursor) -> tuple[Annotation, ...]:
    found = []
    while cursor.token.is_symbol("@"):
        found.append(_annotation(cursor))
    return tuple(found)


def _annotation(cursor: Cursor) -> Annotation:
    start = cursor.advance()
    name = _dotted(cursor, "the name of an annotation after '@'")
    _warn_of_slip(cursor, name)
    arguments = []
    opened = cursor.take_symbol("(")
    if opened and not cursor.take_symbol(")"):
        arguments.append(_argument(cursor))
        while cursor.take_symbol(","):
            arguments.append(_argument(cursor))
        cursor.close(")", opened, f"argument list of @{name}")
    return Annotation(name, tuple(arguments), span=cursor.span_from(start))


def _warn_of_slip(cursor: Cursor, name: str) -> None:
    known = {k.lower(): k for k in (*_KNOWN, *_WITHOUT_EFFECT)}
    close = get_close_matches(name.lower(), known, n=1, cutoff=0.75)
    if close and name.lower() not in known:
        span = cursor.previous.span if cursor.previous else None
        hint = f"did you mean '@{known[close[0]]}'?"
        cursor.problems.append(warning("bad-annotation", f"no annotation '@{name}'", span, hint))


def _dotted(cursor: Cursor, what: str) -> str:
    """Any words joined by dots; reserved ones have no other meaning here."""
    if cursor.token.kind is not Kind.WORD:
        cursor.unexpected(what)
    parts = [cursor.advance().text]
    while cursor.token.is_symbol(".") and cursor.next.kind is Kind.WORD:
        cursor.advance()
        parts.append(cursor.advance().text)
    return ".".join(parts)


def _argument(cursor: Cursor) -> tuple[str | None, Scalar | tuple[Scalar, ...]]:
    name = None
    if cursor.token.kind in (Kind.WORD, Kind.QUOTED) and cursor.next.is_symbol("="):
        name = name_text(cursor.advance())
        cursor.advance()
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
