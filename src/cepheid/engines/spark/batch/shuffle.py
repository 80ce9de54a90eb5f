"""Events on their way to the tasks of a batch: in packs, each for one bucket of keys.

    rows --pack--> packs --by bucket--> packs in the order of time --unpack, merge--> events

Spark's shuffle and sort take rows one at a time, so events travel in packs: some thousand of them
in one row, as Arrow writes them. A task runs its buckets one after the other. Each has few keys, so
that what a program remembers of them stays where the processor reaches it fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from cepheid.core.time import Instant
from cepheid.engines.spark.codec.event_encoder import EventEncoder
from cepheid.engines.spark.codec.event_frames import named
from cepheid.engines.spark.codec.event_layout import TIME
from cepheid.engines.spark.codec.sql_columns import Column, call, lit
from cepheid.engines.spark.session.workers import keep_loaded
from cepheid.engines.spark.shuffle.blocks import BUCKET, PACK, by_bucket
from cepheid.engines.spark.shuffle.partition_labels import labels_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = "first"  # the smallest time in a pack
PACKS = T.StructType(
    [
        T.StructField(BUCKET, T.IntegerType()),
        T.StructField(FIRST, T.LongType()),
        T.StructField(PACK, T.BinaryType()),
    ]
)
_BUCKETS = 32  # at least
# Spark hands over ten thousand packs together.
_BYTES_PER_PACK = 48 << 10
_MOST_BYTES = 32 << 20  # that wait to be packed
_NUMBER = 8  # bytes of a length: what Arrow reads begins at multiples of eight


@dataclass(frozen=True, slots=True)
class Packer:
    """Packs events for buckets, which Spark knows by labels."""

    labels: tuple[int, ...]

    @property
    def enough_bytes(self) -> int:
        return min(len(self.labels) * _BYTES_PER_PACK, _MOST_BYTES)


def in_packs(events: DataFrame, encoder: EventEncoder) -> DataFrame:
    """The events of a pass, packed, with those of a task together and sorted."""
    packer = Packer(labels_of(events.sparkSession, encoder))
    numbered = events.selectExpr("*", _bucket(encoder, len(packer.labels)).named(BUCKET))
    return shuffled(numbered.mapInArrow(partial(pack, packer), PACKS), encoder)


def shuffled(packs: DataFrame, encoder: EventEncoder) -> DataFrame:
    """Packs in the tasks of their buckets."""
    packs = packs.repartition(1) if encoder.key is None else packs.repartition(named(BUCKET))
    return packs.sortWithinPartitions(named(BUCKET), named(FIRST))


def labels_of(session: SparkSession, encoder: EventEncoder) -> tuple[int, ...]:
    """What Spark calls the buckets of a pass: as many for each task."""
    if encoder.key is None:
        return (0,)
    tasks = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    return labels_for(tasks * -(-_BUCKETS // tasks), tasks)


def _bucket(encoder: EventEncoder, buckets: int) -> Column:
    """Where an event goes."""
    if not encoder.key:
        return lit(0)
    return call("PMOD", call("XXHASH64", *encoder.key_columns()), buckets).cast("int")


# In tasks -------------------------------------------------------------------------------------


def pack(packer: Packer, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of some batches, in packs for each bucket."""
    keep_loaded("shuffle")
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(b.nbytes for b in held) >= packer.enough_bytes:
            yield _packs(packer, pa.Table.from_batches(held))
            held = []
    if any(batch.num_rows for batch in held):
        yield _packs(packer, pa.Table.from_batches(held))


def _packs(packer: Packer, events: pa.Table) -> pa.RecordBatch:
    numbers = events[BUCKET].to_numpy()
    events = events.drop_columns(BUCKET).combine_chunks()
    head = _head(events.schema)
    labels, firsts, offsets = [], [], [0]
    sink = pa.BufferOutputStream()
    for number, part in by_bucket(events, numbers):
        for batch in part.combine_chunks().to_batches(_rows_per_pack(events)):
            labels.append(packer.labels[number])
            firsts.append(batch[TIME].to_numpy().min())
            sink.write(head)
            sink.write(batch.serialize())
            offsets.append(sink.tell())
    columns: list[Any] = [
        pa.array(labels, pa.int32()),
        pa.array(firsts, pa.int64()),
        _binaries(offsets, sink.getvalue()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=PACKS.names)


def _rows_per_pack(events: pa.Table) -> int:
    return max(1, _BYTES_PER_PACK * events.num_rows // max(events.nbytes, 1))


def _binaries(offsets: list[int], data: pa.Buffer) -> Any:
    places = pa.py_buffer(np.array(offsets, np.int32).tobytes())
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, places, data])


def _head(schema: pa.Schema) -> bytes:
    """The schema, in front of every pack: read once, it costs nothing."""
    written = schema.serialize().to_pybytes()
    return len(written).to_bytes(_NUMBER) + written


def buckets_in(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[Iterator[tuple[Instant, pa.Table]]]:
    """The packs of each bucket of a task, with their first times."""
    rows = (row for batch in batches for row in zip(*batch.columns, strict=True))
    for _, packs in groupby(rows, key=lambda row: row[0].as_py()):
        yield ((first.as_py(), unpack(packed.as_buffer())) for _, first, packed in packs)


def unpack(packed: pa.Buffer) -> pa.Table:
    end = _NUMBER + int.from_bytes(packed[:_NUMBER].to_pybytes())
    schema = _schema(packed[_NUMBER:end].to_pybytes())
    return pa.Table.from_batches([pa.ipc.read_record_batch(packed[end:], schema)])


@lru_cache(maxsize=16)
def _schema(written: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(written))
