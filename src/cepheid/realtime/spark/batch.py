"""Graphs over bounded frames: events go to the tasks of their instances, in packs, and happen in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from cepheid.engines.spark.batch.external_sort import ExternalSort
from cepheid.engines.spark.batch.shuffle import FIRST, PACKS, Packer, buckets_in, pack
from cepheid.engines.spark.codec.event_frames import named
from cepheid.engines.spark.session.workers import keep_loaded
from cepheid.engines.spark.shuffle.blocks import BUCKET
from cepheid.engines.spark.shuffle.partition_labels import labels_for
from cepheid.realtime.spark.events import Task, events_in
from cepheid.realtime.spark.instances import Instances

if TYPE_CHECKING:
    import pyarrow as pa

_TOGETHER = 1 << 12  # events that go on together, at least


def batch_rows(task: Task, rows: DataFrame, schema: T.StructType, tasks: int) -> DataFrame:
    """What consumers get of the events of a frame."""
    labels = labels_for(task.buckets, tasks)
    packs = rows.mapInArrow(partial(packed, task, Packer(labels)), PACKS)
    # With their number, Spark does not put the tasks together where there is little data: what takes
    # time here is the work of operators.
    shuffled = packs.repartition(tasks, named(BUCKET))
    ordered = shuffled.sortWithinPartitions(named(BUCKET), named(FIRST))
    return ordered.mapInArrow(partial(run, task), schema)


def packed(
    task: Task, packer: Packer, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    return pack(packer, (events for rows in batches for events in events_in(task, rows)))


def run(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of the buckets of a task, one bucket after the other."""
    for packs in buckets_in(batches):
        instances = Instances(task)
        for events in ExternalSort(task.sort_keys, _TOGETHER).merge(packs):
            yield from instances.take(events).to_batches()
            keep_loaded("graphs")
