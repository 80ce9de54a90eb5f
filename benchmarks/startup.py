"""A small file, from the command to its rows: on Spark beside a session with a trivial job, and here.

As a stream it stands beside the plainest query of Spark over the same file that keeps a state.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

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
# With as many partitions as there are cores, as our sessions have: Spark's own 200 take longer.
BARE_STREAM = """
import os, sys
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
spark = session.config("spark.sql.shuffle.partitions", os.cpu_count()).getOrCreate()
lines = spark.readStream.text(sys.argv[1])
query = lines.groupBy("value").count().writeStream.outputMode("update").format("console")
query.option("checkpointLocation", sys.argv[2]).trigger(availableNow=True).start().awaitTermination()
"""
SOON = 2.0  # seconds


def run(sizes: Sizes) -> Iterator[Figure]:
    del sizes  # it is small anyway
    found = paired(timed(_on_spark), timed(_bare))
    name = "a small file on Spark, beside a bare session with a trivial job"
    yield Figure.of_pairs(name, found, Goal("at most", 1.5))
    found = paired(timed(_stream), timed(_bare_stream))
    name = "a small file as a stream, beside a bare query that counts its lines"
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
    return {
        "a small file on Spark": timed(_on_spark),
        "a small file as a stream": timed(_stream),
        "a small file on auto": timed(_cepheid),
    }


def _on_spark() -> None:
    _cepheid("--engine", "spark")


def _cepheid(*options: str) -> None:
    command = [sys.executable, "-m", "cepheid", "run", *RUN, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    if '"@type": "Accident"' not in done.stdout:
        raise RuntimeError(f"no accident was found: {done.stdout or done.stderr}")


def _stream() -> None:
    with TemporaryDirectory() as name:
        folder = _with_events(name)
        stream = ("stream", RUN[0], "--source", f"files:{folder / 'in'}", "--once")
        place = ("--checkpoint", str(folder / "state"), "--watermark", "1s")
        command = [sys.executable, "-m", "cepheid", *stream, *place]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    if "rows found 0;" in done.stderr:
        raise RuntimeError(f"nothing was found: {done.stderr}")


def _bare_stream() -> None:
    with TemporaryDirectory() as name:
        folder = _with_events(name)
        _run_bare(BARE_STREAM, str(folder / "in"), str(folder / "state"))


def _with_events(name: str) -> Path:
    folder = Path(name)
    (folder / "in").mkdir()
    shutil.copy(EXAMPLE / "events.jsonl", folder / "in")
    return folder


def _bare() -> None:
    _run_bare(BARE)


def _run_bare(text: str, *arguments: str) -> None:
    from cepheid.engines.spark.session.java import find_java

    environment = {**os.environ, "JAVA_HOME": str(Path(find_java().path).parents[1])}
    command = [sys.executable, "-c", text, *arguments]
    subprocess.run(command, env=environment, capture_output=True, check=True)
