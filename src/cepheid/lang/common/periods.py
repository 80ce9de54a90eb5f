"""Parses periods of time: `1 min 30 sec`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cepheid.core.checks import within_calendar
from cepheid.core.time import PERIOD_UNITS, SECOND, Period, period_of
from cepheid.errors import ProgramError, Span, error
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.lexer import Kind


def at_period(cursor: Cursor) -> bool:
    following = cursor.next
    return (
        cursor.token.kind is Kind.NUMBER
        and following.kind is Kind.WORD
        and following.value in PERIOD_UNITS
    )


def period(cursor: Cursor) -> Period:
    """One or more counted units: `1 min 30 sec`."""
    start = cursor.token
    parts = []
    while at_period(cursor):
        count, unit = cursor.advance().value, cursor.advance().value
        if not isinstance(count, str):
            parts.append((count, str(unit)))
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
