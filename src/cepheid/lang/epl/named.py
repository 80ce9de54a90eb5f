"""Parses named things with arguments: `timer:within(3 seconds)`, `length(5)`."""

from __future__ import annotations

from cepheid.core.time import PERIOD_UNITS, Period, unit_name
from cepheid.core.types import LONG
from cepheid.errors import ProgramError, error
from cepheid.expr.tree import Expr, Literal
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import expression
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.periods import at_period, period
from cepheid.lang.epl.lower import Argument, Named, Told


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
        constant = period(cursor)
        if cursor.token.is_symbol(",", ")"):
            return Argument(constant, cursor.span_from(start))
        told = _told_period(cursor, expression(cursor), constant)
        return Argument(told, cursor.span_from(start))
    value = expression(cursor)
    if cursor.token.kind is not Kind.WORD:
        return Argument(value, cursor.span_from(start))
    return Argument(_told_period(cursor, value, Period()), cursor.span_from(start))


def _told_period(cursor: Cursor, amount: Expr, before: Period) -> Told:
    """`a.n min 30 sec`, of which the first amount has been taken, and what is constant before it."""
    constant = ((before.months, "months"), (before.microseconds, "microseconds"))
    amounts: list[Expr] = [Literal(count, type=LONG) for count, _ in constant if count]
    units = [unit for count, unit in constant if count]
    amounts.append(amount)
    while True:
        unit = cursor.token
        if unit.kind is not Kind.WORD or unit.value not in PERIOD_UNITS:
            cursor.unexpected("a time unit, for example 'seconds'", tuple(sorted(PERIOD_UNITS)))
        units.append(unit_name(str(cursor.advance().value)))
        if cursor.token.is_symbol(",", ")"):
            return Told(tuple(amounts), tuple(units))
        amounts.append(expression(cursor))
