"""When a run starts, and how callers name an instant or a length of time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from cepheid.core.time import Instant, Period, format_instant, parse_instant, parse_length
from cepheid.errors import InputError, LateEvent, Span, UsageError, error

Time = int | float | str | datetime
Length: TypeAlias = str | int | float | timedelta | Period


def instant_of(time: Time, name: str | None = None) -> Instant:
    """An instant from a number of seconds, a datetime or an ISO text; InputError otherwise."""
    try:
        return parse_instant(time)
    except (ValueError, OverflowError) as problem:
        fact = f"{name}: {problem}" if name else str(problem)
        raise InputError(error("bad-time", fact)) from None


def extent_of(start: Time | None, end: Time | None) -> tuple[Instant | None, Instant | None]:
    """When a run starts and when it ends, as far as that is said; UsageError where it would end first."""
    first = None if start is None else instant_of(start, "start")
    last = None if end is None else instant_of(end, "end")
    if first is not None and last is not None and last < first:
        fact = f"the end, {format_instant(last)}, is before the start, {format_instant(first)}"
        raise UsageError(error("usage", fact))
    return first, last


def length_of(length: Length, what: str) -> int:
    """Microseconds, from a text such as '1m', a period, a timedelta, or a number of seconds."""
    try:
        if isinstance(length, Period):
            period = parse_length(str(length))
        elif isinstance(length, str):
            period = parse_length(length)
        elif isinstance(length, timedelta):
            period = Period(length // timedelta(microseconds=1))
        else:
            period = Period(round(length * 1_000_000))
        if period.is_zero:
            raise ValueError(f"{length!r} is no time at all")
    except (ValueError, OverflowError) as problem:
        raise UsageError(error("usage", f"{what}: {problem}")) from None
    return period.microseconds


def ends_at(last: Instant | None, end: Instant | None, place: Span | None = None) -> Instant | None:
    """Up to when the clock runs, beside the largest time of the input, which has a place."""
    if end is None:
        return last
    if last is not None and last > end:
        fact = f"an event at {format_instant(last)} is after the end"
        raise LateEvent(error("late-event", fact, place, f"end is {format_instant(end)}"))
    return end


def starts_at(
    first: Instant | None, start: Instant | None, place: Span | None = None
) -> Instant | None:
    """When the clock starts, beside the smallest time of the input; None where there is neither."""
    if start is None:
        return first
    if first is not None and first < start:
        fact = f"an event at {format_instant(first)} is before the start"
        raise LateEvent(error("late-event", fact, place, f"start is {format_instant(start)}"))
    return start
