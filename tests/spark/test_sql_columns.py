"""Columns as texts: Spark reads in them what was meant, whatever values and names hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

from cepheid.engines.spark.codec.sql_columns import (
    Column,
    call,
    coalesce,
    concat,
    each,
    field,
    lit,
    nothing,
    struct,
    when,
)
from tests.effort import examples

ESCAPES = "spark.sql.parser.escapedStringLiterals"


@pytest.fixture(params=["false", "true"])
def reading(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    """A session that reads escapes in texts, and one that does not."""
    before = str(spark.conf.get(ESCAPES))
    spark.conf.set(ESCAPES, request.param)
    yield spark
    spark.conf.set(ESCAPES, before)


def value(spark: SparkSession, column: Column) -> Any:
    return spark.range(1).selectExpr(column.named("v")).collect()[0].v


TEXTS = [
    "",
    "plain",
    "it's",
    'say "so"',
    "a\\nb",
    "\\",
    "new\nline",
    "tab\t",
    "ä€😀",
    "`",
    "%_",
    "--",
    "/* */",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_what_they_are(reading: SparkSession, text: str) -> None:
    assert value(reading, lit(text)) == text
    assert value(reading, concat("<", text, ">")) == f"<{text}>"
    assert value(reading, lit(text) == text) is True


CONSTANTS = [
    *(0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63)),
    *(0.0, 1.5, -2.5, 1e300, 1e-300, 5e-324, 1e16, math.inf, -math.inf),
    *(True, False, None, date(2024, 2, 29)),
]


@pytest.mark.parametrize("constant", CONSTANTS)
def test_constants_are_what_they_are(spark: SparkSession, constant: Any) -> None:
    found = value(spark, lit(constant))
    assert found == constant
    assert type(found) is type(constant)


def test_whole_numbers_are_as_long_as_they_must_be(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr(lit(2**31 - 1).named("i"), lit(2**31).named("l"))
    assert [each.dataType.simpleString() for each in frame.schema] == ["int", "bigint"]


def test_instants_are_those_of_utc(spark: SparkSession) -> None:
    moment = datetime(2024, 3, 1, 12, 30, 0, 250_000, UTC)
    assert value(spark, call("UNIX_MICROS", lit(moment))) == int(moment.timestamp() * 1e6)
    assert math.isnan(value(spark, lit(math.nan)))


@pytest.mark.parametrize("name", ["a.b", "with `ticks`", "select", "@type", "ä b", "x'y", "1"])
def test_names_are_what_they_are(spark: SparkSession, name: str) -> None:
    inner = f"{name} inner"
    frame = spark.range(1).selectExpr(struct(**{inner: lit(7)}).named(name))
    assert frame.columns == [name]
    found = frame.selectExpr(
        field(name).member(inner).named("v"), field(name).named("w")
    ).collect()[0]
    assert (found.v, found.w[inner]) == (7, 7)
    assert value(spark, nothing(frame.schema[name].dataType)) is None


def test_elements_of_elements_have_names_of_their_own(spark: SparkSession) -> None:
    numbers = call("ARRAY", call("ARRAY", 1, 2), call("ARRAY", 3))
    found = each(numbers, lambda row: each(row, lambda one: one + call("SIZE", row) * 10))
    assert value(spark, found) == [[21, 22], [13]]


def test_operators_bind_as_they_are_applied(spark: SparkSession) -> None:
    two, three = lit(2), lit(3)
    shown = {
        "left": two - (three - 1),
        "sum first": (two + three) * two,
        "negative": -(two - 5),
        "minus a negative": two - -3,
        "whole": call("INT", three / two),
        "rest": lit(-7) % 3,
        "not first": ~(two == 3) & (three == 3),
        "either": (two == 3) | (three == 3),
        "between": two.between(lit(2), three) & ~two.between(three, lit(9)),
        "among": two.is_in(1, 2) & ~two.is_in(3) & ~two.is_in(),
        "null": lit(None).is_null() & two.is_not_null() & lit(None).is_same(lit(None)),
        "differs": (two != 3) & ~(two != 2) & (two < 3) & (two <= 2) & (three > 2) & (three >= 3),
    }
    expected = [0, 10, 3, 5, 1, -1, *[True] * 6]
    frame = spark.range(1).selectExpr(*(column.named(name) for name, column in shown.items()))
    assert list(frame.collect()[0]) == expected


def test_cases_are_tried_in_their_order(spark: SparkSession) -> None:
    number = field("id")
    shown = when(number < 1, lit("a")).when(number < 3, lit("b"))
    frame = spark.range(4).selectExpr(shown.named("x"), shown.otherwise(lit("c")).named("y"))
    assert [tuple(row) for row in frame.collect()] == [
        ("a", "a"),
        ("b", "b"),
        ("b", "b"),
        (None, "c"),
    ]
    assert value(spark, coalesce(nothing("int"), lit(4))) == 4
    assert value(spark, lit("x").try_cast("int")) is None


def test_patterns_are_what_they_are(reading: SparkSession) -> None:
    assert value(reading, lit("a1").matches(r"^[a-z]\d$")) is True
    assert value(reading, lit("a'1").matches("'")) is True
    assert value(reading, lit("it's").like("it'_")) is True


TYPES = [
    T.ArrayType(T.StructType([T.StructField("a b", T.DecimalType(10, 2))])),
    T.StructType([T.StructField("x`y", T.TimestampNTZType()), T.StructField("d", T.DateType())]),
    T.StringType(),
]


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_types_are_named_as_sql_names_them(spark: SparkSession, type: T.DataType) -> None:
    frame = spark.range(1).selectExpr(nothing(type).named("v"))
    assert frame.schema["v"].dataType.jsonValue() == type.jsonValue()


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=30)
)
@settings(examples(8))
def test_any_text_is_what_it_is(spark: SparkSession, texts: list[str]) -> None:
    columns = (lit(text).named(f"c{number}") for number, text in enumerate(texts))
    assert list(spark.range(1).selectExpr(*columns).collect()[0]) == texts
