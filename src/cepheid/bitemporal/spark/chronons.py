"""Chronons and rounds as expressions of Spark's SQL."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.bitemporal.rounds import Rounds

_FEW = 16  # outages that are written out one by one


@dataclass(frozen=True, slots=True)
class Chronons:
    """`number` and `at_or_after` as `Rounds` has them, but what never comes is `never`."""

    rounds: Rounds

    @property
    def never(self) -> str:
        """A number after all rounds."""
        return f"{self.rounds.last + 1}L"

    @property
    def first(self) -> str:
        first = self.rounds.at_or_after(self.rounds.first)
        return self.never if first is None else f"{first}L"

    def begin(self, instant: str) -> str:
        """When the chronon of an instant begins; `pmod` is right before the epoch, too."""
        return f"({instant} - pmod({instant}, {self.rounds.chronon}L))"

    def number(self, instant: str) -> str:
        return f"({self.begin(instant)} div {self.rounds.chronon}L)"

    def at_or_after(self, number: str) -> str:
        """The first round at or after the number in a column."""
        bounded = f"least(greatest({number}, {self.rounds.first}L), {self.never})"
        outages = [(a, b) for a, b in self.rounds.outages if b > self.rounds.first]
        outages = [(a, b) for a, b in outages if a <= self.rounds.last]
        if not outages:
            return bounded
        ends = [(a, f"least({b}L, {self.never})") for a, b in outages]
        if len(outages) <= _FEW:
            branches = (
                f"WHEN {bounded} >= {begin}L AND {bounded} < {outage[1]}L THEN {end}"
                for outage, (begin, end) in zip(outages, ends, strict=True)
            )
            return f"CASE {' '.join(branches)} ELSE {bounded} END"
        spans = ", ".join(f"struct({a}L AS a, {b}L AS b)" for a, b in outages)
        within = f"filter(array({spans}), o -> {bounded} >= o.a AND {bounded} < o.b)"
        return f"least(coalesce(try_element_at({within}, 1).b, {bounded}), {self.never})"

    def is_round(self, number: str) -> str:
        return f"({number} = {self.at_or_after(number)})"
