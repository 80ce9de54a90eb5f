"""Whole histories on Spark give what the reference gives round by round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.bitemporal.rounds import Rounds
from cepheid.bitemporal.spark import stepwise
from cepheid.bitemporal.spark.chronons import Chronons
from cepheid.bitemporal.spark.program import obstacles
from cepheid.bitemporal.spark.stepwise import derived_batches, stepwise_of
from cepheid.errors import CepheidError, Diagnostic, RunError, UsageError
from tests.bitemporal.comparing import first_of, outcome_of
from tests.bitemporal.generator import MINUTE, Case, case
from tests.bitemporal.test_boundaries import BUFFERED, EDGES, check
from tests.effort import EFFORT
from tests.spark.cases import set_to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _small(request: pytest.FixtureRequest) -> Iterator[None]:
    """What takes a few rows is planned far longer than it runs. Frames are tested without this."""
    if "spark" not in request.fixturenames:
        yield
        return
    with set_to(request.getfixturevalue("spark"), adaptive=False, partitions=1):
        yield


@pytest.mark.parametrize("seed", range(4 * EFFORT))
def test_statements_of_subscribed_classes_are_those_of_the_reference(
    spark: SparkSession, seed: int
) -> None:
    found = case(Random(seed), sql=False)
    assert outcome_of(found, "spark") == outcome_of(found, "reference")


@pytest.mark.parametrize("seed", range(100, 100 + 4 * EFFORT))
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
    "a member of groups": """SELECT a.k, a.x, a.s FROM A a WHERE a.x NOT IN (SELECT COUNT(*)
        FROM B b GROUP BY b.s) OR a.k IN (SELECT MAX(b.x) FROM B b WHERE b.k >= a.k)""",
    "groups beside a subquery": """SELECT a.x AS k, COUNT(*) + (SELECT COUNT(*) FROM B c) AS x,
        MAX(a.s) AS s FROM A a WHERE a.x IS NOT NULL GROUP BY a.x
        HAVING COUNT(*) <= (SELECT COUNT(*) FROM B b WHERE b.x = a.x)""",
    "a count in a count": """SELECT a.k, (SELECT COUNT(*) + (SELECT COUNT(*) FROM A c) FROM B b
        WHERE b.k = a.k) AS x, a.s FROM A a""",
    "a name that hides another": """SELECT a.k, a.x, a.s FROM A a WHERE EXISTS (SELECT * FROM B b
        WHERE b.x >= a.x AND EXISTS (SELECT * FROM A a WHERE a.x = b.k))""",
    "outer joins in subqueries": """SELECT a.k, a.x, a.s FROM A a WHERE EXISTS (SELECT * FROM B b
        LEFT JOIN A c ON c.k = b.x WHERE b.k >= a.k AND NOT EXISTS (SELECT * FROM A d
        LEFT JOIN B e ON e.x = d.k WHERE d.x = b.x AND e.k IS NULL))""",
    "a query with a name": """WITH w AS (SELECT b.k, b.x FROM B b WHERE b.x > 0) SELECT a.k, v.x, a.s
        FROM A a LEFT JOIN w v ON v.k = a.k WHERE NOT EXISTS (SELECT * FROM w WHERE w.x = a.k)""",
}
STEPWISE = {
    "a member of tied groups": """SELECT a.k, a.x, a.s FROM A a WHERE a.x NOT IN (SELECT COUNT(*)
        FROM B b WHERE b.k >= a.k GROUP BY b.s)""",
    "a tied table": """SELECT a.k, (SELECT MAX(q.c) FROM (SELECT b.x, COUNT(*) AS c FROM B b
        WHERE b.k <> a.k GROUP BY b.x) q) AS x, a.s FROM A a""",
}
TIMES = {
    "a sum of all": "MAX(a)",
    "a derived table": "d.last",
    "groups beside a subquery": "MAX(a)",
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


SHAPES = list(QUERIES | STEPWISE)


def program_of(shapes: Sequence[str]) -> str:
    """A class of each shape: `D0` is of the first one."""
    return SUBSCRIBED + "".join(
        f"""CREATE COMPLEX EVENT CLASS D{n}(k INTEGER, x INTEGER, s TEXT) ID (k)
        OBSERVATION SPAN (1d) AS {(QUERIES | STEPWISE)[shape]} OCCURRING AT {TIMES.get(shape, "a")}
        ON CHANGE OR ONTIME DO told{n}(OLD.x, NEW.x);"""
        for n, shape in enumerate(shapes)
    )


@pytest.mark.parametrize("seed", range(EFFORT))
@pytest.mark.parametrize("shapes", [SHAPES[:5], SHAPES[5:10], SHAPES[10:]], ids=" | ".join)
def test_shapes_of_queries_are_followed_through_rounds(
    spark: SparkSession, shapes: list[str], seed: int
) -> None:
    found = Case(program_of(shapes), history_of(Random(seed)), [])
    expected, given = outcome_of(found, "reference"), outcome_of(found, "spark")
    assert not isinstance(expected, str)
    assert not isinstance(given, str)
    for n, shape in enumerate(shapes):
        versions = versions_of(f"D{n}", expected)
        assert versions
        assert versions_of(f"D{n}", given) == versions, shape
    assert given == expected


def versions_of(name: str, outcome: Mapping[str, Any]) -> list[Any]:
    return [version for version in outcome["versions"] if version[0] == name]


@pytest.mark.parametrize("shape", SHAPES)
def test_only_few_shapes_run_once_per_change(shape: str) -> None:
    classes = cep.parse(program_of([shape]), "bicepl").resolve().classes
    [(name, obstacle)] = obstacles(classes)
    assert name == "D0"
    assert (obstacle is not None) == (shape in STEPWISE)


NESTED = "(SELECT b.x, COUNT(*) AS c FROM B b WHERE b.k <> a.k GROUP BY b.x) q"


@pytest.mark.parametrize(
    ("columns", "code"),
    [("1 AS k, a.x, a.s", "ambiguous-key"), ("NULLIF(a.k, 1) AS k, a.x, a.s", "missing-key")],
)
def test_events_that_a_key_does_not_tell_apart_end_a_run_that_goes_change_by_change(
    spark: SparkSession, columns: str, code: str
) -> None:
    text = f"""{SUBSCRIBED}
        CREATE COMPLEX EVENT CLASS D(k INTEGER, x INTEGER, s TEXT) ID (k) OBSERVATION SPAN (1d)
        AS SELECT {columns} FROM A a WHERE NOT EXISTS (SELECT * FROM {NESTED} WHERE q.c > 5)
        OCCURRING AT a;"""
    found = Case(text, history_of(Random(0)), [])
    expected = problem_of(found, "reference")
    problem = problem_of(found, "spark")
    assert problem.code == code
    assert str(problem) == str(expected)


def problem_of(case: Case, engine: str) -> Diagnostic:
    program = cep.parse(case.text, "bicepl")
    with pytest.raises(CepheidError) as caught:
        cep.run(program, case.records, engine=engine, chronon=case.chronon)
    return first_of(caught.value)


def test_more_changes_than_the_limit_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = cep.parse(program_of(["a tied table"]), "bicepl").resolve().classes
    declared = {each.name: each.declared for each in classes}
    work = stepwise_of(classes[-1], declared, Rounds(MINUTE * 1_000_000, 0, 9))
    rows: dict[str, list[Any]] = {"@class": [0, 0], "0@k": [1, 2], "0@x": [1, 1], "0@s": ["a", "b"]}
    times = {"0@occ": [5, 5], "0@det": [0, 0], "0@@from": [1, 3], "0@@to": [3, 10]}
    batch = pa.RecordBatch.from_pydict(rows | times)
    assert sum(len(found) for found in derived_batches(work, [batch])) == 2
    monkeypatch.setattr(stepwise, "MOST_CHANGES", 2)
    with pytest.raises(RunError, match="at most 2 times, and there are 3 changes") as caught:
        list(derived_batches(work, [batch]))
    assert first_of(caught.value).code == "too-many-changes"
    assert "local engine" in str(caught.value)


@pytest.mark.parametrize("window", ["sliding", "sliding-actions"])
def test_windows_are_refused_by_name(window: str) -> None:
    found = Case(SUBSCRIBED, history_of(Random(0)), [])
    with pytest.raises(UsageError, match=f"'{window}' is not computed") as caught:
        cep.run(
            cep.parse(found.text, "bicepl"),
            found.records,
            engine="spark",
            chronon="1m",
            window=window,
        )
    assert first_of(caught.value).code == "unsupported"


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


@pytest.mark.parametrize("name", BUFFERED)
def test_edges_of_definitions_are_where_they_are(spark: SparkSession, name: str) -> None:
    check(EDGES[name], "spark")
