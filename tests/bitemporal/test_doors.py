"""A history is the same through every door."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.bitemporal.detections import DetectionDecoder
from cepheid.io.records import record_from
from tests.bitemporal.comparing import compared
from tests.effort import examples

PROGRAM = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x NUMBER, s TEXT, t TIMESTAMP, b BOOLEAN) ID (k)
FREEZING TIME (1h)
ON CHANGE DO changed(NEW.x, NEW.s, NEW.t, NEW.b), ON CANCELLATION DO gone(OLD.k), ON ONTIME DO now();
"""
TIME = "2026-01-01T00:0{}:00Z"
FIELDS = ("@type", "@time", "@detected", "@retracted", "k", "x", "s", "t", "b")
ROWS: list[tuple[Any, ...]] = [
    ("A", TIME.format(5), TIME.format(1), None, 1, 1.5, "one", TIME.format(9), True),
    ("A", TIME.format(6), TIME.format(2), None, 2, None, None, None, None),
    ("A", TIME.format(5), TIME.format(3), False, 1, 2.5, "two", None, False),
    ("A", None, TIME.format(4), True, 2, None, None, None, None),
]
RECORDS = [dict(zip(FIELDS, row, strict=True)) for row in ROWS]


def lines(folder: Path) -> object:
    path = folder / "history.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


def cells(folder: Path) -> object:
    path = folder / "history.csv"
    texts = [
        ",".join(
            "" if v is None else str(v).lower() if isinstance(v, bool) else str(v) for v in row
        )
        for row in ROWS
    ]
    path.write_text("\n".join([",".join(FIELDS), *texts]) + "\n")
    return path


def table() -> pa.Table:
    columns = {name: [row[n] for row in ROWS] for n, name in enumerate(FIELDS)}
    for name in ("@time", "@detected", "t"):
        columns[name] = [None if v is None else pd.Timestamp(v) for v in columns[name]]
    return pa.table(columns)


def parquet(folder: Path) -> object:
    path = folder / "history.parquet"
    pq.write_table(table(), path)
    return path


DOORS: dict[str, Callable[[Path], object]] = {
    "JSON Lines": lines,
    "CSV": cells,
    "Parquet": parquet,
    "Arrow": lambda _: table(),
    "pandas": lambda _: table().to_pandas(),
    "one class": lambda _: {"A": table().drop_columns(["@type"])},
}


@pytest.mark.parametrize("door", DOORS)
def test_a_history_is_the_same(door: str, tmp_path: Path) -> None:
    program = cep.parse(PROGRAM, "bicepl")
    expected = compared(cep.run(program, RECORDS, chronon="1m", end=TIME.format(7)).outcome)  # type: ignore[attr-defined]
    assert len(expected["firings"]) == 3
    found = cep.run(program, DOORS[door](tmp_path), chronon="1m", end=TIME.format(7))
    assert compared(found.outcome) == expected  # type: ignore[attr-defined]


# What is told one by one takes a shorter way, where there is nothing special about it.
NUMBERS = [0, -1, 2**63, 10**400, True, 1.0, -0.0, float("nan")]
TIMES = [TIME.format(1), datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1), pd.Timestamp(0)]  # noqa: DTZ001
ODD = st.sampled_from([None, "", "1", "x", "\ud800", *NUMBERS, *TIMES])
PLAIN = {
    "@type": "A",
    "@time": datetime(2026, 1, 1, tzinfo=UTC),
    "@detected": TIME.format(1),
    "k": 1,
    "x": 1.5,
    "s": "one",
    "t": datetime(2026, 1, 1, tzinfo=UTC),
    "b": True,
}


