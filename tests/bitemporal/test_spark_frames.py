"""Histories as frames of Spark: the same rows as through every other door, and clear words for others."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import cepheid as cep
from cepheid.errors import CepheidError
from cepheid.program.classes import SubscribedClass
from tests.bitemporal.generator import Case, case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x NUMBER, s TEXT, t TIMESTAMP, b BOOLEAN) ID (k)
FREEZING TIME (1h)
ON CHANGE DO changed(NEW.x, NEW.s, NEW.t, NEW.b), ON CANCELLATION DO gone(OLD.k), ON ONTIME DO now();
CREATE MUTABLE SUBSCRIBED EVENT CLASS B(name TEXT, x INTEGER) ID (name) FREEZING TIME (1h)
ON ANNOUNCEMENT DO gone(NEW.x, NEW.name);
CREATE COMPLEX EVENT CLASS D(k INTEGER, s TEXT) ID (k) OBSERVATION SPAN (1h)
AS SELECT a.k, b.name AS s FROM A a, B b WHERE a.k = b.x OCCURRING AT a
ON ANNOUNCEMENT DO found(NEW.s, NEW.occ);
"""
A = "k bigint, x double, s string, t timestamp, b boolean"
HEAD = "`@time` timestamp, `@detected` timestamp, `@retracted` boolean"


def at(minute: int) -> str:
    return f"2026-01-01T00:{minute:02}:00Z"


VERSIONS: list[tuple[Any, ...]] = [
    (at(5), at(1), False, 1, 1.5, "one", at(9), True),
    (at(6), at(2), None, 2, None, None, None, None),
    (at(5), at(3), False, 1, 2.5, "two", None, False),
    (None, at(4), True, 2, None, None, None, None),
]
OTHERS = [(at(5), at(2), False, "b", 1)]


def frame(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str) -> DataFrame:
    """Times are given as texts."""
    plain = schema.replace("timestamp", "string")
    columns = [
        f"CAST({name} AS timestamp) AS {name}" if type == "timestamp" else name
        for name, type in (part.split() for part in schema.split(", "))
    ]
    return spark.createDataFrame(rows, plain).selectExpr(*columns)


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> dict[str, DataFrame]:
    return {
        "A": frame(spark, VERSIONS, f"{HEAD}, {A}"),
        "B": frame(spark, OTHERS, f"{HEAD}, name string, x int"),
    }


def detect(frames: object, **options: Any) -> DataFrame:
    settings = {"chronon": "1m", "end": at(7), **options}
    return cep.spark.detect(cep.parse(PROGRAM, "bicepl"), frames, **settings)  # type: ignore[arg-type]


def rows_of(found: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in found.orderBy("@time").collect()]


def test_actions_have_their_values_and_their_cause(frames: Mapping[str, DataFrame]) -> None:
    found = detect(frames, output="changed")
    assert found.columns == ["@time", "@cause", "p1", "p2", "p3", "p4"]
    [row] = found.selectExpr(
        "unix_timestamp(`@time`) % 3600 AS at", "`@cause`", "p1", "p2", "p3", "p4"
    ).collect()
    assert (row.at, row["@cause"].asDict(), *row[2:]) == (
        180,
        {"@type": "A", "k": 1},
        2.5,
        "two",
        None,
        False,
    )


def test_an_action_of_two_classes_has_all_that_either_has(frames: Mapping[str, DataFrame]) -> None:
    found = rows_of(detect(frames, output="gone"))
    assert [row["@cause"] for row in found] == [
        {"@type": "B", "k": None, "name": "b"},
        {"@type": "A", "k": 2, "name": None},
    ]
    assert [(row["p1"], row["p2"]) for row in found] == [(1, "b"), (2, None)]


def test_all_actions_are_structs_under_their_names(frames: Mapping[str, DataFrame]) -> None:
    found = detect(frames)
    assert found.columns == ["@type", "@time", "changed", "gone", "now", "found"]
    assert dict(found.groupBy("@type").count().collect()) == {
        "changed": 1,
        "gone": 2,
        "now": 1,
        "found": 1,
    }
    assert len(found.toArrow()) == 5
    for row in found.collect():
        assert [name for name in found.columns[2:] if row[name] is not None] == [row["@type"]]


