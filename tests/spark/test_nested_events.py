"""Events in events keep type, time and attributes, however deep, on every way through Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.cli.main import main
from cepheid.core.event import Event
from cepheid.io.encode import encode, to_json

PROGRAMS = {
    "two deep": """
        create schema A (k string, v int);
        insert into O select * from pattern [every a=A];
        insert into Z select * from pattern [every z=O];
    """,
    "three deep, and one of them alone": """
        create schema A (k string, v int);
        insert into O select * from pattern [every a=A];
        insert into Z select * from pattern [every z=O];
        insert into W select w, w.z as z, w.z.a.v as v from pattern [every w=Z];
    """,
    "of a type with descendants": """
        create schema A (k string, v int);
        create schema B (u int) inherits A;
        insert into O select a from pattern [every a=A];
        insert into Z select z from pattern [every z=O];
    """,
    "in lists": """
        create schema A (k string, v int);
        insert into O select a, b from pattern [every (a=A until b=A(v > 2))];
        insert into Z select z from pattern [every z=O];
    """,
    "records in events": """
        create schema Place (x double, y double);
        create schema A (k string, v int, place Place);
        insert into O select a, a.place as place from pattern [every a=A];
        insert into Z select z from pattern [every z=O];
    """,
    "of a type that has no attributes": """
        create schema A (k string, v int);
        insert into O select * from pattern [every A];
        insert into Z select z from pattern [every z=O];
    """,
    "without attributes, by time alone": """
        create schema A (k string, v int);
        select * from pattern [every timer:interval(2.5 sec)];
    """,
    "between keys": """
        create schema A (k string, v int);
        insert into O select a.k as k, a.v as v, a from pattern [every a=A -> A(k = a.k)];
        insert into Z select z.a.v as v, z.v as w from pattern [every z=O -> O(v = z.v)];
    """,
}
STREAMED = (
    "three deep, and one of them alone",
    "of a type with descendants",
    "of a type that has no attributes",
    "records in events",
)
EVENTS: list[dict[str, Any]] = [
    {"@type": "A", "@time": second, "k": "pq"[second % 2], "v": second % 4}
    for second in range(1, 9)
]


def events_for(name: str) -> list[dict[str, Any]]:
    more: dict[str, Any] = {}
    if name == "records in events":
        more = {"place": {"x": 0.5, "y": float("nan")}}
    found = [{**event, **more} for event in EVENTS]
    if name == "of a type with descendants":
        found[2] = {**found[2], "@type": "B", "u": 7}
    return found


def written(rows: Any) -> list[str]:
    """Rows with all that is in them, as text: NaN is NaN."""
    return [to_json(encode(row)) for row in rows]


def expected(name: str) -> list[str]:
    rows = cep.run(cep.parse(PROGRAMS[name]), events_for(name), engine="reference")
    assert len(rows) > 1
    return written(rows)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_gives_the_rows_of_the_reference(spark: SparkSession, name: str) -> None:
    rows = cep.run(cep.parse(PROGRAMS[name]), events_for(name), engine="spark")
    assert written(rows) == expected(name)
    assert written(cep.run(cep.parse(PROGRAMS[name]), events_for(name))) == expected(name)


def test_columns_give_rows_without_attributes() -> None:
    table = pa.table({"@type": ["A", "A"], "@time": [1, 2], "k": ["p", "q"], "v": [1, 2]})
    program = cep.parse(PROGRAMS["of a type that has no attributes"])
    assert written(cep.run(program, table)) == written(cep.run(program, table, engine="reference"))


def test_a_nested_event_is_an_event(spark: SparkSession) -> None:
    rows = cep.run(cep.parse(PROGRAMS["two deep"]), EVENTS[:1], engine="spark")
    inner = rows.of("Z")[0]["z"]
    assert isinstance(inner, Event)
    assert inner == Event("O", 1_000_000, {"a": Event("A", 1_000_000, {"k": "q", "v": 1})})


@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_writes_the_rows_of_the_reference(
    spark: SparkSession, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.epl").write_text(PROGRAMS[name])
    (tmp_path / "in").mkdir()
    lines = "".join(json.dumps(event) + "\n" for event in [*events_for(name), {"@time": 100}])
    (tmp_path / "in" / "1.jsonl").write_text(lines.replace("NaN", '"NaN"'))
    arguments = ("--source", "files:in", "--sink", "files:out", "--checkpoint", "state", "--once")
    assert main(["stream", "p.epl", *arguments, "--watermark", "1s"]) == 0
    found = [line for file in Path("out").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert sorted(found) == sorted(expected(name))
