"""The queries of a stream: from a source through a program to a sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Period
from cepheid.engines.spark.endpoints.uri import MqttSource, RateSource, Sink, SourceUri
from cepheid.errors import UsageError, error
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Query: TypeAlias = "StreamingQuery"
Spark: TypeAlias = "SparkSession"

INPUT = "cepheid.input"  # the names under which a query counts what goes in and out
ROWS = "cepheid.rows"


@dataclass(frozen=True, slots=True)
class StreamJob:
    """A program over a stream, and how to run it."""

    program: ResolvedProgram
    source: SourceUri
    sink: Sink
    checkpoint: Path
    watermark: Period
    output: str | None = None  # the rows of one type, or all
    trigger: Period | None = None
    once: bool = False
    rejects: str | None = None  # a folder for texts that are no events

    def __post_init__(self) -> None:
        if self.once and isinstance(self.source, RateSource):
            fact = "a rate has no end, and no event is there when it begins"
            raise UsageError(error("usage", fact, hint="leave out --once; Ctrl-C ends the stream"))

    @property
    def triggered(self) -> dict[str, Any]:
        if self.once:
            return {"availableNow": True}
        wait = 0 if self.trigger is None else self.trigger.microseconds // 1_000
        return {"processingTime": f"{wait} milliseconds"}


def derived_types(program: ResolvedProgram) -> list[str]:
    return list(dict.fromkeys(statement.target for statement in program.statements))


def start(job: StreamJob, spark: Spark, show: Callable[[list[Event]], None]) -> list[Query]:
    """The query of the program, and one that keeps rejects where that is asked for."""
    from pyspark.sql.functions import count, lit

    from cepheid.engines.spark.detect import detect
    from cepheid.engines.spark.endpoints.sinks import open_sink
    from cepheid.engines.spark.endpoints.sources import open_source

    events = open_source(spark, job.source, job.program, job.checkpoint / "journal")
    found = detect(job.program, _accepted(events), output=job.output, watermark=job.watermark)
    rows = found.observe(ROWS, count(lit(1)).alias("rows"))
    writers = [_at(open_sink(rows, job.program, job.sink, job.output, show), job, "query")]
    if job.rejects is not None:
        writers.append(_at(_rejects(job, spark, job.rejects), job, "rejects"))
    return [writer.start() for writer in writers]


def _at(writer: DataStreamWriter, job: StreamJob, name: str) -> DataStreamWriter:
    """The writer with the trigger of the job and a checkpoint of its own."""
    checkpoint = str((job.checkpoint / name).absolute())
    return writer.trigger(**job.triggered).option("checkpointLocation", checkpoint)


def _accepted(events: DataFrame) -> DataFrame:
    """The events, with what is none counted and left out."""
    from pyspark.sql.functions import col, count

    from cepheid.engines.spark.codec.text import PROBLEM, REJECT

    if REJECT not in events.columns:
        return events
    counted = events.observe(INPUT, count(col(f"`{REJECT}`")).alias("rejects"))
    return counted.where(col(f"`{REJECT}`").isNull()).drop(REJECT, PROBLEM)


def _rejects(job: StreamJob, spark: Spark, folder: str) -> DataStreamWriter:
    """A query of its own: it reads the source once more."""
    from cepheid.engines.spark.codec.text import REJECT
    from cepheid.engines.spark.endpoints.sinks import keep_rejects
    from cepheid.engines.spark.endpoints.sources import open_source

    source = job.source
    if isinstance(source, MqttSource) and source.client_id is not None:
        source = replace(source, client_id=f"{source.client_id}-rejects")
    events = open_source(spark, source, job.program, job.checkpoint / "journal-rejects")
    if REJECT not in events.columns:
        fact = "rejects are texts, and this source has columns"
        raise UsageError(error("usage", fact, hint="leave out --rejects"))
    return keep_rejects(events, folder)
