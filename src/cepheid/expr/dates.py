"""What functions of the calendar do with timestamps and dates that are not null; one rule for all engines.

A timestamp is looked at in UTC, or in the zone that is given last. A day and what is longer is counted on
the calendar of that zone, what is shorter exactly; so a day in which clocks change has 23 or 25 hours. What
would leave the years 1 to 9999, and a unit, pattern or zone that does not exist, gives null. Patterns have
the letters that Java and Spark give them.
"""

# ruff: noqa: DTZ001 - what clocks show has no zone

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import cast

from cepheid.core.time import (
    FIRST_INSTANT,
    LAST_INSTANT,
    MICROSECONDS,
    TimeUnit,
    add_months,
    to_datetime,
    to_instant,
    zone_named,
)

_PARTS: dict[str, Callable[[datetime], int]] = {
    "year": lambda t: t.year,
    "quarter": lambda t: (t.month + 2) // 3,
    "month": lambda t: t.month,
    "week": lambda t: t.isocalendar().week,
    "day": lambda t: t.day,
    "weekday": datetime.isoweekday,
    "dayofyear": lambda t: t.timetuple().tm_yday,
    "hour": lambda t: t.hour,
    "minute": lambda t: t.minute,
    "second": lambda t: t.second,
    "millisecond": lambda t: t.microsecond // 1000,
    "microsecond": lambda t: t.microsecond,
}
PARTS = tuple(_PARTS)
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_DAYS = {"week": 7, "day": 1}
_EXACT = {
    unit: MICROSECONDS[cast("TimeUnit", f"{unit}s")]
    for unit in ("hour", "minute", "second", "millisecond", "microsecond")
}
UNITS = (*_MONTHS, *_DAYS, *_EXACT)
UNITS_OF_DAYS = (*_MONTHS, *_DAYS)  # what a date has


def _zone(name: str | None) -> tzinfo | None:
    try:
        return UTC if name is None else zone_named(name)
    except ValueError:
        return None


def _local(time: date, zone: tzinfo) -> datetime | None:
    """What clocks and calendars of a zone show, without the zone; a date is its first moment."""
    if not isinstance(time, datetime):
        return datetime(time.year, time.month, time.day)
    try:
        return time.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return None


def _back(local: datetime, like: date, zone: tzinfo) -> date | None:
    """The time at which clocks show this; a date where one was given."""
    if not isinstance(like, datetime):
        return local.date()
    try:
        return _within(to_instant(local, zone))
    except OverflowError:
        return None


def _within(instant: int) -> datetime | None:
    return to_datetime(instant) if FIRST_INSTANT <= instant <= LAST_INSTANT else None


def extract(part: str, time: date, zone: str | None = None) -> int | None:
    known, find = _zone(zone), _PARTS.get(part)
    local = None if known is None else _local(time, known)
    return None if local is None or find is None else find(local)


