"""When a period is over that events tell: `timer:interval(a.n seconds)`.

A period that is null, or not a number, is never over; one that is zero or negative is over at once.
Of years and months only whole ones count, everything else is rounded to microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from cepheid.core.event import Value
from cepheid.core.time import LAST_INSTANT, Instant, add_months, unit_length
from cepheid.expr.values import is_number

_MOST_MONTHS = 12 * 10_000  # more than the calendar has


def end_of(amounts: Iterable[Value], units: Iterable[str], now: Instant) -> Instant | None:
    """When a period that begins now is over; None if never."""
    months, microseconds = 0, 0
    for amount, unit in zip(amounts, units, strict=True):
        if not isinstance(amount, int | float) or not is_number(amount) or math.isnan(amount):
            return None
        unit_months, unit_microseconds = unit_length(unit)
        counted = max(min(amount, LAST_INSTANT), -LAST_INSTANT)
        months += int(counted) * unit_months
        microseconds += round(counted * unit_microseconds)
    months = max(min(months, _MOST_MONTHS), -_MOST_MONTHS)
    due = (add_months(now, months) if months else now) + microseconds
    return None if due > LAST_INSTANT else max(due, now)
