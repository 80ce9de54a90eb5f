"""Relations: sets of rows, as they are and as they were before the transaction at hand.

`delta` has the rows that this transaction added (+1) and removed (-1), and is empty between
transactions. An index finds rows by the values of some columns, given as a tuple.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from cepheid.live.metamodel import Feature, Kind
from cepheid.live.model import Model, Object

Row: TypeAlias = tuple[Any, ...]
Columns: TypeAlias = tuple[int, ...]
Index: TypeAlias = Callable[[Row], Iterable[Row]]


class Relation(ABC):
    """What all relations share; `find` gives the index over the present rows."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.delta: dict[Row, int] = {}
        # The removed rows, under every key by which rows came or went, for each index in use.
        self._gone: dict[Columns, dict[Row, list[Row]]] = {}

    @abstractmethod
    def find(self, columns: Columns) -> Index: ...

    def find_before(self, columns: Columns) -> Index:
        """The index over the rows before this transaction."""
        now = self.find(columns)

        def rows(key: Row) -> Iterable[Row]:
            delta = self.delta
            if not delta:
                return now(key)
            gone = (self._gone.get(columns) or self._removed(columns)).get(key)
            if gone is None:
                return now(key)
            return [*(row for row in now(key) if row not in delta), *gone]

        return rows

    def _removed(self, columns: Columns) -> dict[Row, list[Row]]:
        found: dict[Row, list[Row]] = {}
        for row, weight in self.delta.items():
            rows = found.setdefault(tuple([row[c] for c in columns]), [])
            if weight < 0:
                rows.append(row)
        self._gone[columns] = found
        return found

    def forget(self) -> None:
        """The transaction is over."""
        if self.delta:
            self.delta = {}
            self._gone = {}


class BaseRelation(Relation):
    """Rows that are read from the model; transactions say which come and go."""

    def __init__(self, arity: int) -> None:
        super().__init__(arity)
        self.pending: dict[Row, int] = {}

    def change(self, row: Row, weight: int) -> None:
        pending = self.pending
        pending[row] = pending.get(row, 0) + weight

    def settle(self) -> None:
        """What is left of all changes of a transaction."""
        if self.pending:
            self.delta = {row: weight for row, weight in self.pending.items() if weight}
            self.pending = {}


class Instances(BaseRelation):
    """The objects of a class."""

    def __init__(self, model: Model, kind: Kind) -> None:
        super().__init__(1)
        self.kinds = kind.subclasses
        self.extents = [model.extents[name] for name in sorted(kind.subclasses)]

    def find(self, columns: Columns) -> Index:
        if not columns:
            return lambda _: ((one,) for extent in self.extents for one in extent)
        kinds = self.kinds

        def present(key: Row) -> Iterable[Row]:
            one = key[0]
            return (key,) if one.former is None and one.kind.name in kinds else ()

        return present


