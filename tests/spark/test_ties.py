"""Events of one time without a sequence: what they lead to is taken in the order of their values, pass by pass."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import cepheid as cep
from cepheid.engines.spark.batch import query
from cepheid.engines.spark.batch.ties import Causes, with_ties
from cepheid.engines.spark.codec.sort_keys import sorted_events
from tests.effort import examples
from tests.spark.cases import set_to

# The numbers that travel.

TEXTS = st.sampled_from(
    [None, "", "a", "ab", "abcdef", "abcdefg", "abcdeg", "\0", "ä", "\U0001f600"]
)
REALS = st.sampled_from([None, 0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan])
WHOLES = st.sampled_from([None, 0, 1, -1, 2**63 - 1, -(2**63) + 1])
EVENTS = st.lists(
    st.tuples(TEXTS | st.text(max_size=14), REALS, WHOLES, st.sampled_from([None, True, False])),
    min_size=1,
    max_size=12,
)
TYPES = {"text": pa.string(), "real": pa.float64(), "whole": pa.int64(), "truth": pa.bool_()}


def batch_of(events: Sequence[Sequence[object]]) -> pa.RecordBatch:
    columns: dict[str, Any] = {
        name: pa.array(list(values), type)
        for (name, type), values in zip(TYPES.items(), zip(*events, strict=True), strict=True)
    }
    return pa.RecordBatch.from_pydict(columns)


def rows_for(count: int, taken: int, type: str = "S") -> pa.Table:
    """A row that each of so many events leads to."""
    keys = [[5, 1, taken + n, 1, 3, 1] for n in range(count)]
    columns: dict[str, Any] = {
        "@type": pa.array([type] * count, pa.string()),
        "@key": pa.array(keys, pa.list_(pa.int64())),
    }
    return pa.table(columns)


@given(EVENTS, st.permutations(list(TYPES)))
@examples(300)
def test_what_travels_compares_as_the_values_do(
    events: list[tuple[object, ...]], sort_keys: list[str]
) -> None:
    batch = batch_of(events)
    rows = with_ties(rows_for(len(batch), 40), batch, sort_keys, {"S"}, 40)
    ties: list[Any] = rows["@ties"].to_pylist()
    order = sorted(range(len(batch)), key=ties.__getitem__)
    times: Any = pa.array([0] * len(batch), pa.int64())
    numbered = pa.Table.from_batches([batch]).append_column("@time", times)
    numbered = numbered.append_column("place", pa.array(range(len(batch)), pa.int64()))
    expected = sorted_events(numbered, [*sort_keys, "place"])["place"].to_pylist()
    assert order == expected


def test_rows_that_no_one_takes_carry_nothing() -> None:
    batch = batch_of([("a", 1.0, 1, True)])
    assert with_ties(rows_for(1, 0, "T"), batch, ["text"], {"S"}, 0)["@ties"].to_pylist() == [[]]


def test_causes_are_counted_across_batches() -> None:
    def batch(ties: list[list[int]], keys: list[list[int] | None]) -> pa.RecordBatch:
        columns: dict[str, Any] = {
            "@time": pa.array([5] * len(ties), pa.int64()),
            "@ties": pa.array(ties, pa.list_(pa.int64())),
            "@key": pa.array(keys, pa.list_(pa.int64())),
        }
        return pa.RecordBatch.from_pydict(columns)

    causes = Causes()
    first = causes.numbered(batch([[1], [1], [2]], [[5, 1, 70, 1], [5, 1, 70, 2], [5, 1, 3, 1]]))
    second = causes.numbered(batch([[2], [3]], [[5, 1, 3, 2], None]).slice(0))
    assert first["@key"].to_pylist() == [[5, 1, 0, 1], [5, 1, 0, 2], [5, 1, 1, 1]]
    assert second["@key"].to_pylist() == [[5, 1, 1, 2], None]
    sliced = batch([[7], [8]], [[5, 1, 9, 1], [5, 1, 9, 1]]).slice(1)
    assert causes.numbered(sliced)["@key"].to_pylist() == [[5, 1, 3, 1]]


# Passes.

SCHEMA = "create schema A(k int, name string, v int, w double);\n"
FIRST = """
@Priority(2) @Name('up') insert into Up select b.k as k, b.v as v, b.name as name
from pattern [every a=A(v > 1) -> b=A(k = a.k and v < 5)];
@Priority(3) @Name('high') insert into High select k, v, name from A(v > 3);
"""
SECOND = """
@Name('all') select first(name) as first, last(v) as last, count(*) as n from Up#length(3);
@Name('both') select u.name as one, h.name as other from pattern [every u=Up -> h=High(v != u.v)];
@Name('three') select last(name) as name, count(*) as n from High#length_batch(3);
"""
TWO = SCHEMA + FIRST + SECOND


def frame_of(spark: SparkSession, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    schema = "`@time` int, k int, name string, v int, w double"
    return spark.createDataFrame(list(rows), schema).repartition(3)


def ordered(rows: Sequence[Sequence[Any]]) -> pa.Table:
    """By time, then by all columns: null first, texts by their bytes."""

    def key(row: Sequence[Any]) -> list[tuple[bool, Any]]:
        values = (value.encode() if isinstance(value, str) else value for value in row)
        return [(value is not None, value) for value in values]

    columns = zip(*sorted(rows, key=key), strict=True)
    names = {"@time": pa.int32(), "k": pa.int32(), "name": pa.string(), "v": pa.int32()}
    types = [*names.items(), ("w", pa.float64())]
    arrays: dict[str, Any] = {
        name: pa.array(list(values), type)
        for (name, type), values in zip(types, columns, strict=True)
    }
    return pa.table({"@type": ["A"] * len(rows), **arrays})


def shown(row: Mapping[str, Any]) -> str:
    """A row of any type as what it says."""
    own = row.get(row["@type"]) if isinstance(row.get(row["@type"]), dict) else row
    values = {n: v for n, v in (own or {}).items() if not n.startswith("@") and v is not None}
    return f"{row['@type']} {sorted(values.items())}"


def asked(text: str, frame: DataFrame) -> DataFrame:
    """Which warns of events that nothing but their values orders."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        return cep.spark.detect(cep.parse(text), frame)


