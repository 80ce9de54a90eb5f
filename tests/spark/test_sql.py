"""The SQL of classes means the same on Spark and on SQLite, for every function and for null."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp

from cepheid.core.types import BOOLEAN, DOUBLE, STRING, DataType
from cepheid.errors import RunError
from cepheid.sql.queries import with_latest
from cepheid.sql.tables import Table
from cepheid.sql.transpile import to_sql
from tests.sql.cases import AGGREGATES, EXPRESSIONS, FAILING, ROWS, TABLE
from tests.sql.engines import Row, columns_of, database, ordered, resolved, run
from tests.sql.shapes import ROWS_A, ROWS_B, SHAPES, TARGET, A, B

_ARROW: dict[DataType, pa.DataType] = {
    STRING: pa.string(),
    DOUBLE: pa.float64(),
    BOOLEAN: pa.bool_(),
}


def show(spark: SparkSession, declared: Table, rows: list[dict[str, object]]) -> None:
    """Gives Spark a table of a class."""
    schema = pa.schema([(n, _ARROW.get(t, pa.int64())) for n, t in declared.columns.items()])
    spark.createDataFrame(pa.Table.from_pylist(rows, schema)).createOrReplaceTempView(declared.name)


def on_spark(spark: SparkSession, tree: exp.Query) -> list[Row]:
    table = spark.sql(to_sql(tree, "spark")).toArrow()
    return ordered(zip(*(column.to_pylist() for column in table.columns), strict=True))


def same(left: list[Row], right: list[Row]) -> list[str]:
    """What differs: values of one type and size; zeros have no sign."""
    if len(left) != len(right):
        return [f"{len(left)} rows and {len(right)}"]
    return [
        f"{row[0]}, column {place}: {a!r} and {b!r}"
        for row, other in zip(left, right, strict=True)
        for place, (a, b) in enumerate(zip(row, other, strict=True))
        if a != b or type(a) is not type(b)
    ]


ALL = [dict(row) for row in ROWS]


def test_every_operator_and_function_gives_the_same_as_on_sqlite(spark: SparkSession) -> None:
    show(spark, TABLE, ALL)
    connection = database([(TABLE, ROWS)])
    problems = []
    for start in range(0, len(EXPRESSIONS), 30):
        chosen = EXPRESSIONS[start : start + 30]
        tree = columns_of(chosen, TABLE)
        found = same(run(connection, tree), on_spark(spark, tree))
        problems += [f"{chosen[0]} ff.: {fact}" for fact in found]
    assert problems == []


def fails_on_sqlite(tree: exp.Query, row: dict[str, object]) -> bool:
    try:
        run(database([(TABLE, [row])]), tree)
    except RunError:
        return True
    return False


@pytest.mark.parametrize("text", FAILING)
def test_what_fails_on_some_values_fails_on_the_same_ones(spark: SparkSession, text: str) -> None:
    tree = columns_of([text], TABLE)
    works = [row for row in ALL if not fails_on_sqlite(tree, row)]
    fails = [row for row in ALL if row not in works]
    assert works
    assert fails
    show(spark, TABLE, works)
    assert same(run(database([(TABLE, works)]), tree), on_spark(spark, tree)) == []
    for row in (fails[0], fails[-1]):
        show(spark, TABLE, [row])
        with pytest.raises(PySparkException):
            on_spark(spark, tree)


@pytest.mark.parametrize(
    "rest", ["", "GROUP BY v.b", "WHERE v.k < 0", "GROUP BY v.s HAVING count(*) > 9"]
)
def test_aggregates_give_the_same_as_on_sqlite(spark: SparkSession, rest: str) -> None:
    show(spark, TABLE, ALL)
    connection = database([(TABLE, ROWS)])
    tree = columns_of(AGGREGATES, TABLE, rest, "max(v)")
    assert same(run(connection, tree), on_spark(spark, tree)) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_queries_give_the_same_as_on_sqlite(spark: SparkSession, shape: str) -> None:
    connection = database([(A, ROWS_A), (B, ROWS_B)])
    show(spark, A, ROWS_A)
    show(spark, B, ROWS_B)
    query = resolved(*SHAPES[shape], [A, B], TARGET)
    for tree in (query.tree, with_latest(query, ["det"])):
        assert same(run(connection, tree), on_spark(spark, tree)) == []
