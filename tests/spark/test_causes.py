"""On Spark, too, rows name their causes, and programs call functions of Python."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import cepheid as cep
from cepheid.core.event import Event
from cepheid.engines.spark.session.failures import failure_of

BEGIN = datetime(2026, 5, 1, 8, tzinfo=UTC)
PROGRAM = """
create schema Tap (id long, card string, amount double);
create context PerCard partition by card from Tap;
@Name('Pair') context PerCard insert into Pair
  select a.id as first, b.id as second, risk(b.amount) as risk
  from pattern [every a=Tap -> b=Tap(risk(amount) > 1 and amount > a.amount)];
@Name('Total') insert into Total select count(*) as n from Pair#length(2);
"""
COLUMNS = "`@type` string, `@time` timestamp, id long, card string, amount double"
TAPS = [
    ("Tap", BEGIN + timedelta(seconds=n), 100 + n, "xy"[n % 2], float(amount))
    for n, amount in enumerate((10, 20, 150, 5, 400, 300, 7, 90))
]


def scaled(amount: float) -> float:
    return amount / 100


def program(apply: Any = scaled) -> cep.Program:
    return cep.parse(PROGRAM, functions=[cep.function("risk", apply, ["double"], "double")])


def expected() -> list[tuple[object, ...]]:
    """What the reference says of the same events."""
    records = [
        {"@type": t, "@time": time, "id": id, "card": card, "amount": amount}
        for t, time, id, card, amount in TAPS
    ]
    rows = cep.run(program(), records, engine="reference", why=True)
    return sorted((row.type, row.time, tuple(map(named, row.causes))) for row in rows)


def named(cause: Event) -> tuple[object, ...]:
    is_input = cause.type == "Tap"
    return cause.type, cause.time, cause["id"] if is_input else None


def found(rows: DataFrame) -> list[tuple[object, ...]]:
    collected: Iterable[Row] = rows.select("`@type`", "`@time`", "`@causes`").collect()
    return sorted(
        (type, zoned(time), tuple((c.type, zoned(c.time), c.sequence) for c in causes))
        for type, time, causes in collected
    )


def zoned(time: datetime) -> datetime:
    return time.astimezone(UTC)


def test_rows_of_a_batch_name_the_events_that_led_to_them(spark: SparkSession) -> None:
    frame = spark.createDataFrame(TAPS, COLUMNS)
    rows = cep.spark.detect(program(), frame, sequence="id", why=True)
    assert found(rows) == expected()
    assert {type for type, _, _ in expected()} == {"Pair", "Total"}


def test_without_a_sequence_causes_have_types_and_times(spark: SparkSession) -> None:
    frame = spark.createDataFrame(TAPS, COLUMNS)
    rows = cep.spark.detect(program(), frame, output="Pair", why=True)
    assert rows.columns == ["@time", "@kind", "@causes", "first", "second", "risk"]
    causes = [cause for row in rows.collect() for cause in row["@causes"]]
    assert {(cause.type, cause.sequence) for cause in causes} == {("Tap", None)}


def test_rows_of_a_stream_name_their_causes_and_functions_are_called_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    last = ("Tap", BEGIN + timedelta(hours=1), 999, "z", 0.0)  # after which all others are known
    spark.createDataFrame([*TAPS, last], COLUMNS).coalesce(1).write.mode("overwrite").parquet(
        str(tmp_path / "in")
    )
    stream = spark.readStream.schema(COLUMNS).parquet(str(tmp_path / "in"))
    rows = cep.spark.detect(
        program(), stream, sequence="id", why=True, watermark="1 second", start=BEGIN
    )
    out = str(tmp_path / "out")
    query = rows.writeStream.format("parquet").option(
        "checkpointLocation", str(tmp_path / "checkpoint")
    )
    query.trigger(availableNow=True).start(out).awaitTermination()
    assert found(spark.read.parquet(out)) == expected()


def test_a_function_that_fails_on_a_worker_is_named_with_statement_and_event(
    spark: SparkSession,
) -> None:
    def refuse(amount: float) -> float:
        raise OSError("no model\nis loaded")

    frame = spark.createDataFrame(TAPS, COLUMNS)
    with pytest.raises(Exception) as problem:  # noqa: PT011 (Spark's, whatever it is)
        cep.spark.detect(program(refuse), frame, sequence="id").collect()
    place = r"at Tap of 2026-05-01T08:00:0\dZ"
    told = rf"risk\(\d+\.0\) in 'Pair' raised OSError: no model is loaded, {place}"
    assert re.search(told, str(failure_of(problem.value)))


def test_what_cannot_be_sent_to_workers_is_told_before_they_start(spark: SparkSession) -> None:
    frame = spark.createDataFrame(TAPS, COLUMNS)
    lock = threading.Lock()
    with pytest.raises(cep.UsageError, match="what 'risk' refers to cannot be sent to workers"):
        cep.spark.detect(program(lambda amount: lock and amount), frame).collect()
