"""Schemas of types that no program declares, found in the columns of their events, as `infer` finds them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.core.types import ANY, DOUBLE, LONG, STRING, DataType, EventType
from cepheid.io.arrow import data_type
from cepheid.io.columns.csv import looks
from cepheid.io.columns.exact import refuse
from cepheid.io.columns.reading import META, Piece, arrow_table, bytes_of, pieces_of, reading
from cepheid.io.infer import type_of_columns
from cepheid.io.read import COLUMNAR
from cepheid.io.source import NOWHERE, SEQUENCE, Placement


def found_type(
    table: Any, name: str | None, unknown: Collection[str], placement: Placement = NOWHERE
) -> EventType | None:
    """The type of the events of a table or of a file, given by its path, if it is among the unknown.

    None where it is not, or where there are no events. It is the one that `infer` finds in records.
    """
    if not isinstance(table, str):
        whole = arrow_table(table, placement)
        return _stated(whole.schema, len(whole), name, unknown, placement)
    name = Path(table).stem
    suffix = Path(table).suffix.lower()
    if suffix not in COLUMNAR:
        refuse("events of types that each line names")
    with reading():
        if suffix == ".csv":
            return _seeming(pieces_of(table), name, unknown, placement)
        with pq.ParquetFile(table) as file:
            return _stated(file.schema_arrow, file.metadata.num_rows, name, unknown, placement)


def _stated(
    schema: pa.Schema,
    rows: int,
    name: str | None,
    unknown: Collection[str],
    placement: Placement,
) -> EventType | None:
    """As the columns say."""
    if len(set(schema.names)) < len(schema.names):
        refuse("columns of one name")
    try:
        stated = placement.arranged({field.name: data_type(field.type) for field in schema})
    except ValueError as problem:
        refuse(str(problem))
    stated.pop(SEQUENCE, None)
    if not rows or not _is_among(name, unknown, stated):
        return None
    columns = {name: type for name, type in stated.items() if name not in META}
    known = {name: type for name, type in columns.items() if type is not None}
    if len(known) < len(columns):
        refuse("columns that are no attributes")
    return type_of_columns(str(name), known)


def _seeming(
    pieces: Sequence[Piece], name: str, unknown: Collection[str], placement: Placement
) -> EventType | None:
    """As the cells look."""
    header = pieces[0].header or () if pieces else ()
    if placement.type is not None or not _is_among(name, unknown, header):
        return None
    if placement:
        refuse("columns of other names")
    names = [column for column in header if column not in META] or refuse("times alone")
    found: dict[str, set[DataType]] = {}
    for data in map(bytes_of, pieces):
        if data.lstrip(b"\r\n"):
            for column, types in looks(data, header, names).items():
                found.setdefault(column, set()).update(types)
    return type_of_columns(name, {n: _joined(t) for n, t in found.items()}) if found else None


def _is_among(name: str | None, unknown: Collection[str], columns: Collection[str]) -> bool:
    if "@type" in columns or name is None:
        refuse("events of several types")
    if any(column.startswith("@") and column not in META for column in columns):
        refuse("columns that are no attributes")
    return name in unknown


def _joined(types: set[DataType]) -> DataType:
    if len(types) < 2:
        return next(iter(types), ANY)
    return DOUBLE if types == {LONG, DOUBLE} else STRING
