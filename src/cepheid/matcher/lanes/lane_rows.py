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
from cepheid.matcher.columns.batches import Repeated, as_arrow
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.lanes.predicates import Values

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows of statements that hold the same, and their places among the rows of a chunk; None: they are all."""

    shapes: Sequence[RowColumns]
    codes: Words | None  # of each row the number of its shape; None: there is one
    places: Words | None
    instants: Words
    values: tuple[Values, ...]

    def value(self, name: str) -> tuple[DataType, Values] | None:
        columns = self.shapes[0].columns
        if name not in columns:
            return None
        return columns[name], self.values[list(columns).index(name)]

    def apart(self) -> Iterator[tuple[RowColumns, RowBlock]]:
        """The rows of each statement."""
        if self.codes is None:
            yield self.shapes[0], self
            return
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.shapes)))
        for shape, mine in zip(self.shapes, np.split(order, ends[:-1]), strict=True):
            if len(mine):
                places = mine if self.places is None else self.places[mine]
                values = tuple(one.of(mine) for one in self.values)
                yield shape, RowBlock((shape,), None, places, self.instants[mine], values)

    def firsts(self) -> Iterator[tuple[int, str, int]]:
        """For each statement the place of its first row, its type, and how many rows it has."""
        codes = np.zeros(len(self.instants), dtype=np.int64) if self.codes is None else self.codes
        first = np.zeros(len(self.shapes), dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]  # what is put last, stays
        counts = np.bincount(codes, minlength=len(self.shapes)).tolist()
        for shape, row, count in zip(self.shapes, first.tolist(), counts, strict=True):
            if count:
                yield row if self.places is None else int(self.places[row]), shape.target, count


@dataclass(frozen=True)
class RowChunk:
    """Rows that a batch or time has brought; the pool knows their strings."""

    count: int
    blocks: tuple[RowBlock, ...]
    pool: Pool

    @cached_property
    def _apart(self) -> list[tuple[RowColumns, RowBlock]]:
        return [one for block in self.blocks for one in block.apart()]

    def names(self, repeated: Repeated) -> Array:
        import pyarrow as pa

        shapes = (shape for block in self.blocks for shape in block.shapes)
        targets = {target: n for n, target in enumerate(dict.fromkeys(s.target for s in shapes))}
        if len(targets) == 1:
            return repeated.text(next(iter(targets)), self.count)
        codes = np.zeros(self.count, dtype=np.int32)
        for block in self.blocks:
            own = np.array([targets[shape.target] for shape in block.shapes], dtype=np.int32)
            _put(codes, block.places, own[0] if block.codes is None else own[block.codes])
        places: Array = pa.array(codes)
        return pa.array([*targets], pa.string()).take(places)

    def times(self) -> Array:
        import pyarrow as pa

        instants = _gathered(self.count, [(block.places, block.instants) for block in self.blocks])
        return pa.array(instants).cast(pa.timestamp("us", "UTC"))

    def member(self, name: str, type: pa.DataType) -> Array | None:
        """An attribute of all rows; None where it is not of that Arrow type throughout."""
        import pyarrow as pa

        owners = [(block, found) for block in self.blocks if (found := block.value(name))]
        if any(arrow_type(known, {}) != type for known in {known for _, (known, _) in owners}):
            return None
        if not owners:
            nothing: Array = pa.nulls(self.count, cast("Any", type))
            return nothing
        (first, (data_type, values)), *others = owners
        if first.places is not None or others:
            values = self._joined([(block.places, found) for block, (_, found) in owners])
        return as_arrow(values, data_type, self.pool)

    def _joined(self, parts: Sequence[tuple[Words | None, Values]]) -> Values:
        words = _gathered(self.count, [(places, values.words) for places, values in parts])
        is_whole = sum(len(values.words) for _, values in parts) == self.count
        if is_whole and all(values.nulls is None for _, values in parts):
            return Values(words, None)
        nulls = np.ones(self.count, dtype=bool)
        for places, values in parts:
            _put(nulls, places, False if values.nulls is None else values.nulls)
        return Values(words, nulls if nulls.any() else None)

    def only(self, targets: Collection[str]) -> RowChunk:
        """The rows of some types; their places are counted anew."""
        own = [block for shape, block in self._apart if shape.target in targets]
        is_own = np.zeros(self.count, dtype=bool)
        for block in own:
            _put(is_own, block.places, some=True)
        numbers = np.cumsum(is_own) - 1
        blocks = (
            block if block.places is None else replace(block, places=numbers[block.places])
            for block in own
        )
        return RowChunk(int(is_own.sum()), tuple(blocks), self.pool)

    def has_null(self, target: str, name: str) -> bool:
        found = (block.value(name) for shape, block in self._apart if shape.target == target)
        return any(
            one is not None and one[1].nulls is not None and one[1].nulls.any() for one in found
        )

    def parts(self, begin: int, end: int) -> Iterator[RowPart]:
        """The rows at some places."""
        for shape, block in self._apart:
            first, last, places = begin, end, block.places
            if places is not None:
                first, last = np.searchsorted(places, [begin, end]).tolist()
                places = places[first:last] - begin
            if first < last:
                yield self._part(shape, block, slice(first, last), places)

    def _part(
        self, shape: RowColumns, block: RowBlock, own: slice, places: Words | None
    ) -> RowPart:
        columns = [
            as_arrow(
                Values(v.words[own], v.nulls if v.nulls is None else v.nulls[own]), type, self.pool
            )
            for type, v in zip(shape.columns.values(), block.values, strict=True)
        ]
        times = as_arrow(Values(block.instants[own], None), TIMESTAMP, self.pool)
        return RowPart(shape, places, times, columns)

    def events(self, decoder: RowDecoder, keys: Sequence[tuple[int, ...]]) -> list[Event]:
        found: list[Any] = [None] * self.count
        for shape, block in self._apart:
            places = range(self.count) if block.places is None else block.places.tolist()
            columns = [
                as_arrow(values, type, self.pool).to_pylist()
                for type, values in zip(shape.columns.values(), block.values, strict=True)
            ]
            names = [*shape.columns]
            rows = zip(*columns, strict=True) if columns else iter([()] * len(block.instants))
            for place, instant, row in zip(places, block.instants.tolist(), rows, strict=True):
                stored = dict(zip(names, row, strict=True))
                values = decoder.values(stored, shape.columns)
                found[place] = Event(
                    shape.target, instant, values, statement=shape.statement, key=keys[place]
                )
        return found


def _gathered(count: int, parts: Sequence[tuple[Words | None, Words]]) -> Words:
    """What lies at some places each; nothing is done where they are all."""
    match parts:
        case [(None, words)]:
            return words
    stored = np.result_type(*(words.dtype for _, words in parts)) if parts else np.int64
    found = np.zeros(count, dtype=stored)
    for places, words in parts:
        _put(found, places, words)
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
        self._own = shapes
        self.decoder = RowDecoder(types)
        self._keys = keys

    def __len__(self) -> int:
        return sum(chunk.count for chunk in self._chunks)

    @property
    def shapes(self) -> Sequence[RowColumns]:
        return self._own

    def counts(self) -> dict[str, int]:
        firsts: list[tuple[int, int, str]] = []
        found: Counter[str] = Counter()
        for number, chunk in enumerate(self._chunks):
            for block in chunk.blocks:
                for first, target, count in block.firsts():
                    firsts.append((number, first, target))
                    found[target] += count
        return {target: found[target] for _, _, target in sorted(firsts)}

    def names(self) -> Any:
        repeated = Repeated()
        return self._chunked([chunk.names(repeated) for chunk in self._chunks], "string")

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
        return any(chunk.has_null(type, name) for chunk in self._chunks)

    def marked(self, mark: str) -> Any:
        del mark  # lanes tell of new rows only
        return None

    def only(self, targets: Collection[str]) -> LaneRows:
        import pyarrow as pa
        import pyarrow.compute as pc

        def keys() -> Any:
            return self._keys().filter(pc.is_in(self.names(), pa.array([*targets], pa.string())))

        shapes = [shape for shape in self._own if shape.target in targets]
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
