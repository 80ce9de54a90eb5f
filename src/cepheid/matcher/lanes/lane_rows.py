"""Rows of a run as lanes give them: statement by statement, put together column by column on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cepheid.core.event import Event
from cepheid.core.types import TIMESTAMP, DataType, EventType
from cepheid.io.arrow import arrow_type
from cepheid.io.rows import ColumnarRows, RowColumns, RowDecoder, RowPart
from cepheid.matcher.columns.batches import as_arrow
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.lanes.predicates import Values

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows of one statement, and their places among the rows of a chunk; None: they are all."""

    shape: RowColumns
    places: Words | None
    instants: Words
    values: tuple[Values, ...]

    def value(self, name: str) -> tuple[DataType, Values] | None:
        for (column, type), values in zip(self.shape.columns.items(), self.values, strict=True):
            if column == name:
                return type, values
        return None


@dataclass(frozen=True, slots=True)
class RowChunk:
    """Rows that a batch or time has brought; the pool knows their strings."""

    count: int
    blocks: tuple[RowBlock, ...]
    pool: Pool

    def names(self) -> Array:
        import pyarrow as pa

        targets = list(dict.fromkeys(block.shape.target for block in self.blocks))
        codes = np.zeros(self.count, dtype=np.int32)
        for block in self.blocks:
            _put(codes, block.places, targets.index(block.shape.target))
        places: Array = pa.array(codes)
        return pa.array(targets, pa.string()).take(places)

    def times(self) -> Array:
        import pyarrow as pa

        instants = np.zeros(self.count, dtype=np.int64)
        for block in self.blocks:
            _put(instants, block.places, block.instants)
        return pa.array(instants).cast(pa.timestamp("us", "UTC"))

    def member(self, name: str, type: pa.DataType) -> Array | None:
        """An attribute of all rows; None where it is not of that Arrow type throughout."""
        import pyarrow as pa

        owners = [(block, found) for block in self.blocks if (found := block.value(name))]
        if any(arrow_type(known, {}) != type for _, (known, _) in owners):
            return None
        if not owners:
            nothing: Array = pa.nulls(self.count, cast("Any", type))
            return nothing
        (first, (data_type, values)), *others = owners
        if first.places is not None or others:
            values = self._joined([(block.places, found) for block, (_, found) in owners])
        return as_arrow(values, data_type, self.pool)

    def _joined(self, parts: Sequence[tuple[Words | None, Values]]) -> Values:
        words = np.zeros(self.count, dtype=np.result_type(*(v.words.dtype for _, v in parts)))
        for places, values in parts:
            _put(words, places, values.words)
        is_whole = sum(len(values.words) for _, values in parts) == self.count
        if is_whole and all(values.nulls is None for _, values in parts):
            return Values(words, None)
        nulls = np.ones(self.count, dtype=bool)
        for places, values in parts:
            _put(nulls, places, False if values.nulls is None else values.nulls)
        return Values(words, nulls if nulls.any() else None)

    def only(self, targets: Collection[str]) -> RowChunk:
        """The rows of some types; their places are counted anew."""
        own = [block for block in self.blocks if block.shape.target in targets]
        is_own = np.zeros(self.count, dtype=bool)
        for block in own:
            _put(is_own, block.places, some=True)
        numbers = np.cumsum(is_own) - 1
        blocks = (
            block if block.places is None else replace(block, places=numbers[block.places])
            for block in own
        )
        return RowChunk(int(is_own.sum()), tuple(blocks), self.pool)

    def parts(self, begin: int, end: int) -> Iterator[RowPart]:
        """The rows at some places."""
        for block in self.blocks:
            first, last, places = begin, end, block.places
            if places is not None:
                first, last = np.searchsorted(places, [begin, end]).tolist()
                places = places[first:last] - begin
            if first < last:
                yield self._part(block, slice(first, last), places)

    def _part(self, block: RowBlock, own: slice, places: Words | None) -> RowPart:
        columns = [
            as_arrow(
                Values(v.words[own], v.nulls if v.nulls is None else v.nulls[own]), type, self.pool
            )
            for type, v in zip(block.shape.columns.values(), block.values, strict=True)
        ]
        times = as_arrow(Values(block.instants[own], None), TIMESTAMP, self.pool)
        return RowPart(block.shape, places, times, columns)

    def events(self, decoder: RowDecoder, keys: Sequence[tuple[int, ...]]) -> list[Event]:
        found: list[Any] = [None] * self.count
        for block in self.blocks:
            places = range(self.count) if block.places is None else block.places.tolist()
            columns = [
                as_arrow(values, type, self.pool).to_pylist()
                for type, values in zip(block.shape.columns.values(), block.values, strict=True)
            ]
            names, shape = [*block.shape.columns], block.shape
            rows = zip(*columns, strict=True) if columns else iter([()] * len(block.instants))
            for place, instant, row in zip(places, block.instants.tolist(), rows, strict=True):
                stored = dict(zip(names, row, strict=True))
                values = decoder.values(stored, shape.columns)
                found[place] = Event(
                    shape.target, instant, values, statement=shape.statement, key=keys[place]
                )
        return found


