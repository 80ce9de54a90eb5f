"""On a cluster: workers that lack something are told at once, and a lost executor loses nothing.

A master and two workers on loopback, whose Python has nothing installed but what is sent to them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.engines.spark.session import parallel_map
from tests.cluster.standalone import HOST, cluster

PROGRAM = cep.parse("""
    create schema Reading (bike int, speed int);

    insert into Crash
    select a.bike as bike, a.speed as speed
    from pattern [every a=Reading(speed >= 50) -> b=Reading(bike = a.bike and speed = 0)
                  where timer:within(3 seconds)];

    insert into Busy select bike, count(*) as crashes from Crash#time(1 min) group by bike;
""")
READINGS = [
    {"@time": second, "bike": number % 7, "speed": (second * 31 + number * 17) % 120 // 20 * 20}
    for second in range(1, 200)
    for number in range(4)
]
SCHEMA = "`@time` long, bike int, speed int"
Dying = Callable[[Iterator[Any]], Iterator[Any]]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster"), workers=2) as address:
        yield address


def bare_python(folder: Path) -> Path:
    """An interpreter without any library."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


@contextmanager
def session(master: str, python: Path, **conf: str) -> Iterator[SparkSession]:
    settings = {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.executor.memory": "512m",
        "spark.pyspark.python": str(python),
        "spark.sql.shuffle.partitions": "4",
        "spark.task.maxFailures": "2",
        "spark.ui.enabled": "false",
        **conf,
    }
    spark = cep.spark.session(master=master, conf=settings)
    try:
        yield spark
    finally:
        spark.stop()


# Workers that lack something ------------------------------------------------------------------


def refusal(spark: SparkSession) -> str:
    frame = spark.createDataFrame([(1, 1, 50)], SCHEMA)
    with pytest.raises(cep.RunError) as refused:
        cep.spark.detect(PROGRAM, frame)
    [told] = str(refused.value).splitlines()
    return told


def test_workers_without_cepheid_are_told_at_once(master: str, tmp_path: Path) -> None:
    with session(master, bare_python(tmp_path / "bare")) as spark:
        told = refusal(spark)
    assert told.startswith("error[bad-workers]: the Python of Spark's workers (")
    assert "has no Cepheid" in told
    assert "cep.spark.session(conf=cep.spark.pack().conf)" in told


def test_workers_with_another_cepheid_are_told_at_once(master: str, tmp_path: Path) -> None:
    python = bare_python(tmp_path / "other")
    [site] = (tmp_path / "other" / "lib").glob("python*/site-packages")
    (site / "cepheid.py").write_text('__version__ = "0.0.1"')
    with session(master, python) as spark:
        assert f"has Cepheid 0.0.1, this process {cep.__version__}" in refusal(spark)


def test_workers_with_another_python_are_told_at_once(master: str, tmp_path: Path) -> None:
    python = bare_python(tmp_path / "old")
    [site] = (tmp_path / "old" / "lib").glob("python*/site-packages")
    version = 'namedtuple("V", "major minor micro releaselevel serial")(3, 10, 0, "final", 0)'
    (site / "older.pth").write_text(
        f"import sys; from collections import namedtuple; sys.version_info = {version}"
    )
    with session(master, python) as spark:
        assert "Spark's workers run Python 3.10, this process 3." in refusal(spark)


def test_workers_without_that_python_are_told_at_once(master: str, tmp_path: Path) -> None:
    with session(master, tmp_path / "nowhere") as spark:
        assert f"the machines of Spark's workers have no '{tmp_path / 'nowhere'}'" in refusal(spark)


# A lost executor ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark(master: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session whose workers have nothing but what is packed here."""
    folder = tmp_path_factory.mktemp("packed")
    packed = cep.spark.pack(folder / "environment.tar.gz")
    with session(master, bare_python(folder / "bare"), **packed.conf) as spark:
        yield spark


def deadly(marker: Path) -> Callable[[], None]:
    """What kills the executor of the first task that calls it, and leaves a mark."""
    path = str(marker)

    def kill() -> None:  # nested, so that it travels by value: workers have no tests
        import os
        import signal

        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        with open(f"/proc/{os.getppid()}/stat") as daemon:
            executor = int(daemon.read().rpartition(")")[2].split()[1])
        os.kill(executor, signal.SIGKILL)

    return kill


def dying(marker: Path, at: int) -> Dying:
    """Passes rows on; the first task that sees a time loses its executor."""
    kill = deadly(marker)

    def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if at in batch["@time"].to_pylist():
                kill()
            yield batch

    return pass_on


def found(rows: list[Any]) -> list[str]:
    return sorted(json.dumps(row.asDict(recursive=True), default=str) for row in rows)


def expected(spark: SparkSession) -> list[str]:
    """What this process finds, in the form of Spark's rows."""
    result = cep.run(PROGRAM, {"Reading": READINGS})
    assert set(result.counts()) == {"Crash", "Busy"}
    crashes = result.to_pandas().query("`@type` == 'Crash'")
    rows = [
        {"@time": str(time.tz_localize(None)), "@kind": "match", "bike": bike, "speed": speed}
        for time, bike, speed in zip(
            crashes["@time"], crashes["bike"], crashes["speed"], strict=True
        )
    ]
    return sorted(json.dumps(row, default=int) for row in rows)


def test_a_batch_that_loses_an_executor_loses_no_row(spark: SparkSession, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    frame = spark.createDataFrame([tuple(r.values()) for r in READINGS], SCHEMA).repartition(4)
    frame = frame.mapInArrow(dying(marker, at=100), SCHEMA)
    rows = cep.spark.detect(PROGRAM, frame, output="Crash").collect()
    assert marker.exists()
    assert found(rows) == expected(spark)


def test_a_stream_that_loses_an_executor_loses_and_doubles_no_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    marker, source, sink = tmp_path / "killed", tmp_path / "source", tmp_path / "sink"
    source.mkdir()
    for number in range(3):
        part = READINGS[number * 300 : number * 300 + 300]
        (source / f"{number}.json").write_text("\n".join(map(json.dumps, part)))
    (source / "9.json").write_text(json.dumps({"@time": 1_000, "bike": 1, "speed": 10}))
    for (
        file
    ) in source.iterdir():  # Spark takes the oldest first, and they are written at one instant
        os.utime(file, (int(file.stem) + 1,) * 2)
    frame = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(source))
    frame = frame.mapInArrow(dying(marker, at=100), SCHEMA)
    rows = cep.spark.detect(PROGRAM, frame, output="Crash", watermark="1 sec")
    query = (
        rows.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(sink))
    )
    query.awaitTermination()
    assert marker.exists()
    assert found(spark.read.parquet(str(sink)).collect()) == expected(spark)


def test_a_simulation_that_loses_an_executor_loses_no_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "killed"
    kill = deadly(marker)
    spread = parallel_map.parallel_map

    def spread_and_die(
        session: SparkSession, work: parallel_map.Work, *args: Any, **options: Any
    ) -> Any:
        def die_and_work(numbers: Any) -> list[list[int]]:
            kill()
            return work(numbers)

        return spread(session, die_and_work, *args, **options)

    monkeypatch.setattr(parallel_map, "parallel_map", spread_and_die)
    program = cep.load("examples/motorbike/motorbike.epl")
    scenario, length = "examples/motorbike/evidence/paper.toml", "2 hours"
    here = cep.simulate(program, scenario, until=length, runs=40, seed=7)
    there = cep.simulate(program, scenario, until=length, runs=40, seed=7, engine="spark")
    assert marker.exists()
    assert (there.counts == here.counts).all()
