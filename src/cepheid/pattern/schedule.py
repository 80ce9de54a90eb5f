"""Calendar schedules of `timer:at`, in UTC."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from cepheid.core.time import Instant, to_datetime, to_instant

# The smallest and largest value of each field; days of the week count from Sunday, 0.
RANGES: dict[str, tuple[int, int]] = {
    "minutes": (0, 59),
    "hours": (0, 23),
    "days": (1, 31),
    "months": (1, 12),
    "weekdays": (0, 6),
    "seconds": (0, 59),
}
# A leap day that must also be a given weekday comes again within 40 years.
_HORIZON_YEARS = 41


@dataclass(frozen=True, slots=True)
class Schedule:
    """The values at which each field fires, in the order EPL writes them; None is any value.

    Where both days and weekdays are given, a day that fits either counts, as in cron.
    """

    minutes: frozenset[int] | None = None
    hours: frozenset[int] | None = None
    days: frozenset[int] | None = None
    months: frozenset[int] | None = None
    weekdays: frozenset[int] | None = None
    seconds: frozenset[int] | None = frozenset({0})

    def __post_init__(self) -> None:
        for f in fields(self):
            low, high = RANGES[f.name]
            values = getattr(self, f.name)
            if values is None:
                continue
            if not values:
                raise ValueError(f"the {f.name} of a schedule are empty")
            for value in values:
                if not low <= value <= high:
                    raise ValueError(f"{f.name} go from {low} to {high}, not {value}")

    def after(self, instant: Instant) -> Instant | None:
        """The first instant of the schedule after the given one; None if it never comes."""
        try:
            return self._first_after(to_datetime(instant).replace(microsecond=0))
        except OverflowError:  # the calendar ends before, with the year 9999
            return None

    def _first_after(self, moment: datetime) -> Instant | None:
        last_year = moment.year + _HORIZON_YEARS
        moment += timedelta(seconds=1)
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
                return to_instant(moment)
        return None

    def _fits_day(self, moment: datetime) -> bool:
        fits_day = self.days is None or moment.day in self.days
        fits_weekday = self.weekdays is None or moment.isoweekday() % 7 in self.weekdays
        if self.days is not None and self.weekdays is not None:
            return fits_day or fits_weekday
        return fits_day and fits_weekday


def _first_of_next_month(moment: datetime) -> datetime:
    first = moment.replace(day=1, hour=0, minute=0, second=0)
    return (first + timedelta(days=32)).replace(day=1)
