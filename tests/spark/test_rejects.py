"""What stands beside the rows of a stream: late events and rows that are none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

import cepheid as cep
from cepheid.engines.spark.codec.rejects import everything_schema, late_among, rejects_among
from cepheid.matcher.operator import columns_of
from tests.semantics.drive import resolved

PROGRAM = resolved(
    cep.parse(
        "create schema A (k string, x int, unused int); create schema B (k string, y double);"
        "@Name('S') select a.x as x, b.y as y from pattern [every a=A -> b=B(k = a.k)];"
    ).tree
)
TIMES = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)]


def test_a_late_event_is_told_with_the_attributes_of_its_type_that_count() -> None:
    values = {"k": ["a", "b"], "x": [1, None], "y": [None, 0.5]}
    columns: dict[str, Any] = {c.name: values[c.attribute] for c in columns_of(PROGRAM)}
    table = pa.table({"@type": ["A", "B"], "@time": TIMES, **columns})
    schema = everything_schema(PROGRAM)
    late = late_among(table, PROGRAM, schema)
    assert late.schema == schema
    assert late["@type"].to_pylist() == ["A", "B"]
    assert late["@kind"].to_pylist() == ["late", "late"]
    assert set(late["@problem"].to_pylist()) == {"the watermark had passed it"}
    assert [json.loads(str(text)) for text in late["@row"].to_pylist()] == [
        {"@type": "A", "@time": "2026-01-01T00:00:00Z", "k": "a", "x": 1},
        {"@type": "B", "@time": "2026-01-01T00:00:01Z", "k": "b", "y": 0.5},
    ]


def test_a_row_that_is_no_event_keeps_its_text_and_its_problem() -> None:
    given: dict[str, Any] = {
        "@type": ["A"],
        "@time": TIMES[:1],
        "@problem": ["why"],
        "@row": ["what"],
    }
    schema = everything_schema(PROGRAM)
    found = rejects_among(pa.table(given), schema)
    assert found.schema == schema
    [row] = found.to_pylist()
    told = {name: value for name, value in row.items() if value is not None}
    assert told == {name: values[0] for name, values in given.items()} | {"@kind": "reject"}
