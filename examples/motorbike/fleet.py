"""A fleet on Spark: a million readings, what the partitioned program finds in them, how fast.

A thousand motorbikes go on four rides each, somewhere in two days, and report every second. Some
rides end with a burst tyre, a crash or a lost driver. The readings come from a seeded generator, so
they are the same every time; they are written as Parquet into a folder that is gone afterwards.

    python examples/motorbike/fleet.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import cepheid as cep

PROGRAM = Path(__file__).with_name("motorbike_partitioned.epl")
START = 1_488_362_400  # 2017-03-01T10:00:00Z
DAYS = 2 * 86_400
BIKES, RIDES, SECONDS = 1_000, 4, 250  # rides of each bike, seconds of each ride
FILES = 4
FIRST = 1_000  # readings by which everything gets going
TOWNS = ("Cadiz", "Cadiz", "Malaga", "Sevilla", "Granada", "Cordoba")
ACCIDENT, FLAT_TYRE, LOST_DRIVER = 0.06, 0.03, 0.02  # of all rides
# More tasks than Spark would choose for so little, so that the bar has something to show.
SETTINGS = {
    "spark.sql.shuffle.partitions": 8,
    "spark.sql.adaptive.coalescePartitions.enabled": False,
}
Result = TypeVar("Result")


# Readings -------------------------------------------------------------------------------------


def readings(bikes: int, seed: int) -> pa.Table:
    """The readings of all rides, ride by ride; Spark brings them into the order of time."""
    chance = np.random.default_rng(seed)
    rides = bikes * RIDES
    bike = np.arange(rides) % bikes
    second = np.arange(SECONDS)
    cruise = chance.integers(40, 110, (rides, 1))
    speed = cruise + chance.integers(-3, 4, (rides, SECONDS))
    speed = np.minimum(speed, 8 * (SECONDS - 1 - second))  # it brakes gently in the end
    front, rear = chance.uniform(2.3, 2.5, (2, rides, SECONDS))
    seat = np.broadcast_to(second < SECONDS - 1, speed.shape).copy()

    # How long ago something happened; negative before, and in rides without anything.
    since = second - chance.integers(30, 200, (rides, 1))
    fate = chance.random((rides, 1))
    crashed = np.where(fate < ACCIDENT, since, -1)
    flat = np.where((fate >= ACCIDENT) & (fate < ACCIDENT + FLAT_TYRE), since, -1)
    lost = np.where(fate >= 1 - LOST_DRIVER, since, -1)
    rear[crashed >= 0] = 0.4
    speed[crashed >= 1] = 0
    seat[crashed >= 2] = False
    front[flat >= 0] = 0.8
    speed = np.where(flat >= 0, np.minimum(speed, np.maximum(cruise - 7 * flat, 0)), speed)
    seat[lost >= 0] = False
    speed = np.where(lost >= 0, np.minimum(speed, np.maximum(cruise - 9 * lost, 0)), speed)

    begin = START + chance.integers(0, DAYS, (rides, 1))
    columns: dict[str, Any] = {
        "timestamp": (begin + second).ravel(),
        "motorbikeId": np.repeat(bike, SECONDS).astype(np.int32),
        "location": np.repeat(np.array(TOWNS)[bike % len(TOWNS)], SECONDS),
        "speed": speed.ravel().astype(np.int32),
        "tirePressure1": front.ravel().round(2),
        "tirePressure2": rear.ravel().round(2),
        "seat": seat.ravel(),
    }
    return pa.table(columns)


def write(table: pa.Table, folder: str) -> None:
    """As several files, which Spark reads at the same time."""
    size = -(-table.num_rows // FILES)
    for number in range(FILES):
        part = table.slice(number * size, size)
        pq.write_table(part, Path(folder) / f"{number}.parquet")


# Spark ----------------------------------------------------------------------------------------


def found_in(spark: SparkSession, folder: str) -> DataFrame:
    """The rows of the program: a frame in, a frame out."""
    motorbikes = spark.read.parquet(folder)
    return cep.spark.detect(cep.load(PROGRAM), {"Motorbike": motorbikes})


def counts(found: DataFrame) -> dict[str, int]:
    return {row["@type"]: row["count"] for row in found.groupBy("`@type`").count().collect()}


def watched(spark: SparkSession, work: Callable[[], Result], console: Console) -> Result:
    """Does the work, with a bar that shows how far Spark is."""
    columns = (TextColumn("running on Spark"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar, ThreadPoolExecutor(1) as pool:
        line = bar.add_task("", total=None)
        future: Future[Result] = pool.submit(work)
        share = 0.0
        while not wait([future], timeout=0.1).done:
            share = max(share, done_of(spark))  # Spark learns of new tasks on the way
            bar.update(line, completed=share, total=1 if share else None)
        return future.result()


def done_of(spark: SparkSession) -> float:
    """Which part of the tasks that Spark knows of is done."""
    tracker = spark.sparkContext.statusTracker()
    jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup()))
    numbers = {number for job in jobs for number in job.stageIds}
    stages = [stage for stage in map(tracker.getStageInfo, numbers) if stage]
    count = sum(stage.numTasks for stage in stages)
    return sum(stage.numCompletedTasks for stage in stages) / count if count else 0.0


# ----------------------------------------------------------------------------------------------


def shown(rows: dict[str, int]) -> Table:
    table = Table("derived type", box=None, pad_edge=False)
    table.add_column("rows", justify="right")
    for statement in cep.load(PROGRAM).resolve().statements:
        table.add_row(statement.target, f"{rows.get(statement.target, 0):,}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the motorbike program on Spark.")
    parser.add_argument("--bikes", type=int, default=BIKES)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    out, err = Console(highlight=False), Console(stderr=True, highlight=False)
    table = readings(options.bikes, options.seed)
    with TemporaryDirectory(prefix="cepheid-fleet-") as folder, TemporaryDirectory() as first:
        write(table, folder)
        write(table.slice(0, FIRST), first)
        began = time.monotonic()
        with err.status("starting Spark, and its workers with a few readings"):
            spark = cep.spark.session(conf=SETTINGS)
            counts(found_in(spark, first))
        started = time.monotonic()
        rows = watched(spark, lambda: counts(found_in(spark, folder)), err)
        seconds = time.monotonic() - started
        spark.stop()
    out.print(shown(rows))
    out.print()
    rate = table.num_rows / seconds
    out.print(f"Start of Spark and its workers, with {FIRST:,} readings: {started - began:.1f} s")
    out.print(f"Then {table.num_rows:,} events in {seconds:.1f} s: {rate:,.0f} events per second")


if __name__ == "__main__":
    main()
