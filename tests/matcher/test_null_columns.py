"""Attributes that are always null have no type of their own, and keep no statement from whole batches."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.io import write_csv, write_jsonl
from cepheid.io.rows import ColumnarRows
from cepheid.matcher.parts import ways_of
from tests.conformance.rows import strict

SCHEMA = "create schema A(id int, k string, v int);\n"
PROGRAMS = [
    "select k, null as note from A(v > 1);",
    "insert into W select id, null as x from A; select id, x from W;"
    "select count(x) as n, max(id) as m from W#length(3);"
    "select a.x as x, b.id as i from pattern [every a=W -> b=W(id > a.id)];",
    "insert into W select id, null as x from A(v = 1); insert into W select id, k as x from A(v = 2);"
    "select * from W(x is null);",
    "select irstream null as z from A#length(2);",
    "insert into N select a as a, null as y from pattern [every a=A(v = 2)]; select a.k as k, y from N;"
    "insert into M select n, 1 as q from pattern [every n=N]; select * from M;",
    "select case when v = 1 then null else null end as c, coalesce(null, null) as d from A;",
    "insert into W select null as x from A; select * from W(x = null); select * from W(x is null);",
]
EVENTS = pa.table(
    {
        "@type": ["A"] * 12,
        "@time": list(range(12)),
        "id": list(range(12)),
        "k": ["a", "b", None] * 4,
        "v": [1, 2, 3] * 4,
    }
)


@pytest.mark.parametrize("text", PROGRAMS)
def test_rows_are_those_of_the_reference(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.engines.local.engine.are_small", lambda _: False)
    program = cep.parse(SCHEMA + text)
    found, expected = (cep.run(program, EVENTS, engine=name) for name in ("local", "reference"))
    assert isinstance(found.events, ColumnarRows)
    assert found.to_arrow().equals(expected.to_arrow())
    assert written(found) == written(expected)
    assert [strict(row) for row in found] == [strict(row) for row in expected]


def test_a_null_in_a_select_list_keeps_no_statement_from_batches() -> None:
    program = cep.parse(SCHEMA + PROGRAMS[0]).resolve()
    assert {way.kind for way in ways_of(program).values()} == {"filter"}


def written(found: cep.Result) -> list[str]:
    texts = [io.StringIO(), io.StringIO()]
    write_jsonl(found.events, texts[0])
    write_csv(found.events, texts[1])
    return [text.getvalue() for text in texts]