def truncate(unit: str, time: date, zone: str | None = None) -> date | None:
    known = _zone(zone)
    local = None if known is None else _local(time, known)
    if known is None or local is None:
        return None
    if unit in _EXACT and isinstance(time, datetime):
        # Not by the clock, which shows some hours twice.
        offset = to_instant(local) - to_instant(time)
        return _within((to_instant(local)) // _EXACT[unit] * _EXACT[unit] - offset)
    begin = _begin(unit, local)
    return None if begin is None else _back(begin, time, known)


def _begin(unit: str, local: datetime) -> datetime | None:
    """The first moment of the unit around a moment."""
    day = datetime(local.year, local.month, local.day)
    if unit in _MONTHS:
        months = _MONTHS[unit]
        return day.replace(month=(local.month - 1) // months * months + 1, day=1)
    if unit == "week":
        return day - timedelta(days=day.weekday()) if day.toordinal() > day.weekday() else None
    return day if unit == "day" else None


def add(unit: str, count: int, time: date, zone: str | None = None) -> date | None:
    known = _zone(zone)
    if known is None or abs(count) > LAST_INSTANT:
        return None
    if unit in _EXACT:
        moved = to_instant(time) + count * _EXACT[unit] if isinstance(time, datetime) else None
        return None if moved is None else _within(moved)
    local = _local(time, known)
    later = None if local is None else _later(unit, count, local)
    return None if later is None else _back(later, time, known)


def _later(unit: str, count: int, local: datetime) -> datetime | None:
    if unit in _MONTHS:
        if abs(count) > 200_000:  # more than the calendar has
            return None
        found = _within(add_months(to_instant(local), count * _MONTHS[unit]))
        return None if found is None else found.replace(tzinfo=None)
    if unit not in _DAYS:
        return None
    try:
        return local + timedelta(days=count * _DAYS[unit])
    except OverflowError:
        return None


def difference(unit: str, start: date, end: date, zone: str | None = None) -> int | None:
    """How many whole units pass from the start to the end; negative where the end is before."""
    known = _zone(zone)
    if known is None or unit not in UNITS:
        return None
    if unit in _EXACT:
        first, last = (to_instant(_moment(time)) for time in (start, end))
        return _towards_zero(last - first, _EXACT[unit])
    begin, finish = _local(start, known), _local(end, known)
    if begin is None or finish is None:
        return None
    if unit in _DAYS:
        return _towards_zero(to_instant(finish) - to_instant(begin), _DAYS[unit] * _DAY)
    return _towards_zero(_whole_months(begin, finish), _MONTHS[unit])


_DAY = MICROSECONDS["days"]


def _moment(time: date) -> datetime:
    return time if isinstance(time, datetime) else datetime(time.year, time.month, time.day)


def _towards_zero(count: int, unit: int) -> int:
    return count // unit if count >= 0 else -(-count // unit)


def _whole_months(start: datetime, end: datetime) -> int:
    if end < start:
        return -_whole_months(end, start)
    months = (end.year - start.year) * 12 + end.month - start.month
    return months if add_months(to_instant(start), months) <= to_instant(end) else months - 1


# -- texts -------------------------------------------------------------------------------------

_LETTERS: dict[str, tuple[Callable[[datetime], str], str]] = {
    # How a time is written, and the texts that are read.
    "yyyy": (lambda t: f"{t.year:04}", r"(?P<year>\d{4})"),
    "MM": (lambda t: f"{t.month:02}", r"(?P<month>\d{2})"),
    "M": (lambda t: str(t.month), r"(?P<month>\d{1,2})"),
    "dd": (lambda t: f"{t.day:02}", r"(?P<day>\d{2})"),
    "d": (lambda t: str(t.day), r"(?P<day>\d{1,2})"),
    "HH": (lambda t: f"{t.hour:02}", r"(?P<hour>\d{2})"),
    "H": (lambda t: str(t.hour), r"(?P<hour>\d{1,2})"),
    "mm": (lambda t: f"{t.minute:02}", r"(?P<minute>\d{2})"),
    "ss": (lambda t: f"{t.second:02}", r"(?P<second>\d{2})"),
    "SSS": (lambda t: f"{t.microsecond // 1000:03}", r"(?P<fraction>\d{3})"),
    "SSSSSS": (lambda t: f"{t.microsecond:06}", r"(?P<fraction>\d{6})"),
}
LETTERS = tuple(_LETTERS)
_PIECE = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<other>[^A-Za-z'])")


@lru_cache(maxsize=256)
def pattern_pieces(pattern: str) -> tuple[tuple[str, bool], ...]:
    """The texts and letters of a pattern, and which are letters; ValueError with a fact."""
    pieces, place = [], 0
    while place < len(pattern):
        match = _PIECE.match(pattern, place)
        letters = match["letters"] if match else None
        if match is None:
            raise ValueError(f"a quote is open in {pattern!r}")
        if letters and letters not in _LETTERS:
            raise ValueError(f"{letters!r} is no field of a time")
        quoted = match["quoted"]
        text = (quoted.replace("''", "'") or "'") if quoted is not None else match["other"]
        pieces.append((letters or text, letters is not None))
        place = match.end()
    return tuple(pieces)


def formatted(time: date, pattern: str, zone: str | None = None) -> str | None:
    known = _zone(zone)
    local = None if known is None else _local(time, known)
    if local is None:
        return None
    try:
        pieces = pattern_pieces(pattern)
    except ValueError:
        return None
    return "".join(_LETTERS[p][0](local) if is_field else p for p, is_field in pieces)


@lru_cache(maxsize=256)
def _reader(pattern: str) -> re.Pattern[str] | None:
    """None where the pattern is none, or names a field twice."""
    try:
        pieces = pattern_pieces(pattern)
        texts = [_LETTERS[p][1] if is_field else re.escape(p) for p, is_field in pieces]
        return re.compile("".join(texts), re.ASCII)
    except (ValueError, re.error):
        return None


def parsed(text: str, pattern: str, zone: str | None = None) -> datetime | None:
    known, reader = _zone(zone), _reader(pattern)
    match = None if reader is None else reader.fullmatch(text.strip())
    if known is None or match is None:
        return None
    fields = {name: int(digits) for name, digits in match.groupdict().items()}
    if "fraction" in fields:
        fields["microsecond"] = fields.pop("fraction") * 10 ** (6 - len(match["fraction"]))
    try:
        local = datetime(**{"year": 1970, "month": 1, "day": 1, **fields})  # type: ignore[arg-type]
        return _within(to_instant(local, known))
    except (ValueError, OverflowError):
        return None
