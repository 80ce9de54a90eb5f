"""The queries of a stream: from a source through a program to a sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant, Period
from cepheid.engines.spark.endpoints.checks import check_folders, check_sink, check_source
from cepheid.engines.spark.endpoints.uri import FileSink, RateSource, Sink, SourceUri
from cepheid.errors import RunError, UsageError, error, reason_of
from cepheid.io.source import Placement
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import Seal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Query: TypeAlias = "StreamingQuery"
Spark: TypeAlias = "SparkSession"

COUNTS = "cepheid"  # the name under which a query counts
ROWS, LATE, REJECTS = "rows", "late", "rejects"  # what it counts


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
    start: Instant | None = None  # of the program
    late: str | None = None  # a folder for events that came too late
    rejects: str | None = None  # a folder for texts that are no events
    latest: Path | None = None  # a file for the latest rows of a sink that is not the console

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


def check(job: StreamJob) -> None:
    """Refuses what cannot work, before Spark starts: nothing here needs it."""
    check_source(job.source, job.program)
    check_sink(job.sink)
    written = {
        "--sink": job.sink.folder if isinstance(job.sink, FileSink) else None,
        "--checkpoint": str(job.checkpoint),
        "--late": job.late,
        "--rejects": job.rejects,
    }
    check_folders(job.source, written)
    path = job.checkpoint / _SEAL
    if path.is_file():
        seal_of(job.program).open(path.read_bytes())


def start(job: StreamJob, spark: Spark, show: Callable[[list[Event]], None]) -> Query:
    """The query of the program."""
    from cepheid.engines.spark.session.workers import wake_workers

    wake_workers(spark)  # while the query is planned
    from pyspark.sql import functions as F  # noqa: N812

    from cepheid.engines.spark.codec.event_layout import KIND, SEQUENCE
    from cepheid.engines.spark.codec.rejects import LATE_KIND, REJECT_KIND
    from cepheid.engines.spark.detect import detect
    from cepheid.engines.spark.endpoints.sinks import open_sink
    from cepheid.engines.spark.endpoints.sources import open_source

    events = open_source(spark, job.source, job.program, job.checkpoint / "journal")
    found = detect(
        job.program,
        events,
        output=job.output,
        placement=Placement(sequence=SEQUENCE),
        start=job.start,
        watermark=job.watermark,
        late=True,
        rejects=True,
    )
    kind = F.col(f"`{KIND}`")
    told = {LATE: kind == LATE_KIND, REJECTS: kind == REJECT_KIND}
    told[ROWS] = ~kind.isin(LATE_KIND, REJECT_KIND)
    counts = (F.count_if(test).alias(name) for name, test in told.items())
    folders = {LATE_KIND: job.late, REJECT_KIND: job.rejects}
    writer = open_sink(
        found.observe(COUNTS, *counts),
        job.program,
        job.sink,
        job.output,
        show,
        {name: folder for name, folder in folders.items() if folder is not None},
        job.latest,
    )
    _leave_seal(job)
    place = str((job.checkpoint / "query").absolute())
    return writer.trigger(**job.triggered).option("checkpointLocation", place).start()


def _leave_seal(job: StreamJob) -> None:
    """By which the next start sees whether the checkpoint is that of its program."""
    try:
        job.checkpoint.mkdir(parents=True, exist_ok=True)
        (job.checkpoint / _SEAL).write_bytes(seal_of(job.program).close(b""))
    except OSError as problem:
        fact = f"cannot write into '{job.checkpoint}': {reason_of(problem)}"
        hint = "the folder of a checkpoint must be one that can be written"
        raise RunError(error("bad-file", fact, hint=hint)) from None


def seal_of(program: ResolvedProgram) -> Seal:
    return Seal("stream", "1", program)


_SEAL = "program"  # a file of the checkpoint