class Values(BaseRelation):
    """A feature: objects of some classes and what they hold; with nulls, null where there is no value."""

    def __init__(
        self, model: Model, feature: Feature, kinds: frozenset[str], with_nulls: bool = False
    ) -> None:
        super().__init__(2)
        self.feature = feature
        self.kinds = kinds
        self.with_nulls = with_nulls
        self.is_narrow = kinds != model.schema.kinds[feature.owner].subclasses
        self.extents = [model.extents[name] for name in sorted(kinds)]
        self.sources: dict[Any, dict[Object, None]] | None = None  # of an attribute, by value

    def held(self, one: Object) -> Iterable[Any]:
        if one.kind.name not in self.kinds:
            return ()
        found = one.values.get(self.feature)
        if found is None:
            return (None,) if self.with_nulls and one.former is None else ()
        return found if self.feature.is_many else (found,)  # type: ignore[return-value]

    def find(self, columns: Columns) -> Index:
        match columns:
            case ():
                return lambda _: self._all()
            case (0,):
                return self._forward()
            case (1,):
                return self._backward()
        return lambda key: (key,) if key[1] in self.held(key[0]) else ()

    def _all(self) -> Iterator[Row]:
        return ((one, v) for extent in self.extents for one in extent for v in self.held(one))

    def _forward(self) -> Index:
        feature, held = self.feature, self.held
        if feature.is_many:
            return lambda key: [(key[0], value) for value in held(key[0])]
        kinds, with_nulls = self.kinds, self.with_nulls

        def one_value(key: Row) -> Iterable[Row]:
            one = key[0]
            value = one.values.get(feature)
            if value is None and (not with_nulls or one.former is not None):
                return ()
            return ((one, value),) if one.kind.name in kinds else ()

        return one_value

    def _backward(self) -> Index:
        if self.feature.is_attribute:
            return self._by_value()
        sources = self._sources()
        if not self.is_narrow:
            return sources
        return lambda key: [row for row in sources(key) if row[0].kind.name in self.kinds]

    def _sources(self) -> Index:
        """The way back along a reference, from objects of any class."""
        feature = self.feature
        if feature.is_containment:

            def from_container(key: Row) -> Iterable[Row]:
                one = key[0]
                return ((one.container, one),) if one.container_feature is feature else ()

            return from_container
        opposite = feature.opposite
        if opposite is None:
            return lambda key: [(s, key[0]) for s in (key[0].incoming or {}).get(feature, ())]
        if opposite.is_many:
            return lambda key: [(s, key[0]) for s in key[0].values.get(opposite, ())]

        def from_one(key: Row) -> Iterable[Row]:
            source = key[0].values.get(opposite)
            return () if source is None else ((source, key[0]),)

        return from_one

    def _by_value(self) -> Index:
        """An index of its own, from now on kept up to date."""
        if self.sources is None:
            self.sources = {}
            for one, value in self._all():
                self.sources.setdefault(value, {})[one] = None
        sources = self.sources
        return lambda key: [(one, key[0]) for one in sources.get(key[0], ())]

    def settle(self) -> None:
        super().settle()
        if self.sources is not None:
            for (one, value), weight in self.delta.items():
                if weight > 0:
                    self.sources.setdefault(value, {})[one] = None
                else:
                    del self.sources[value][one]
                    if not self.sources[value]:
                        del self.sources[value]


class Results(Relation):
    """Rows with the number of ways in which they were found; present while there is one."""

    def __init__(self, arity: int) -> None:
        super().__init__(arity)
        self.support: dict[Row, int] = {}
        self.pending: dict[Row, int] = {}
        self._indexes: dict[Columns, dict[Row, dict[Row, None]]] = {}

    def find(self, columns: Columns) -> Index:
        support = self.support
        if len(columns) == self.arity:
            return lambda key: (key,) if key in support else ()
        if not columns:
            return lambda _: support
        if columns not in self._indexes:
            self._indexes[columns] = {}
            for row in support:
                self._insert(columns, row)
        index = self._indexes[columns]
        return lambda key: index.get(key, ())

    def settle(self) -> None:
        """Takes in the support that came and went."""
        for row, weight in self.pending.items():
            if not weight:
                continue
            before = self.support.get(row, 0)
            after = before + weight
            if after:
                self.support[row] = after
            else:
                del self.support[row]
            if not before or not after:
                self.delta[row] = 1 if after else -1
        self.pending = {}
        for columns in self._indexes:
            for row, weight in self.delta.items():
                if weight > 0:
                    self._insert(columns, row)
                else:
                    self._remove(columns, row)

    def _insert(self, columns: Columns, row: Row) -> None:
        key = tuple([row[c] for c in columns])
        self._indexes[columns].setdefault(key, {})[row] = None

    def _remove(self, columns: Columns, row: Row) -> None:
        index, key = self._indexes[columns], tuple([row[c] for c in columns])
        del index[key][row]
        if not index[key]:
            del index[key]
