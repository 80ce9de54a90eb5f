"""What later rows need of events that are over: some columns, by the numbers of the events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.predicates import Values

_FEW = 1024
_BATCHES = 8  # for which room is made at once, if they are as large as the one that has none


class EventHistory:
    """The values of events, whose numbers count up from zero."""

    def __init__(self, names: Iterable[str]) -> None:
        self._words: dict[str, np.ndarray] = dict.fromkeys(names, np.zeros(_FEW, dtype=np.int64))
        self._nulls: dict[str, np.ndarray | None] = dict.fromkeys(self._words)
        self.count = 0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._words)

    def add(self, columns: Mapping[str, Values], count: int) -> None:
        """The next so many events."""
        end = self.count + count
        for name, values in columns.items():
            if not self.count:
                self._words[name] = np.empty(_FEW, dtype=values.words.dtype)
            if end > len(self._words[name]):
                self._words[name] = _larger(self._words[name], end + (_BATCHES - 1) * count)
            self._words[name][self.count : end] = values.words
            self._add_nulls(name, values.nulls, end)
        self.count = end

    def _add_nulls(self, name: str, added: np.ndarray | None, end: int) -> None:
        nulls = self._nulls[name]
        if nulls is None and added is None:
            return
        room = len(self._words[name])
        nulls = np.zeros(room, dtype=bool) if nulls is None else nulls
        if room > len(nulls):
            nulls = _larger(nulls, room)
        nulls[self.count : end] = False if added is None else added
        self._nulls[name] = nulls

    def of(self, name: str, numbers: Words) -> Values:
        """The values of some events."""
        nulls = self._nulls[name]
        found = None if nulls is None else nulls[numbers]
        return Values(
            self._words[name][numbers], found if found is not None and found.any() else None
        )


def _larger(array: np.ndarray, count: int) -> np.ndarray:
    larger = np.empty(max(count, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
