"""Streams take what batches take: events around the epoch, and what is no event is told alike."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import cepheid as cep
from cepheid.errors import UsageError
from tests.effort import EFFORT
from tests.spark.test_stream_query import Folder

SECOND = 1_000_000
PROGRAM = """
create schema A (k string, v int);
create schema B (k string, v int);
create context Keys partition by k from A, k from B;
@Name('Pair') context Keys insert into Pair
select a.k as k, a.v as first, b.v as second
from pattern [every a=A -> b=B where timer:within(5 seconds)];
@Name('High') insert into High select k, v from A(v > 2);
"""
COLUMNS: dict[str, pa.DataType] = {
    "@type": pa.string(),
    "at": pa.timestamp("us", "UTC"),
    "number": pa.int64(),
    "k": pa.string(),
    "v": pa.int64(),
    "remark": pa.string(),
}
SCHEMA = pa.schema(COLUMNS)
TOO_LARGE = 1 << 40


def made_up(chance: random.Random, number: int) -> dict[str, Any]:
    """A row around the epoch; some are no events, in all ways in which they can be none."""
    return {
        "@type": chance.choice(["A", "B", "A", "B", "A", "B", "C", None]),
        "at": chance.choice([None, *[chance.randrange(-20, 20) * SECOND // 2] * 12]),
        "number": number,
        "k": chance.choice(["x", "y", "x", "y", None]),
        "v": chance.choice([1, 2, 3, 4, None, TOO_LARGE]),
        "remark": chance.choice(["what no schema has", None]),
    }


def found_in(frame: DataFrame, **options: Any) -> DataFrame:
    return cep.spark.detect(
        cep.parse(PROGRAM), frame, time="at", sequence="number", rejects=True, **options
    )


def counted(rows: DataFrame) -> Counter[str]:
    return Counter(str(row.asDict(recursive=True)) for row in rows.drop("@row").collect())


@pytest.mark.parametrize("brings_watermark", [False, True])
def test_a_stream_gives_the_rows_and_the_rejects_of_a_batch(
    spark: SparkSession, tmp_path: Path, *, brings_watermark: bool
) -> None:
    chance = random.Random(7)
    folder = Folder(spark, tmp_path, SCHEMA)
    rows = [made_up(chance, number) for number in range(150 * EFFORT)]
    for begin in range(0, len(rows), 75):
        folder.add(rows[begin : begin + 75])
    expected = counted(found_in(spark.read.parquet(str(tmp_path / "in"))))
    folder.add([{"at": 100 * SECOND}])
    frame, options = folder.stream(), {"watermark": "30 seconds", "late": True}
    if brings_watermark:
        frame, options = frame.withWatermark("at", "30 seconds"), {"late": True}
    assert counted(folder.run(found_in(frame, **options))) == expected
    for kind in ("match", "reject"):
        assert sum(f"'@kind': '{kind}'" in row for row in expected.elements()) > 20


def test_late_events_are_told_in_the_same_query_however_late_they_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = Folder(spark, tmp_path, SCHEMA)
    event = {"@type": "A", "k": "x", "v": 3, "number": 1}
    for seconds in (-50, -10, -40, -1_000):
        folder.add([{**event, "at": seconds * SECOND}])
    rows = folder.run(found_in(folder.stream(), watermark="5 seconds", late=True)).collect()
    times = sorted((row["@kind"], row["@time"].timestamp()) for row in rows)
    assert times == [("late", -1_000), ("late", -40), ("match", -50)]
    [row, *_] = [row["@row"] for row in rows if row["@kind"] == "late"]
    assert '"k":"x"' in row.replace(" ", "")


def test_a_watermark_that_a_frame_brings_must_be_that_of_its_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = Folder(spark, tmp_path, SCHEMA.append(pa.field("seen", SCHEMA.field("at").type)))
    folder.add([])
    stream = folder.stream()
    for frame, options, said in (
        (
            stream.withWatermark("at", "1 second"),
            {"watermark": "1 second"},
            "has a watermark already",
        ),
        (
            stream.withWatermark("seen", "1 second"),
            {},
            "is on column 'seen', which is not the time",
        ),
        (stream, {}, "needs a watermark"),
        (stream, {"watermark": "1 second", "end": 5}, "a stream has no end"),
    ):
        with pytest.raises(UsageError, match=said):
            found_in(frame, **options)
