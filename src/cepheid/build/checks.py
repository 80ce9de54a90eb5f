"""What the builder refuses, each as a UsageError: names, numbers and periods that make no sense."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NoReturn, TypeAlias

from cepheid.core.checks import within_calendar
from cepheid.core.numbers import LONG_RANGE
from cepheid.core.time import MICROSECOND, SECOND, Period, parse_period
from cepheid.core.values import shown
from cepheid.errors import UsageError, error

# How people write a length of time: `"3 seconds"`, a timedelta, a number of seconds.
PeriodLike: TypeAlias = str | timedelta | int | float
_, _MOST = LONG_RANGE


def refuse(code: str, fact: str, hint: str | None = None) -> NoReturn:
    raise UsageError(error(code, fact, hint=hint)) from None


@contextmanager
def refusing(code: str, hint: str | None = None) -> Iterator[None]:
    """The facts for which nodes and types refuse their values, with a code."""
    try:
        yield
    except ValueError as fact:
        refuse(code, str(fact), hint)


def name(value: object, what: str) -> str:
    """A name that a text can write, if need be in backquotes."""
    if not isinstance(value, str):
        refuse("usage", f"{what} is a text, not {shown(value)}")
    if not value or "`" in value or "\n" in value:
        refuse("usage", f"{value!r} cannot be {what}", "names have one line and no backquotes")
    return value


def whole(value: object, what: str, code: str = "usage", least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        refuse(code, f"{what} is a whole number from {least}, not {shown(value)}")
    return value


def period(value: PeriodLike) -> Period:
    """The period that a text, a timedelta or a number of seconds stands for."""
    try:
        with refusing("bad-period"):
            return within_calendar(_period(value))
    except OverflowError:  # of a number beyond every double
        refuse("bad-period", "this period is longer than the calendar")


def _period(value: PeriodLike) -> Period:
    if isinstance(value, str):
        return parse_period(value)
    if isinstance(value, timedelta):
        return Period(value // MICROSECOND)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and math.isfinite(value):
        return Period(round(value * SECOND))
    raise ValueError(f"{shown(value)} is not a time period; write for example '3 seconds'")
