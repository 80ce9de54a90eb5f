"""Calendar schedules of `timer:at`, in UTC or in a time zone."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

from cepheid.core.time import MICROSECOND, MICROSECONDS, Instant, to_datetime, to_instant

# The smallest and largest value of each field; days of the week count from Sunday, 0.
RANGES: dict[str, tuple[int, int]] = {
    "minutes": (0, 59),
    "hours": (0, 23),
    "days": (1, 31),
    "months": (1, 12),
    "weekdays": (0, 6),
    "seconds": (0, 59),
    "milliseconds": (0, 999),
    "microseconds": (0, 999),
}
# What days and weekdays may be besides numbers, and where the numbers in it come from.
_RULES = {"working_days": "days", "last_weekdays": "weekdays"}
# A leap day that must also be a given weekday comes again within 40 years.
_HORIZON_YEARS = 41
_ZERO = frozenset({0})
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)
# Zones change their offsets more seldom than this.
_SELDOM = 7 * MICROSECONDS["days"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The values at which each field fires, in the order EPL writes them; None is any value.

    Where both days and weekdays are given, a day that fits either counts, as in cron. An instant
    belongs to a schedule in a zone if the clocks there show a time that fits: an hour that they leave
    out is left out, and one that they repeat counts twice.
    """

    minutes: frozenset[int] | None = None
    hours: frozenset[int] | None = None
    days: frozenset[int] | None = None
    months: frozenset[int] | None = None
    weekdays: frozenset[int] | None = None
    seconds: frozenset[int] | None = _ZERO
    milliseconds: frozenset[int] | None = _ZERO
    microseconds: frozenset[int] | None = _ZERO
    last_day: bool = False  # of the month, beside `days`
    last_working_day: bool = False  # of the month, Monday to Friday
    working_days: frozenset[int] = frozenset()  # the nearest working day of the month to each
    last_weekdays: frozenset[int] = frozenset()  # the last Monday of the month, beside `weekdays`
    zone: str | None = None

    def __post_init__(self) -> None:
        for name in RANGES:
            values = getattr(self, name)
            if values is not None and not values and not self._has_rule(name):
                raise ValueError(f"the {name} of a schedule are empty")
            _check_range(name, values or ())
        for rule, name in _RULES.items():
            _check_range(name, getattr(self, rule))
        if self.zone is not None:
            zone_named(self.zone)

    def _has_rule(self, name: str) -> bool:
        if name == "days":
            return self.last_day or self.last_working_day or bool(self.working_days)
        return name == "weekdays" and bool(self.last_weekdays)

    @property
    def has_date(self) -> bool:
        """Whether there are days at which it does not come."""
        fields = (self.days, self.months, self.weekdays)
        return self.zone is not None or any(field is not None for field in fields)

    @property
    def is_plain(self) -> bool:
        """Whether it goes by numbers from minutes to seconds, in UTC."""
        has_rules = self._has_rule("days") or self._has_rule("weekdays")
        return not has_rules and self.zone is None and self.resolution == MICROSECONDS["seconds"]

    @property
    def resolution(self) -> int:
        """The microseconds that divide its times of day."""
        if self.microseconds != _ZERO:
            return 1
        return MICROSECONDS["seconds" if self.milliseconds == _ZERO else "milliseconds"]

    def after(self, instant: Instant) -> Instant | None:
        """The first instant of the schedule after the given one; None if it never comes."""
        try:
            return self._after(instant) if self.zone is None else self._after_in_zone(instant)
        except OverflowError:  # the calendar ends before, with the year 9999
            return None

    def _after_in_zone(self, instant: Instant) -> Instant | None:
        assert self.zone is not None
        zone = zone_named(self.zone)
        while True:
            offset = _offset(zone, instant + 1)
            shown = self._after(instant + offset)
            if shown is None:
                return None
            change = _first_change(zone, instant + 1, shown - offset)
            if change is None:
                return shown - offset
            instant = change - 1

    def _after(self, instant: Instant) -> Instant | None:
        """The same where clocks never change."""
        start = to_datetime(instant + 1)
        second = start.replace(microsecond=0)
        found = self._first_second(second)
        if found == second:
            part = self._first_part(start.microsecond)
            if part is not None:
                return to_instant(found) + part
            found = self._first_second(second + timedelta(seconds=1))
        part = self._first_part(0)
        return None if found is None or part is None else to_instant(found) + part

    def _first_second(self, moment: datetime) -> datetime | None:
        """The first second from a moment on in which the schedule comes."""
        last_year = moment.year + _HORIZON_YEARS
        while moment.year <= last_year:
            if self.months is not None and moment.month not in self.months:
                moment = _first_of_next_month(moment)
            elif not self._fits_day(moment):
                moment = moment.replace(hour=0, minute=0, second=0) + timedelta(days=1)
            elif self.hours is not None and moment.hour not in self.hours:
                moment = moment.replace(minute=0, second=0) + timedelta(hours=1)
            elif self.minutes is not None and moment.minute not in self.minutes:
                moment = moment.replace(second=0) + timedelta(minutes=1)
            elif self.seconds is not None and moment.second not in self.seconds:
                moment += timedelta(seconds=1)
            else:
                return moment
        return None

    def _first_part(self, microseconds: int) -> int | None:
        """The first part of a second, from one on."""
        milliseconds, rest = divmod(microseconds, 1000)
        if self.milliseconds is None or milliseconds in self.milliseconds:
            found = _first_from(self.microseconds, rest)
            if found is not None:
                return milliseconds * 1000 + found
        later = _first_from(self.milliseconds, milliseconds + 1)
        first = _first_from(self.microseconds, 0)
        return None if later is None or first is None else later * 1000 + first

    def _fits_day(self, moment: datetime) -> bool:
        fits_day = self.days is None or moment.day in self.days or self._fits_rule(moment)
        weekday = moment.isoweekday() % 7
        is_last = moment.day > _days_in_month(moment) - 7
        fits_weekday = (
            self.weekdays is None
            or weekday in self.weekdays
            or (is_last and weekday in self.last_weekdays)
        )
        if self.days is not None and self.weekdays is not None:
            return fits_day or fits_weekday
        return fits_day and fits_weekday

    def _fits_rule(self, moment: datetime) -> bool:
        last = _days_in_month(moment)
        if self.last_day and moment.day == last:
            return True
        if self.last_working_day and moment.day == _last_working_day(moment):
            return True
        wanted = (min(day, last) for day in self.working_days)
        return any(moment.day == _nearest_working_day(moment, day) for day in wanted)


