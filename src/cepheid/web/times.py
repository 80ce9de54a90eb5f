"""Times as pages write them: by a format, on the clock of a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from cepheid.core.time import parse_instant, to_instant, zone_named

_MONTHS = "January February March April May June July August September October November December"
_NAMES = tuple(_MONTHS.lower().split())
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
# What the letters of a format read; names of months and days are English.
LETTERS: dict[str, tuple[str, str]] = {
    "yyyy": (r"(?P<year>\d{4})", "the year"),
    "yy": (r"(?P<short>\d{2})", "the year, from 2000 to 2099"),
    "MMMM": (rf"(?P<name>{'|'.join(_MONTHS.split())})", "the month, as `January`"),
    "MMM": (rf"(?P<name>{'|'.join(name[:3] for name in _MONTHS.split())})\.?", "as `Jan`"),
    "MM": (r"(?P<month>\d{2})", "the month, as two digits"),
    "M": (r"(?P<month>\d{1,2})", "the month"),
    "dd": (r"(?P<day>\d{2})", "the day, as two digits"),
    "d": (r"(?P<day>\d{1,2})", "the day"),
    "EEEE": (rf"(?:{'|'.join(_DAYS.split())})", "the day of the week, as `Monday`"),
    "EEE": (rf"(?:{'|'.join(day[:3] for day in _DAYS.split())})\.?", "as `Mon`"),
    "HH": (r"(?P<hour>\d{2})", "the hour from 00 to 23"),
    "H": (r"(?P<hour>\d{1,2})", "the hour from 0 to 23"),
    "hh": (r"(?P<twelve>\d{2})", "the hour from 01 to 12"),
    "h": (r"(?P<twelve>\d{1,2})", "the hour from 1 to 12"),
    "a": (r"(?P<half>[AaPp])\.?[Mm]\.?", "AM or PM"),
    "mm": (r"(?P<minute>\d{2})", "the minute"),
    "ss": (r"(?P<second>\d{2})", "the second"),
}
_PIECE = re.compile(
    r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>[^']*)'|(?P<blank>\s+)|(?P<other>.)", re.DOTALL
)
_NEEDED = (("year", "short"), ("name", "month"), ("day",))


@lru_cache(maxsize=256)
def reader_of(format: str) -> re.Pattern[str]:
    """What reads a format; ValueError with a fact where it is none."""
    texts = []
    for match in _PIECE.finditer(format):
        if letters := match["letters"]:
            if letters not in LETTERS:
                raise ValueError(f"{letters!r} is no field of a time")
            texts.append(LETTERS[letters][0])
        elif match["quoted"] is not None:
            texts.append(re.escape(match["quoted"] or "'"))
        else:
            texts.append(r"\s+" if match["blank"] else re.escape(match["other"]))
    try:
        found = re.compile("".join(texts), re.ASCII | re.IGNORECASE)
    except re.error:
        raise ValueError(f"the format {format!r} has a field twice") from None
    for needed in _NEEDED:
        if not set(needed) & set(found.groupindex):
            name = "month" if "month" in needed else needed[0]
            raise ValueError(f"the format {format!r} has no {name}")
    return found


def seconds_of(text: str, format: str | None = None, zone: str | None = None) -> float | None:
    """The seconds since 1970 of a time, or None where the text is none; ValueError as above."""
    known = UTC if zone is None else zone_named(zone)
    if format is None:
        try:
            return parse_instant(text.strip(), zone=known) / 1e6
        except ValueError:
            return None
    match = reader_of(format).fullmatch(text.strip())
    if match is None:
        return None
    try:
        return to_instant(_moment(match.groupdict()), known) / 1e6
    except (ValueError, OverflowError):
        return None


def _moment(found: dict[str, str]) -> datetime:
    year = int(found["year"]) if "year" in found else 2000 + int(found["short"])
    month = _month(found["name"]) if "name" in found else int(found["month"])
    hour = int(found.get("hour", 0))
    if "twelve" in found:
        twelve = int(found["twelve"])
        if not 1 <= twelve <= 12:
            raise ValueError("no hour")
        hour = twelve % 12 + 12 * (found.get("half", "a").lower() == "p")
    minute, second = int(found.get("minute", 0)), int(found.get("second", 0))
    return datetime(year, month, int(found["day"]), hour, minute, second)  # noqa: DTZ001 - a clock's


def _month(name: str) -> int:
    return next(n for n, each in enumerate(_NAMES, start=1) if each.startswith(name.lower()))
