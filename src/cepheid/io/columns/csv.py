"""The text of CSV files as columns, where Arrow reads it as Python's own reader and the decoder do."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from cepheid.core.time import MICROSECONDS, TimeUnit
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, DataType
from cepheid.core.values import number_from
from cepheid.io.columns.exact import EXACT, INSTANT, Array, refuse, stored, timestamp_type
from cepheid.io.encode import MARKS

_TYPE = pa.dictionary(pa.int32(), pa.string())
# Numbers of more digits than people write; the decoder refuses them, leading zeros or not.
_MANY_ZEROS = b"0" * 90
_PARSING = pa_csv.ParseOptions(newlines_in_values=False)


def cell_columns(
    data: bytes,
    header: Sequence[str],
    attributes: Mapping[str, DataType],
    unit: TimeUnit = "seconds",
) -> pa.Table:
    """Rows of a file with that header as a table; what is no attribute remains text."""
    _check_text(data)
    types = {name: _column_type(name, attributes.get(name)) for name in header}
    if "@time" in header:
        types["@time"] = _time_type(header, data)
    whole = [name for name in header if attributes.get(name) in (INT, LONG)]
    if whole and any(x in data and b"0" + x in data for x in (b"x", b"X")):
        _check_no_hex(data, header, whole)
    try:
        table = _parse(data, header, types)
    except pa.ArrowInvalid:  # perhaps whole numbers that are written as 5.0
        table = _parse(data, header, types | dict.fromkeys(whole, pa.float64()))
    columns = {n: table[n].combine_chunks() for n in header}
    found = {n: _settled(array, attributes.get(n), data) for n, array in columns.items()}
    if "@time" in found and pa.types.is_floating(found["@time"].type):
        found["@time"] = _instants(found["@time"], MICROSECONDS[unit])
    return pa.table(found)


def types_in(data: bytes, header: Sequence[str]) -> list[str]:
    """The types that rows name."""
    _check_text(data)
    named = _parse(data, header, {"@type": pa.string()})["@type"].unique()
    return [name for name in named.to_pylist() if name is not None]


# Cells of which no schema says what they are, as `infer` takes them.
_LOOKS: dict[DataType, str] = {
    LONG: r"^-?(0|[1-9][0-9]{0,17})$",
    DOUBLE: r"^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2})?$",
    BOOLEAN: r"^(true|True|TRUE|false|False|FALSE)$",
}
_SPACE = r"[\s\v\x{1c}-\x{1f}\x{85}\p{Z}]*"
# What may be a number, a boolean or JSON after all; numbers with a leading zero or plus are codes.
_UNCERTAIN = (
    rf"^({_SPACE}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?{_SPACE}"
    rf"|{_SPACE}((?i)true|false){_SPACE}|NaN|-?Infinity|[\[{{](?s:.*))$"
)
_CODE = r"^-*(0[0-9]|\+)"


def looks(data: bytes, header: Sequence[str], names: Sequence[str]) -> dict[str, set[DataType]]:
    """What the cells of some columns look like: numbers, booleans, strings; nothing where empty."""
    _check_text(data)
    texts = _parse(data, header, dict.fromkeys(names, pa.string()))
    return {name: _looks(texts[name].unique().drop_null()) for name in names}


def _looks(cells: Array) -> set[DataType]:
    found: set[DataType] = set()
    for type, look in _LOOKS.items():
        hits = pc.match_substring_regex(cells, look)
        if pc.any(hits).as_py():
            found.add(type)
        cells = cells.filter(pc.invert(hits))
    if len(cells):
        found.add(STRING)
        others = cells.filter(pc.invert(pc.match_substring_regex(cells, _CODE)))
        if pc.any(pc.match_substring_regex(others, _UNCERTAIN)).as_py():
            refuse("cells that may be more than text")
    return found


# Text -----------------------------------------------------------------------------------------


def _check_text(data: bytes) -> None:
    """Both readers see the same cells, or one of them sees none."""
    if b"\0" in data:
        refuse("a zero byte")
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        refuse("a carriage return alone")
    if _MANY_ZEROS in data:
        refuse("numbers with many zeros")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            refuse("bytes that are no UTF-8")
    if b'"' in data:
        check_quotes(data)


def check_quotes(data: bytes) -> None:
    """Quotes stand around whole cells, which have no line breaks; others are doubled.

    Taken in turn, quotes open and close; what looks like a cell that closes and opens again is a
    doubled quote inside.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero(text == ord('"'))
    if len(quotes) % 2:
        refuse("an open quote")
    opening, closing = quotes[0::2], quotes[1::2]
    before = np.where(opening > 0, text[opening - 1], ord("\n"))
    after = text[np.minimum(closing + 1, len(text) - 1)]
    is_last = closing + 1 == len(text)
    if not np.isin(before, _BEFORE).all() or not (np.isin(after, _AFTER) | is_last).all():
        refuse("a quote inside a cell")
    breaks = np.flatnonzero(text == ord("\n"))
    if (np.searchsorted(breaks, opening) != np.searchsorted(breaks, closing)).any():
        refuse("a cell of several lines")


