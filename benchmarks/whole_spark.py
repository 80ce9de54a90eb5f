"""The motorbike program on Spark over Parquet, beside what Spark needs without any matching; and its planning.

The floor reads the columns that the program looks at, sends all rows to the task of their motorbike, sorts them by
time there, hands them over to Python and takes them back. Planning is what passes before Spark begins, once it
is warm.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

import cepheid as cep
from benchmarks.floor import same, write
from benchmarks.inputs import PIECE, kept
from benchmarks.measure import Sizes, timed
from benchmarks.pairs import LEAST, Measure, median_interval, paired
from benchmarks.report import Figure, Goal
from benchmarks.whole_programs import BIKES, EXAMPLES, counts, differs, fleet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOON = 0.5  # seconds of planning
READINGS = 1_000  # of each motorbike
# Of BIKES motorbikes; events of one time are taken in the order of their values.
FOUND = {
    "BlowOutTire": 1_557,
    "Crash": 455,
    "DriverLeftSeat": 4_000,
    "GhostRider": 476,
    "Accident": 216,
    "AccidentsReport": 5,
    "DangerousLocation": 1,
}


def run(sizes: Sizes) -> Iterator[Figure]:
    events = _events(sizes)
    count = events.count()
    sides = [timed(partial(_run, events)), timed(partial(write, floor(events)))]
    for side in sides:  # warm
        side()
    problem = _problem()
    name = f"motorbike, {count:,} events, planned and run"
    goal = Goal("at most", 1.5)
    figure = Figure.of_pairs(name, paired(*sides), goal, names=("seconds", "floor"))
    yield replace(figure, note=problem or "", is_wrong=problem is not None)
    yield planning([_planned(events) for _ in range(LEAST)])


def measures(sizes: Sizes) -> Mapping[str, Measure]:
    events = _events(sizes)
    return {
        "motorbike on Spark": timed(partial(_run, events)),
        "motorbike on Spark, planning": partial(_planned, events),
    }


def planning(seconds: list[float]) -> Figure:
    low, high = median_interval(seconds)
    middle = sorted(seconds)[len(seconds) // 2]
    return Figure(
        name="planning of the motorbike program, warm, beside half a second",
        ratio=middle / SOON,
        interval=(low / SOON, high / SOON),
        goal=Goal("at most", 1),
        of={"seconds": middle},
    )


def floor(events: DataFrame) -> DataFrame:
    ordered = events.repartition("motorbikeId").sortWithinPartitions("timestamp")
    return ordered.mapInArrow(same, ordered.schema)


def _detected(events: DataFrame) -> DataFrame:
    program = cep.load(EXAMPLES / "motorbike" / "motorbike_partitioned.epl")
    return cep.spark.detect(program, {"Motorbike": events})


def _run(events: DataFrame) -> None:
    write(_detected(events))


def _planned(events: DataFrame) -> float:
    begin = time.perf_counter()
    _detected(events)
    return time.perf_counter() - begin


def _events(sizes: Sizes) -> DataFrame:
    return _frame(max(sizes.events(10_000_000) // READINGS, 1))


def _frame(bikes: int) -> DataFrame:
    path = kept(f"fleet-{bikes}.parquet", partial(_write_fleet, bikes))
    return cep.spark.session().read.parquet(str(path))


def _write_fleet(bikes: int, folder: Path) -> None:
    folder.mkdir()
    readings = fleet(bikes).drop_columns(["@type"])
    for number, begin in enumerate(range(0, len(readings), PIECE)):
        piece = readings.slice(begin, PIECE)
        pq.write_table(piece, folder / f"{number:05}.parquet", compression="zstd")


def _problem() -> str | None:
    """Whether there are as many rows as there must be, in a fleet of which they are known."""
    return differs(counts(_detected(_frame(BIKES)).toArrow()), FOUND)