@given(
    st.dictionaries(st.sampled_from([*FIELDS, "@known", "@old", "@timeout", "z"]), ODD, max_size=3),
    st.sets(st.sampled_from(FIELDS), max_size=2),
)
@example({}, set())
@examples(200)
def test_what_is_plain_is_what_a_closer_look_finds(
    changed: dict[str, object], left_out: set[str]
) -> None:
    fields = {**{n: v for n, v in PLAIN.items() if n not in left_out}, **changed}
    [resolved] = cep.parse(PROGRAM, "bicepl").resolve().classes
    decoder = DetectionDecoder({"A": resolved.declared})
    found = decoder.plain(fields, 7)
    if not changed and not left_out:
        assert found is not None
    if found is not None:
        assert decoder.decode(record_from(fields, None), 7) == found
        assert repr(decoder.decode(record_from(fields, None), 7)) == repr(found)


@pytest.mark.parametrize(
    ("column", "name", "hint"),
    [("x", "X", "--map X=x"), ("@retracted", "@retract", "did you mean '@retracted'?")],
)
def test_a_column_that_is_nearly_one_of_a_history_is_told(
    column: str, name: str, hint: str
) -> None:
    records = [{name if key == column else key: v for key, v in r.items()} for r in RECORDS[:3]]
    with pytest.warns(cep.CepheidWarning, match="unknown-attribute") as told:
        cep.run(cep.parse(PROGRAM, "bicepl"), records, chronon="1m", optional=["x"])
    assert hint in str(told[0].message)


def test_a_key_under_another_name_is_suggested() -> None:
    records = [{"K" if key == "k" else key: v for key, v in r.items()} for r in RECORDS]
    with pytest.raises(cep.InputError, match="did you mean 'K'"):
        cep.run(cep.parse(PROGRAM, "bicepl"), records, chronon="1m")


# What SQL uses and no event has.

