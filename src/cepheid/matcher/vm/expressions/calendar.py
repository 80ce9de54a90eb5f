"""Periods after instants, as `core.time` has them, for compiled code."""

from __future__ import annotations

from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT
from cepheid.matcher.vm.jit import part

_DAY = 86_400_000_000
_ERA = 146_097  # days of four centuries
_MARCH = 719_468  # days from 1 March of year 0 to the epoch


@part
def after_period(instant, microseconds, months):
    if months != 0:
        instant = add_months(instant, months)
    return instant + microseconds


@part
def add_months(instant, months):
    """Years begin in March here, so that the leap day is the last one."""
    days, time = instant // _DAY, instant % _DAY
    year, month, day = _civil(days)
    total = year * 12 + month - 1 + months
    year, month = total // 12, total % 12 + 1
    if year > 9999:
        return LAST_INSTANT + 1
    if year < 1:
        return FIRST_INSTANT - 1
    day = min(day, _month_length(year, month))
    return _days(year, month, day) * _DAY + time


@part
def _civil(days):
    days += _MARCH
    era, of_era = days // _ERA, days % _ERA
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    place = (5 * of_year + 2) // 153
    month = place + 3 if place < 10 else place - 9
    return year + era * 400 + (1 if month <= 2 else 0), month, of_year - (153 * place + 2) // 5 + 1


@part
def _days(year, month, day):
    if month <= 2:
        year -= 1
    era, of_era = year // 400, year % 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * _ERA + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _MARCH


@part
def _month_length(year, month):
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31
