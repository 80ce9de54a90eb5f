"""Checks that every way into a program shares; what fails is a ValueError with a fact."""

from __future__ import annotations

from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, MICROSECONDS, Period

_CALENDAR = LAST_INSTANT - FIRST_INSTANT
_LONGEST_MONTH = 31 * MICROSECONDS["days"]


def need(condition: bool, fact: str) -> None:
    """Trees that make no sense cannot be built; parsers say so with a place before they try."""
    if not condition:
        raise ValueError(fact)


def within_calendar(period: Period) -> Period:
    """The period itself, if it can pass between two instants."""
    length = period.microseconds + period.months * _LONGEST_MONTH
    need(length <= _CALENDAR, "this period is longer than the calendar")
    return period
