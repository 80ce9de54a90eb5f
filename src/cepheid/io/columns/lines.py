"""JSON Lines as columns: the objects of many lines are read at once, and what they hold key by key.

Values are those of Python's reader, as in records. What is no object of scalars that are just what their
attributes ask for is left to records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.core.time import MICROSECONDS
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, DataType, EventType
from cepheid.core.values import Coercions, unique_keys
from cepheid.io.arrow import to_column
from cepheid.io.columns.exact import EXACT, Array, refuse, stored
from cepheid.io.columns.reading import (
    ColumnRules,
    Facts,
    Piece,
    bytes_of,
    event_columns,
    known_by_mark,
    placed_header,
    reading,
    whole_lines,
)
from cepheid.io.jsonl import BYTE_ORDER_MARK
from cepheid.io.source import NOWHERE, SEQUENCE, TIME, TYPE, Placement

PIECE = 1 << 20  # bytes of lines whose objects are in memory together
_Object: TypeAlias = dict[str, Any]
_Values: TypeAlias = Sequence[Any]


def line_pieces(path: str | Path, placement: Placement = NOWHERE, size: int = PIECE) -> list[Piece]:
    """A file of lines in pieces of about so many bytes."""
    with reading():
        return [replace(piece, placement=placement) for piece in whole_lines(str(path), 0, size)]


def read_lines(
    piece: Piece, types: Mapping[str, EventType], rules: ColumnRules
) -> Iterator[pa.RecordBatch]:
    """The events of a piece of the program's types, in the columns of `event_columns`."""
    with reading():
        text = bytes_of(piece).decode()
        rows = _objects(text.removeprefix(BYTE_ORDER_MARK) if piece.begin == 0 else text)
        if piece.placement.columns:
            rules.facts.renamings.see(piece.placement, {key for row in rows for key in row})
        if rows:
            yield _events(_Table.of(rows, types, piece.placement), types, rules, piece.placement)


# Lines ----------------------------------------------------------------------------------------


