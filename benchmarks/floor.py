"""Crash over Parquet on Spark, beside what Spark needs without any matching.

The floor does all that a matcher on Spark cannot do without: read, filter, send to the task of the key,
sort by time there, hand over to Python and take back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import cepheid as cep
from benchmarks import oracle
from benchmarks.inputs import PIECE, Rides
from benchmarks.measure import Sizes, timed
from benchmarks.pairs import Measure, paired
from benchmarks.programs import SPEEDS, crash
from benchmarks.report import Figure, Goal

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def run(sizes: Sizes) -> Iterator[Figure]:
    spark = cep.spark.session()
    rides = Rides(events=sizes.events(10_000_000))
    events = spark.read.parquet(str(rides.parquet()))
    found = found_in(crash(SPEEDS), events)
    sides = [timed(partial(write, frame)) for frame in (found, floor(events))]
    for side in sides:  # warm
        side()
    name, goal = f"Crash, {rides.events:,} events", Goal("at most", 1.3)
    figure = Figure.of_pairs(name, paired(*sides), goal, names=("seconds", "floor"))
    problem = _problem(rides, spark.read.parquet(str(Rides().parquet())))
    yield replace(figure, note=problem or "", is_wrong=problem is not None)


def measures(sizes: Sizes) -> Mapping[str, Measure]:
    rides = Rides(events=sizes.events(10_000_000))
    events = cep.spark.session().read.parquet(str(rides.parquet()))
    return {
        f"Crash, {rides.events:,} events": timed(partial(write, found_in(crash(SPEEDS), events)))
    }


def found_in(program: cep.Program, events: DataFrame, output: str | None = "Crash") -> DataFrame:
    """The rows of a program over rides."""
    return cep.spark.detect(
        program, {"Motorbike": events}, output=output, time="ts", unit="milliseconds"
    )


def floor(events: DataFrame) -> DataFrame:
    speeds = events.select("ts", "motorbikeId", "speed").where("speed >= 50 or speed = 0")
    ordered = speeds.repartition("motorbikeId").sortWithinPartitions("ts")
    return ordered.mapInArrow(same, ordered.schema)


def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def write(frame: DataFrame) -> None:
    """All of it, to nowhere."""
    frame.write.format("noop").mode("overwrite").save()


def _problem(rides: Rides, first: DataFrame) -> str | None:
    """Whether the rows of the first piece are as many as Esper finds there."""
    if rides.events < PIECE:
        return None
    rows, expected = found_in(crash(SPEEDS), first).count(), oracle.cases()["a_motorbike"].rows
    return None if rows == expected else f"{rows:,} rows in the first piece, not {expected:,}"
