"""Streams, warm, beside Spark's own count by key over the same files."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.inputs import Rides
from benchmarks.measure import Sizes
from benchmarks.programs import SPEEDS, chained, crash
from benchmarks.report import Figure, Goal
from cepheid.engines.spark.detect import detect
from cepheid.engines.spark.plan.passes import pipelines_of
from cepheid.engines.spark.session.spark_session import session
from cepheid.verbs import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCHES = 10
COLD = 2  # of them: a query has begun, and its workers start
ROUNDS = 2  # of which the last counts: before, Java has not seen the code


def run(sizes: Sizes) -> Iterator[Figure]:
    spark = session()
    per_batch = sizes.events(1_000_000)
    files = Rides(events=BATCHES * per_batch).parquet(per_batch)
    programs = {"one key": (crash(SPEEDS), None, 3), "two chained keys": (chained(), "id", 6)}
    for _ in range(ROUNDS):
        counted = spark_seconds(spark, files)
        taken = {
            name: batch_seconds(found_in(program, stream(spark, files), "10 seconds", sequence))
            for name, (program, sequence, _) in programs.items()
        }
    for name, (program, _, most) in programs.items():
        yield Figure(
            name=f"{name}, micro-batches of {per_batch:,}",
            ratio=taken[name] / counted,
            goal=Goal("at most", most),
            of={
                "seconds": taken[name],
                "count by key": counted,
                "events/s": per_batch / taken[name],
            },
            note=_unkeyed(program),
        )


def _unkeyed(program: Program) -> str:
    """Why one task takes all events, if it does."""
    passes = (one for relay in pipelines_of(program.resolve()) for one in relay)
    return "; ".join(f"no key: {one.reason}" for one in passes if one.key is None)


def stream(spark: SparkSession, files: Path) -> DataFrame:
    """One file in each micro-batch."""
    schema = "id long, ts long, motorbikeId int, speed int"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(files))


def found_in(
    program: Program, events: DataFrame, watermark: str, sequence: str | None = None
) -> DataFrame:
    """With a sequence, by which passes order events alike, each pass runs on a key of its own."""
    return detect(
        program,
        {"Motorbike": events},
        time="ts",
        unit="milliseconds",
        watermark=watermark,
        sequence=sequence,
    )


def spark_seconds(spark: SparkSession, files: Path) -> float:
    return batch_seconds(stream(spark, files).groupBy("motorbikeId").count(), mode="update")


def batch_seconds(rows: DataFrame, mode: str = "append") -> float:
    """The median time of a warm micro-batch."""
    with tempfile.TemporaryDirectory() as checkpoint:
        progress = run_to_end(rows, Path(checkpoint), mode)
    taken: list[float] = [p["durationMs"]["triggerExecution"] for p in progress[COLD:]]
    return statistics.median(taken) / 1_000


def run_to_end(rows: DataFrame, checkpoint: Path, mode: str = "append") -> list[Any]:
    """What Spark says of each micro-batch that had input."""
    writer = rows.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    return [p for p in query.recentProgress if p["numInputRows"]]
