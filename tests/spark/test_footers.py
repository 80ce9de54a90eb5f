"""Footers of files tell when a frame begins and ends, or nothing: then a job finds it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import cepheid as cep
from cepheid.engines.spark.batch import query
from cepheid.engines.spark.batch.footers import ends_in_footers
from cepheid.engines.spark.codec.event_frames import sources_of
from tests.spark.cases import set_to

PROGRAM = cep.parse("""
@EventTime(attribute='at', unit='milliseconds') create schema A(at long, v int);
@EventTime(attribute='at', unit='seconds') create schema B(at int, v int);
select count(*) as n from A#time_batch(1 sec);
select count(*) as m from B#time_batch(10 sec);
""")


def write(path: Path, times: Sequence[int | None], **options: Any) -> None:
    columns: dict[str, Any] = {"at": pa.array(times, pa.int64()), "v": [1] * len(times)}
    pq.write_table(pa.table(columns), path, row_group_size=2, **options)


def ends(frame: DataFrame, type: str = "A") -> tuple[int, int] | None:
    program = PROGRAM.resolve()
    [source] = sources_of({type: frame}, program)
    return ends_in_footers(source, program)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "a b"  # whose name is another in an address
    found.mkdir()
    write(found / "1.parquet", [500, 7_000, 300])
    write(found / "2.parquet", [9_000, 100])
    return found


def test_the_ends_of_all_files_are_those_of_the_frame(spark: SparkSession, folder: Path) -> None:
    assert ends(spark.read.parquet(str(folder))) == (100_000, 9_000_000)
    assert ends(spark.read.parquet(str(folder / "1.parquet"))) == (300_000, 7_000_000)
    assert ends(spark.read.parquet(str(folder)), "B") == (100_000_000, 9_000_000_000)


OTHERS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "a part of the rows": lambda frame: frame.where("v = 1"),
    "another column": lambda frame: frame.withColumn("at", F.lit(5)),
    "more rows": lambda frame: frame.union(frame.selectExpr("at + 99999", "v")),
    "no times": lambda frame: frame.withColumnRenamed("at", "t").withColumn("@time", F.lit(3)),
    "as it is held": lambda frame: frame.cache(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_frames_are_looked_through(spark: SparkSession, folder: Path, name: str) -> None:
    assert ends(OTHERS[name](spark.read.parquet(str(folder)))) is None


def test_files_that_do_not_tell_are_looked_through(spark: SparkSession, folder: Path) -> None:
    write(folder / "3.parquet", [1, 2], write_statistics=False)
    assert ends(spark.read.parquet(str(folder))) is None
    write(folder / "3.parquet", [None, 2])
    assert ends(spark.read.parquet(str(folder))) is None
    write(folder / "3.parquet", [10**18])  # of no year that there is
    assert ends(spark.read.parquet(str(folder))) is None
    write(folder / "3.parquet", [])
    assert ends(spark.read.parquet(str(folder))) == (100_000, 9_000_000)


def test_where_there_is_no_row_there_is_no_time(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "nothing.parquet", [])
    assert ends(spark.read.parquet(str(tmp_path))) is None


def test_csv_and_views_are_looked_through(spark: SparkSession, folder: Path) -> None:
    frame = spark.read.parquet(str(folder))
    frame.write.csv(str(folder / "csv"), header=True)
    assert ends(spark.read.csv(str(folder / "csv"), header=True, inferSchema=True)) is None
    frame.where("at < 400").createOrReplaceTempView("early")
    assert ends(spark.table("early")) is None


def test_rows_are_the_same_with_a_job_and_without(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = {"A": spark.read.parquet(str(folder)), "B": spark.read.parquet(str(folder))}

    def rows() -> list[str]:
        with set_to(spark, partitions=2):
            return sorted(map(str, cep.spark.detect(PROGRAM, frames).collect()))

    found = rows()
    assert len(found) > 3
    monkeypatch.setattr(query, "ends_in_footers", lambda *_: None)
    assert rows() == found
