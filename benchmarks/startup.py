"""A small file, from the command to its rows: on Spark beside a session with a trivial job, and here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measure import Sizes, in_turn
from benchmarks.report import Figure, Goal
from cepheid.engines.spark.session.java import find_java

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
    taken = in_turn(
        {
            "Spark": partial(_cepheid, "--engine", "spark"),
            "bare session": _bare,
            "auto": _cepheid,
        },
        times=5,
    )
    yield Figure(
        name="a small file on Spark, beside a bare session with a trivial job",
        ratio=taken["Spark"] / taken["bare session"],
        goal=Goal("at most", 1.5),
        of={"seconds": taken["Spark"], "beside": taken["bare session"]},
    )
    yield Figure(
        name="a small file on auto, beside two seconds",
        ratio=taken["auto"] / SOON,
        goal=Goal("at most", 1),
        of={"seconds": taken["auto"]},
    )


def _cepheid(*options: str) -> None:
    command = [sys.executable, "-m", "cepheid", "run", *RUN, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    if '"@type": "Accident"' not in done.stdout:
        raise RuntimeError(f"no accident was found: {done.stdout or done.stderr}")


def _bare() -> None:
    environment = {**os.environ, "JAVA_HOME": str(Path(find_java().path).parents[1])}
    subprocess.run([sys.executable, "-c", BARE], env=environment, capture_output=True, check=True)
