"""Crash over Parquet on Spark, beside what Spark needs without any matching.

The floor does all that a matcher on Spark cannot do without: read, filter, send to the task of the key,
sort by time there, hand over to Python and take back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import oracle
from benchmarks.inputs import PIECE, Rides
from benchmarks.measure import Sizes, in_turn
from benchmarks.programs import SPEEDS, crash
from benchmarks.report import Figure, Goal
from cepheid.engines.spark.detect import detect
from cepheid.engines.spark.session.spark_session import session
from cepheid.verbs import Program

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def run(sizes: Sizes) -> Iterator[Figure]:
    spark = session()
    rides = Rides(events=sizes.events(10_000_000))
    events = spark.read.parquet(str(rides.parquet()))
    found = found_in(crash(SPEEDS), events)
    jobs = {"seconds": partial(write, found), "floor": partial(write, floor(events))}
    for job in jobs.values():  # warm
        job()
    taken = in_turn(jobs)
    problem = _problem(rides, spark.read.parquet(str(Rides().parquet())))
    yield Figure(
        name=f"Crash, {rides.events:,} events",
        ratio=taken["seconds"] / taken["floor"],
        goal=Goal("at most", 1.3),
        of={**taken, "events/s": rides.events / taken["seconds"]},
        note=problem or "",
        is_wrong=problem is not None,
    )


def found_in(program: Program, events: DataFrame, output: str | None = "Crash") -> DataFrame:
    """The rows of a program over rides."""
    return detect(program, {"Motorbike": events}, output=output, time="ts", unit="milliseconds")


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
