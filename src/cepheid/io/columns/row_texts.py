"""Rows in columns as JSON Lines and as CSV, without an event for each: what a column holds is written value by
value once, and put together by Arrow.

The text of a value is that of `to_json(encode_value(value))`, or of `to_cell(value)`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.core.event import Value
from cepheid.core.time import Instant, format_instant
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, TIMESTAMP, DataType
from cepheid.io.encode import MARKS, encode_value, to_cell, to_json

if TYPE_CHECKING:
    from cepheid.io.rows import ColumnarRows, RowColumns, RowDecoder, RowPart

Array: TypeAlias = Any  # of Arrow, whose stubs know less than it does
ROWS = 1 << 16  # whose texts are in memory together
_TEXT = pa.large_string()


class _Form(NamedTuple):
    """How values are written; whole numbers, truth values and finite numbers are the same in both forms."""

    null: str
    value: Callable[[Value], str]
    time: Callable[[Instant], str]


def _json(value: Value) -> str:
    return to_json(encode_value(value))


def cell(text: str) -> str:
    """In quotes where another row or cell would begin in it."""
    written = StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(("", text))
    return written.getvalue()[1:-2]


_LINES = _Form("null", _json, lambda instant: f'"{format_instant(instant)}"')
_CELLS = _Form("", lambda value: cell(to_cell(value)), format_instant)


# Rows -----------------------------------------------------------------------------------------


def line_texts(rows: ColumnarRows, size: int = ROWS) -> Iterator[str]:
    """The lines of all rows in their order, many in each text."""
    for parts in rows.parts(size):
        yield _written(parts, rows.decoder, _LINES, _line)


def _line(part: RowPart) -> list[str | int]:
    marks = f', "{part.mark}": true' if part.mark else ""
    pieces: list[str | int] = [f'{{"@type": {to_json(part.shape.target)}, "@time": ', 0]
    for place, name in enumerate(part.shape.columns, start=1):
        pieces += [f"{marks}, {to_json(name)}: ", place]
        marks = ""
    return [*pieces, f"{marks}}}\n"]


def cell_texts(rows: ColumnarRows, size: int = ROWS) -> Iterator[str] | None:
    """The rows of a CSV file with its header; None where one type has its attributes in several orders."""
    shapes: dict[str, RowColumns] = {}
    for shape in rows.shapes:
        if list(shapes.setdefault(shape.target, shape).columns) != list(shape.columns):
            return None
    names = [*dict.fromkeys(name for target in rows.counts() for name in shapes[target].columns)]
    marks = [mark for mark in MARKS if rows.marked(mark) is not None]

    def row(part: RowPart) -> list[str | int]:
        places = {name: place for place, name in enumerate(part.shape.columns, start=1)}
        marked = "".join(",true" if part.mark == mark else "," for mark in marks)
        pieces: list[str | int] = [f"{cell(part.shape.target)},", 0, marked]
        for name in names:
            pieces += [",", places[name]] if name in places else [","]
        return [*pieces, "\n"]

    def texts() -> Iterator[str]:
        yield ",".join(["@type", "@time", *marks, *map(cell, names)]) + "\n"
        for parts in rows.parts(size):
            yield _written(parts, rows.decoder, _CELLS, row)

    return texts()


def _written(
    parts: Sequence[RowPart],
    decoder: RowDecoder,
    form: _Form,
    pieces_of: Callable[[RowPart], Sequence[str | int]],
) -> str:
    """Some rows, part by part and then in their order; a piece is a text, or the number of a column."""
    texts = _texts(parts, decoder, form)
    joined = [_joined(pieces_of(p), t) for p, t in zip(parts, texts, strict=True)]
    found = pa.chunked_array(joined, _TEXT).combine_chunks()
    if any(part.places is not None for part in parts):
        found = found.take(pa.array(_order(parts)))
    return _whole(found)


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


def _joined(pieces: Sequence[str | int], columns: Sequence[Array]) -> Array:
    texts = [pa.scalar(p, _TEXT) if isinstance(p, str) else columns[p] for p in pieces]
    return pc.binary_join_element_wise(*texts, pa.scalar("", _TEXT))


def _whole(lines: Array) -> str:
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return str(memoryview(data)[int(ends[0]) : int(ends[-1])], "utf-8") if len(lines) else ""


# Values ---------------------------------------------------------------------------------------


def _texts(parts: Sequence[RowPart], decoder: RowDecoder, form: _Form) -> list[list[Array]]:
    """For each part its times and its columns; those of one type are written together."""
    found: list[list[Array]] = [[] for _ in parts]
    by_type: dict[DataType, list[tuple[int, int, Array]]] = {}
    for number, part in enumerate(parts):
        types = (TIMESTAMP, *part.shape.columns.values())
        for place, (type, array) in enumerate(zip(types, (part.times, *part.columns), strict=True)):
            by_type.setdefault(type, []).append((number, place, array))
            found[number].append(None)
    for type, columns in by_type.items():
        texts = _columns([array for _, _, array in columns], type, decoder, form)
        for (number, place, _), text in zip(columns, texts, strict=True):
            found[number][place] = text
    return found


def _columns(
    arrays: Sequence[Array], type: DataType, decoder: RowDecoder, form: _Form
) -> list[Array]:
    """Columns of one type as texts."""
    if type in (INT, LONG, BOOLEAN):
        return [array.cast(_TEXT).fill_null(form.null) for array in arrays]
    if any(pa.types.is_nested(array.type) for array in arrays):
        return [pa.array(_values(array, type, decoder, form), _TEXT) for array in arrays]
    words = [_as_words(array, type) for array in arrays]
    encoded: Any = pa.chunked_array(words).dictionary_encode()
    if not encoded.num_chunks:
        return [pa.array([], _TEXT) for _ in arrays]
    texts = pa.array(_distinct(encoded.chunk(0).dictionary, type, decoder, form), _TEXT)
    return [texts.take(chunk.indices).fill_null(form.null) for chunk in encoded.chunks]


def _as_words(array: Array, type: DataType) -> Array:
    """Values such that each of them is equal to itself alone: NaN is, and 0.0 is not -0.0."""
    if type in (FLOAT, DOUBLE):
        return array.cast(pa.float64()).view(pa.int64())
    return array.cast(pa.int64()) if type == TIMESTAMP else array


def _distinct(words: Array, type: DataType, decoder: RowDecoder, form: _Form) -> list[str]:
    if type == TIMESTAMP:
        return [form.time(instant) for instant in words.to_pylist()]
    if type not in (FLOAT, DOUBLE):
        return _values(words, type, decoder, form)
    numbers = words.view(pa.float64()).to_pylist()
    if np.isfinite(numbers).all():
        return to_json(numbers)[1:-1].split(", ") if numbers else []
    return [form.value(number) for number in numbers]


def _values(array: Array, type: DataType, decoder: RowDecoder, form: _Form) -> list[str]:
    return [form.value(decoder.value(value, type)) for value in array.to_pylist()]