def _put(all_: Any, places: Words | None, some: Any) -> None:
    all_[slice(None) if places is None else places] = some


class LaneRows(ColumnarRows):
    """The rows of a run, in their order. Their keys are found when someone looks at events."""

    def __init__(
        self,
        chunks: Sequence[RowChunk],
        shapes: Sequence[RowColumns],
        types: Mapping[str, EventType],
        keys: Callable[[], Any],
    ) -> None:
        self._chunks = chunks
        self._shapes = shapes
        self.decoder = RowDecoder(types)
        self._keys = keys

    def __len__(self) -> int:
        return sum(chunk.count for chunk in self._chunks)

    @property
    def targets(self) -> set[str]:
        return {shape.target for shape in self._shapes}

    def counts(self) -> dict[str, int]:
        firsts: list[tuple[int, int, str]] = []
        found: Counter[str] = Counter()
        for number, chunk in enumerate(self._chunks):
            for block in chunk.blocks:
                first = 0 if block.places is None else int(block.places[0])
                firsts.append((number, first, block.shape.target))
                found[block.shape.target] += len(block.instants)
        return {target: found[target] for _, _, target in sorted(firsts)}

    def names(self) -> Any:
        return self._chunked([chunk.names() for chunk in self._chunks], "string")

    def times(self) -> Any:
        import pyarrow as pa

        return self._chunked([chunk.times() for chunk in self._chunks], pa.timestamp("us", "UTC"))

    def member(self, name: str, type: pa.DataType) -> Any:
        arrays = [chunk.member(name, type) for chunk in self._chunks]
        if any(array is None for array in arrays):
            return None
        return self._chunked(arrays, type)

    def _chunked(self, arrays: Sequence[Any], type: Any) -> Any:
        import pyarrow as pa

        return pa.chunked_array(list(arrays), type)

    def has_null(self, type: str, name: str) -> bool:
        found = (
            block.value(name)
            for chunk in self._chunks
            for block in chunk.blocks
            if block.shape.target == type
        )
        return any(
            one is not None and one[1].nulls is not None and one[1].nulls.any() for one in found
        )

    def marked(self, mark: str) -> Any:
        del mark  # lanes tell of new rows only
        return None

    def only(self, targets: Collection[str]) -> LaneRows:
        import pyarrow as pa
        import pyarrow.compute as pc

        def keys() -> Any:
            return self._keys().filter(pc.is_in(self.names(), pa.array([*targets], pa.string())))

        shapes = [shape for shape in self._shapes if shape.target in targets]
        chunks = [chunk.only(targets) for chunk in self._chunks]
        return LaneRows(chunks, shapes, self.decoder.types, keys)

    def parts(self, size: int) -> Iterator[list[RowPart]]:
        for chunk in self._chunks:
            for begin in range(0, chunk.count, size):
                yield list(chunk.parts(begin, min(begin + size, chunk.count)))

    @cached_property
    def events(self) -> list[Event]:
        keys = [tuple(key) for key in self._keys().to_pylist()]
        return list(self._events(keys))

    def _events(self, keys: Sequence[tuple[int, ...]]) -> Iterator[Event]:
        begin = 0
        for chunk in self._chunks:
            yield from chunk.events(self.decoder, keys[begin : begin + chunk.count])
            begin += chunk.count