def _objects(text: str) -> list[_Object]:
    """The objects of lines, each of which is one.

    Read as one array, lines cannot run into each other: there is a line break between them, which ends
    no string, and each begins with a brace, which is no key. One that goes on in a list is nested.
    """
    if "\\ud" in text or "\\uD" in text:
        refuse("what may be half of a surrogate pair")
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    if text.count("\n{") + text.startswith("{") != len(lines):
        refuse("lines that do not begin with an object")
    array = f"[{_BETWEEN.join(lines)}]"
    try:
        found: list[_Object] = json.loads(array)
        if not _has_unique_keys(text, found):
            found = json.loads(array, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as problem:
        refuse(str(problem))
    return found if len(found) == len(lines) else refuse("lines of several objects")


_BETWEEN = ",\n"


def _has_unique_keys(text: str, rows: Iterable[_Object]) -> bool:
    """Whether there are as many keys as were written, as far as counting tells."""
    has_space = any(f"{space}:" in text for space in " \t\r")
    return not has_space and text.count('":') == sum(map(len, rows))


# Columns --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """What objects hold, by the names that readers know, and the keys of each type in its objects."""

    columns: Mapping[str, _Values]
    keys: Sequence[tuple[str | None, tuple[str, ...]]]  # in the order of their first use

    @staticmethod
    def of(rows: Sequence[_Object], types: Mapping[str, EventType], placement: Placement) -> _Table:
        shapes = list(dict.fromkeys(map(tuple, rows)))
        if len(shapes) == 1:
            header = placed_header(shapes[0], placement, types)
            held = zip(header, shapes[0], strict=True)
            columns: dict[str, _Values] = {name: [row[key] for row in rows] for name, key in held}
            named = _types_in(columns, len(rows))
            return _Table(columns, [(type, header) for type in dict.fromkeys(named)])
        if placement:
            refuse("columns that some lines do not have")
        names = dict.fromkeys(name for shape in shapes for name in shape)
        columns = {name: [row.get(name) for row in rows] for name in names}
        named = _types_in(columns, len(rows))
        return _Table(columns, list(dict.fromkeys(zip(named, map(tuple, rows), strict=True))))


def _types_in(columns: Mapping[str, _Values], count: int) -> Sequence[str | None]:
    found = columns.get(TYPE, (None,) * count)
    _check(found, {str})
    return found


def _events(
    table: _Table, types: Mapping[str, EventType], rules: ColumnRules, placement: Placement
) -> pa.RecordBatch:
    owners = _owners(table, types, rules, placement)
    batch = {TYPE: pa.array(_types_in(table.columns, _count(table)), pa.string())}
    for name, values in table.columns.items():
        kinds = owners.get(name, set())
        if name == TIME:
            batch[TIME] = _times(values, placement)
        elif name == SEQUENCE and placement.sequence is not None:
            batch[SEQUENCE] = _scalars(values, LONG, types)
        elif len(kinds) > 1:
            refuse(f"attributes {name} of several types")
        elif kinds:
            batch[name] = _scalars(values, kinds.pop(), types)
        elif name != TYPE:
            _check_plain(values)
    # Keys that are missing and those that are null differ, which columns do not show.
    place = replace(known_by_mark(placement), unit=placement.unit)
    own = replace(rules, facts=Facts(), placement=place)
    return event_columns(pa.RecordBatch.from_pydict(batch), None, types, rules=own)


def _count(table: _Table) -> int:
    return len(next(iter(table.columns.values()), ()))


def _owners(
    table: _Table, types: Mapping[str, EventType], rules: ColumnRules, placement: Placement
) -> dict[str, set[DataType]]:
    """What attributes are to the types that have them; notes what there is and what is ignored."""
    owners: dict[str, set[DataType]] = {}
    marks = (TYPE, TIME) if placement.sequence is None else (TYPE, TIME, SEQUENCE)
    for name, keys in table.keys:
        if name is None:
            _check_pause(keys, placement)
            continue
        known = types.get(name) or refuse(f"no schema of {name}")
        rules.facts.names.setdefault(name, set()).update(keys, placement.used)
        for key in keys:
            type = known.find(key)
            if type is not None:
                owners.setdefault(key, set()).add(type)
            elif key.startswith("@") and key not in marks:
                refuse("what may be a mark")
            elif key not in marks:
                rules.facts.ignore(name, key, rules)
    return owners


def _check_pause(keys: Sequence[str], placement: Placement) -> None:
    if {*keys} - {TYPE} != {TIME} or placement:
        refuse("events without a type")


def _scalars(values: _Values, type: DataType, types: Mapping[str, EventType]) -> Array:
    wanted = stored(type)
    if type not in _HELD:  # times, days and decimals come in many forms
        convert = Coercions(types).of(type)
        try:
            return to_column(list(map(convert, values)), type, types)
        except (ValueError, OverflowError) as problem:
            refuse(str(problem))
    _check(values, _HELD[type])
    return _array(values, pa.float64() if type == FLOAT else wanted)  # as the decoder rounds it


_HELD: dict[DataType, set[type]] = {
    INT: {int},
    LONG: {int},
    FLOAT: {int, float},
    DOUBLE: {int, float},
    STRING: {str},
    BOOLEAN: {bool},
}


def _times(values: _Values, placement: Placement) -> Array:
    found = {*map(type, values)} - {NoneType}
    if found <= {str}:
        return _array(values, pa.string())
    _check(values, {int, float})
    if found == {int}:
        return _array(values, pa.int64())
    unit = MICROSECONDS[placement.unit or "seconds"]
    if any(abs(value) * unit >= EXACT for value in values if type(value) is int):
        refuse("large numbers")
    return _array(values, pa.float64())


def _check(values: _Values, kinds: set[type]) -> None:
    if not {*map(type, values)} <= {*kinds, NoneType}:
        refuse("values of other types")


def _check_plain(values: _Values) -> None:
    """Nothing is to be said of values that nobody has an attribute for."""
    _check(values, {str, int, float, bool})
    _array(values, None)


def _array(values: _Values, wanted: pa.DataType | None) -> Array:
    try:
        found: Array = pa.array(values, wanted)
    except (ValueError, TypeError, OverflowError) as problem:
        refuse(str(problem))
    if pa.types.is_floating(found.type) and pc.any(pc.is_inf(found)).as_py():
        refuse("numbers that may be too large")
    return found