_BEFORE = np.frombuffer(b',\n"', dtype=np.uint8)
_AFTER = np.frombuffer(b',\r\n"', dtype=np.uint8)


def _check_no_hex(data: bytes, header: Sequence[str], names: Sequence[str]) -> None:
    """Arrow reads `0x1F` as a whole number."""
    texts = _parse(data, header, dict.fromkeys(names, pa.string()))
    for name in names:
        if pc.any(pc.match_substring(texts[name], "x", ignore_case=True)).as_py():
            refuse("hexadecimal numbers")


# Columns --------------------------------------------------------------------------------------


def _parse(data: bytes, header: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
    source: Any = pa.BufferReader(data)
    return pa_csv.read_csv(
        source,
        read_options=pa_csv.ReadOptions(
            use_threads=False, block_size=len(data) + 1, column_names=list(header)
        ),
        parse_options=_PARSING,
        convert_options=pa_csv.ConvertOptions(
            column_types=dict(types),
            include_columns=list(types),
            null_values=[""],
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _column_type(name: str, type: DataType | None) -> pa.DataType:
    if name == "@type":
        return _TYPE
    if name in MARKS:
        return pa.bool_()
    if type in (FLOAT, DOUBLE):
        return pa.float64()  # a float is the one next to the double
    return pa.string() if type is None else stored(type)


def _time_type(header: Sequence[str], data: bytes) -> pa.DataType:
    """What the first row says about all: numbers of seconds, or ISO texts."""
    begin = len(data) - len(data.lstrip(b"\r\n"))
    end = data.find(b"\n", begin)
    line = data[begin:] if end < 0 else data[begin:end]
    row = next(csv.reader([line.decode().rstrip("\r")]))
    if len(row) != len(header):
        refuse("a row of other cells than the header")
    text = row[header.index("@time")].strip()
    try:
        number_from(text)
    except ValueError:
        return timestamp_type(text)
    return pa.float64()


def _settled(array: Array, type: DataType | None, data: bytes) -> Array:
    if type in (FLOAT, DOUBLE):
        _check_doubles(array)
    elif type == STRING and b'""""""' in data:  # two quotes stand for the empty string
        return pc.replace_substring_regex(array, '^""("*)$', r"\1")
    return array


def _instants(array: Array, unit: int) -> Array:
    counts = _filled(array)
    if not (np.abs(counts) < EXACT // unit).all():  # whole numbers are not to be rounded
        refuse("times far away")
    mask = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(np.rint(counts * unit).astype(np.int64), mask=mask).cast(INSTANT)


def _check_doubles(array: Array) -> None:
    numbers = _filled(array)
    if not np.isfinite(numbers).all():  # Arrow knows more names of them than the decoder
        refuse("numbers that are not finite")
    if np.signbit(numbers[numbers == 0]).any():  # the whole number -0 has no sign
        refuse("negative zeros")


def _filled(array: Array) -> Any:
    return array.fill_null(0.0).to_numpy(zero_copy_only=False)
