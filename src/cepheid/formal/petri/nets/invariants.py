"""What must hold in every marking, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class Invariant(Protocol):
    def holds(self, sizes: Mapping[str, int], start: Mapping[str, int]) -> bool:
        """Whether it holds, given the number of tokens in each place now and at the start."""
        ...


@dataclass(frozen=True, slots=True)
class Bounded:
    """A place never has more tokens than that."""

    place: str
    most: int

    def holds(self, sizes: Mapping[str, int], start: Mapping[str, int]) -> bool:
        return sizes[self.place] <= self.most

    def __str__(self) -> str:
        return f"{self.place} has at most {self.most} tokens"


@dataclass(frozen=True, slots=True)
class Conserved:
    """Tokens move among some places, and their weighted number stays what it is at the start."""

    weights: tuple[tuple[str, int], ...]

    def holds(self, sizes: Mapping[str, int], start: Mapping[str, int]) -> bool:
        return self.total(sizes) == self.total(start)

    def total(self, sizes: Mapping[str, int]) -> int:
        return sum(weight * sizes[place] for place, weight in self.weights)

    def __str__(self) -> str:
        parts = (place if weight == 1 else f"{weight} * {place}" for place, weight in self.weights)
        return f"{' + '.join(parts)} is constant"
