"""Tables as bytes, each with the events of one bucket: what goes through Spark's shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

BUCKET, PACK = "bucket", "pack"  # columns; names of Python, as Spark makes tuples of their rows


def by_bucket(
    events: pa.Table, numbers: npt.NDArray[np.integer[Any]]
) -> Iterator[tuple[int, pa.Table]]:
    """The events of each bucket that has any."""
    counts = np.bincount(numbers)
    is_few = len(counts) < 1 << 16  # NumPy sorts short numbers in a faster way
    order = np.argsort(numbers.astype(np.uint16) if is_few else numbers, kind="stable")
    ordered = events.take(order)
    ends = np.cumsum(counts)
    for number in np.flatnonzero(counts):
        yield int(number), ordered.slice(ends[number] - counts[number], counts[number])


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    _write(table, sink)
    return sink.getvalue().to_pybytes()


def to_column(tables: Iterable[pa.Table | None]) -> Any:
    """Arrow streams of tables as a column: they are written where it will find them."""
    sink, ends, is_there = pa.BufferOutputStream(), [0], []
    for table in tables:
        if table is not None:
            _write(table, sink)
        ends.append(sink.tell())
        is_there.append(table is not None)
    places: Any = pa.array(ends, pa.int32())
    bits: Any = pa.array(is_there, pa.bool_())
    buffers = [bits.buffers()[1], places.buffers()[1], sink.getvalue()]
    return pa.Array.from_buffers(pa.binary(), len(is_there), buffers)


def _write(table: pa.Table, sink: pa.BufferOutputStream) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def from_bytes(stream: bytes) -> pa.Table:
    return pa.ipc.open_stream(stream).read_all()
