"""Conditions as Spark columns mean what the evaluator says, for every value and for null."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.engines.spark.codec.expression_columns import Untranslatable, necessary, translate
from cepheid.engines.spark.codec.sql_columns import field
from cepheid.expr import tree
from cepheid.expr.evaluate import Frame, compile_condition, compile_expr
from cepheid.expr.tree import Expr
from tests.effort import examples
from tests.semantics.drive import resolved
from tests.spark.cases import set_to

pytestmark = pytest.mark.usefixtures("spark_takes_its_time")

_COLUMNS: dict[str, pa.DataType] = {
    "i": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "s": pa.string(),
    "b": pa.bool_(),
}
SCHEMA = pa.schema(_COLUMNS)
VALUES: dict[str, tuple[Value, ...]] = {
    "i": (None, 0, 1, -1, 7, 2**31 - 1, -(2**31)),
    "l": (None, 0, 1, -3, 2**53 + 1, 2**63 - 1, -(2**63)),
    "f": (None, 0.5, -0.0, 1.0, math.nan, math.inf, 3.4028234663852886e38),
    "d": (None, 0.5, 0.0, 1.0, math.nan, -math.inf, 1e308, 9007199254740992.0),
    "s": (None, "", "a", "ab", "b%", "ä", "a\nb", "\U0001f600"),
    "b": (None, True, False),
}
DECLARED = "create schema A (i int, l long, f float, d double, s string, b boolean);"


def rows() -> Iterator[dict[str, Value]]:
    """All values of each attribute beside some of every other one."""
    names = list(VALUES)
    for one, other in product(range(8), range(8)):
        yield {
            name: VALUES[name][(one if place % 2 else other) % len(VALUES[name])]
            for place, name in enumerate(names)
        }
    for name, step in product(names, range(8)):
        for value in VALUES[name]:
            row = {
                n: VALUES[n][(step * 3 + place) % len(VALUES[n])] for place, n in enumerate(names)
            }
            yield {**row, name: value}


ROWS = list(rows())


def condition(text: str) -> Expr:
    program = resolved(cep.parse(f"{DECLARED} select 1 as one from A({text})").tree)
    found = program.statements[0].condition
    assert found is not None
    return found


def read(column: tree.Column) -> Any:
    return field(column.path[0].name)


# Each of these is translated as a whole.
WRITTEN = (
    *(f"{a} {o} {b}" for a, b in (("i", "1"), ("l", "1L"), ("d", "0.5"), ("f", "0.5"), ("i", "l"))
      for o in ("=", "!=", "<", "<=", ">", ">=")),
    *(f"{a} {o} {b}" for a, b in (("d", "f"), ("i", "d"), ("i", "f"), ("i", "0.5"), ("l", "2.0"))
      for o in ("=", "!=", "<", ">=", "is", "is not")),
    *(f"s {o} 'a'" for o in ("=", "!=", "<", ">=", "is", "is not")),
    "d is null", "s is not null", "b is not null", "i is 1", "d is d", "f is d",
    "b", "not b", "b = true", "b != false", "b and i > 0", "b or i > 0", "not (b or i > 0)",
    "not (d > 1)", "not (d <= f)", "not (d = d)", "1 < i", "0.5 >= d",
    "i in (1, 7)", "i not in (1, 7)", "d in (1, 0.5)", "s in ('a', 'ab')", "i in (1, l)",
    "i between 0 and 7", "i between 7 and 0", "d in (0:1]", "d not in [0:1)", "s between 'a' and 'b'",
    "s like 'a%'", "s not like '%b'", "s like '_'", "s like 'a_b'", "s like 'b%'",
    "i + i > 0", "i - 1 < i", "i * 3 > 0", "i * i >= 0", "-i > 0", "-d < 0", "d + 1 > d", "d * 2 > 1",
    "l + d > 0", "i / 2 > 0", "l / 3 < 1", "i % 2 = 1", "l % 3L = 0", "d % 2 = 1", "i % 2 = 0 or b",
    "s || 'x' = 'ax'", "coalesce(i, 0) = 0", "coalesce(d, i) > 0", "length(s) = 1", "abs(d) > 0.5",
    "startswith(s, 'a')", "endswith(s, 'b')", "contains(s, 'b')",
    "case when b then i else 0 end > 0", "case when b then d end > 0", "case i when 1 then true end",
    "cast(i, long) = 1", "cast(f, double) > 0",
)  # fmt: skip


def differences(spark: SparkSession, exprs: list[tuple[str, Expr]]) -> list[str]:
    """Where Spark and the evaluator do not agree."""
    frame = spark.createDataFrame(pa.Table.from_pylist(ROWS, SCHEMA)).coalesce(1)
    columns = [translate(expr, read).named(f"c{place}") for place, (_, expr) in enumerate(exprs)]
    found = frame.selectExpr(*columns).toArrow()
    problems = []
    for place, (text, expr) in enumerate(exprs):
        evaluate = compile_expr(expr)
        for row, given_ in zip(ROWS, found.column(place).to_pylist(), strict=True):
            wanted = evaluate(Frame(Event("A", 0, row)))
            if wanted is not given_:
                problems.append(f"{text}: {given_} instead of {wanted} for {row}")
    return problems


@pytest.mark.parametrize("ansi", [True, False])
def test_conditions_mean_what_the_evaluator_says(spark: SparkSession, ansi: bool) -> None:
    with set_to(spark, ansi=ansi):
        assert differences(spark, [(text, condition(text)) for text in WRITTEN]) == []


NOT_THE_SAME = (
    "l = d", "l > 0.5", "l + 1L > 0L", "f + f > 0", "-l > 0", "i / i > 1", "i % i = 0", "abs(i) > 0",
    "s regexp 'a+'", "s like 'a\\\\%'", "upper(s) = 'A'", "d in (0:i)", "cast(s, int) = 1",
    "cast(l, float) = 1", "cast(l, double) = 1", "cast(i, float) = 1",
    "current_timestamp() > 0",
)  # fmt: skip


@pytest.mark.parametrize("text", NOT_THE_SAME)
def test_what_spark_would_compute_in_another_way_is_not_translated(text: str) -> None:
    with pytest.raises(Untranslatable):
        translate(condition(text), read)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return f"({draw(st.sampled_from([*WRITTEN, *NOT_THE_SAME]))})"
    parts = [draw(conditions(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
    if len(parts) == 1:
        return f"not {parts[0]}"
    return "(" + draw(st.sampled_from([" and ", " or "])).join(parts) + ")"


def test_nothing_is_dropped_of_which_a_condition_is_true(spark: SparkSession) -> None:
    """Also where only a part of the condition can be said to Spark."""
    texts: list[str] = []

    @settings(examples(100), database=None)
    @given(conditions())
    def collect(text: str) -> None:
        texts.append(text)

    collect()
    exprs = [condition(text) for text in dict.fromkeys(texts)]
    tests = [(e, test) for e in exprs if (test := necessary(e, read)) is not None]
    assert len(tests) > 20
    frame = spark.createDataFrame(pa.Table.from_pylist(ROWS, SCHEMA)).coalesce(1)
    kept = frame.selectExpr(*(t.named(f"c{n}") for n, (_, t) in enumerate(tests))).toArrow()
    dropped = 0
    for place, (expr, _) in enumerate(tests):
        holds = compile_condition(expr)
        for row, is_kept in zip(ROWS, kept.column(place).to_pylist(), strict=True):
            assert is_kept or not holds(Frame(Event("A", 0, row)))
            dropped += not is_kept
    assert dropped > 1000
