"""Rows in columns as JSON Lines, without an event for each: what a column holds is written value by value
once, and put together by Arrow.

The text of a value is that of `to_json(encode(event))`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.core.time import format_instant
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, TIMESTAMP, DataType
from cepheid.io.encode import encode_value, to_json

if TYPE_CHECKING:
    from cepheid.io.rows import ColumnarRows, RowDecoder, RowPart

Array: TypeAlias = Any  # of Arrow, whose stubs know less than it does
ROWS = 1 << 16  # whose lines are in memory together
_TEXT = pa.large_string()


def line_texts(rows: ColumnarRows, size: int = ROWS) -> Iterator[str]:
    """The lines of all rows in their order, many in each text."""
    for parts in rows.parts(size):
        yield _lines(parts, rows.decoder)


def _lines(parts: Sequence[RowPart], decoder: RowDecoder) -> str:
    """The lines of some rows, part by part and then in their order."""
    texts = _texts(parts, decoder)
    found = pa.chunked_array([_joined(p, t) for p, t in zip(parts, texts, strict=True)], _TEXT)
    lines = found.combine_chunks()
    if any(part.places is not None for part in parts):
        lines = lines.take(pa.array(_order(parts)))
    return _whole(lines)


def _order(parts: Sequence[RowPart]) -> Any:
    """For each row its place among the rows of all parts, one part after the other."""
    count = sum(len(part.times) for part in parts)
    order = np.empty(count, dtype=np.int64)
    begin = 0
    for part in parts:
        end = begin + len(part.times)
        order[slice(None) if part.places is None else part.places] = np.arange(begin, end)
        begin = end
    return order


def _joined(part: RowPart, texts: Sequence[Array]) -> Array:
    marks = f', "{part.mark}": true' if part.mark else ""
    time, *values = texts
    pieces = [f'{{"@type": {to_json(part.shape.target)}, "@time": ', time]
    for name, text in zip(part.shape.columns, values, strict=True):
        pieces += [f"{marks}, {to_json(name)}: ", text]
        marks = ""
    pieces.append(f"{marks}}}\n")
    scalars = [pa.scalar(p, _TEXT) if isinstance(p, str) else p for p in pieces]
    return pc.binary_join_element_wise(*scalars, pa.scalar("", _TEXT))


def _whole(lines: Array) -> str:
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return str(memoryview(data)[int(ends[0]) : int(ends[-1])], "utf-8") if len(lines) else ""


# Values ---------------------------------------------------------------------------------------


def _texts(parts: Sequence[RowPart], decoder: RowDecoder) -> list[list[Array]]:
    """For each part its times and its columns as JSON; those of one type are written together."""
    found: list[list[Array]] = [[] for _ in parts]
    by_type: dict[DataType, list[tuple[int, int, Array]]] = {}
    for number, part in enumerate(parts):
        types = (TIMESTAMP, *part.shape.columns.values())
        for place, (type, array) in enumerate(zip(types, (part.times, *part.columns), strict=True)):
            by_type.setdefault(type, []).append((number, place, array))
            found[number].append(None)
    for type, columns in by_type.items():
        texts = _written([array for _, _, array in columns], type, decoder)
        for (number, place, _), text in zip(columns, texts, strict=True):
            found[number][place] = text
    return found


def _written(arrays: Sequence[Array], type: DataType, decoder: RowDecoder) -> list[Array]:
    """Columns of one type as JSON."""
    if type in (INT, LONG, BOOLEAN):
        return [array.cast(_TEXT).fill_null("null") for array in arrays]
    if any(pa.types.is_nested(array.type) for array in arrays):
        return [pa.array(_values(array, type, decoder), _TEXT) for array in arrays]
    words = [_as_words(array, type) for array in arrays]
    encoded: Any = pa.chunked_array(words).dictionary_encode()
    if not encoded.num_chunks:
        return [pa.array([], _TEXT) for _ in arrays]
    texts = pa.array(_distinct(encoded.chunk(0).dictionary, type, decoder), _TEXT)
    return [texts.take(chunk.indices).fill_null("null") for chunk in encoded.chunks]


def _as_words(array: Array, type: DataType) -> Array:
    """Values such that each of them is equal to itself alone: NaN is, and 0.0 is not -0.0."""
    if type in (FLOAT, DOUBLE):
        return array.cast(pa.float64()).view(pa.int64())
    return array.cast(pa.int64()) if type == TIMESTAMP else array


def _distinct(words: Array, type: DataType, decoder: RowDecoder) -> list[str]:
    if type == TIMESTAMP:
        return [f'"{format_instant(instant)}"' for instant in words.to_pylist()]
    if type not in (FLOAT, DOUBLE):
        return _values(words, type, decoder)
    numbers = words.view(pa.float64()).to_pylist()
    if np.isfinite(numbers).all():
        return to_json(numbers)[1:-1].split(", ") if numbers else []
    return [to_json(encode_value(number)) for number in numbers]


def _values(array: Array, type: DataType, decoder: RowDecoder) -> list[str]:
    return [to_json(encode_value(decoder.value(value, type))) for value in array.to_pylist()]