def test_a_class_shows_what_became_known(frames: Mapping[str, DataFrame]) -> None:
    found = detect(frames, output="A")
    assert dict(found.dtypes)["occ"] == "timestamp"
    assert dict(found.dtypes)["t"] == "timestamp"
    assert [(row["k"], row["kind"], row["fired"]) for row in rows_of(found)] == [
        (1, "announcement", False),
        (2, "announcement", False),
        (1, "change", False),
        (2, "cancellation", False),
    ]


def test_one_frame_of_all_classes_gives_the_same(
    spark: SparkSession, frames: Mapping[str, DataFrame]
) -> None:
    both = (
        frames["A"]
        .selectExpr("'A' AS `@type`", "*")
        .unionByName(frames["B"].selectExpr("'B' AS `@type`", "*"), allowMissingColumns=True)
    )
    assert rows_of(detect(both, output="found")) == rows_of(detect(frames, output="found"))
    assert rows_of(detect(both, output="A")) == rows_of(detect(frames, output="A"))


def test_rounds_go_from_the_first_to_the_last_time(
    spark: SparkSession, frames: Mapping[str, DataFrame]
) -> None:
    """A row without a class lets time pass."""
    both = (
        frames["A"]
        .selectExpr("'A' AS `@type`", "*")
        .unionByName(frames["B"].selectExpr("'B' AS `@type`", "*"), allowMissingColumns=True)
    )
    assert not rows_of(detect(both, output="now", end=None))
    later = both.unionByName(
        frame(spark, [(None, at(7))], "`@type` string, `@time` timestamp"), allowMissingColumns=True
    )
    assert len(rows_of(detect(later, output="now", end=None))) == 1


def test_numbers_and_texts_are_times_too(spark: SparkSession) -> None:
    schema = "happens bigint, `@detected` string, k bigint, x double, s string, t bigint, b boolean"
    rows = [(300_000, "1970-01-01T00:01:00Z", 1, 0.0, "s", 60, True)]
    versions = spark.createDataFrame(rows, schema)
    others = spark.createDataFrame([], "happens bigint, name string, x int")
    options = {"time": "happens", "unit": "milliseconds", "start": 0, "end": 600}
    [row] = rows_of(
        detect({"A": versions, "B": others}, output="A", **options).selectExpr(
            "`@time`",
            "unix_seconds(occ) AS occ",
            "unix_seconds(det) AS det",
            "unix_seconds(t) AS t",
        )
    )
    assert (row["occ"], row["det"], row["t"]) == (300, 60, 60)


def test_detections_of_one_time_are_ordered_by_the_sequence_or_by_what_they_say(
    spark: SparkSession, frames: Mapping[str, DataFrame]
) -> None:
    schema = f"{HEAD}, {A}, n int"
    rows = [
        (at(5), at(1), False, 1, 2.0, "b", None, None, 2),
        (at(5), at(1), False, 1, 3.0, "a", None, None, 1),
        (at(5), at(1), False, 1, 1.0, "c", None, None, 0),
    ]
    given = {**frames, "A": frame(spark, rows, schema)}
    assert [row["s"] for row in rows_of(detect(given, output="A"))] == ["a"]
    assert [
        row["s"]
        for row in rows_of(
            detect({**given, "B": frames["B"].selectExpr("*", "0 AS n")}, output="A", sequence="n")
        )
    ] == ["b"]


def test_what_is_no_number_is_null_and_what_is_no_event_is_left_out(
    spark: SparkSession, frames: Mapping[str, DataFrame]
) -> None:
    schema = f"{HEAD}, {A}, `@old` boolean"
    rows = [
        (at(5), at(1), False, 1, float("nan"), "a", None, None, None),
        (at(5), at(2), False, 1, -0.0, "a", None, None, False),
        (at(5), at(3), False, 1, 7.0, "a", None, None, True),
    ]
    found = rows_of(detect({**frames, "A": frame(spark, rows, schema)}, output="A"))
    assert [str(row["x"]) for row in found] == ["None", "0.0"]


