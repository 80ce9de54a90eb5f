"""Parses named things with arguments: `timer:within(3 seconds)`, `length(5)`."""

from __future__ import annotations

from cepheid.core.time import PERIOD_UNITS
from cepheid.errors import ProgramError, error
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import expression
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.periods import at_period, period
from cepheid.lang.epl.lower import Argument, Named


def named(cursor: Cursor, name: str, start: Token) -> Named:
    """The arguments that follow a name, which has been taken from the start on."""
    found: list[Argument] = []
    opened = cursor.take_symbol("(")
    if opened and not cursor.take_symbol(")"):
        found.append(_argument(cursor))
        while cursor.take_symbol(","):
            found.append(_argument(cursor))
        cursor.close(")", opened, f"argument list of {name}")
    return Named(name, tuple(found), cursor.span_from(start))


def _argument(cursor: Cursor) -> Argument:
    start = cursor.token
    if (
        start.is_symbol("-")
        and cursor.next.kind is Kind.NUMBER
        and cursor.after_next.value in PERIOD_UNITS
    ):
        raise ProgramError(error("bad-period", "a period is never negative", start.span))
    if at_period(cursor) or (start.kind is Kind.NUMBER and cursor.next.kind is Kind.WORD):
        value = period(cursor)
        return Argument(value, cursor.span_from(start))
    return Argument(expression(cursor), cursor.span_from(start))
