"""Classes as tables of SQLite: each event a row of its attributes, `occ`, `det` and `@expires`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, cast

from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.repository import Row
from cepheid.core.event import Value
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, STRING, DataType
from cepheid.program.classes import EventClass

HIDDEN = ("det", "@expires")  # what a query has besides its columns: the latest of its rows
TIMES = ("occ", *HIDDEN)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def column_names(declared: EventClass) -> list[str]:
    """The columns of the table of a class."""
    return [*(attribute.name for attribute in declared.attributes), *TIMES]


def definition(name: str, declared: EventClass, more: str = "") -> str:
    """The statement that makes a table with the columns of a class, and more."""
    return f"CREATE TABLE {quoted(name)} ({', '.join(definitions(declared))}{more})"


def definitions(declared: EventClass) -> list[str]:
    """The columns of the table of a class, with the kinds of what they hold."""
    columns = [f"{quoted(a.name)} {_affinity(a.type)}" for a in declared.attributes]
    return [*columns, *(f"{quoted(time)} INTEGER" for time in TIMES)]


def _affinity(type: DataType) -> str:
    if type == STRING:
        return "TEXT"
    return "REAL" if type in (DOUBLE, FLOAT) else "INTEGER"


def fill(
    connection: sqlite3.Connection, name: str, declared: EventClass, rows: Iterable[Row]
) -> None:
    marks = ", ".join("?" * len(column_names(declared)))
    connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", map(cells, rows))


def cells(row: Row) -> tuple[object, ...]:
    """A row as its table has it."""
    return (*row.values, row.occ, row.det, row.expires)


class RowReader:
    """Makes rows of what a query finds, in the order of the columns of a class's table."""

    def __init__(self, declared: EventClass) -> None:
        types = [attribute.type for attribute in declared.attributes]
        self._width = len(types)
        # Most columns are as SQLite gives them.
        self._converted = [(n, t) for n, t in enumerate(types) if t in (BOOLEAN, DOUBLE, FLOAT)]
        names = [attribute.name for attribute in declared.attributes]
        self._places = [names.index(name) for name in declared.key]
        self._key_types = [types[place] for place in self._places]
        self._converted_key = any(t in (BOOLEAN, DOUBLE, FLOAT) for t in self._key_types)

    def row(self, found: Sequence[Any]) -> Row:
        width = self._width
        values = tuple(found[:width])
        if self._converted:
            cells = list(values)
            for place, type in self._converted:
                cells[place] = value_of(cells[place], type)
            values = tuple(cells)
        return Row(values, found[width], found[width + 1], found[width + 2])

    def plain_key(self, found: Sequence[Any]) -> Key:
        """A key as SQLite gives it."""
        if not self._converted_key:
            return tuple(found)
        return tuple(map(value_of, found, self._key_types))

    def key(self, row: Row) -> Key:
        return tuple([row.values[place] for place in self._places])


def value_of(value: Any, type: DataType) -> Value:
    """SQLite has no booleans, and a whole number may stand where a fraction could."""
    if value is None:
        return None
    if type == BOOLEAN:
        return bool(value)
    return float(value) if type in (DOUBLE, FLOAT) else cast("Value", value)
