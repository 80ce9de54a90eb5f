"""What Spark knows of an operator of several: its state, and what to call.

Before the first micro-batch, Spark starts a process for each operator, one after the other, and asks
there what state it has. So this module loads little, and the task is opened only where there is work.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from cepheid.engines.spark.session.workers import quiet_driver_worker

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        StatefulProcessorHandle,
        TimerValues,
    )

    from cepheid.engines.spark.stream.processor import ChainedBuckets, StreamTask

Frames: TypeAlias = "Iterator[pd.DataFrame]"

STATE = T.StructType([T.StructField("bucket", T.BinaryType())])


class BucketProcessor(StatefulProcessor):
    """One of several operators, each of which takes what those before it derive."""

    def __init__(self, task: StreamTask, operator: int) -> None:
        self._packed_task = pickle.dumps(task)
        self._operator = operator

    def __setstate__(self, state: dict[str, Any]) -> None:
        quiet_driver_worker()
        self.__dict__.update(state)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("bucket", STATE)

    @cached_property
    def _buckets(self) -> ChainedBuckets:
        from cepheid.engines.spark.stream.processor import ChainedBuckets

        task: StreamTask = pickle.loads(self._packed_task)
        return ChainedBuckets(task, self._operator, self._handle, self._state)

    def handleInputRows(self, key: Any, rows: Any, timerValues: TimerValues) -> Frames:  # noqa: N802, N803
        return self._buckets.take(key, rows, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Frames:
        watermark = timerValues.getCurrentWatermarkInMs()
        return self._buckets.wake(key, watermark, expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:
        pass
