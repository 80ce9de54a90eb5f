"""Data windows in Python: `cep.window.time("10 minutes")`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from cepheid.build.checks import PeriodLike, period, refusing, whole
from cepheid.build.functions import UnknownName
from cepheid.core.time import parse_instant
from cepheid.core.types import LONG
from cepheid.core.values import coerce
from cepheid.errors import error, suggest
from cepheid.program.tree import KeepAll, LengthBatch, LengthWindow, TimeBatch, TimeWindow, Window


@dataclass(frozen=True, slots=True)
class _Windows:
    """Which rows of a source still count.

    >>> hot = cep.stream("Reading").window(cep.window.length(5))
    >>> print(hot.select(mean=cep.agg.avg("v")))
    select avg(v) as mean
    from Reading#length(5);
    """

    def time(self, time: PeriodLike) -> Window:
        """The rows of the last while."""
        with refusing("bad-window"):
            return TimeWindow(period(time))

    def time_batch(
        self,
        time: PeriodLike,
        *,
        reference: int | str | datetime | None = None,
        force_update: bool = False,
        start_eager: bool = False,
    ) -> Window:
        """The rows of a period, released together at its end.

        Periods start at the first row, or at multiples of the time from a reference: a time such as
        '2026-01-01', or milliseconds since the epoch. `start_eager` starts with the statement, `force_update`
        releases empty periods too.
        """
        with refusing("bad-window"):
            if isinstance(reference, str | datetime):
                reference = parse_instant(reference) // 1000
            start = None if reference is None else coerce(reference, LONG, {})
            return TimeBatch(period(time), cast("int | None", start), force_update, start_eager)

    def length(self, size: int) -> Window:
        """The last so many rows."""
        return LengthWindow(_size(size))

    def length_batch(self, size: int) -> Window:
        """So many rows, released together once they are complete."""
        return LengthBatch(_size(size))

    def keepall(self) -> Window:
        """All rows."""
        return KeepAll()

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        known = [known for known in dir(_Windows) if not known.startswith("_")]
        hint = suggest(name, known, "data windows")
        raise UnknownName(error("unknown-window", f"no data window '{name}'", hint=hint))


def _size(value: int) -> int:
    return whole(value, "the size of a window", "bad-window", least=1)


window = _Windows()
