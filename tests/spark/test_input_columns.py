"""Frames become events as files do: times of all kinds, nested values, what fits and what does not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

import cepheid as cep
from cepheid.core.time import format_instant, parse_instant, zone_named
from cepheid.core.values import coerce
from cepheid.engines.spark.codec.event_frames import sources_of, with_types_of
from cepheid.engines.spark.codec.input_columns import (
    Options,
    convert,
    read,
    spark_type,
    to_instant,
)
from cepheid.engines.spark.codec.sql_columns import field
from cepheid.io.type_arguments import data_type
from tests.semantics.drive import resolved
from tests.spark.cases import set_to

pytestmark = pytest.mark.usefixtures("spark_takes_its_time")

PLAIN = "create schema A (v int); select v from A;"


def parsed(text: str) -> Any:
    return resolved(cep.parse(text).tree)


def values(frame: DataFrame) -> list[Any]:
    return list(frame.toArrow().to_pylist()[0].values())


# Times ----------------------------------------------------------------------------------------

# The clocks of Madrid skip this hour, and no time may go astray there.
TIMES = {
    "timestamp_micros(1774744200000005)": "2026-03-29T00:30:00.000005Z",
    "timestamp_ntz'2026-03-29 02:30:00.5'": "2026-03-29T02:30:00.5Z",
    "timestamp_ntz'1969-12-31 23:59:58.25'": "1969-12-31T23:59:58.25Z",
    "date'2026-03-29'": "2026-03-29T00:00:00Z",
    "date'1900-01-01'": "1900-01-01T00:00:00Z",
    "1774744200": "2026-03-29T00:30:00Z",
    "1774744200.25D": "2026-03-29T00:30:00.25Z",
    "cast(1774744200.125 as decimal(20,3))": "2026-03-29T00:30:00.125Z",
    "'2026-03-29T02:30:00.1234567'": "2026-03-29T02:30:00.123456Z",
    "'2026-03-29'": "2026-03-29T00:00:00Z",
    "'2026-03-29T02:30:00+02:00'": "2026-03-29T00:30:00Z",
    "' 2026-03-29 02:30:00Z '": "2026-03-29T02:30:00Z",
    "'tomorrow'": None,
    "cast(1e30 as double)": None,
    "9223372036854775807L": None,
    "cast(null as timestamp)": None,
}


def test_times_of_all_kinds_are_instants(spark: SparkSession) -> None:
    with set_to(spark, zone="Europe/Madrid"):
        frame = spark.sql(f"select {', '.join(f'{t} as c{n}' for n, t in enumerate(TIMES))}")
        converted = [to_instant(field(f.name), f.dataType, "seconds") for f in frame.schema.fields]
        columns = [c.column for c in converted if c is not None]
        found = values(frame.selectExpr(*(c.named(str(n)) for n, c in enumerate(columns))))
    shown = [None if instant is None else format_instant(instant) for instant in found]
    assert dict(zip(TIMES, shown, strict=True)) == TIMES
    texts = {t.strip("'"): i for t, i in TIMES.items() if t.startswith("'") and i}
    assert {t: format_instant(parse_instant(t)) for t in texts} == texts


# Texts as people and programs write times, and some that are none; {} stands for a zone, if there is one.
DATES = (
    "2026-10-25", "20261025", "2026-W43-7", "2026W437", "2026-W43", "2026W43", "2026-W53-7", "2025-W53-1",
    "2026-W00-1", "1893-03-31", "0001-01-01", "9999-12-31", "9999-W52-7", "0000-12-31", "2026-02-30", "2024-02-29",
    "2026-1025", "2026-W437", "12026-10-25", "2026-10", "26-10-25", "soon", "", "2026,10,25",
    "-0044-03-15", "+12026-W43-7", "100000101", "+2026-10-25",
)  # fmt: skip
CLOCKS = (
    "", "T02:30:00", "T23:53:29", "T02:30", "T02", "T0230", "T023000", " 02:30:00", "t02:30:00.5", "T02:30:00,5",
    "T02:30:00.1234567", "T023000.25", "T2:30:00", "T24:00:00", "T02:30:60", "T02:60", "T02:3000", "T0230:00",
    "T02.5", "T02:30.5", "T02:30:", "T", "x02:30",
)  # fmt: skip
ZONES = (
    "", "Z", " Z", "z", "+02:00", " +02:00", "-0230", "+19", "+19:00", "-23:59", "+24:00", "+00:53:28", "+01:60",
    "+2", "  Z", "Z+02", " CET",
)  # fmt: skip
TEXTS = [date + clock + zone for date in DATES for clock in CLOCKS for zone in ZONES] + [
    " \t2026-10-25T02:30\n", "\u00a02026-10-25", "\uff12026-10-25", "2026-10-25\nT02", "=,2026,,10,25,,,02,,30,00,,,,,,,",
]  # fmt: skip


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/New_York"])
def test_texts_are_times_as_they_are_in_files(spark: SparkSession, zone: str | None) -> None:
    frame = spark.createDataFrame(pa.table({"t": TEXTS})).coalesce(1)
    value = to_instant(field("t"), T.StringType(), "seconds", zone)
    assert value is not None
    assert value.misfit is not None
    with set_to(spark, zone="Asia/Tokyo"):
        found = (
            frame.selectExpr(value.column.named("i"), value.misfit.named("m")).toArrow().to_pylist()
        )
    expected: list[tuple[int | None, str | None]] = []
    for text in TEXTS:
        try:
            expected.append((parse_instant(text, zone=zone_named(zone or "UTC")), None))
        except ValueError as problem:
            expected.append((None, "outside" if "outside" in str(problem) else "not"))
    words = [m and ("outside" if "outside" in m else "not") for m in (row["m"] for row in found)]
    told = list(zip([row["i"] for row in found], words, strict=True))
    wrong = [(t, f, e) for t, f, e in zip(TEXTS, told, expected, strict=True) if f != e]
    assert wrong == []


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (
            "1774742400000L",
            "time 1774742400000 is outside the years 1 to 9999"
            " (numbers count seconds: unit='milliseconds' reads it as 2026-03-29T00:00:00Z)",
        ),
        ("9223372036854775807L", "time 9223372036854775807 is outside the years 1 to 9999"),
        ("1e30D", "time 1.0E30 is outside the years 1 to 9999"),
        ("double('NaN')", "NaN is not a time"),
        ("timestamp_ntz'0000-12-31 23:00:00'", "time 0000-12-31 23:00:00 is outside the years 1 to 9999"),
    ],
)  # fmt: skip
def test_a_time_outside_the_calendar_is_told_so(
    spark: SparkSession, number: str, words: str
) -> None:
    frame = spark.sql(f"select {number} as t")
    value = to_instant(field("t"), frame.schema["t"].dataType, "seconds")
    assert value is not None
    assert value.misfit is not None
    assert values(frame.selectExpr(value.column.named("i"), value.misfit.named("m"))) == [
        None,
        words,
    ]


def test_numbers_count_time_in_a_unit(spark: SparkSession) -> None:
    frame = spark.sql("select 90 as t, 1.5D as f")
    columns = [
        to_instant(field(name), frame.schema[name].dataType, unit)
        for name, unit in (("t", "minutes"), ("t", "microseconds"), ("f", "hours"))
    ]
    found = frame.selectExpr(*(c.column.named(str(n)) for n, c in enumerate(columns) if c))
    assert values(found) == [5_400_000_000, 90, 5_400_000_000]


TIMED = """
@EventTime(attribute='at', unit='minutes') create schema A (at long, v int);
create schema B (v int);
select at, v from A; select v from B;
"""


def test_an_attribute_holds_the_time_where_the_schema_says_so(spark: SparkSession) -> None:
    frame = spark.sql(
        "select * from values ('A', 5L, 60, 1), ('A', null, 600, 2), ('B', 7L, 120, 3),"
        " (null, null, 9, null) as t(`@type`, at, `@time`, v)"
    )
    found = frame.selectExpr(_read(frame, TIMED).time.named("t")).toArrow()
    assert found["t"].to_pylist() == [300_000_000, 600_000_000, 120_000_000, 9_000_000]
    reading = _read(frame, TIMED)
    at = frame.selectExpr(reading.columns[0].named("at")).toArrow()
    assert at["at"].to_pylist() == [5, 10, None, None]


def _read(frame: DataFrame, text: str, **options: Any) -> Any:
    program = parsed(text)
    [source] = sources_of(frame, program)
    return read(source, with_types_of(program, [source]), Options(**options))


# Values ---------------------------------------------------------------------------------------

# A column, the type of the attribute, and what an event holds; the same as from a file.
FITTING: tuple[tuple[str, str, object], ...] = (
    ("1Y", "int", 1),
    ("2147483647L", "int", 2147483647),
    ("7.0D", "long", 7),
    ("cast(7 as decimal(10,2))", "int", 7),
    ("1L", "double", 1.0),
    ("cast(0.1 as float)", "double", 0.10000000149011612),
    ("0.1D", "float", 0.10000000149011612),
    ("cast(12.345 as decimal(20,5))", "double", 12.345),
    ("timestamp_micros(1500000)", "string", "1970-01-01T00:00:01.5Z"),
    ("timestamp_ntz'2026-03-29 02:30:00'", "string", "2026-03-29T02:30:00Z"),
    ("date'2026-03-29'", "string", "2026-03-29"),
    ("array(1L, null)", "int[]", [1, None]),
    ("array(cast(1.5 as decimal(4,2)))", "double[]", [1.5]),
    ("cast(array() as array<string>)", "string[]", []),
)
MISFITS = ("2147483648L", "1.5D", "cast(1.5 as decimal(4,2))", "double('NaN')", "1e30D")


def spark_type_of(name: str) -> Any:
    return spark_type(data_type(name), parsed(PLAIN))


def test_values_become_what_they_become_in_files(spark: SparkSession) -> None:
    with set_to(spark, zone="Asia/Tokyo"):
        frame = spark.sql(
            f"select {', '.join(f'{t} as c{n}' for n, (t, _, _) in enumerate(FITTING))}"
        )
        converted = [
            convert(field(stored.name), stored.dataType, spark_type_of(type))
            for stored, (_, type, _) in zip(frame.schema.fields, FITTING, strict=True)
        ]
        found = values(
            frame.selectExpr(*(c.column.named(str(n)) for n, c in enumerate(converted) if c))
        )
        raw = values(frame)
    assert found == [value for _, _, value in FITTING]
    assert found == [
        coerce(r, data_type(type), {}) for r, (_, type, _) in zip(raw, FITTING, strict=True)
    ]


@pytest.mark.parametrize("ansi", [True, False])
def test_a_value_that_does_not_fit_is_named(spark: SparkSession, ansi: bool) -> None:
    with set_to(spark, ansi=ansi):
        frame = spark.sql(f"select {', '.join(f'{t} as c{n}' for n, t in enumerate(MISFITS))}")
        for stored in frame.schema.fields:
            found = convert(field(stored.name), stored.dataType, spark_type_of("int"))
            assert found is not None
            assert found.misfit is not None
            row = values(frame.selectExpr(found.column.named("v"), found.misfit.named("m")))
            assert row[0] is None
            assert row[1] is not None


NESTED = """
create schema Place (x double, name string);
create schema A (at Place, tags string[], price double, day string);
select at, at.x as x, tags[1] as tag, price, day from A;
"""


def test_nested_values_arrays_and_decimals_survive(spark: SparkSession) -> None:
    frame = spark.sql(
        "select timestamp_seconds(5) as `@time`, named_struct('name', 'Cadiz', 'x', 1) as at,"
        " array('a', 'b') as tags, cast(1.25 as decimal(9,2)) as price, date'2026-01-02' as day"
    )
    [row] = (
        cep.spark.detect(cep.parse(NESTED), {"A": frame}, output="statement_1")
        .toArrow()
        .to_pylist()
    )
    assert {n: v for n, v in row.pop("at").items() if n[0] != "@"} == {"x": 1.0, "name": "Cadiz"}
    assert list(row.values())[2:] == [1.0, "b", 1.25, "2026-01-02"]


def test_a_type_without_a_schema_has_that_of_its_frame(spark: SparkSession) -> None:
    program = parsed("select v, at.x as x from A;")
    frame = spark.sql("select 1 as `@time`, 2Y as v, named_struct('x', 1.5D) as at, map(1, 2) as m")
    found = with_types_of(program, sources_of({"A": frame}, program)).types["A"]
    assert {a.name: str(a.type) for a in found.attributes} == {"v": "int", "at": "{x double}"}
    [row] = cep.spark.detect(program, {"A": frame}, output="statement_1").toArrow().to_pylist()
    assert row == {
        "@time": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        "@kind": "match",
        "v": 2,
        "x": 1.5,
    }


# What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ("1 as `@time`, 'x' as v", "bad-value"),
        ("true as `@time`, 1 as v", "bad-time"),
        ("1 as `@time`, 1 as vv", "missing-attribute"),
        ("1 as v", "missing-time"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(spark: SparkSession, columns: str, code: str) -> None:
    program = cep.parse("create schema A (v int, vvv int); select v, vvv from A;")
    with pytest.raises(cep.CepheidError) as caught:
        cep.spark.detect(program, spark.sql(f"select {columns}"), optional=["vvv"])
    assert caught.value.diagnostics[0].code == code


def test_frames_are_asked_for_their_types(spark: SparkSession) -> None:
    program = cep.parse(
        "create schema A (v int); create schema B (v int); select v from A; select v from B;"
    )
    frame = spark.sql("select 1 as `@time`, 1 as v")
    for events, code in (
        (frame, "missing-type"),
        ({}, "usage"),
        ({"Aa": frame}, "unknown-type"),
        ({"A": frame.withColumn("@type", F.lit("A"))}, "usage"),
    ):
        with pytest.raises(cep.UsageError) as caught:
            cep.spark.detect(program, events)
        assert caught.value.diagnostics[0].code == code


def test_what_is_wrong_with_a_call_is_said_in_its_own_words(spark: SparkSession) -> None:
    frame = spark.sql("select 1 as `@time`, 1 as v, 'x' as card")
    calls: tuple[tuple[DataFrame, dict[str, Any], str], ...] = (
        (frame, {"watermark": "1 second"}, "a batch waits for no event.*leave out watermark="),
        (frame, {"grace": "1 s", "idle": "1 s"}, "leave out grace= and idle="),
        (frame, {"late": True}, "no event of a batch is late"),
        (frame, {"sequence": "card"}, "column 'card' of the frame of A is string; a sequence is"),
        (frame.toDF("@time", "v", "V"), {}, "columns 'v' and 'V' differ in upper and lower case"),
        (frame.toDF("@time", "v", "v"), {}, "two columns are named 'v'"),
    )
    for events, options, words in calls:
        with pytest.raises(cep.CepheidError, match=words):
            cep.spark.detect(cep.parse(PLAIN), events, **options)


@pytest.mark.parametrize(
    ("columns", "fact"),
    [
        ("1 as `@time`, 2147483648L as v", "bad-value.*attribute 'v': 2147483648 is not int"),
        ("'soon' as `@time`, 1 as v", "bad-time.*'soon' is not an ISO 8601 time"),
        ("cast(null as timestamp) as `@time`, 1 as v", "missing-time"),
    ],
)
def test_a_row_that_does_not_fit_ends_the_run(spark: SparkSession, columns: str, fact: str) -> None:
    rows = cep.spark.detect(cep.parse(PLAIN), spark.sql(f"select {columns}"))
    with pytest.raises(PySparkException, match=fact):
        rows.collect()
    rejects = cep.spark.detect(cep.parse(PLAIN), spark.sql(f"select {columns}"), output="@rejects")
    assert rejects.count() == 1


def test_an_attribute_that_holds_the_time_need_not_travel(spark: SparkSession) -> None:
    program = cep.parse("""
        create schema A (ts long, v int);
        insert into Late select ts, v from A(ts > -2000);
        insert into Pair select a.ts as a, b.ts as b from pattern [every a=A -> b=A(v=a.v)];
    """)
    rows = [(-2000, 0), (-1999, 1), (0, 1), (7, 1)]
    frame = spark.createDataFrame(rows, "ts long, v int")
    found = cep.spark.detect(program, frame, time="ts", unit="milliseconds").collect()
    assert sorted(row.Late.ts for row in found if row.Late) == [-1999, 0, 7]
    assert sorted((row.Pair.a, row.Pair.b) for row in found if row.Pair) == [(-1999, 0), (0, 7)]
