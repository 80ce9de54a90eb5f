"""What the builder refuses, each as a UsageError: names, numbers and periods that make no sense."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NoReturn, TypeAlias, TypeVar

from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, MICROSECOND, SECOND, Period, parse_period
from cepheid.core.values import shown
from cepheid.errors import UsageError, error
from cepheid.lang.epl.cursor import MAX_HEIGHT

# How people write a length of time: `"3 seconds"`, a timedelta, a number of seconds.
PeriodLike: TypeAlias = str | timedelta | int | float

T = TypeVar("T")
_LONGEST = LAST_INSTANT - FIRST_INSTANT
_MONTH = timedelta(days=31) // MICROSECOND


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
    """A name that EPL can write, if need be in backquotes."""
    if not isinstance(value, str):
        refuse("usage", f"{what} is a text, not {shown(value)}")
    if not value or "`" in value or "\n" in value:
        refuse("usage", f"{value!r} cannot be {what}", "names have one line and no backquotes")
    return value


def whole(value: object, what: str, code: str = "usage", least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        refuse(code, f"{what} is a whole number from {least}, not {shown(value)}")
    return value


def period(value: PeriodLike) -> Period:
    """The period that a text, a timedelta or a number of seconds stands for."""
    with refusing("bad-period"):
        found = _period(value)
    if found.microseconds + found.months * _MONTH > _LONGEST:
        refuse("bad-period", "this period is longer than the calendar")
    return found


def _period(value: PeriodLike) -> Period:
    if isinstance(value, str):
        return parse_period(value)
    if isinstance(value, timedelta):
        return Period(value // MICROSECOND)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and math.isfinite(value):
        return Period(round(value * SECOND))
    raise ValueError(f"{shown(value)} is not a time period; write for example '3 seconds'")


def check_height(root: T, children: Callable[[T], Iterable[T]], what: str) -> T:
    """The tree itself; the parsers refuse higher ones too.

    Python can share one part many times, so each level looks at every part once.
    """
    level, height = [root], 0
    while level:
        height += 1
        if height > MAX_HEIGHT:
            refuse("too-deep", f"{what} with more than {MAX_HEIGHT} operators inside one another")
        level = list({id(child): child for node in level for child in children(node)}.values())
    return root
