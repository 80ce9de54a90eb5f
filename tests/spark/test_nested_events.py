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

# Events in events in events, of types with descendants and of one without attributes, and records.
DEEP = """
    create schema Place (x double, y double);
    create schema A (k string, v int, place Place);
    create schema B (u int) inherits A;
    insert into O select * from pattern [every a=A];
    insert into Z select * from pattern [every z=O];
    insert into W select w, w.z as z, w.z.a.v as v from pattern [every w=Z];
    insert into R select a, a.place as place from pattern [every a=A];
    insert into Empty select * from pattern [every A];
    insert into E select e from pattern [every e=Empty];
"""
PROGRAMS = {
    "deep": DEEP,
    "in lists": """
        create schema A (k string, v int);
        insert into O select a, b from pattern [every (a=A until b=A(v > 2))];
        insert into Z select z from pattern [every z=O];
    """,
    "without attributes, by time alone": """
        create schema A (k string, v int);
        select * from pattern [every timer:interval(2.5 sec)];
    """,
    "of a type that contains itself": """
        create schema A (k string, v int, left A);
        insert into O select a, a.left as left from pattern [every a=A];
        insert into Z select z from pattern [every z=O];
    """,
    "between keys": """
        create schema A (k string, v int);
        insert into O select a.k as k, a.v as v, a from pattern [every a=A -> A(k = a.k)];
        insert into Z select z.a.v as v, z.v as w from pattern [every z=O -> O(v = z.v)];
    """,
}
EVENTS: list[dict[str, Any]] = [
    {"@type": "A", "@time": second, "k": "pq"[second % 2], "v": second % 4}
    for second in range(1, 9)
]
PLACE = {"x": 0.5, "y": "NaN"}


def events_for(name: str) -> list[dict[str, Any]]:
    if name == "of a type that contains itself":
        return [{**event, "left": {"v": 1, "left": {"k": "r"}}} for event in EVENTS]
    if name != "deep":
        return EVENTS
    found = [{**event, "place": PLACE} for event in EVENTS]
    found[2] = {**found[2], "@type": "B", "u": 7}
    found[3] = {**found[3], "place": None}
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
    program = cep.parse(DEEP)
    there, here = (
        written(cep.run(program, table, engine=engine, optional=["place"]))
        for engine in ("local", "reference")
    )
    assert there == here


def test_a_nested_event_is_an_event(spark: SparkSession) -> None:
    rows = cep.run(cep.parse(DEEP), EVENTS[:1], engine="spark", optional=["place"])
    inner = rows.of("Z")[0]["z"]
    assert isinstance(inner, Event)
    event = Event("A", 1_000_000, {"k": "q", "v": 1, "place": None})
    assert inner == Event("O", 1_000_000, {"a": event})


def test_a_stream_writes_the_rows_of_the_reference(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.epl").write_text(DEEP)
    (tmp_path / "in").mkdir()
    lines = [json.dumps(event) for event in [*events_for("deep"), {"@time": 100}]]
    (tmp_path / "in" / "1.jsonl").write_text("\n".join(lines))
    arguments = ("--source", "files:in", "--sink", "files:out", "--checkpoint", "state", "--once")
    assert main(["stream", "p.epl", *arguments, "--watermark", "1s"]) == 0
    found = [line for file in Path("out").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert sorted(found) == sorted(expected("deep"))
