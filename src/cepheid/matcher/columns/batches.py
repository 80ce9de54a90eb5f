"""Batches of events as columns of words: what NumPy and compiled code take."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.core.time import Instant
from cepheid.core.types import BOOLEAN, NULL, STRING, DataType, is_counted
from cepheid.errors import LateEvent
from cepheid.io.arrow import arrow_type
from cepheid.matcher.columns.interning import Pool, Words, array_of_counts, counts_in
from cepheid.matcher.columns.texts import encoded
from cepheid.matcher.columns.typed_columns import Array, TypedColumns, in_one_piece, missing
from cepheid.matcher.lanes.predicates import Values, stored_as
from cepheid.matcher.operator import Column
from cepheid.semantics.machine import late_event

if TYPE_CHECKING:
    import pyarrow as pa


class Batch:
    """Some events; each column is looked at once, when it is asked for."""

    def __init__(self, events: pa.Table, inputs: TypedColumns) -> None:
        self._events = events
        self._inputs = inputs
        self._values: dict[str, Values] = {}
        self._types = type_names(events["@type"])
        self.instants = integers(events["@time"])

    def __len__(self) -> int:
        return len(self.instants)

    def by_type(self, words: Mapping[str, int]) -> Words:
        """For each event the word of its type; 0 if that has none."""
        return words_of_types(self._types, words, 0)

    def has_any(self, types: Collection[str]) -> bool:
        """Whether it may hold events of some types."""
        return not set(self._types.dictionary.to_pylist()).isdisjoint(types)

    @cached_property
    def sequences(self) -> Words:
        return integers(self._events["@sequence"])

    def values(self, column: Column, pool: Pool) -> Values:
        """The values of a column: numbers, or the numbers of strings in the pool."""
        found = self._values.get(column.name)
        if found is None:
            found = self._values[column.name] = self._read(column, pool)
        return found

    def _read(self, column: Column, pool: Pool) -> Values:
        array = self._array(column)
        if array is None:
            nothing = np.zeros(len(self), stored_as(column.data_type))
            return Values(nothing, np.ones(len(self), dtype=bool))
        return values_in(self._inputs.exact(array, column), column.data_type, pool)

    def array(self, column: Column, pool: Pool) -> Array:
        """The same as it came; null where no event has one."""
        import pyarrow as pa

        del pool
        array = self._array(column)
        return pa.nulls(len(self)) if array is None else array

    def _array(self, column: Column) -> Array | None:
        if column.name in self._events.column_names:
            return in_one_piece(self._events[column.name])
        expect_none(column, self._types)
        return None


def values_in(array: Array, type: DataType, pool: Pool) -> Values:
    """The values of an array of scalars, which has Arrow's type for them."""
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if type == NULL:
        return Values(np.zeros(len(array), stored_as(type)), np.ones(len(array), dtype=bool))
    if type == STRING:
        return Values(pool.intern_array(array), nulls)
    if is_counted(type):
        return Values(counts_in(array, type), nulls)
    filled = array if nulls is None else array.fill_null(array.type.to_pandas_dtype()(0))
    return Values(filled.to_numpy(zero_copy_only=False), nulls)


def expect_none(column: Column, types: Array) -> None:
    """Only beside no events of its types a column may be missing."""
    for name in column.types:
        if words_of_types(types, {name: 1}, 0).any():
            raise missing(column, name)


def as_arrow(values: Values, type: DataType, pool: Pool) -> Array:
    """Values of a scalar type as a column of the result."""
    import pyarrow as pa

    if values.nulls is not None and values.nulls.all():
        stored: Any = arrow_type(type, {})
        return pa.nulls(len(values.words), stored)
    if type == STRING:
        return pool.texts(values.words, values.nulls)
    if is_counted(type):
        return array_of_counts(values.words, values.nulls, arrow_type(type, {}))
    stored = arrow_type(type, {})
    if values.nulls is None or type == BOOLEAN:
        return pa.array(values.words, stored, mask=values.nulls)
    words: Any = np.ascontiguousarray(values.words, stored.to_pandas_dtype())
    bits: Any = np.packbits(~values.nulls, bitorder="little")
    return pa.Array.from_buffers(stored, len(words), [pa.py_buffer(bits), pa.py_buffer(words)])


def equal_lists(columns: Sequence[Words | int], count: int) -> Array:
    """So many lists of the same length, place by place from columns, or from a number for all."""
    import pyarrow as pa

    words = np.empty((count, len(columns)), dtype=np.int64)
    for place, column in enumerate(columns):
        words[:, place] = column
    places: Array = pa.array(np.arange(count + 1, dtype=np.int32) * len(columns))
    values: Array = pa.array(words.ravel())
    return pa.ListArray.from_arrays(places, values)


class Repeated:
    """Columns that hold one value throughout: slices of arrays that are made once."""

    def __init__(self) -> None:
        self._made: dict[str | None, Array] = {}

    def text(self, text: str, count: int) -> Array:
        import pyarrow as pa

        return self._slice(text, count, lambda size: pa.repeat(text, size))

    def no_keys(self, count: int) -> Array:
        import pyarrow as pa

        return self._slice(None, count, lambda size: pa.nulls(size, pa.list_(pa.int64())))

    def _slice(self, name: str | None, count: int, make: Callable[[int], Array]) -> Array:
        found = self._made.get(name)
        if found is None or len(found) < count:
            found = self._made[name] = make(2 * count)
        return found.slice(0, count)


def type_names(column: Array) -> Array:
    """The types of events as codes, and the names that these stand for."""
    import pyarrow as pa

    column = in_one_piece(column)
    return column if pa.types.is_dictionary(column.type) else encoded(column)


def words_of_types(types: Array, words: Mapping[str, int], other: int) -> Words:
    """For each event the word of its type; for types without one, and no type at all, the other."""
    found = np.array([*(words.get(t, other) for t in types.dictionary.to_pylist()), other])
    if not types.null_count and (found[:-1] == found[0]).all():
        return np.full(len(types), found[0])
    codes = types.indices.fill_null(len(found) - 1) if types.null_count else types.indices
    of_events: Words = found.take(codes.to_numpy(zero_copy_only=False))
    return of_events


def integers(array: Any) -> Words:
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = in_one_piece(array)
    if array.null_count:
        array = array.fill_null(0)
    return np.require(array.to_numpy(zero_copy_only=False), np.int64, "C")


def check_order(instants: Words, clock: Instant) -> None:
    if instants[0] >= clock and (instants[1:] >= instants[:-1]).all():
        return
    before = np.maximum.accumulate(np.append(clock, instants[:-1]))
    late = np.flatnonzero(instants < before)
    if len(late):
        raise LateEvent(late_event(int(instants[late[0]]), int(before[late[0]])))
