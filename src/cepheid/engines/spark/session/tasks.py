"""Which part of which micro-batch a worker is at, and the bytes of messages as texts."""

from __future__ import annotations

from dataclasses import dataclass

_QUERY = "sql.streaming.queryId"
_BATCH = "streaming.sql.batchId"


@dataclass(frozen=True, slots=True)
class StreamTaskId:
    """A part of a micro-batch of a query; the same one when it is run again."""

    query: str
    batch: int
    partition: int


def current_task() -> StreamTaskId:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "only a task of Spark asks"
    query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
    return StreamTaskId(query or "", int(batch or 0), context.partitionId())


def text_of(data: bytes | str | None) -> str | None:
    """Bytes that are no UTF-8 become escapes, which no JSON has, so that such a text is rejected."""
    return data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
