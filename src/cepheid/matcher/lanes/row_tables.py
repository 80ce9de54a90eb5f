"""Rows of lanes as tables: what other operators give, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cepheid.core.types import DataType
from cepheid.matcher.columns.batches import Repeated, as_arrow
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.lanes.rows import Rows
from cepheid.matcher.operator import derived_types, rows_schema
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    import pyarrow as pa


class RowTables:
    """Makes tables of rows."""

    def __init__(self, program: ResolvedProgram, *, keyed: bool, ranked: bool) -> None:
        self._schema = rows_schema(program, ranked=ranked)
        self._types = derived_types(program)
        self.nothing = self._schema.empty_table()
        self._repeated = Repeated()
        self._keyed = keyed
        self._ranked = ranked

    def table(
        self,
        found: Sequence[Rows],
        order: Words | None,
        pool: Pool,
        keys: Callable[[], Sequence[Array]],
    ) -> pa.Table:
        """The rows of all statements, as they follow each other; in their order, where one is given."""
        import pyarrow as pa

        if not found:
            return self.nothing
        instants = _arranged(np.concatenate([rows.instants for rows in found]), order)
        columns = [
            self._names(found, order),
            pa.array(instants).cast(pa.timestamp("us", "UTC")),
            self._repeated.text("match", len(instants)),
            self._keys(found, order, keys),
            *self._structs(found, order, pool),
            *self._ranks(found, order),
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _names(self, found: Sequence[Rows], order: Words | None) -> Array:
        import pyarrow as pa

        names = [self._repeated.text(rows.statement.target, len(rows)) for rows in found]
        joined: Array = names[0] if len(names) == 1 else pa.concat_arrays(names)
        return joined if order is None else joined.take(pa.array(order))

    def _keys(
        self, found: Sequence[Rows], order: Words | None, keys: Callable[[], Sequence[Array]]
    ) -> Array:
        import pyarrow as pa

        if not self._keyed:
            return self._repeated.no_keys(sum(map(len, found)))
        lists = keys()
        joined: Array = lists[0] if len(lists) == 1 else pa.concat_arrays(lists)
        return joined if order is None else joined.take(pa.array(order))

    def _ranks(self, found: Sequence[Rows], order: Words | None) -> Iterator[Array]:
        import pyarrow as pa

        if self._ranked:
            ranks = [np.full(len(rows), rows.statement.rank, dtype=np.int64) for rows in found]
            yield pa.array(_arranged(np.concatenate(ranks), order))

    def _structs(self, found: Sequence[Rows], order: Words | None, pool: Pool) -> Iterator[Array]:
        """One column per derived type, null in rows of other types."""
        import pyarrow as pa

        begins = np.cumsum([0, *map(len, found)])
        for name, attributes in self._types.items():
            type = self._schema.field(name).type
            mine = [n for n, rows in enumerate(found) if rows.statement.target == name]
            packed = [_struct(found[n], attributes, type, pool) for n in mine]
            if order is None and len(found) == len(mine) == 1:
                yield packed[0]
                continue
            places = np.full(begins[-1], -1, dtype=np.int64)
            done = 0
            for number in mine:
                count = len(found[number])
                places[begins[number] : begins[number + 1]] = np.arange(done, done + count)
                done += count
            places = _arranged(places, order)
            joined = pa.concat_arrays(packed) if packed else pa.array([], type)
            yield joined.take(pa.array(places, mask=places < 0))


def _struct(rows: Rows, attributes: dict[str, DataType], type: pa.StructType, pool: Pool) -> Array:
    import pyarrow as pa

    if not rows.values:
        return pa.array([{}] * len(rows), type)
    members = [
        as_arrow(values, data_type, pool)
        for values, data_type in zip(rows.values, attributes.values(), strict=True)
    ]
    return pa.StructArray.from_arrays(members, fields=list(type))


def _arranged(words: Words, order: Words | None) -> Words:
    return words if order is None else words[order]
