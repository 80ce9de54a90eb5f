"""A small file, from the command to its rows: on Spark beside a session with a trivial job, and here."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.measure import Sizes, seconds, timed
from benchmarks.pairs import LEAST, Measure, paired
from benchmarks.report import Figure, Goal

EXAMPLE = Path(__file__).parents[1] / "examples" / "motorbike"
RUN = (
    str(EXAMPLE / "motorbike_partitioned.epl"),
    *("--events", str(EXAMPLE / "events.jsonl"), "--type", "Accident"),
)
BARE = """
from pyspark.sql import SparkSession
SparkSession.builder.master("local[*]").getOrCreate().range(1).collect()
"""
SOON = 2.0  # seconds


def run(sizes: Sizes) -> Iterator[Figure]:
    del sizes  # it is small anyway
    found = paired(timed(_on_spark), timed(_bare))
    name = "a small file on Spark, beside a bare session with a trivial job"
    yield Figure.of_pairs(name, found, Goal("at most", 1.5))
    auto = statistics.median(seconds(_cepheid) for _ in range(LEAST))
    yield Figure(
        name="a small file on auto, beside two seconds",
        ratio=auto / SOON,
        goal=Goal("at most", 1),
        of={"seconds": auto},
    )


def measures(sizes: Sizes) -> Mapping[str, Measure]:
    del sizes
    return {"a small file on Spark": timed(_on_spark), "a small file on auto": timed(_cepheid)}


def _on_spark() -> None:
    _cepheid("--engine", "spark")


def _cepheid(*options: str) -> None:
    command = [sys.executable, "-m", "cepheid", "run", *RUN, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    if '"@type": "Accident"' not in done.stdout:
        raise RuntimeError(f"no accident was found: {done.stdout or done.stderr}")


def _bare() -> None:
    from cepheid.engines.spark.session.java import find_java

    environment = {**os.environ, "JAVA_HOME": str(Path(find_java().path).parents[1])}
    subprocess.run([sys.executable, "-c", BARE], env=environment, capture_output=True, check=True)
