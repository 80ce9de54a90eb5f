"""Parses what stands in the clauses of a class and is no SQL: typed attributes and lengths of time."""

from __future__ import annotations

import re

from cepheid.core.checks import within_calendar
from cepheid.core.time import MICROSECONDS, Period
from cepheid.core.types import Attribute, DataType
from cepheid.errors import ProgramError, Span, error, suggest
from cepheid.lang.bicepl.cursor import BiceplCursor
from cepheid.lang.bicepl.notation import UNITS, print_type
from cepheid.lang.common.expressions import name_text
from cepheid.lang.common.lexer import Kind
from cepheid.lang.common.names import Role
from cepheid.program.classes import TYPES, USUAL_TYPES

_TIME = re.compile(r"([0-9]{1,18})([smhd])", re.IGNORECASE)


def attribute(cursor: BiceplCursor) -> tuple[Attribute, Span]:
    """`name TYPE`, and its place."""
    name = cursor.name("the name of an attribute", Role.NEW_ATTRIBUTE)
    found = Attribute(name_text(name), _type(cursor))
    return found, cursor.span_from(name)


def _type(cursor: BiceplCursor) -> DataType:
    token = cursor.token
    found = TYPES.get(token.text.upper()) if token.kind is Kind.WORD else None
    if found is None:
        cursor.unexpected("a type", hint=suggest(token.text, USUAL_TYPES, "types"))
    cursor.advance()
    if cursor.token.is_symbol("("):
        hint = f"write {print_type(found)}"
        cursor.report("syntax", "types have no length here", cursor.token.span, hint)
        cursor.skip_group()
    return found


def time(cursor: BiceplCursor) -> Period:
    """`2d` or `(2d)`; of one that is refused, something that no rule refuses again."""
    opened = cursor.take_symbol("(")
    token = cursor.token
    match = _TIME.fullmatch(token.text) if token.kind is Kind.NUMBER else None
    if match is None:
        hint = "a whole number and one of s, m, h, d: 90s, 30m, 12h, 2d"
        cursor.unexpected("a length of time", hint=hint)
    cursor.advance()
    found = cursor.lowered(_period, int(match[1]), match[2].lower(), token.span)
    if opened:
        cursor.close(")", opened, "time", ())
    return found or Period()


def _period(count: int, unit: str, span: Span) -> Period:
    try:
        return within_calendar(Period(count * MICROSECONDS[UNITS[unit]]))
    except ValueError as fact:
        raise ProgramError(error("bad-period", str(fact), span)) from None
