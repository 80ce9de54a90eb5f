"""When rounds happen: at every chronon from a first to a last one, but for outages.

A chronon is the unit of time of a run. An instant lies in the chronon of its number, the whole
chronons since the epoch, and times are compared by these numbers: an event at 10:00:30 is on time
in the round of 10:00, if the chronon is a minute. What happens in a chronon without a round is
dealt with in the next one that has one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cepheid.core.checks import need
from cepheid.core.time import Instant

Number = int  # of a chronon, and so of a round


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of a run; outages are disjoint, sorted, and have their first number, not their last."""

    chronon: int  # microseconds
    first: Number
    last: Number
    outages: tuple[tuple[Number, Number], ...] = ()

    def __post_init__(self) -> None:
        need(self.chronon > 0, "a chronon is longer than nothing")

    def number(self, instant: Instant) -> Number:
        return instant // self.chronon

    def instant(self, number: Number) -> Instant:
        return number * self.chronon

    def at_or_after(self, number: Number) -> Number | None:
        """The first round that does not lie before a chronon; None if there is none."""
        number = max(number, self.first)
        outage = self._outage(number)
        number = outage[1] if outage else number
        return number if number <= self.last else None

    def before(self, number: Number) -> Number | None:
        """The last round before a chronon; None if there is none."""
        number = min(number - 1, self.last)
        outage = self._outage(number)
        number = outage[0] - 1 if outage else number
        return number if number >= self.first else None

    def __iter__(self) -> Iterator[Number]:
        number = self.at_or_after(self.first)
        while number is not None:
            yield number
            number = self.at_or_after(number + 1)

    def _outage(self, number: Number) -> tuple[Number, Number] | None:
        place = bisect_right(self.outages, number, key=lambda outage: outage[0]) - 1
        if place >= 0 and number < self.outages[place][1]:
            return self.outages[place]
        return None


def outage_numbers(
    spans: Iterable[tuple[Instant, Instant]], chronon: int
) -> tuple[tuple[Number, Number], ...]:
    """The chronons whose beginning lies in one of the spans, each of which leaves out its end."""
    found: list[tuple[Number, Number]] = []
    for begin, end in sorted((-(-start // chronon), -(-stop // chronon)) for start, stop in spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif begin < end:
            found.append((begin, end))
    return tuple(found)
