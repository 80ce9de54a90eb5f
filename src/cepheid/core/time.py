"""Instants and periods.

An instant is an integer number of microseconds since the epoch, UTC. A period has months, which
are added on the UTC calendar, and microseconds, which are added exactly. Nothing here reads a clock.
"""

from __future__ import annotations

import calendar
import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

from cepheid.errors import suggest

Instant = int
TimeUnit = Literal["microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "weeks"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000
# The years that datetime can print; instants outside them are refused where they enter.
FIRST_INSTANT = (datetime.min.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
LAST_INSTANT = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
BEGIN = 1_767_225_600 * SECOND  # when events that are made up begin: the first instant of 2026

_LAST_YEAR = 9999

MICROSECONDS: dict[TimeUnit, int] = {
    "microseconds": 1,
    "milliseconds": 1_000,
    "seconds": SECOND,
    "minutes": 60 * SECOND,
    "hours": 3_600 * SECOND,
    "days": 86_400 * SECOND,
    "weeks": 604_800 * SECOND,
}


@dataclass(frozen=True, slots=True)
class Period:
    """A length of time; never negative."""

    microseconds: int = 0
    months: int = 0

    def __post_init__(self) -> None:
        if self.microseconds < 0 or self.months < 0:
            raise ValueError("a period is never negative")

    @property
    def is_zero(self) -> bool:
        return not (self.microseconds or self.months)

    def after(self, instant: Instant) -> Instant:
        """The instant that lies this period after the given one."""
        if self.months:
            instant = add_months(instant, self.months)
        return instant + self.microseconds

    def __str__(self) -> str:
        """As EPL writes it: `1 year 2 months 3 minutes`; zero is `0 seconds`."""
        parts = []
        years, months = divmod(self.months, 12)
        rest = self.microseconds
        counts = [(years, "year"), (months, "month")]
        for unit in ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds"):
            count, rest = divmod(rest, MICROSECONDS[unit])
            counts.append((count, unit[:-1]))
        parts = [f"{n} {name}{'' if n == 1 else 's'}" for n, name in counts if n]
        return " ".join(parts) or "0 seconds"


def clock_after(clock: Instant, period: Period) -> Instant:
    """A clock after a period; ValueError where the calendar ends before."""
    found = period.after(clock)
    if found > LAST_INSTANT:
        raise ValueError("the clock moves beyond the year 9999")
    return found


def add_months(instant: Instant, months: int) -> Instant:
    """Calendar months later (or earlier), on the last day of a month without such a day."""
    moment = EPOCH + instant * MICROSECOND
    total = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(total, 12)
    if year > _LAST_YEAR:
        return LAST_INSTANT + 1  # beyond the calendar: never reached
    if year < 1:
        return FIRST_INSTANT - 1
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return to_instant(moment.replace(year=year, month=month + 1, day=day))


@lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """The zone of a name such as Europe/Berlin; ValueError with a fact where there is none."""
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"no time zone {name!r}") from None


def to_instant(moment: datetime, zone: tzinfo = UTC) -> Instant:
    """Microseconds since the epoch; a datetime without a zone is one of the given.

    Of two instants that a clock shows alike, the earlier is meant; what it skips is counted on from
    before the gap.
    """
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return (moment - EPOCH) // MICROSECOND


def to_datetime(instant: Instant) -> datetime:
    return EPOCH + instant * MICROSECOND


_EPOCH_DAY = EPOCH.toordinal()


def to_day(day: date) -> int:
    """Days since the epoch."""
    return day.toordinal() - _EPOCH_DAY


def to_date(day: int) -> date:
    return date.fromordinal(day + _EPOCH_DAY)


def format_instant(instant: Instant) -> str:
    """ISO 8601, UTC, with as few fractional digits as needed."""
    moment = to_datetime(instant)
    text = moment.replace(tzinfo=None, microsecond=0).isoformat()
    if moment.microsecond:
        text += "." + f"{moment.microsecond:06d}".rstrip("0")
    return text + "Z"


# The texts that are times, on every engine: Java reads the patterns as Python does.
_HOUR, _SIXTIETH = "([01][0-9]|2[0-3])", "([0-5][0-9])"


def _time_pattern(year: str, dash: str) -> str:
    return (
        rf"^\s*({year})({dash})(?:([0-9]{{2}})\2([0-9]{{2}})|W([0-9]{{2}})(?:\2([1-7]))?)"
        rf"(?:[Tt ]{_HOUR}(?:(:?){_SIXTIETH}(?:\8{_SIXTIETH}(?:[.,]([0-9]+))?)?)?"
        rf"(?: ?(Z|([+-]){_HOUR}(?:(:?){_SIXTIETH}(?:\15{_SIXTIETH})?)?))?)?\s*$"
    )


ISO_TIME = _time_pattern("(?!0000)[0-9]{4}", "-?")
# The same outside the years 1 to 9999; without dashes they would be numbers.
FAR_TIME = _time_pattern("[+-]?[0-9]{5,}|-[0-9]{4}|0000", "-")
_iso_time = re.compile(ISO_TIME, re.ASCII)
_far_time = re.compile(FAR_TIME, re.ASCII)
_usual_time = re.compile(r"\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d(?:\.\d+)?Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class FarTime:
    """A time outside the years 1 to 9999, which no datetime holds, as its source says it."""

    text: str

    def __repr__(self) -> str:
        return repr(self.text)


def is_far(text: str) -> bool:
    """Whether a text is a day or a time but for its year."""
    return _far_time.match(text) is not None


def outside_calendar(value: object, what: str = "time") -> ValueError:
    return ValueError(f"{what} {value!r} is outside the years 1 to 9999")


def parse_instant(value: object, unit: TimeUnit = "seconds", zone: tzinfo = UTC) -> Instant:
    """An instant from what people write: a number of units, a datetime, an ISO 8601 text.

    Datetimes and texts without a zone are of the given one. Raises ValueError with a fact; callers
    add the place.
    """
    instant = _parse_instant(value, unit, zone)
    if not FIRST_INSTANT <= instant <= LAST_INSTANT:
        raise outside_calendar(value)
    return instant


def _parse_instant(value: object, unit: TimeUnit, zone: tzinfo) -> Instant:
    if isinstance(value, datetime):
        return to_instant(value, zone)
    if isinstance(value, date):
        return to_instant(datetime(value.year, value.month, value.day, tzinfo=zone))
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is not a time")
    if isinstance(value, int):
        return value * MICROSECONDS[unit]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value!r} is not a time")
        return round(value * MICROSECONDS[unit])
    if isinstance(value, str):
        try:
            return to_instant(_moment(value), zone)
        except (ValueError, OverflowError):
            if is_far(value):
                raise outside_calendar(value) from None
            raise ValueError(f"{value!r} is not an ISO 8601 time") from None
    if isinstance(value, FarTime):
        raise outside_calendar(value)
    raise ValueError(f"{value!r} is not a time")


def _moment(text: str) -> datetime:
    """What a text says; ValueError where it is none of `ISO_TIME`."""
    if _usual_time.fullmatch(text):  # which takes less time than the whole pattern
        return datetime.fromisoformat(text)
    if _iso_time.match(text) is None:
        raise ValueError
    stripped = text.strip()
    return datetime.fromisoformat(stripped[:11] + stripped[11:].replace(" ", ""))


# How units of periods are spelled, in programs, options, files and Python alike.
_SPELLINGS: dict[tuple[int, int], str] = {
    # (months, microseconds) -> spellings
    (12, 0): "year years yr yrs y",
    (1, 0): "month months",
    (0, MICROSECONDS["weeks"]): "week weeks w",
    (0, MICROSECONDS["days"]): "day days d",
    (0, MICROSECONDS["hours"]): "hour hours hr hrs h",
    (0, MICROSECONDS["minutes"]): "minute minutes min mins m",
    (0, SECOND): "second seconds sec secs s",
    (0, 1_000): "millisecond milliseconds msec msecs millis ms",
    (0, 1): "microsecond microseconds usec usecs micros us",
}
_PERIOD_UNITS = {word: unit for unit, words in _SPELLINGS.items() for word in words.split()}
PERIOD_UNITS = frozenset(_PERIOD_UNITS)


def no_unit(word: str) -> tuple[str, str | None]:
    """What to say of a word that is no unit, and a hint."""
    usual = [word for words in _SPELLINGS.values() for word in words.split()[:2]]
    return f"no time unit '{word}'", suggest(word, usual, "time units")


def unit_length(unit: str) -> tuple[int, int]:
    """The months and microseconds that a unit of periods has, however it is spelled."""
    return _PERIOD_UNITS[unit]


def unit_name(unit: str) -> str:
    """The spelling of a unit that stands for all of them: the plural."""
    return _SPELLINGS[_PERIOD_UNITS[unit]].split()[1]


def period_of(parts: list[tuple[int | float, str]]) -> Period:
    """A period from counted units, `[(1, 'min'), (2.5, 'sec')]`; ValueError with a fact."""
    months, micros = 0, 0
    for count, unit in parts:
        unit_months, unit_micros = _PERIOD_UNITS[unit]
        try:
            if unit_months and count != int(count):
                raise ValueError(f"{unit} must be a whole number, not {count}")
            months += int(count) * unit_months
            micros += round(count * unit_micros)
        except OverflowError:  # no double is so large
            raise ValueError("this period is longer than the calendar") from None
    return Period(micros, months)


_PERIOD_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def parse_period(text: str) -> Period:
    """A period from text such as `3 seconds`, `1 min 30 sec` or `1d`."""
    parts: list[tuple[int | float, str]] = []
    position = 0
    while position < len(text) or not parts:
        match = _PERIOD_TEXT.match(text, position)
        if not match:
            raise ValueError(f"{text!r} is not a time period; write for example '3 seconds'")
        if match[2].lower() not in PERIOD_UNITS:
            fact, hint = no_unit(match[2])
            raise ValueError(f"{text!r} is not a time period: {fact}; {hint}")
        number = float(match[1]) if "." in match[1] else int(match[1])
        parts.append((number, match[2].lower()))
        position = match.end()
    return period_of(parts)


def parse_length(text: str) -> Period:
    """The same for what is always equally long."""
    period = parse_period(text)
    if period.months:
        raise ValueError(f"{text!r}: months are not all of one length; count days")
    return period
