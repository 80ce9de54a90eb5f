"""Chronons and rounds as expressions of Spark's SQL."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.bitemporal.rounds import Rounds
from cepheid.core.time import FIRST_INSTANT

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

    def number(self, instant: str) -> str:
        """`div` cuts towards zero, so that it counts from before all instants; it asks for each once."""
        chronon = self.rounds.chronon
        before = -(FIRST_INSTANT // chronon)
        return f"(({instant} + {before * chronon}L) div {chronon}L - {before}L)"

    def at_or_after(self, number: str) -> str:
        """The first round at or after the number in a column; null stays null."""
        first, last = self.rounds.first, self.rounds.last
        bounded = (
            f"CASE WHEN {number} < {first}L THEN {first}L "
            f"WHEN {number} > {last}L THEN {self.never} ELSE {number} END"
        )
        outages = [
            (max(begin, first), min(end, last + 1))
            for begin, end in self.rounds.outages
            if end > first and begin <= last
        ]
        if not outages:
            return bounded
        if len(outages) <= _FEW:
            before = (
                f"WHEN {number} < {outages[0][1]}L THEN {outages[0][1]}L"
                if outages[0][0] <= first
                else ""
            )
            branches = " ".join(
                f"WHEN {number} >= {begin}L AND {number} < {end}L THEN {end}L"
                for begin, end in outages
            )
            return f"CASE {before} {branches} ELSE {bounded} END"
        spans = ", ".join(f"struct({begin}L AS a, {end}L AS b)" for begin, end in outages)
        within = f"filter(array({spans}), o -> {bounded} >= o.a AND {bounded} < o.b)"
        return f"coalesce(try_element_at({within}, 1).b, {bounded})"

    def is_round(self, number: str) -> str:
        return f"({number} = {self.at_or_after(number)})"
