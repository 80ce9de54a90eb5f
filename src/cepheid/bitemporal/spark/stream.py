"""Rounds over a stream of Spark: each micro-batch is a batch of `bitemporal.stream`.

Rounds run in the process of the driver, one micro-batch after the other. Spark numbers micro-batches and
repeats the last one after a failure with the same rows; the sink does what was not done yet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cepheid.bitemporal.stream.arrivals import UNORDERED, Arrival
from cepheid.bitemporal.stream.sink import RoundsSink
from cepheid.engines.common.judging import missing_in_classes
from cepheid.errors import CepheidError, Diagnostic, InputError, RunError, UsageError, error
from cepheid.io.arrow import batch_records
from cepheid.io.jsonl import line_records

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

Frame: TypeAlias = "DataFrame"
Query: TypeAlias = "StreamingQuery"
TEXT = "value"  # the column of frames that hold lines of event files


@dataclass(frozen=True, slots=True)
class RoundsJob:
    """Where a stream of rounds keeps its place, and how it is run."""

    sink: RoundsSink
    checkpoint: Path
    sequence: str | None = None  # the column that orders detections of one time
    trigger: int | None = None  # microseconds between micro-batches
    once: bool = False
    name: str | None = None
    optional: Collection[str] = ()  # attributes that no event may have

    @property
    def triggered(self) -> dict[str, Any]:
        if self.once:
            return {"availableNow": True}
        return {"processingTime": f"{(self.trigger or 0) // 1_000} milliseconds"}


def start(frame: Frame, job: RoundsJob) -> Query:
    """The query; it goes on until it is stopped or fails."""
    from cepheid.engines.spark.endpoints.checks import check_folders
    from cepheid.engines.spark.session.spark_session import is_connect
    from cepheid.engines.spark.session.workers import check_other_machines

    if not frame.isStreaming:
        hint = "read it with readStream, or run the program over a batch: cep.run"
        raise UsageError(error("usage", "the frame is no stream", hint=hint))
    if is_connect(frame.sparkSession):
        hint = "start it in the process of the driver"
        fact = "rounds of a stream do not run over Spark Connect"
        raise UsageError(error("unsupported", fact, hint=hint))
    for read in _folders_read(frame):
        check_folders(read, {"path": str(job.sink.folder), "checkpoint": str(job.checkpoint)})
    if job.sequence is not None and job.sequence not in frame.columns:
        fact = f"no column '{job.sequence}' to order by"
        raise UsageError(
            error("unknown-attribute", fact, hint=f"columns: {', '.join(frame.columns)}")
        )
    if frame.columns != [TEXT]:
        seen = dict.fromkeys(job.sink.subscribed, frame.columns)
        if problems := missing_in_classes(job.sink.program, seen, job.optional):
            raise InputError(*problems)
    check_other_machines(frame.sparkSession)
    writer = frame.writeStream.foreachBatch(_Batches(job)).trigger(**job.triggered)
    if job.name is not None:
        writer = writer.queryName(job.name)
    return writer.option("checkpointLocation", str(job.checkpoint.absolute())).start()


def _folders_read(frame: Frame) -> list[str]:
    """Folders whose files a stream reads: only its plan names them, which Spark prints."""
    with redirect_stdout(StringIO()) as plan:
        frame.explain(extended=True)
    return re.findall(r"\bFileSource\[(.*?)\](?=,|$)", plan.getvalue(), re.MULTILINE)


class _Ended(Exception):
    """A query whose program cannot go on."""


class _Batches:
    """Hands micro-batches to the sink."""

    def __init__(self, job: RoundsJob) -> None:
        self._job = job

    def __call__(self, frame: Frame, number: int) -> None:
        table = frame.toArrow()
        arrivals = (
            _lines(table) if table.schema.names == [TEXT] else _rows(table, self._job.sequence)
        )
        try:
            self._job.sink.take(number, arrivals, _query_id(self._job.checkpoint))
        except CepheidError as problem:
            # Without its own trace it stands in the first line of what Spark says of the query.
            raise _Ended from problem.with_traceback(None)


def _query_id(checkpoint: Path) -> str | None:
    """Spark gives a checkpoint a name when it begins with it."""
    try:
        found: dict[str, str] = json.loads((checkpoint / "metadata").read_text())
    except (OSError, ValueError):
        return None
    return found.get("id")


def _rows(table: pa.Table, sequence: str | None) -> Iterator[Arrival]:
    problems: list[Diagnostic] = []
    for record in batch_records(table.to_batches(), "<stream>", None, problems.append):
        place = record.values.pop(sequence, None) if sequence is not None else UNORDERED
        if not isinstance(place, int):
            fact = f"'{sequence}' is a whole number in every row, not {place!r}"
            raise RunError(error("bad-value", fact))
        yield Arrival(record, place)
    for problem in problems:
        row = table.slice(problem.span.line - 1 if problem.span else 0, 1).to_pylist()
        yield Arrival(None, text=json.dumps(row[0], default=str), problem=problem)


def _lines(table: pa.Table) -> Iterator[Arrival]:
    for text in table[TEXT].to_pylist():
        problems: list[Diagnostic] = []
        for record in line_records([text or ""], "<stream>", problems.append):
            yield Arrival(record, text=text)
        yield from (Arrival(None, text=text, problem=problem) for problem in problems)
