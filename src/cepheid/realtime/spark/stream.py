"""Graphs over streaming frames: events wait in the state of their bucket until the watermark passes them.

    rows --check, pack--> packs --by bucket--> state, instances --> packs of rows --unpack--> rows

The watermark is the largest time of all rows so far, minus the delay. Packs of events have no time that
Spark knows of, so that it drops none of them: which events come too late is decided here, and told by rows
without a consumer. A row beside them, for the first bucket, tells Spark the time.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.streaming.state import GroupStateTimeout

from cepheid.core.time import Instant
from cepheid.engines.spark.codec.event_frames import named
from cepheid.engines.spark.codec.sort_keys import sorted_events
from cepheid.engines.spark.session.workers import keep_loaded
from cepheid.engines.spark.shuffle.blocks import BUCKET, PACK, by_bucket, from_bytes, to_bytes
from cepheid.engines.spark.stream.packs import (
    MOMENT,
    PACKS,
    in_packs,
    never_late,
    pack_rows,
    unpack,
)
from cepheid.engines.spark.stream.watermarks import Watermarks
from cepheid.program.seal import Seal
from cepheid.realtime.recorded import identity_of
from cepheid.realtime.spark.events import TIME, Task, events_in
from cepheid.realtime.spark.instances import Instances

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.state import GroupState

VERSION = "1"
_STATE = T.StructType([T.StructField(BUCKET, T.BinaryType())])
_RESULTS = T.StructType([T.StructField(PACK, T.BinaryType())])


def stream_rows(
    task: Task, rows: DataFrame, schema: T.StructType, watermarks: Watermarks
) -> DataFrame:
    """What consumers get of the events of a stream, and those that came too late."""
    packs = rows.mapInArrow(partial(packed, task, watermarks), PACKS)
    packs = packs.withWatermark(MOMENT, f"{watermarks.delay} milliseconds")
    results = (
        never_late(packs, watermarks.delay)
        .groupBy(named(BUCKET))
        .applyInPandasWithState(
            partial(process, task, watermarks),
            outputStructType=_RESULTS,
            stateStructType=_STATE,
            outputMode="append",
            timeoutConf=GroupStateTimeout.EventTimeTimeout,
        )
    )
    return results.mapInArrow(unpack, schema)


def packed(
    task: Task, watermarks: Watermarks, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """A pack of events for each bucket, and the largest time for the first one."""
    for rows in batches:
        if not rows.num_rows:
            continue
        events = [*events_in(task, rows)]
        if events:
            table = pa.Table.from_batches(events)
            numbers = table[BUCKET].to_numpy()
            parts = dict(by_bucket(table.drop_columns(BUCKET), numbers))
            yield pack_rows(parts, None, watermarks)
        yield pack_rows({0: None}, pc.max(rows[TIME]).as_py(), watermarks)
        keep_loaded("graphs")


def process(
    task: Task,
    watermarks: Watermarks,
    _: tuple[int],
    frames: Iterable[pd.DataFrame],
    state: GroupState,
) -> Iterator[pd.DataFrame]:
    """A micro-batch in one bucket: events, or a timeout."""
    import pandas as pd

    bucket = Bucket(task, state.get[0] if state.exists else None)
    packs = [pack for frame in frames for pack in frame[PACK] if pack is not None]
    tables = bucket.take(
        [from_bytes(pack) for pack in packs], watermarks.ours(state.getCurrentWatermarkMs())
    )
    state.update((bucket.save(),))
    if bucket.wakes is not None:
        timeout = watermarks.timeout(bucket.wakes)
        state.setTimeoutTimestamp(max(timeout, state.getCurrentWatermarkMs()))
    keep_loaded("graphs")
    for table in tables:
        yield pd.DataFrame({PACK: list(in_packs(table))})


class Bucket:
    """Instances of a graph, and events that wait for the watermark."""

    def __init__(self, task: Task, saved: bytes | None) -> None:
        self._task = task
        self._seal = _seal(task)
        self._passed: Instant | None = None  # everything up to here has happened
        self._waiting: pa.Table | None = None
        instances = None
        if saved is not None:
            self._passed, waiting, instances = pickle.loads(self._seal.open(saved))
            self._waiting = None if waiting is None else from_bytes(waiting)
        self._instances = Instances(task, instances)

    def take(self, events: list[pa.Table], watermark: Instant | None) -> Iterator[pa.Table]:
        """Rows of what happens up to the watermark, and of events that lie before it as they come."""
        passed = max((each for each in (watermark, self._passed) if each is not None), default=None)
        found = []
        if events:
            in_time, late = _split(pa.concat_tables(events), passed)
            found.append(self._instances.late(late))
            events = [in_time]
        events += [] if self._waiting is None else [self._waiting]
        self._waiting = None
        if events:
            waiting, due = _split(pa.concat_tables(events), passed)
            self._waiting = waiting if waiting.num_rows else None
            found.append(self._instances.take(sorted_events(due, self._task.sort_keys)))
        self._passed = passed
        return (table for table in found if table.num_rows)

    @property
    def wakes(self) -> Instant | None:
        """The watermark that the first event waits for."""
        first: Instant | None = (
            None if self._waiting is None else pc.min(self._waiting[TIME]).as_py()
        )
        return first

    def save(self) -> bytes:
        waiting = None if self._waiting is None else to_bytes(self._waiting)
        return self._seal.close(pickle.dumps((self._passed, waiting, self._instances.save())))


@lru_cache(maxsize=4)
def _seal(task: Task) -> Seal:
    """The state of another graph, or of other keys, is no state of this one."""
    graph = identity_of(pickle.loads(task.graph))
    keys = (task.by, task.key_types, task.has_sequence, task.buckets)
    return Seal("graph bucket", VERSION, f"{graph} {keys}")


def _split(events: pa.Table, instant: Instant | None) -> tuple[pa.Table, pa.Table]:
    """The events after an instant, and those up to it."""
    if instant is None:
        return events, events.slice(0, 0)
    is_after: Any = pc.greater(events[TIME], pa.scalar(instant, pa.int64()))
    return events.filter(is_after), events.filter(pc.invert(is_after))
