"""What the timing primitives mean: what was known in the last round, what is known now, and when.

Each is true or false, and false where a side that it needs is missing. Times are numbers of
chronons here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepheid.bitemporal.rounds import Number


@dataclass(frozen=True, slots=True)
class Constellation:
    """One event in one round: its occurrence in the old and in the new view, and what else counts."""

    now: Number
    old: Number | None  # None: not in that view
    new: Number | None
    differs: bool = False  # whether both views have it, and not the same
    fired: bool = False  # whether ONTIME or LATE has been true of it before

    @property
    def is_announced(self) -> bool:
        return self.new is not None and self.old is None

    @property
    def is_cancelled(self) -> bool:
        return self.old is not None and self.new is None

    @property
    def was_past(self) -> bool:
        return self.old is not None and self.old < self.now

    @property
    def was_future(self) -> bool:
        return self.old is not None and self.old > self.now

    @property
    def is_past(self) -> bool:
        return self.new is not None and self.new < self.now

    @property
    def is_future(self) -> bool:
        return self.new is not None and self.new > self.now


PRIMITIVES: dict[str, Callable[[Constellation], bool]] = {
    "ANNOUNCEMENT": lambda c: c.is_announced,
    "CANCELLATION": lambda c: c.is_cancelled,
    "CHANGE": lambda c: c.differs,
    "ONTIME": lambda c: c.new == c.now,
    "LATE": lambda c: c.is_past and not c.fired,
    "FUTURE": lambda c: c.is_future and (c.old is None or (c.differs and c.was_future)),
    "FUTURECANCEL": lambda c: c.is_cancelled and c.was_future,
    "RETROACTIVECHANGE": lambda c: c.differs and c.was_past and c.is_past and c.fired,
    "POSTPONE": lambda c: c.was_past and c.is_future,
    "REVOCATION": lambda c: c.is_cancelled and c.was_past,
}


def is_late_between(now: Number, after: Number, until: Number, *, fired: bool) -> bool:
    """`LATE(min, max)`: the chronons of the occurrence plus each bound are given."""
    return after < now <= until and not fired