SUBSCRIBED = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x NUMBER, s TEXT, t TIMESTAMP, b BOOLEAN) ID (k)
FREEZING TIME (1h)"""
DERIVED = f"""{SUBSCRIBED};
CREATE COMPLEX EVENT CLASS D(k INTEGER, x NUMBER) ID (k) OBSERVATION SPAN (1h) AS"""
ALL = "k INTEGER, x NUMBER, s TEXT, t TIMESTAMP, b BOOLEAN"
STARRED = f"""{SUBSCRIBED};
CREATE COMPLEX EVENT CLASS D({ALL}) ID (k) OBSERVATION SPAN (1h) AS SELECT"""
USES: dict[str, tuple[str, str]] = {
    "a condition": (f"{SUBSCRIBED} ON CHANGE AND NEW.x > 1 DO act(NEW.k);", "NEW.x"),
    "an argument": (f"{SUBSCRIBED} ON CHANGE DO act(NEW.k, NEW.x);", "NEW.x"),
    "a column": (f"{DERIVED} SELECT a.k, a.x FROM A a OCCURRING AT a;", "a.x"),
    "a bare column": (f"{DERIVED} SELECT k, 1.5 AS x FROM A WHERE x > 1 OCCURRING AT A;", "x >"),
    "the order of joins": (
        f"{DERIVED} SELECT a.k, 1.5 AS x FROM A a JOIN A c ON a.k = c.k AND c.x > 1 OCCURRING AT a;",
        "c.x",
    ),
    "a group": (
        f"{DERIVED} SELECT max(a.k) AS k, 1.5 AS x FROM A a HAVING sum(a.x) > 1 OCCURRING AT max(a);",
        "a.x",
    ),
    "a subquery": (
        f"{DERIVED} SELECT a.k, 1.5 AS x FROM A a WHERE EXISTS "
        "(SELECT * FROM A c WHERE c.k = a.k AND c.x > a.k) OCCURRING AT a;",
        "c.x",
    ),
    "a column behind a star": (
        f"{DERIVED} SELECT d.k, d.x FROM (SELECT *, occ AS o FROM A) AS d OCCURRING AT d.o;",
        "d.x",
    ),
    "one of two sides": (
        f"{DERIVED} SELECT d.k, d.x FROM (SELECT k, 1.5 AS x, occ AS o FROM A UNION SELECT k + 9, x, occ FROM A) "
        "AS d OCCURRING AT d.o;",
        "x, occ FROM A)",
    ),
    "what a star hands on": (
        f"{STARRED} * FROM A OCCURRING AT A ON ONTIME DO act(NEW.x);",
        "NEW.x",
    ),
    "what a star hands on twice": (
        f"{STARRED} d.* FROM (SELECT *, occ AS o FROM A) AS c JOIN A AS d ON c.k = d.k OCCURRING AT c.o; "
        f"CREATE COMPLEX EVENT CLASS E({ALL}) ID (k) OBSERVATION SPAN (1h) AS SELECT * FROM D OCCURRING AT D "
        "ON ONTIME AND NEW.x = 1 DO act();",
        "NEW.x",
    ),
    "a statement": (
        f"{SUBSCRIBED};\n@Name('high') select a.k as k from pattern [every a=A(x > 1)];",
        "x > 1",
    ),
}


def program_of(text: str) -> cep.Program:
    classes, statement, rest = text.partition("@Name")
    found = cep.parse(classes, "bicepl")
    return cep.Program(found.tree + cep.parse(statement + rest, "epl").tree) if rest else found


WITHOUT_X = [{k: v for k, v in r.items() if k != "x"} for r in RECORDS]


@pytest.mark.parametrize("name", USES)
def test_an_attribute_that_is_used_and_that_no_version_has_is_an_error(name: str) -> None:
    text, place = USES[name]
    program = program_of(text)
    assert program.resolve().can_run, program.resolve().problems
    with pytest.raises(cep.InputError) as caught:
        cep.run(program, WITHOUT_X, chronon="1m")
    [problem] = caught.value.diagnostics
    assert problem.code == "missing-attribute"
    assert problem.message.startswith("no event of A has the attribute 'x', which ")
    assert problem.span is not None
    if name != "a statement":  # whose lines are counted from its own text
        assert text.splitlines()[problem.span.line - 1][problem.span.column - 1 :].startswith(place)
    assert cep.run(program, WITHOUT_X, chronon="1m", optional=["A.x"]).outcome  # type: ignore[attr-defined]
    assert cep.run(program, RECORDS, chronon="1m").outcome  # type: ignore[attr-defined]


FREE = {
    "nobody asks": f"{SUBSCRIBED} ON CHANGE DO act(NEW.k, NEW.s);",
    "a star alone": f"{STARRED} * FROM A OCCURRING AT A ON ONTIME DO act(NEW.s);",
    "whether there are rows": (
        f"{DERIVED} SELECT a.k, 1.5 AS x FROM A a WHERE EXISTS (SELECT * FROM A c WHERE c.k = a.k) "
        "OCCURRING AT a;"
    ),
}


@pytest.mark.parametrize("name", FREE)
def test_an_attribute_that_nothing_names_may_be_missing(name: str) -> None:
    assert cep.run(cep.parse(FREE[name], "bicepl"), WITHOUT_X, chronon="1m").notes == ()


def test_what_one_version_has_may_be_missing_in_others() -> None:
    program = cep.parse(PROGRAM, "bicepl")
    assert cep.run(program, [RECORDS[0], *WITHOUT_X[1:]], chronon="1m")
    retraction = {"@type": "A", "@detected": TIME.format(4), "@retracted": True, "k": 9}
    assert not cep.run(program, [retraction], chronon="1m")


@pytest.mark.parametrize("door", [n for n in DOORS if n not in ("JSON Lines", "CSV", "Parquet")])
def test_a_table_without_a_column_that_sql_uses_is_refused(door: str, tmp_path: Path) -> None:
    given: Any = DOORS[door](tmp_path)
    tables = given.values() if isinstance(given, dict) else [given]
    [table] = [
        t.drop(columns=["x"]) if hasattr(t, "iloc") else t.drop_columns(["x"]) for t in tables
    ]
    lacking = {"A": table} if isinstance(given, dict) else table
    with pytest.raises(cep.InputError, match="no event of A has the attribute 'x'"):
        cep.run(cep.parse(PROGRAM, "bicepl"), lacking, chronon="1m")
