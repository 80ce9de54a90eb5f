"""Absence and number of rows, as relations over the columns that are given.

Both have a row for everything that could be asked: they are only ever asked with these columns
bound, and only what changed is ever listed.
"""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.live.matching.relations import Columns, Index, Relation, Row


class Groups:
    """How many rows of a relation have the same values in some columns, now and before."""

    def __init__(self, source: Relation, columns: Columns) -> None:
        self.source = source
        self.columns = columns
        self.counts: dict[Row, int] = {}
        self.before: dict[Row, int] = {}  # of those that changed
        for row in source.find(())(()):
            self._add(row, 1)

    def _add(self, row: Row, weight: int) -> Row:
        key = tuple([row[c] for c in self.columns])
        count = self.counts.get(key, 0) + weight
        if count:
            self.counts[key] = count
        else:
            self.counts.pop(key, None)
        return key

    def settle(self) -> None:
        for row, weight in self.source.delta.items():
            key = tuple([row[c] for c in self.columns])
            self.before.setdefault(key, self.counts.get(key, 0))
            self._add(row, weight)

    def forget(self) -> None:
        if self.before:
            self.before = {}


class Missing(Relation):
    """The keys that no row of a relation has."""

    def __init__(self, groups: Groups) -> None:
        super().__init__(len(groups.columns))
        self.groups = groups

    def settle(self) -> None:
        counts = self.groups.counts
        for key, before in self.groups.before.items():
            if bool(before) != (key in counts):
                self.delta[key] = 1 if before else -1

    def find(self, columns: Columns) -> Index:
        assert len(columns) == self.arity
        counts = self.groups.counts
        return lambda key: () if key in counts else (key,)


class Numbers(Relation):
    """Keys, each with the number of rows of a relation that have it."""

    def __init__(self, groups: Groups) -> None:
        super().__init__(len(groups.columns) + 1)
        self.groups = groups

    def settle(self) -> None:
        counts = self.groups.counts
        for key, before in self.groups.before.items():
            after = counts.get(key, 0)
            if before != after:
                self.delta[*key, before] = -1
                self.delta[*key, after] = 1

    def find(self, columns: Columns) -> Index:
        counts = self.groups.counts
        if len(columns) == self.arity:
            return lambda key: (key,) if counts.get(key[:-1], 0) == key[-1] else ()

        def number(key: Row) -> Iterable[Row]:
            return ((*key, counts.get(key, 0)),)

        return number