def test_what_does_not_count_is_counted(
    spark: SparkSession, frames: Mapping[str, DataFrame]
) -> None:
    late = (at(5), "2026-01-01T02:00:00Z", False, 1, 9.0, "late", None, None)
    given = {**frames, "A": frame(spark, [*VERSIONS, late], f"{HEAD}, {A}")}
    found = detect(given, output="@refused", end="2026-01-01T03:00:00Z").collect()
    assert [tuple(row) for row in found] == [("A", "after the freeze", 1)]
    assert (
        len(rows_of(detect(given, output="A", after_freeze="take", end="2026-01-01T03:00:00Z")))
        == 5
    )


# Any program ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("spark_takes_its_time")
@pytest.mark.parametrize("seed", range(200, 204))
def test_frames_give_the_actions_of_the_reference(spark: SparkSession, seed: int) -> None:
    found = acting(Random(seed))
    program = cep.parse(found.text, "bicepl")
    settings: dict[str, Any] = {"chronon": found.chronon, "outages": found.outages}
    outcome = cep.run(program, found.records, engine="reference", **settings).outcome  # type: ignore[attr-defined]
    rounds = outcome.rounds
    span = {"start": rounds.first * rounds.chronon / 1e6, "end": rounds.last * rounds.chronon / 1e6}
    frames = given(spark, program, found)
    told = cep.spark.detect(program, frames, sequence="place", **settings, **span)
    actions = sorted((row["@type"], row["at"], row["key"]) for row in _plain(told))
    assert actions == sorted(
        (firing.action, rounds.instant(firing.round), *firing.key) for firing in outcome.firings
    )


def acting(rng: Random) -> Case:
    """A case whose run does not end early, and that has actions."""
    while True:
        found = case(rng)
        if " DO " in found.text:
            try:
                cep.run(cep.parse(found.text, "bicepl"), found.records, chronon=found.chronon)
            except CepheidError:
                continue
            return found


def given(spark: SparkSession, program: cep.Program, found: Case) -> dict[str, DataFrame]:
    """The records of a case, a frame for each class; `place` is their order."""
    marks = "`@time` bigint, `@detected` bigint, `@retracted` boolean, place int"
    schema = f"{marks}, k bigint, x bigint, s string, n double, t bigint, f boolean"
    names = [field.split()[0].strip("`") for field in schema.split(", ")]
    records = [{**record, "place": place} for place, record in enumerate(found.records)]
    return {
        declared.name: spark.createDataFrame(
            [tuple(map(r.get, names)) for r in records if r.get("@type") == declared.name], schema
        )
        for declared in program.tree.classes
        if isinstance(declared, SubscribedClass)
    }


def _plain(told: DataFrame) -> list[dict[str, Any]]:
    names = [name for name in told.columns if not name.startswith("@")]
    key = ", ".join(f"`{name}`.`@cause`.k" for name in names)
    rows = told.selectExpr("`@type`", "unix_micros(`@time`) AS at", f"coalesce({key}) AS key")
    return [row.asDict() for row in rows.collect()]


# What is no history ---------------------------------------------------------------------------


BAD_ROWS: dict[str, tuple[tuple[Any, ...], str]] = {
    "no key": (
        (at(5), at(1), False, None, 1.0, "s", None, None),
        "a version of A without its key: k is null",
    ),
    "no occurrence": (
        (None, at(1), False, 1, 1.0, "s", None, None),
        "a version of A without an occurrence time",
    ),
    "a time that is none": (
        ("soon", at(1), False, 1, 1.0, "s", None, None),
        "'@time': 'soon' is not an ISO 8601 time",
    ),
    "no time at all": (
        (None, None, True, 1, 1.0, "s", None, None),
        "a retraction of A without a time",
    ),
}


@pytest.mark.usefixtures("spark_takes_its_time")
@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_row_that_is_no_version_ends_the_run_with_the_reason(
    spark: SparkSession, frames: Mapping[str, DataFrame], name: str
) -> None:
    from pyspark.errors import PySparkException

    row, fact = BAD_ROWS[name]
    texts = f"{HEAD}, {A}".replace("`@time` timestamp", "`@time` string")
    given = {**frames, "A": frame(spark, [*VERSIONS, row], texts)}
    with pytest.raises(PySparkException) as caught:
        detect(given, output="now").collect()
    assert fact in str(caught.value).partition("\n")[0]


def test_a_row_of_no_class_ends_the_run(frames: Mapping[str, DataFrame]) -> None:
    from pyspark.errors import PySparkException

    wrong = frames["A"].selectExpr("'C' AS `@type`", "*", "'n' AS name")
    with pytest.raises(PySparkException, match="no subscribed class 'C'"):
        detect(wrong, output="A", end=at(7)).collect()


