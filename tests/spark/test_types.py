"""Timestamps, dates and decimals on Spark are what they are everywhere else, whatever zone the session has."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

import cepheid as cep
from cepheid.errors import CepheidWarning

pytestmark = pytest.mark.spark

PROGRAM = cep.parse(
    """
    create schema Sale (at timestamp, day date, price decimal(8, 2), card string);
    insert into Found
    select a.at as at, b.day as day, a.price + b.price as total, extract('hour', b.at, 'Europe/Berlin') as h
    from pattern [every a=Sale -> b=Sale(card = a.card, at > a.at, day >= '2026-03-28')];
    insert into Summed select day, sum(price) as total, max(at) as last from Sale group by day;
    """
)
# When summer begins in Berlin, 02:30 is skipped; when it ends, 02:30 comes twice.
ROWS = (
    ("2026-03-29 01:30:00", "2026-03-28", "19.99"),
    ("2026-03-29 02:30:00", "2026-03-29", "0.01"),
    ("2026-10-25 02:30:00.25", "2026-03-29", "-5.00"),
    (None, None, None),
)


@contextmanager
def zone(spark: SparkSession, name: str) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", name)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")


def frame(
    spark: SparkSession, at: str, day: str = "date", price: str = "decimal(8,2)"
) -> DataFrame:
    """The rows, with columns of these types; each a second after the other."""
    texts = [(place, *row, "c") for place, row in enumerate(ROWS)]
    made = spark.createDataFrame(texts, "n int, at string, day string, price string, card string")
    return made.selectExpr(
        "timestamp_seconds(n) as `@time`",
        f"cast(at as {at}) as at",
        f"cast(day as {day}) as day",
        f"cast(price as {price}) as price",
        "card",
    )


def events() -> list[dict[str, object]]:
    return [
        {"@type": "Sale", "@time": n, "at": at, "day": day, "price": price, "card": "c"}
        for n, (at, day, price) in enumerate(ROWS)
    ]


def rows(found: DataFrame) -> list[str]:
    seen = []
    for row in found.collect():
        values = row[row["@type"]].asDict()
        seen.append(str((row["@type"], *(_plain(value) for value in values.values()))))
    return sorted(seen)


def _plain(value: object) -> object:
    if isinstance(value, dt.datetime):  # Spark gives what clocks of this machine show
        return dt.datetime.fromtimestamp(value.timestamp(), dt.UTC).isoformat()
    return str(value) if isinstance(value, Decimal | dt.date) else value


def expected(name: str | None) -> list[str]:
    found = cep.run(PROGRAM, events(), zone=name)
    return sorted(str((r.type, *(_plain(value) for value in r.values()))) for r in found)


@pytest.mark.parametrize(("at", "name"), [("string", "Europe/Berlin"), ("timestamp_ntz", None)])
def test_times_without_a_zone_are_utc_or_what_zone_says(
    spark: SparkSession, at: str, name: str | None
) -> None:
    with zone(spark, "America/New_York"), warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        found = cep.spark.detect(PROGRAM, {"Sale": frame(spark, at, "string", "string")}, zone=name)
        assert rows(found) == expected(name)


def test_a_timestamp_is_an_instant_whatever_zone_the_session_has(spark: SparkSession) -> None:
    with zone(spark, "Europe/Berlin"):
        found = cep.spark.detect(PROGRAM, {"Sale": frame(spark, "timestamp")})
        assert rows(found) == expected("Europe/Berlin")


def test_another_zone_of_the_session_is_a_warning_that_names_the_option(
    spark: SparkSession,
) -> None:
    with zone(spark, "America/New_York"):
        zoneless = {"Sale": frame(spark, "timestamp_ntz")}
        with pytest.warns(
            CepheidWarning, match=r"'at' of the frame of Sale name no zone.*zone='America"
        ):
            cep.spark.detect(PROGRAM, zoneless)
        with warnings.catch_warnings():
            warnings.simplefilter("error", CepheidWarning)
            cep.spark.detect(PROGRAM, zoneless, zone="UTC")
            cep.spark.detect(PROGRAM, {"Sale": frame(spark, "timestamp")})


def test_what_does_not_fit_a_decimal_or_a_date_is_refused(spark: SparkSession) -> None:
    wrong = frame(spark, "timestamp", "timestamp", "double").selectExpr(
        "`@time`", "at", "at as day", "price * 0.001D as price", "card"
    )
    with pytest.raises(Exception, match=r"bad-value.* is not (date|decimal)"):
        cep.spark.detect(PROGRAM, {"Sale": wrong}).collect()


def test_an_unknown_zone_is_refused_before_anything_runs(spark: SparkSession) -> None:
    with pytest.raises(cep.UsageError, match="no time zone 'Berlin'"):
        cep.spark.detect(PROGRAM, {"Sale": frame(spark, "timestamp")}, zone="Berlin")
