"""Streams, warm, beside Spark's own count by key over the same files."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cepheid as cep
from benchmarks.inputs import Rides
from benchmarks.measure import Sizes
from benchmarks.pairs import Measure, paired
from benchmarks.programs import SPEEDS, chained, crash
from benchmarks.report import Figure, Goal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = 1_000_000  # of a micro-batch
BATCHES = 10
COLD = 2  # of them: a query has begun, and its workers start
PROGRAMS = {"one key": (crash(SPEEDS), None, 3), "two chained keys": (chained(), "id", 6)}


def run(sizes: Sizes) -> Iterator[Figure]:
    spark, files = cep.spark.session(), _files(sizes)
    counted = partial(spark_seconds, spark, files)
    ours = measures(sizes)
    counted()  # before, Java has not seen the code
    for side in ours.values():
        side()
    for name, (program, _, most) in PROGRAMS.items():
        shown = f"{name}, micro-batches of {sizes.events(EVENTS):,}"
        found = paired(ours[name], counted)
        names = "seconds", "count by key"
        figure = Figure.of_pairs(shown, found, Goal("at most", most), names=names)
        yield replace(figure, note=_unkeyed(program))


def measures(sizes: Sizes) -> Mapping[str, Measure]:
    """The median time of a warm micro-batch."""
    spark, files = cep.spark.session(), _files(sizes)
    return {
        name: partial(_stream_seconds, spark, files, program, sequence)
        for name, (program, sequence, _) in PROGRAMS.items()
    }


def _files(sizes: Sizes) -> Path:
    per_batch = sizes.events(EVENTS)
    return Rides(events=BATCHES * per_batch).parquet(per_batch)


def _stream_seconds(
    spark: SparkSession, files: Path, program: cep.Program, sequence: str | None
) -> float:
    return batch_seconds(found_in(program, stream(spark, files), "10 seconds", sequence))


def _unkeyed(program: cep.Program) -> str:
    """Why one task takes all events, if it does."""
    from cepheid.engines.spark.plan.passes import pipelines_of

    passes = (one for pipeline in pipelines_of(program.resolve()) for one in pipeline)
    return "; ".join(f"no key: {one.reason}" for one in passes if one.key is None)


def stream(spark: SparkSession, files: Path) -> DataFrame:
    """One file in each micro-batch."""
    schema = "id long, ts long, motorbikeId int, speed int"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(files))


def found_in(
    program: cep.Program, events: DataFrame, watermark: str, sequence: str | None = None
) -> DataFrame:
    """With a sequence, by which passes order events alike, each pass runs on a key of its own."""
    return cep.spark.detect(
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
