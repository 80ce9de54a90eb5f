"""Parses periods of time: `1 min 30 sec`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

from cepheid.core.checks import within_calendar
from cepheid.core.time import PERIOD_UNITS, SECOND, Period, no_unit, parse_period, period_of
from cepheid.errors import Fix, ProgramError, Span, error
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.lexer import Kind, Token


def at_period(cursor: Cursor) -> bool:
    token, following = cursor.token, cursor.next
    is_unit = following.kind is Kind.WORD and following.value in PERIOD_UNITS
    return token.kind is Kind.NUMBER and (is_unit or _is_days(token))


def _is_days(token: Token) -> bool:
    """Where a period stands, `1d` is a day; elsewhere it is a double."""
    return token.kind is Kind.NUMBER and token.text[-1:] in ("d", "D")


def refuse_unit(cursor: Cursor) -> None:
    """Says what is wrong with the word after a number."""
    number, word = cursor.token, cursor.next
    fact, hint = no_unit(word.text)
    fixes: tuple[Fix, ...] = ()
    with suppress(ValueError):  # 1h30m, which programs write apart
        meant = str(parse_period(number.text + word.text))
        hint = f"did you mean '{meant}'?"
        fixes = (Fix.writing(meant, number.span.to(word.span)),)
    cursor.refuse(fact, word.span, hint, fixes)


def period(cursor: Cursor) -> Period:
    """One or more counted units: `1 min 30 sec`."""
    start = cursor.token
    parts: list[tuple[int | float, str]] = []
    while at_period(cursor):
        token = cursor.advance()
        unit = "d" if _is_days(token) else cursor.advance().value
        if isinstance(token.value, int | float):
            parts.append((token.value, str(unit)))
    if not parts and cursor.token.kind is Kind.NUMBER and cursor.next.kind is Kind.WORD:
        refuse_unit(cursor)
    if not parts:
        cursor.unexpected("a time period, for example '3 seconds'")
    found = cursor.lowered(exact_period, parts, cursor.span_from(start))
    return found or Period(SECOND)  # of a refused period, something no rule refuses again


def exact_period(parts: Sequence[tuple[int | float, str]], span: Span) -> Period:
    """Counted units as a period; ProgramError where the calendar has none such."""
    if not all(math.isfinite(count) for count, _ in parts):
        raise ProgramError(error("bad-period", "this period is longer than the calendar", span))
    try:
        return within_calendar(period_of(list(parts)))
    except ValueError as fact:
        raise ProgramError(error("bad-period", str(fact), span)) from None
