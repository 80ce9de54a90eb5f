"""Packs: tables that travel through a stream as bytes, each to one bucket.

The shuffle and the state of Spark take rows one at a time, so one row holds all that a task has for
a bucket. Packs of events have a bucket's number; packs of results, which no operator opens, have a
kind and a number below zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T  # noqa: N812

from cepheid.core.time import Instant
from cepheid.engines.spark.codec.event_encoder import TIME, decode
from cepheid.engines.spark.session.workers import keep_loaded
from cepheid.engines.spark.shuffle.partition_labels import label
from cepheid.engines.spark.shuffle.partitioner import Partitioner
from cepheid.engines.spark.stream.state import from_bytes, to_bytes

ROWS, LATE = "rows", "late"  # what packs of results hold
# The columns of packs; names of Python, as Spark makes tuples of their rows.
BUCKET, MOMENT, NEWEST, PACK, CONTENT = "bucket", "moment", "newest", "pack", "content"
_ROWS_PER_PACK = 1 << 17  # of a task: the next rows come while these are packed
_ROWS_PER_RESULT = 1 << 16

PACKS = T.StructType(
    [
        T.StructField(BUCKET, T.IntegerType()),
        T.StructField(MOMENT, T.TimestampType()),
        T.StructField(NEWEST, T.LongType()),  # the same, as Python gets it
        T.StructField(PACK, T.BinaryType()),
    ]
)
RESULTS = T.StructType(
    [T.StructField(CONTENT, T.StringType()), T.StructField(PACK, T.BinaryType())]
)
FORWARDED = T.StructType([*PACKS, T.StructField(CONTENT, T.StringType())])


@dataclass(frozen=True, slots=True)
class Packer:
    """How a task packs the events of a pass."""

    first: int  # the pass's first bucket
    types: tuple[str, ...]  # by their numbers
    time_columns: Mapping[
        str, int
    ]  # columns that hold a time, and the microseconds that they count
    names: Mapping[str, str]
    notified: tuple[int, ...]  # buckets that hear of everything
    partitioner: Partitioner | None = None  # where Spark has not split the events


def pack(packer: Packer, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One pack for each bucket, and the largest time for those that hear of everything."""
    keep_loaded("packs")
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(b.num_rows for b in held) >= _ROWS_PER_PACK:
            yield _packs(packer, pa.Table.from_batches(held))
            held = []
    if any(batch.num_rows for batch in held):
        yield _packs(packer, pa.Table.from_batches(held))


def _packs(packer: Packer, rows: pa.Table) -> pa.RecordBatch:
    newest = pc.max(rows[TIME]).as_py()
    events = _decoded(packer, rows.filter(pc.is_valid(rows[BUCKET])).combine_chunks())
    numbers = events[BUCKET].to_numpy()
    events = events.drop_columns(BUCKET)
    events = events.rename_columns([packer.names.get(n, n) for n in events.column_names])
    if packer.partitioner is not None:
        numbers = packer.partitioner.numbers(events)
    packs: dict[int, bytes | None] = dict.fromkeys(packer.notified)
    packs |= {packer.first + n: to_bytes(part) for n, part in by_bucket(events, numbers)}
    return pack_rows(packs, newest)


def _decoded(packer: Packer, events: pa.Table) -> pa.Table:
    """With all columns, and the names of types instead of their numbers."""
    sent = {name: events[name].combine_chunks() for name in events.column_names}
    return pa.table(decode(sent, events.num_rows, packer.types, packer.time_columns))


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


def pack_rows(packs: Mapping[int, bytes | None], newest: Instant | None) -> pa.RecordBatch:
    times = pa.array([newest] * len(packs), pa.int64())
    columns: list[Any] = [
        pa.array(map(label, packs), pa.int32()),
        times.cast(pa.timestamp("us", "UTC")),
        times,
        pa.array(packs.values(), pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=PACKS.names)


def in_packs(table: pa.Table) -> Iterator[bytes]:
    """A table as packs of a size that Spark likes."""
    for begin in range(0, table.num_rows, _ROWS_PER_RESULT):
        yield to_bytes(table.slice(begin, _ROWS_PER_RESULT))


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    keep_loaded("packs")
    for batch in batches:
        for packed in batch.column(0):
            yield from from_bytes(packed.as_py()).to_batches()
