"""What all sinks share: rows that keep their name when they are delivered again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.engines.spark.session.tasks import StreamTaskId

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Line:
    """A row as text, with a name by which a receiver can tell that it has it already."""

    id: str
    key: str | None
    value: str


def texts_in(batch: pa.RecordBatch, column: str) -> list[str | None]:
    found: list[str | None] = batch.column(column).to_pylist()
    return found


def lines_in(batches: Iterator[pa.RecordBatch], task: StreamTaskId) -> Iterator[Line]:
    """The lines of a task. Their names follow from what they say: order may change in a retry."""
    seen: Counter[str] = Counter()
    place = f"{task.query}-{task.batch}-{task.partition}"
    for batch in batches:
        for key, value in zip(texts_in(batch, "key"), texts_in(batch, "value"), strict=True):
            assert value is not None
            digest = hashlib.sha256(value.encode()).hexdigest()[:16]
            seen[digest] += 1
            yield Line(f"{place}-{digest}-{seen[digest]}", key, value)