def found_on_spark(text: str, frame: DataFrame) -> Counter[str]:
    return Counter(map(shown, asked(text, frame).toArrow().to_pylist()))


def found_here(text: str, rows: Sequence[Sequence[Any]]) -> Counter[str]:
    found = cep.run(cep.parse(text), ordered(rows))
    return Counter(shown({"@type": row.type, **row}) for row in found)


VALUES = st.tuples(
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([None, "", "x", "xy", "abcdefgh", "abcdefgi"]),
    st.integers(0, 6),
    st.sampled_from([None, 0.5, -1.0]),
)


@given(st.lists(VALUES, min_size=1, max_size=60), st.booleans())
@settings(max_examples=6, deadline=None)
def test_passes_take_what_values_order_as_one_run_does(
    spark: SparkSession, rows: list[tuple[Any, ...]], twice: bool
) -> None:
    rows = [*rows, *rows[::3]] if twice else rows  # events that nothing tells apart
    frame = frame_of(spark, rows)
    with set_to(spark, partitions=3, adaptive=False):
        assert found_on_spark(TWO, frame) == found_here(TWO, rows)


MANY = [
    (n // 40, n * 7 % 5, (None, "x", "xy", "abcdefgh")[n % 4], n * 11 % 7, n % 3 / 2)
    for n in range(400)
]
TIMED = f"{SCHEMA}{FIRST}{SECOND}".replace(
    "select k, v, name from A(v > 3);",
    "select a.k as k, a.v as v, a.name as name "
    "from pattern [every a=A(v > 3) -> (timer:interval(1 sec) and not A(k = a.k and v = 6))];",
)
THREE = f"{TWO}@Name('third') insert into Third select k, v from Up(v > 1);".replace(
    "select last(name) as name, count(*) as n from High#length_batch(3);",
    "insert into Fourth select last(v) as v, count(*) as n from High#length_batch(3);"
    "@Name('fifth') select f.n as n, a.v as v from pattern [every f=Fourth -> a=A(v = f.v)];",
)


@pytest.mark.parametrize(
    ("text", "is_numbered"),
    [(TWO, False), (TIMED, True), (THREE, True)],
    ids=["two", "timers", "input"],
)
def test_events_are_numbered_only_where_their_values_do_not_do(
    spark: SparkSession,
    text: str,
    is_numbered: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = frame_of(spark, MANY)
    with set_to(spark, partitions=3, adaptive=False):
        asked(text, frame).explain()
        assert ("row_number" in capsys.readouterr().out) == is_numbered
        found = found_on_spark(text, frame)
        assert found == found_here(text, MANY)
        monkeypatch.setattr(query, "are_ordered_by_values", lambda *_: False)
        assert found_on_spark(text, frame) == found


def test_values_that_are_no_numbers_are_counted_first(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TWO.replace("w double)", "w double[])")
    frame = frame_of(spark, MANY).withColumn("w", F.array("w"))
    asked(text, frame).explain()
    assert "row_number" in capsys.readouterr().out


def test_without_the_order_of_values_rows_would_be_others() -> None:
    shuffled = [MANY[n] for n in np.random.default_rng(1).permutation(len(MANY))]
    by_time = sorted(shuffled, key=lambda row: row[0])
    table = pa.Table.from_pylist(
        [
            {"@type": "A", "@time": t, "k": k, "name": name, "v": v, "w": w}
            for t, k, name, v, w in by_time
        ],
        ordered(MANY).schema,
    )
    found = cep.run(cep.parse(TWO), table)
    assert Counter(shown({"@type": row.type, **row}) for row in found) != found_here(TWO, MANY)
