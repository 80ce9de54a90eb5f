"""Whole histories on Spark give what the reference gives round by round."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from cepheid.bitemporal.rounds import Rounds
from cepheid.bitemporal.spark.chronons import Chronons
from tests.bitemporal.comparing import outcome_of
from tests.bitemporal.generator import MINUTE, Case, case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("seed", range(8))
def test_statements_of_subscribed_classes_are_those_of_the_reference(
    spark: SparkSession, seed: int
) -> None:
    found = case(Random(seed), sql=False)
    assert outcome_of(found, "spark") == outcome_of(found, "reference")


@pytest.mark.parametrize("seed", range(100, 108))
def test_derived_classes_are_those_of_the_reference(spark: SparkSession, seed: int) -> None:
    found = case(Random(seed))
    assert outcome_of(found, "spark") == outcome_of(found, "reference")


SUBSCRIBED = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER, s TEXT) ID (k) FREEZING TIME (1d);
CREATE MUTABLE SUBSCRIBED EVENT CLASS B(k INTEGER, x INTEGER, s TEXT) ID (k) FREEZING TIME (1d);
"""
QUERIES = {
    "nested subqueries": """SELECT a.k, a.x, a.s FROM A a WHERE NOT EXISTS (SELECT * FROM B b
        WHERE b.x = a.x AND EXISTS (SELECT * FROM A c WHERE c.k = b.k AND c.x > b.x))""",
    "a comparison with the query around": """SELECT a.k, (SELECT MAX(b.x) FROM B b
        WHERE b.k <= a.k AND b.occ < a.occ) AS x, a.s FROM A a""",
    "a member or not": """SELECT a.k, a.x, a.s FROM A a
        WHERE NOT a.x IN (SELECT b.x FROM B b WHERE b.k = a.k) OR a.s = 'a'""",
    "a sum of all": """SELECT 1 AS k, SUM(a.x) + COUNT(*) AS x, MIN(a.s) AS s FROM A a
        HAVING COUNT(*) > 0""",
    "two left joins": """SELECT a.k, COALESCE(b.x, c.x, 0) AS x, b.s FROM A a
        LEFT JOIN B b ON b.k = a.k AND b.x > 0 LEFT JOIN B c ON c.k = a.k""",
    "a derived table": """SELECT d.k, d.n AS x, 'a' AS s FROM (SELECT b.k, COUNT(*) AS n,
        MAX(b.occ) AS last FROM A a JOIN B b ON a.k >= b.k GROUP BY b.k) d""",
    "branches": """SELECT a.k, a.x, a.s FROM A a UNION
        SELECT a.k + 10 AS k, a.x, a.s FROM B a WHERE a.x > 0""",
}
TIMES = {
    "a sum of all": "MAX(a)",
    "a derived table": "d.last",
}


def history_of(rng: Random) -> list[dict[str, object]]:
    records: list[dict[str, object]] = []
    for name in "AB":
        for key in (1, 2, 3):
            for det in sorted(rng.sample(range(20), 3)):
                record: dict[str, object] = {"@type": name, "k": key, "@detected": det * MINUTE}
                if rng.random() < 0.2:
                    record["@retracted"] = True
                else:
                    record["@time"] = rng.randint(5, 15) * MINUTE
                    record |= {"x": rng.choice((0, 1, 2, None)), "s": rng.choice("ab")}
                records.append(record)
    return [*records, {"@time": 25 * MINUTE}]


@pytest.mark.parametrize("shape", QUERIES)
def test_shapes_of_queries_are_followed_through_rounds(spark: SparkSession, shape: str) -> None:
    select, when = QUERIES[shape], TIMES.get(shape, "a")
    text = f"""{SUBSCRIBED}
        CREATE COMPLEX EVENT CLASS D(k INTEGER, x INTEGER, s TEXT) ID (k) OBSERVATION SPAN (1d)
        AS {select} OCCURRING AT {when} ON CHANGE OR ONTIME DO told(OLD.x, NEW.x);"""
    for seed in range(2):
        found = Case(text, history_of(Random(seed)), [])
        expected = outcome_of(found, "reference")
        assert not isinstance(expected, str)
        assert outcome_of(found, "spark") == expected


@pytest.mark.parametrize("outages", [(), ((4, 6), (9, 10)), ((1, 3), (12, 20))])
def test_rounds_at_or_after_a_number_are_those_of_python(
    spark: SparkSession, outages: tuple[tuple[int, int], ...]
) -> None:
    rounds = Rounds(10, 2, 12, outages)
    chronons = Chronons(rounds)
    expression = chronons.at_or_after("id")
    rows = spark.range(-3, 20).selectExpr("id", f"{expression} AS found").collect()
    assert {row.id: row.found for row in rows} == {
        number: rounds.at_or_after(number) if rounds.at_or_after(number) is not None else 13
        for number in range(-3, 20)
    }
