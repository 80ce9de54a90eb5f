"""Spark batch gives what the reference semantics gives, however the input is cut and shuffled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import cepheid as cep
from cepheid.engines.spark.batch.query import batch_rows
from cepheid.engines.spark.codec.event_frames import Frames, sources_of, with_types_of
from cepheid.engines.spark.codec.input_columns import Options
from cepheid.engines.spark.plan.passes import pipelines_of
from cepheid.engines.spark.plan.plan import plan_of
from cepheid.engines.spark.plan.request import SparkRequest
from cepheid.engines.spark.plan.run_warnings import SAMPLE
from cepheid.errors import CepheidWarning
from cepheid.program.resolved import ResolvedProgram
from tests.effort import EFFORT
from tests.semantics.drive import resolved
from tests.spark.cases import (
    Case,
    by_default_order,
    collected,
    frame_of,
    generated,
    pack_of,
    reference,
    set_to,
)

PACKS, SIZE = 8 * EFFORT, 20


def rows_of(
    program: ResolvedProgram,
    events: Frames,
    sequence: str | None = "seq",
    *,
    start: int | None = None,
    timed_out: bool = False,
) -> list[str]:
    """All rows in the order of their keys."""
    sources = sources_of(events, program)
    request = SparkRequest(
        program=with_types_of(program, sources),
        sources=sources,
        options=Options(sequence=sequence),
        start=start,
        timed_out=timed_out,
        is_ordered=True,
    )
    return collected(batch_rows(plan_of(request)))


def parsed(text: str) -> ResolvedProgram:
    return resolved(cep.parse(text).tree)


def pack(number: int, size: int = SIZE) -> Case:
    return pack_of(generated(PACKS * SIZE), number, size)


# Generated programs ---------------------------------------------------------------------------


@pytest.mark.usefixtures("spark_takes_its_time")
@pytest.mark.parametrize("number", range(2 * EFFORT))
def test_timed_out_matches_are_those_of_the_reference(spark: SparkSession, number: int) -> None:
    case = pack(number)
    program = resolved(case.tree)
    frame = frame_of(spark, case.events).orderBy(F.xxhash64("seq"))
    # Adaptive execution puts what is so small into one part.
    with set_to(
        spark, partitions=1 + number % 4, rows=(2, 5)[number % 2], adaptive=number % 4 == 1
    ):
        found = rows_of(program, frame, timed_out=True)
    assert found == reference(program, case.events, timed_out=True)
    assert len(found) > 5


def test_generated_programs_run_with_a_key_without_one_and_anywhere() -> None:
    pipelines = [pipeline for n in range(8) for pipeline in pipelines_of(resolved(pack(n).tree))]
    keys = [one.key for pipeline in pipelines for one in pipeline]
    assert None in keys
    assert {} in keys
    assert sum(bool(key) for key in keys) > 5


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_cut_of_the_input_makes_no_difference(spark: SparkSession, adaptive: bool) -> None:
    case = pack(1, size=8)
    program = resolved(case.tree)
    expected = reference(program, case.events)
    frame = frame_of(spark, reversed(case.events)).repartition(3)
    with set_to(spark, partitions=7, rows=1, adaptive=adaptive, zone="America/New_York"):
        assert rows_of(program, frame) == expected


def test_without_a_sequence_events_of_one_time_are_ordered_by_type_and_values(
    spark: SparkSession,
) -> None:
    case = pack(0)
    program = resolved(case.tree)
    frame = frame_of(spark, case.events).orderBy(F.xxhash64("seq")).drop("seq")
    ordered = by_default_order(case.events)
    expected = reference(program, ordered)
    assert sorted(rows_of(program, frame, sequence=None)) == sorted(expected)
    ordered.reverse()
    backwards = sorted(ordered, key=lambda event: event.instant)
    assert sorted(reference(program, backwards)) != sorted(expected)


def test_events_are_ordered_by_what_is_looked_at_for_other_types(spark: SparkSession) -> None:
    program = cep.parse("""
        create schema A (id string, v int);
        create schema B (id string, v int);
        insert into First select first(v) as v from A;
        insert into Other select id from B;
    """)
    rows = [("A", 1, "a2", 0), ("A", 1, "a1", 5), ("B", 1, "b", 7)]
    frame = spark.createDataFrame(rows, "`@type` string, `@time` int, id string, v int")
    with pytest.warns(CepheidWarning, match=r"warning\[ties\]"):
        found = cep.spark.detect(program, frame).collect()
    assert {row.First.v for row in found if row.First} == {5}


# Keys -----------------------------------------------------------------------------------------

JOIN = """
create schema A (k int, n int); create schema B (k double, n int);
select a.n as x, b.n as y from pattern [every a=A -> b=B(k = a.k)];
"""
PER_KEY = """
create schema A (k double, n int);
create context PerKey partition by k from A;
@Name('Row') context PerKey select k, count(*) as c, first(n) as n from A;
"""


def table(types: Mapping[str, pa.DataType], rows: Sequence[Sequence[object]]) -> pa.Table:
    """A table with a second for each row, and its number as sequence."""
    columns = zip(*rows, strict=True)
    arrays: dict[str, Any] = {
        name: pa.array(list(values), type)
        for (name, type), values in zip(types.items(), columns, strict=True)
    }
    times = [1_000_000 * n for n in range(len(rows))]
    stamps = pa.array(times, pa.timestamp("us", "UTC"))
    return pa.table({**arrays, "@time": stamps, "seq": pa.array(range(len(rows)), pa.int64())})


def test_keys_of_different_types_meet(spark: SparkSession) -> None:
    a = table(
        {"k": pa.int32(), "n": pa.int32()}, [(k, n) for n, k in enumerate((0, 1, 2, None, 3))]
    )
    b = table(
        {"k": pa.float64(), "n": pa.int32()},
        [(k, n) for n, k in enumerate((9.0, -0.0, 1.0, 2.0, None, 3.0, 0.5))],
    )
    events = {"A": spark.createDataFrame(a), "B": spark.createDataFrame(b)}
    program = parsed(JOIN)
    [[one]] = pipelines_of(program)
    assert one.key == {"A": (("k",),), "B": (("k",),)}
    with set_to(spark, partitions=11, adaptive=False):
        rows = cep.spark.detect(program, events, sequence="seq", output="statement_1").collect()
    assert sorted((row["x"], row["y"]) for row in rows) == [(0, 1), (1, 2), (2, 3), (4, 5)]


def test_nan_and_zero_are_one_key_each(spark: SparkSession) -> None:
    values = (math.nan, 0.0, 1.0, -0.0, math.nan)
    rows = table({"k": pa.float64(), "n": pa.int32()}, [(k, n) for n, k in enumerate(values)])
    with set_to(spark, partitions=11, adaptive=False):
        found = rows_of(parsed(PER_KEY), {"A": spark.createDataFrame(rows)})
    counts = [int(row.split(" c=")[1].split()[0]) for row in found]
    assert counts == [1, 1, 1, 2, 2]


def test_statements_with_other_keys_run_in_passes_of_their_own(spark: SparkSession) -> None:
    program = parsed(
        """
        create schema A (k string, j string, n int);
        @Name('K') select k, count(*) as c from A group by k;
        @Name('J') select j, count(*) as c from A group by j;
        @Name('All') select count(*) as c from A;
        """
    )
    assert list(map(len, pipelines_of(program))) == [1, 1, 1]
    rows = [("ab"[n % 2], "xyz"[n % 3], n) for n in range(12)]
    events = table({"k": pa.string(), "j": pa.string(), "n": pa.int32()}, rows)
    found = rows_of(program, spark.createDataFrame(events))
    assert [row.split()[2] for row in found] == ["K", "J", "All"] * 12
    assert found[-3:] == [
        "11000000 match K k='b' c=6",
        "11000000 match J j='z' c=4",
        "11000000 match All c=12",
    ]


# Time -----------------------------------------------------------------------------------------


def spaced(spark: SparkSession, *rows: tuple[str | None, int, int | None]) -> DataFrame:
    """Types, seconds and values."""
    return spark.createDataFrame(
        pa.table(
            {
                "@type": pa.array([row[0] for row in rows], pa.string()),
                "@time": pa.array([row[1] for row in rows], pa.int64()),
                "v": pa.array([row[2] for row in rows], pa.int32()),
                "seq": pa.array(range(len(rows)), pa.int64()),
            }
        )
    )


TIMED = """
create schema A (v int); create schema Z (v int);
@Name('Quiet') select 1 as one from pattern [timer:interval(3 sec) and not A(v > 5)];
"""


def test_time_passes_with_rows_that_no_task_sees(spark: SparkSession) -> None:
    frame = spaced(spark, ("Z", 1, None), ("A", 2, 1), (None, 4, None))
    assert rows_of(parsed(TIMED), frame) == ["4000000 match Quiet one=1"]
    late = spaced(spark, ("A", 2, 1), (None, 4, None))
    assert rows_of(parsed(TIMED), late) == []
    assert rows_of(parsed(TIMED), late, start=1_000_000) == ["4000000 match Quiet one=1"]
    assert rows_of(parsed(TIMED), frame.where("false")) == []


def test_an_event_before_the_start_is_refused(spark: SparkSession) -> None:
    with pytest.raises(cep.LateEvent, match="before the start"):
        rows_of(parsed(TIMED), spaced(spark, ("A", 2, 1)), start=3_000_000)


def test_rows_of_another_run_that_are_no_events_let_time_pass(spark: SparkSession) -> None:
    frame = spaced(spark, ("A", 1, 1), ("A", 2, 9), ("A", 5, 2))
    kinds = F.when(F.col("v") == 9, "old").otherwise("match")
    assert rows_of(parsed(TIMED), frame) == []
    marked = frame.withColumn("@kind", kinds)
    assert rows_of(parsed(TIMED), marked) == ["4000000 match Quiet one=1"]
    assert rows_of(parsed(TIMED), frame.withColumn("@old", F.col("v") == 9)) == [
        "4000000 match Quiet one=1"
    ]


def test_timed_out_matches_are_told_apart(spark: SparkSession) -> None:
    program = parsed(
        "create schema A (v int); create schema B (v int); @Name('P') select a.v as x, b.v as y"
        " from pattern [every a=A -> b=B where timer:within(2 sec)];"
    )
    frame = spaced(spark, ("A", 1, 1), ("B", 2, 2), ("A", 3, 3), (None, 9, None))
    rows = ["2000000 match P x=1 y=2", "5000000 timeout P x=3"]
    assert rows_of(program, frame, timed_out=True) == rows
    assert rows_of(program, frame) == rows[:1]


# The call -------------------------------------------------------------------------------------

CHAIN = """
create schema A (k string, v int);
insert into High select k, v from A(v > 1);
@Name('Count') select k, count(*) as n from High group by k;
@Name('Other') select irstream v from A#length(1);
"""


def test_one_output_has_its_attributes_as_columns(spark: SparkSession) -> None:
    frame = spaced(spark, ("A", 1, 1), ("A", 2, 2), ("A", 3, 3)).withColumn("k", F.lit("x"))
    found = cep.spark.detect(cep.parse(CHAIN), frame, output="Count", sequence="seq")
    assert found.columns == ["@time", "@kind", "k", "n"]
    assert [tuple(row) for row in found.orderBy("@time").toArrow().to_pylist()[0].items()] == [
        ("@time", datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)),
        ("@kind", "match"),
        ("k", "x"),
        ("n", 1),
    ]
    everything = cep.spark.detect(cep.parse(CHAIN), frame, sequence="seq")
    assert everything.columns == ["@type", "@time", "@kind", "High", "Count", "Other"]
    assert everything.where("`@kind` = 'old'").count() == 2


def test_what_a_call_lacks_is_said(spark: SparkSession) -> None:
    frame = spaced(spark, ("A", 1, 1))
    program = cep.parse(CHAIN)
    for options, code in (
        ({"output": "Cuont"}, "unknown-type"),
        ({"time": "when"}, "missing-time"),
        ({"unit": "fortnights"}, "usage"),
        ({"sequence": "nr"}, "bad-value"),
        ({"output": "@late"}, "usage"),
    ):
        with pytest.raises(cep.CepheidError) as caught:
            cep.spark.detect(program, frame, **options)  # type: ignore[arg-type]
        assert caught.value.diagnostics[0].code == code


def test_events_of_one_time_that_nothing_orders_are_warned_about(spark: SparkSession) -> None:
    frame = spaced(spark, ("A", 1, 2), ("A", 1, 3)).withColumn("k", F.lit("x"))
    program = cep.parse(CHAIN)
    with pytest.warns(CepheidWarning, match=r"warning\[ties\]"):
        cep.spark.detect(program, frame, output="Count")
    cep.spark.detect(program, frame.withColumn("k", F.col("v").cast("string")), output="Count")
    cep.spark.detect(program, frame, output="High")  # each event stands for itself


def test_a_key_with_most_of_the_events_is_warned_about(spark: SparkSession) -> None:
    numbers = spark.range(SAMPLE).select(
        F.lit("A").alias("@type"),
        F.col("id").alias("@time"),
        F.when(F.col("id") % 10 == 0, F.col("id")).otherwise(0).cast("string").alias("k"),
        F.lit(2).alias("v"),
    )
    with pytest.warns(CepheidWarning, match="90% of the first 5,000 events"):
        rows = cep.spark.detect(cep.parse(CHAIN), numbers, output="Count")
    assert rows.count() == SAMPLE
