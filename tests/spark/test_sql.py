"""The SQL of classes means the same on Spark and on SQLite, for every function and for null."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp

from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT
from cepheid.core.types import BOOLEAN, DOUBLE, LONG, STRING, DataType
from cepheid.errors import RunError
from cepheid.sql.conditions import argument_tree, condition_tree, differs_tree, resolve_argument
from cepheid.sql.queries import with_latest
from cepheid.sql.tables import Table
from cepheid.sql.text import Sql
from cepheid.sql.transpile import to_sql
from tests.sql.cases import AGGREGATES, EXPRESSIONS, FAILING, ROWS, TABLE
from tests.sql.engines import Row, columns_of, database, ordered, resolved, run
from tests.sql.relation import CLASS, Pair, Version, value_of
from tests.sql.shapes import ROWS_A, ROWS_B, SHAPES, TARGET, A, B
from tests.sql.test_conditions import CONDITIONS, PAIRS, TIMES, C, condition

pytestmark = pytest.mark.usefixtures("spark_takes_its_time")

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


def test_conditions_hold_for_the_same_versions_as_on_sqlite(spark: SparkSession) -> None:
    conditions = [*CONDITIONS, *TIMES, "NEW = OLD", "NEW IS DISTINCT FROM OLD.t", "NEW - OLD > 8s"]
    trees = [condition_tree(condition(text), C) for text in conditions] + [differs_tree(CLASS, C)]
    assert values_on_spark(spark, trees, PAIRS) == [
        [None if (v := value_of(tree, pair)) is None else bool(v) for pair in PAIRS]
        for tree in trees
    ]


def values_on_spark(
    spark: SparkSession, trees: list[exp.Expr], pairs: list[Pair]
) -> list[list[object]]:
    """For each expression its values, in the order of the pairs."""
    schema = pa.schema([(n, arrow_type(n)) for n in pairs[0].row])
    frame = spark.createDataFrame(pa.Table.from_pylist([dict(p.row) for p in pairs], schema))
    shown = [f"{to_sql(tree, 'spark')} AS x{n}" for n, tree in enumerate(trees)]
    return [column.to_pylist() for column in frame.coalesce(1).selectExpr(*shown).toArrow().columns]


def arrow_type(column: str) -> pa.DataType:
    if column in ("has_new", "has_old", "differs", "fired"):
        return pa.bool_()
    return _ARROW.get(CLASS.columns.get(column.partition("_")[2], LONG), pa.int64())


NUMBERS = (
    0.0, -0.0, 1.0, -3.0, 0.1, 2.5, 1e-4, 1e-5, -1.5e-7, 123456789.125, 1e15, 1e16, 1.5e16, -2e22, 2.2250738585072014e-308,
    1.7976931348623157e308, 0.30000000000000004, 12345678901234.567, 9999999.999, 1e7, 0.001, 1 / 3,
)  # fmt: skip
INSTANTS = (0, 1, -1, C, 86_399_999_999, 1_767_225_600_120_000, FIRST_INSTANT, LAST_INSTANT)


def test_messages_are_the_same_as_on_sqlite(spark: SparkSession) -> None:
    texts = [
        "format('%s is %n at %t: 100%%', NEW.g, NEW.x, NEW.occ)",
        'format("it\'s ${%s} \\\\ \\n %t", NEW.k, NOW)',
        "format('%s %s', NEW.x > 1, OLD.g)",
    ]
    pairs = [Pair(None, Version(INSTANTS[n % 8], x=x, g=f"ä{n}"), n) for n, x in enumerate(NUMBERS)]
    trees = []
    for text in texts:
        found, problems = resolve_argument(Sql(text), CLASS)
        assert found is not None, problems
        trees.append(argument_tree(found, C))
    wanted = [[value_of(tree, pair) for pair in pairs] for tree in trees]
    assert values_on_spark(spark, trees, pairs) == wanted