BAD_CALLS: dict[str, tuple[dict[str, str], dict[str, Any], str]] = {
    "unknown output": ({}, {"output": "chnaged"}, "no action or class 'chnaged'"),
    "a column that is missing": (
        {"x": ""},
        {},
        "no event of A has the attribute 'x', which 'A' uses",
    ),
    "a key that is missing": ({"k": ""}, {}, "no column 'k' in the frame of A, the key of A"),
    "an attribute that nobody has": ({}, {"optional": ["y"]}, "optional: no attribute 'y'"),
    "a text for a number": (
        {"x": "s AS x"},
        {},
        "column 'x' of the frame of A is string, but attribute 'x' of A is double",
    ),
    "no time": ({"@time": ""}, {}, "the frame of A has no column '@time'"),
    "a flag for a time": ({"@time": "b AS `@time`"}, {}, "is boolean, not a time"),
    "a text for a retraction": (
        {"@retracted": "'no' AS `@retracted`"},
        {},
        "is string, not boolean",
    ),
    "no sequence": ({}, {"sequence": "n"}, "column 'n' of the frame of A is missing"),
    "no chronon": ({}, {"chronon": None}, "nothing says how often"),
    "a watermark": ({}, {"watermark": "1m"}, "watermark says nothing"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_what_cannot_be_is_said_before_anything_runs(
    frames: Mapping[str, DataFrame], name: str
) -> None:
    changed, options, fact = BAD_CALLS[name]
    columns = [changed.get(column, f"`{column}`") for column in frames["A"].columns]
    given = {**frames, "A": frames["A"].selectExpr(*filter(None, columns))}
    with pytest.raises(CepheidError) as caught:
        detect(given, **options)
    assert fact in str(caught.value)


def test_a_column_that_nobody_uses_or_that_is_optional_may_be_missing(
    frames: Mapping[str, DataFrame],
) -> None:
    without_x = frames["A"].drop("x")
    [*rows] = detect({**frames, "A": without_x}, output="A", optional=["A.x"]).collect()
    assert rows
    assert {row["x"] for row in rows} == {None}
    unused = PROGRAM.replace("changed(NEW.x, ", "changed(")
    found = cep.spark.detect(
        cep.parse(unused, "bicepl"),
        {**frames, "A": without_x},
        output="found",
        chronon="1m",
        end=at(7),
    )
    assert found.count() == detect(frames, output="found").count() > 0


def test_in_a_frame_of_all_classes_only_such_count_as_have_rows(
    frames: Mapping[str, DataFrame],
) -> None:
    of_b = frames["B"].selectExpr("'B' AS `@type`", "*", "CAST(NULL AS bigint) AS k")
    assert detect(of_b, output="gone").count() == 1
    both = of_b.unionByName(
        frames["A"].selectExpr("'A' AS `@type`", "*").drop("s", "t", "b"),
        allowMissingColumns=True,
    )
    with pytest.raises(cep.InputError, match="no event of A has the attribute 's'"):
        detect(both)


def test_frames_and_classes_belong_together(frames: Mapping[str, DataFrame]) -> None:
    for given, fact in (
        ({"A": frames["A"]}, "no frame of B is given"),
        ({**frames, "D": frames["A"]}, "no subscribed class 'D'"),
        (frames["A"], "does not say the classes of its rows"),
    ):
        with pytest.raises(CepheidError) as caught:
            detect(given)
        assert fact in str(caught.value)


def test_statements_take_no_part_in_frames_of_histories(frames: Mapping[str, DataFrame]) -> None:
    program = cep.compose(cep.parse(PROGRAM, "bicepl"), cep.parse("@Name('S') select k from D;"))
    with pytest.raises(CepheidError, match="without statements"):
        cep.spark.detect(program, frames, chronon="1m", end=at(7))


def test_programs_without_classes_have_no_rounds(frames: Mapping[str, DataFrame]) -> None:
    program = cep.parse("create schema A (k long); @Name('S') select k from A;")
    with pytest.raises(CepheidError, match="chronon says nothing"):
        cep.spark.detect(program, frames["A"], chronon="1m")