def _check_range(name: str, values: frozenset[int] | tuple[()]) -> None:
    low, high = RANGES[name]
    for value in values:
        if not low <= value <= high:
            raise ValueError(f"{name} go from {low} to {high}, not {value}")


def _first_from(values: frozenset[int] | None, low: int) -> int | None:
    """The least of the values of a part of a second that is not below another."""
    if values is None:
        return low if low < 1000 else None
    return min((value for value in values if value >= low), default=None)


def _first_of_next_month(moment: datetime) -> datetime:
    first = moment.replace(day=1, hour=0, minute=0, second=0)
    return (first + timedelta(days=32)).replace(day=1)


def _days_in_month(moment: datetime) -> int:
    return monthrange(moment.year, moment.month)[1]


def _last_working_day(moment: datetime) -> int:
    last = moment.replace(day=_days_in_month(moment))
    return last.day - max(last.isoweekday() - 5, 0)


def _nearest_working_day(moment: datetime, day: int) -> int:
    """Friday for a Saturday and Monday for a Sunday, unless that is in another month."""
    wanted = moment.replace(day=day)
    if wanted.isoweekday() == 6:
        return day - 1 if day > 1 else day + 2
    if wanted.isoweekday() == 7:
        return day + 1 if day < _days_in_month(moment) else day - 2
    return day


# Zones.


@cache
def zone_named(name: str) -> tzinfo:
    """A zone by its name (`Europe/Zurich`) or by its offset (`+02:00`, `GMT-5`)."""
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    if found := _OFFSET.fullmatch(name):
        sign = -1 if found[1] == "-" else 1
        minutes = int(found[2]) * 60 + int(found[3] or 0)
        if minutes < 24 * 60:
            return timezone(sign * timedelta(minutes=minutes))
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ValueError(f"no time zone '{name}'") from None


def _offset(zone: tzinfo, instant: Instant) -> int:
    """What clocks in a zone show beyond UTC, in microseconds."""
    offset = to_datetime(instant).astimezone(zone).utcoffset()
    assert offset is not None
    return offset // MICROSECOND


def _first_change(zone: tzinfo, start: Instant, end: Instant) -> Instant | None:
    """When the offset of a zone first differs from that at the start; None if not up to the end."""
    offset = _offset(zone, start)
    same = start
    while same < end:
        later = min(same + _SELDOM, end)
        if _offset(zone, later) != offset:
            while later - same > 1:
                middle = (same + later) // 2
                if _offset(zone, middle) == offset:
                    same = middle
                else:
                    later = middle
            return later
        same = later
    return None
