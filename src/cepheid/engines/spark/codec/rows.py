"""Rows of a program as events: the one place where Spark's rows become what people look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cepheid.core.event import Event
from cepheid.core.time import to_instant
from cepheid.io.rows import RowDecoder
from cepheid.matcher.operator import derived_types
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    import pyarrow as pa


def decode_rows(
    rows: pa.RecordBatch | pa.Table, program: ResolvedProgram, output: str | None = None
) -> Iterator[Event]:
    """Rows in the columns of `rows_schema`, or as `detect` shows those of one type.

    Where a row has no '@key', the event has the place of an input event.
    """
    derived = derived_types(program)
    decoder = RowDecoder(program.types)
    count = rows.num_rows
    # A type without attributes has no column.
    nothing: list[Any] = [{}] * count
    stored: dict[str, list[Any]]
    if output is None:
        types: list[Any] = rows["@type"].to_pylist()
        stored = {name: rows[name].to_pylist() for name in derived}
    else:
        types = [output] * count
        stored = {
            name: rows.select(list(derived[name])).to_pylist() for name in derived if name == output
        }
    times: list[Any] = rows["@time"].to_pylist()
    kinds: list[Any] = rows["@kind"].to_pylist()
    keys: list[Any] = rows["@key"].to_pylist() if "@key" in rows.schema.names else [None] * count
    for place, (type, time, kind, key) in enumerate(zip(types, times, kinds, keys, strict=True)):
        yield Event(
            type,
            to_instant(time),
            decoder.values(stored.get(type, nothing)[place], derived.get(type, {})),
            is_old=kind == "old",
            is_timeout=kind == "timeout",
            key=None if key is None else tuple(key),
        )
