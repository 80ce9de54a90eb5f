"""When a run starts, and how callers name an instant."""

from __future__ import annotations

from datetime import datetime

from cepheid.core.time import Instant, format_instant, parse_instant
from cepheid.errors import InputError, LateEvent, Span, error

Time = int | float | str | datetime


def instant_of(time: Time, name: str | None = None) -> Instant:
    """An instant from a number of seconds, a datetime or an ISO text; InputError otherwise."""
    try:
        return parse_instant(time)
    except (ValueError, OverflowError) as problem:
        fact = f"{name}: {problem}" if name else str(problem)
        raise InputError(error("bad-time", fact)) from None


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
