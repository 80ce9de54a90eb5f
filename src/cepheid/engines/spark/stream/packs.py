"""Packs: tables that travel through a stream as bytes, each to one bucket.

The shuffle and the state of Spark take rows one at a time, so one row holds all that a task has for
a bucket. Packs of events have a bucket's number; packs of results, which no operator opens, have a
kind and a number below zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from cepheid.core.time import Instant
from cepheid.engines.spark.codec.event_frames import WATERMARK_DELAY, named
from cepheid.engines.spark.codec.event_layout import TIME, EventLayout
from cepheid.engines.spark.codec.packed_program import PackedProgram
from cepheid.engines.spark.codec.rejects import everything_schema, late_among, rejects_among
from cepheid.engines.spark.codec.schemas import with_schema
from cepheid.engines.spark.session.workers import keep_loaded
from cepheid.engines.spark.shuffle.blocks import (
    BUCKET,
    PACK,
    by_bucket,
    from_bytes,
    to_bytes,
    to_column,
)
from cepheid.engines.spark.shuffle.partition_labels import label
from cepheid.engines.spark.shuffle.partitioner import Partitioner
from cepheid.engines.spark.stream.watermarks import Watermarks
from cepheid.matcher.columns.typed_columns import in_one_piece

ROWS, LATE, REJECTS = "rows", "late", "rejects"  # what packs of results hold
PROBLEM = "problem"  # the same: why a bucket cannot go on, as text
REJECTED = "rejected"  # a column: what is no event, and why
_OF_REJECTS = -1  # a number that no bucket has
# The columns of packs; names of Python, as Spark makes tuples of their rows.
MOMENT, NEWEST, CONTENT = "moment", "newest", "content"
_ROWS_PER_PACK = 1 << 17  # of a task: the next rows come while these are packed
_ROWS_PER_RESULT = 1 << 16

PACKS = T.StructType(
    [
        T.StructField(BUCKET, T.IntegerType()),
        T.StructField(MOMENT, T.TimestampType()),
        T.StructField(NEWEST, T.LongType()),  # the same as an instant
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
    layout: EventLayout
    notified: tuple[int, ...]  # buckets that hear of everything
    watermarks: Watermarks
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
    rejects: Any = None
    if REJECTED in rows.column_names:
        rejects = rows[REJECTED].drop_null().combine_chunks()
        rows = rows.drop_columns(REJECTED)
    if rows[BUCKET].null_count:
        rows = rows.filter(pc.is_valid(rows[BUCKET]))
    sent = rows.combine_chunks()
    numbers = sent[BUCKET].to_numpy()
    events = _events(packer.layout, sent.drop_columns(BUCKET))
    if packer.partitioner is not None:
        numbers = packer.partitioner.numbers(events)
    packs: dict[int, pa.Table | None] = dict.fromkeys(packer.notified)
    packs |= {packer.first + n: part for n, part in by_bucket(events, numbers)}
    if rejects is not None and len(rejects):
        packs[_OF_REJECTS] = pa.Table.from_struct_array(rejects)
    return pack_rows(packs, newest, packer.watermarks)


def _events(layout: EventLayout, sent: pa.Table) -> pa.Table:
    columns = {name: in_one_piece(sent[name]) for name in sent.column_names}
    return pa.table(layout.decode(columns, sent.num_rows))


def pack_rows(
    packs: Mapping[int, pa.Table | None], newest: Instant | None, watermarks: Watermarks
) -> pa.RecordBatch:
    moment = None if newest is None else watermarks.moment(newest)
    columns: list[Any] = [
        pa.array(map(label, packs), pa.int32()),
        pa.array([moment] * len(packs), pa.timestamp("us", "UTC")),
        pa.array([newest] * len(packs), pa.int64()),
        to_column(packs.values()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=PACKS.names)


def in_packs(table: pa.Table) -> Iterator[bytes]:
    """A table as packs of a size that Spark likes."""
    for begin in range(0, table.num_rows, _ROWS_PER_RESULT):
        yield to_bytes(table.slice(begin, _ROWS_PER_RESULT))


def ended_by_problems(result_packs: DataFrame) -> DataFrame:
    """Packs of results; why a bucket cannot go on ends the query.

    What a worker raises stands behind its trace in what Spark says, what a column raises before all else.
    """
    problem = F.raise_error(named(PACK).cast("string")).cast("string")
    content = F.when(named(CONTENT) == PROBLEM, problem).otherwise(named(CONTENT))
    return result_packs.withColumn(CONTENT, content)


def unpack_everything(
    packed: PackedProgram, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rows, late events and rejects, in the columns of `everything_schema`."""
    keep_loaded("packs")
    program = packed.open()
    schema = everything_schema(program)
    for batch in batches:
        for content, pack in zip(*(batch[n].to_pylist() for n in (CONTENT, PACK)), strict=True):
            table = from_bytes(pack)
            if content == LATE:
                yield from late_among(table, program, schema).to_batches()
            elif content == REJECTS:
                yield from rejects_among(table, schema).to_batches()
            else:
                yield from with_schema(table, schema).to_batches()


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    keep_loaded("packs")
    for batch in batches:
        for packed in batch.column(0):
            yield from from_bytes(packed.as_py()).to_batches()


def never_late(packs: DataFrame, delay: int) -> DataFrame:
    """Packs that Spark takes to have an event time, and to have no value there.

    So it calls operators by its watermark, and leaves it to them to find what is late: it would drop
    packs without a word. (pandas, in which they get packs, has no moments after the year 2262 either.)
    """
    nothing = F.when(named(BUCKET).isNull(), named(MOMENT))
    columns = {name: named(name) for name in packs.columns} | {MOMENT: nothing}
    marks = {MOMENT: {"metadata": {WATERMARK_DELAY: delay}}}
    return packs.select(*(c.alias(n, **marks.get(n, {})) for n, c in columns.items()))
