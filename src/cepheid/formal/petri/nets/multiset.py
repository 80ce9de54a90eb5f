"""Multisets: how many there are of each element."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeAlias

from cepheid.core.checks import need

Colour: TypeAlias = Hashable  # the value of a token


class Multiset(Mapping[Colour, int]):
    """A function from elements to counts, zero for all but finitely many; never changed.

    `a + b` joins, `a <= b` says that b has at least what a has, and only then there is `b - a`.
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[Colour, int] | None = None) -> None:
        self._counts = {x: n for x, n in (counts or {}).items() if n != 0}
        need(all(n > 0 for n in self._counts.values()), "a multiset has no negative counts")

    @classmethod
    def of(cls, elements: Iterable[Colour]) -> Multiset:
        """The elements, each as often as it comes."""
        return cls(Counter(elements))

    def __getitem__(self, element: Colour) -> int:
        return self._counts.get(element, 0)

    def __contains__(self, element: object) -> bool:
        return element in self._counts

    def __iter__(self) -> Iterator[Colour]:
        return iter(self._counts)

    def __len__(self) -> int:
        """How many different elements there are."""
        return len(self._counts)

    @property
    def size(self) -> int:
        """How many elements there are, equal ones counted each."""
        return sum(self._counts.values())

    def elements(self) -> Iterator[Colour]:
        for element, count in self._counts.items():
            yield from (element for _ in range(count))

    def __add__(self, other: Multiset) -> Multiset:
        return Multiset({x: self[x] + other[x] for x in (*self, *other)})

    def __sub__(self, other: Multiset) -> Multiset:
        need(other <= self, "only a part can be taken away")
        return Multiset({x: self[x] - other[x] for x in self})

    def __le__(self, other: Multiset) -> bool:
        return all(count <= other[x] for x, count in self.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Multiset) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(frozenset(self._counts.items()))

    def __repr__(self) -> str:
        """As CPN Tools writes it: 1`3 ++ 2`5."""
        return " ++ ".join(f"{n}`{x!r}" for x, n in self.items()) or "empty"


EMPTY = Multiset()
