"""Crash beside Flink SQL's MATCH_RECOGNIZE, over the same CSV, rows compared one by one.

The two say the same of these events. `A B*? C` begins at every fast reading of a bike (skip to next row)
and ends at its next standstill (B is reluctant); `every a1 -> a2` does, too. WITHIN leaves out a
standstill after exactly three seconds, and so does `timer:within`. They would differ where two readings
of one bike have the same time, which these have not: Flink has no order for them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.floor import found_in
from benchmarks.inputs import Rides
from benchmarks.measure import Sizes, seconds
from benchmarks.programs import IDS, TIMED, crash
from benchmarks.report import Figure, Goal
from cepheid.engines.spark.batch.file_scan import files
from cepheid.engines.spark.session.spark_session import session
from cepheid.spark import detect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
ENVIRONMENT = HERE.parent / ".venv-flink"
ROUNDS = 3  # until Java has seen all code
SCHEMA = "id long, ts long, motorbikeId int, speed int"
Pairs = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Peer:
    """What Flink found, and how fast."""

    seconds: float
    versions: str
    rows: Pairs


class Unavailable(Exception):
    """There is no Flink here."""


def run(sizes: Sizes) -> Iterator[Figure]:
    rides, few = (Rides(events=sizes.events(count)) for count in (10_000_000, 2_000_000))
    try:
        _install()
    except Unavailable as reason:
        yield Figure(name="Flink SQL", ratio=None, note=str(reason))
        return
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        batch = flink("batch", rides, few, place / "flink-batch")
        for name, crashes in BATCHES.items():
            target = place / "batch"
            _write(crashes(spark, few), target)
            rows = crashes(spark, rides)
            taken = _warm_seconds(lambda r=rows, t=target: _write(r, t))  # type: ignore[misc]
            goal = Goal("at least", 30) if name == "CSV" else None
            yield _figure(f"batch, {name}", rides, taken, _pairs(target), batch, goal)
        streamed = flink("streaming", rides, few, place / "flink-streaming")
        folders = (place / f"stream-{number}" for number in count())
        stream(spark, few, next(folders))
        taken = _warm_seconds(lambda: stream(spark, rides, next(folders)))
        goal = Goal("at least", 10)
        found = _pairs(place / f"stream-{ROUNDS}" / "rows")
        yield _figure("streaming, CSV", rides, taken, found, streamed, goal)


def _warm_seconds(job: Callable[[], None]) -> float:
    """The last of some rounds: a round of ours takes seconds, one of Flink's minutes."""
    return [seconds(job) for _ in range(ROUNDS)][-1]


def _figure(
    name: str, rides: Rides, taken: float, found: Pairs, theirs: Peer, goal: Goal | None
) -> Figure:
    is_wrong = found != theirs.rows
    common = len(set(found) & set(theirs.rows))
    both = f"{common:,} in common of {len(found):,} and {len(theirs.rows):,} rows"
    equal = both if is_wrong else f"{len(found):,} rows, all equal"
    return Figure(
        name=f"{name}, {rides.events:,} events",
        ratio=theirs.seconds / taken,
        goal=goal,
        of={"events/s": rides.events / taken, "Flink": rides.events / theirs.seconds},
        note=f"{equal}; {theirs.versions}",
        is_wrong=is_wrong,
    )


# Flink ----------------------------------------------------------------------------------------


def _install() -> None:
    if (ENVIRONMENT / ".installed").exists():
        return
    command = ["sh", str(HERE / "flink" / "install.sh"), str(ENVIRONMENT)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHON": sys.executable},
        stdout=sys.stderr,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        raise Unavailable(f"Flink was not installed: {_last_line(done.stderr)}")


def flink(mode: str, rides: Rides, few: Rides, folder: Path) -> Peer:
    """Crash by Flink SQL, after few rides to get warm."""
    command = [
        str(ENVIRONMENT / "bin" / "python"),
        str(HERE / "flink" / "match.py"),
        mode,
        *(str(rides.csv()), str(few.csv())),
        str(folder),
        str(os.cpu_count()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Flink failed: {done.stderr}")
    return Peer(**json.loads(_last_line(done.stdout)), rows=_pairs(folder / "every"))


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


# Cepheid --------------------------------------------------------------------------------------


def _of_csv(spark: SparkSession, rides: Rides) -> DataFrame:  # noqa: ARG001 (it is the only one)
    return detect(crash(IDS, schema=TIMED), files(str(rides.csv_of_bikes())), output="Crash")


def _of_csv_by_spark(spark: SparkSession, rides: Rides) -> DataFrame:
    return found_in(crash(IDS), spark.read.schema(SCHEMA).csv(str(rides.csv())))


def _of_parquet(spark: SparkSession, rides: Rides) -> DataFrame:
    return found_in(crash(IDS), spark.read.parquet(str(rides.parquet())))


BATCHES = {"CSV": _of_csv, "CSV by Spark": _of_csv_by_spark, "Parquet": _of_parquet}


def _write(rows: DataFrame, folder: Path) -> None:
    rows.select("a1", "a2").write.mode("overwrite").csv(str(folder))


def stream(spark: SparkSession, rides: Rides, folder: Path) -> None:
    """Two million events at a time, then one an hour later: the watermark passes all others."""
    source = folder / "source"
    source.mkdir(parents=True)
    for file in rides.csv_pieces(1_000_000).iterdir():
        (source / file.name).symlink_to(file)
    last = 1_000 + (rides.events // rides.bikes + 3_600) * rides.period
    end = source / "end.csv"
    end.write_text(f"-1,{last},-1,1\n")
    os.utime(end, (2**31, 2**31))
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2)
    rows = detect(
        crash(IDS),
        {"Motorbike": reader.csv(str(source))},
        output="Crash",
        time="ts",
        unit="milliseconds",
        watermark="10 seconds",
    )
    writer = rows.select("a1", "a2").writeStream.format("csv").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.start(str(folder / "rows")).awaitTermination()


def _pairs(folder: Path) -> Pairs:
    """The rows of CSV files, sorted."""
    files = (f for f in folder.iterdir() if f.is_file() and not f.name.startswith((".", "_")))
    lines = (line.split(",") for file in files for line in file.read_text().splitlines())
    return sorted((int(first), int(second)) for first, second in lines)
