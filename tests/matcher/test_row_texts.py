"""Rows in columns are written as their events are, byte by byte."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from cepheid.core.event import Event
from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, to_datetime
from cepheid.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    Attribute,
    DataType,
    DecimalType,
    EventRef,
    EventType,
    RecordType,
)
from cepheid.io import encode, write_csv, write_jsonl
from cepheid.io.arrow import arrow_type, to_column
from cepheid.io.columns import row_texts
from cepheid.io.encode import to_json
from cepheid.io.rows import ColumnarRows, RowColumns, RowTable, of_types
from cepheid.matcher.columns.batches import values_in
from cepheid.matcher.columns.interning import Pool
from cepheid.matcher.lanes.lane_rows import LaneRows, RowBlock, RowChunk
from tests.effort import examples

POINT = EventType("Point", (Attribute("x", DOUBLE), Attribute("tags", ArrayType(STRING))))
TYPES = {"Point": POINT}
MARKS = ("@old", "@timeout")
PRICE = DecimalType(9, 3)
INSTANTS = st.one_of(
    st.integers(FIRST_INSTANT, LAST_INSTANT), st.integers(0, 9).map(lambda n: n * 10**6)
)
DOUBLES = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1e16, 1e15, 1e-4, 1e-5, 5e-324, 0.1]))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
SCALARS: dict[DataType, SearchStrategy[Any]] = {
    INT: st.integers(-(2**31), 2**31 - 1),
    LONG: st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.floats(width=32),
    DOUBLE: DOUBLES,
    STRING: st.one_of(TEXTS, st.sampled_from(['"', "\\", "\n", "\x7f", "\u2028", "é", "😀"])),
    BOOLEAN: st.booleans(),
    TIMESTAMP: INSTANTS.map(to_datetime),
    DATE: st.dates(date(1, 1, 2)),
    PRICE: st.decimals(-999_999, 999_999, places=3),
}  # fmt: skip
POINTS = st.fixed_dictionaries({"x": st.none() | DOUBLES, "tags": st.lists(TEXTS, max_size=2)})
NESTED: dict[DataType, SearchStrategy[Any]] = {
    ArrayType(DOUBLE): st.lists(st.none() | DOUBLES, max_size=3),
    RecordType((Attribute("a", FLOAT), Attribute("é", STRING))): st.fixed_dictionaries(
        {"a": st.none() | SCALARS[FLOAT], "é": st.none() | TEXTS}
    ),
    EventRef("Point"): POINTS | st.builds(Event, st.just("Point"), INSTANTS, POINTS),
    ArrayType(EventRef("Point")): st.lists(POINTS, max_size=2),
}


def column(draw: DrawFn, type: DataType, values: SearchStrategy[Any], count: int) -> Any:
    """A column; at times it has no value at all."""
    chosen = draw(st.sampled_from([values, st.one_of(st.none(), values), st.none()]))
    given = draw(st.lists(chosen, min_size=count, max_size=count))
    return to_column(given, type, TYPES)


def shapes(draw: DrawFn, types: Sequence[DataType], target: str) -> RowColumns:
    chosen = draw(st.lists(st.sampled_from(types), max_size=4))
    names = draw(st.permutations(['a"b', "é", "x", "y"]))
    return RowColumns(f"of {target}", target, dict(zip(names, chosen, strict=False)), MARKS)


@st.composite
def lane_rows(draw: DrawFn) -> LaneRows:
    chunks = []
    found = [shapes(draw, list(SCALARS), target) for target in draw(st.permutations(["A", "Bé"]))]
    pool = Pool()
    for _ in range(draw(st.integers(0, 2))):
        owners = np.array(draw(st.lists(st.integers(0, len(found)), max_size=8)), dtype=np.int64)
        owners = np.minimum(owners, len(found) - 1)
        blocks = []
        for number, shape in enumerate(found):
            places = np.flatnonzero(owners == number)
            count = len(places)
            if not count:
                continue
            arrays = [(t, column(draw, t, SCALARS[t], count)) for t in shape.columns.values()]
            values = tuple(values_in(array, type, pool) for type, array in arrays)
            times = np.array(draw(st.lists(INSTANTS, min_size=count, max_size=count)))
            are_all = count == len(owners)
            blocks.append(RowBlock((shape,), None, None if are_all else places, times, values))
        chunks.append(RowChunk(len(owners), tuple(blocks), pool))
    total = sum(chunk.count for chunk in chunks)
    return LaneRows(chunks, found, TYPES, lambda: pa.array([[0] * 5] * total))


@st.composite
def row_tables(draw: DrawFn) -> RowTable:
    """Rows of three statements, two of which derive one type and need not hold the same."""
    kinds = SCALARS | NESTED
    first = shapes(draw, list(kinds), "A")
    own = draw(st.sets(st.sampled_from([*first.columns]))) if first.columns else set()
    second = RowColumns(
        "other", "A", {n: t for n, t in first.columns.items() if n not in own}, MARKS
    )
    by_rank = {
        0: first,
        1: draw(st.sampled_from([first, second])),
        2: shapes(draw, list(kinds), "B"),
    }
    count = draw(st.integers(0, 8))

    def drawn(values: SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    ranks = drawn(st.sampled_from([0, 1, 2]))
    columns: dict[str, Any] = {
        "@type": pa.array([by_rank[rank].target for rank in ranks], pa.string()),
        "@time": pa.array(drawn(INSTANTS), pa.int64()).cast(pa.timestamp("us", "UTC")),
        "@kind": pa.array(
            drawn(st.sampled_from(["match", "match", "old", "timeout"])), pa.string()
        ),
    }
    for shape in (first, by_rank[2]):
        members = {n: column(draw, t, kinds[t], count) for n, t in shape.columns.items()}
        fields = [pa.field(n, arrow_type(t, TYPES)) for n, t in shape.columns.items()]
        is_own = pa.array([by_rank[rank].target != shape.target for rank in ranks], pa.bool_())
        if fields:
            columns[shape.target] = pa.StructArray.from_arrays(
                list(members.values()), fields=fields, mask=is_own
            )
    keys = pa.array([[0, 0, 0, 0, rank] for rank in ranks], pa.list_(pa.int64()))
    return RowTable(pa.table(columns), by_rank, TYPES, lambda: keys)


def by_events(rows: ColumnarRows) -> str:
    return "".join(map(line, rows.events))


def line(row: Event) -> str:
    return to_json(encode(row)) + "\n"


@given(lane_rows() | row_tables(), st.integers(1, 9))
@examples(400)
def test_rows_in_columns_are_written_as_their_events_are(rows: ColumnarRows, size: int) -> None:
    assert "".join(row_texts.line_texts(rows, size)) == by_events(rows)


@given(lane_rows() | row_tables(), st.integers(1, 9))
@examples(400)
def test_cells_are_written_as_those_of_events_are(rows: ColumnarRows, size: int) -> None:
    texts = row_texts.cell_texts(rows, size)
    orders = {shape.target: list(shape.columns) for shape in rows.shapes}
    if texts is None:
        assert any(orders[shape.target] != list(shape.columns) for shape in rows.shapes)
    else:
        expected = io.StringIO()
        write_csv(rows.events, expected)
        assert "".join(texts) == expected.getvalue()


@given(lane_rows() | row_tables(), st.sets(st.sampled_from(["A", "Bé", "B", "Z"])))
@examples(100)
def test_the_rows_of_some_types_stay_in_columns(rows: ColumnarRows, targets: set[str]) -> None:
    found = of_types(rows, targets)
    expected = of_types(rows.events, targets)
    assert isinstance(found, ColumnarRows)
    assert found.targets == rows.targets & targets
    assert "".join(row_texts.line_texts(found)) == "".join(map(line, expected)) == by_events(found)
    assert [row.key for row in found] == [row.key for row in expected]
    assert found.counts() == dict(Counter(row.type for row in expected))


def test_rows_of_one_type_come_from_statements_that_hold_other_columns() -> None:
    held = pa.StructArray.from_arrays([pa.array([1, 2]), pa.array(["x", None])], ["x", "y"])
    head: dict[str, Any] = {
        "@type": ["A", "A"],
        "@time": pa.array([0, 1], pa.timestamp("us", "UTC")),
    }
    table = pa.table({**head, "@kind": ["match", "old"], "A": held})
    by_rank = {
        1: RowColumns("S", "A", {"x": LONG, "y": STRING}),
        2: RowColumns("T", "A", {"x": LONG}),
    }
    rows = RowTable(table, by_rank, {}, lambda: pa.array([[0, 0, 0, 0, 1], [0, 0, 0, 0, 2]]))
    text = io.StringIO()
    write_jsonl(rows, text)
    assert text.getvalue().splitlines() == [
        '{"@type": "A", "@time": "1970-01-01T00:00:00Z", "x": 1, "y": "x"}',
        '{"@type": "A", "@time": "1970-01-01T00:00:00.000001Z", "@old": true, "x": 2}',
    ]


def test_no_event_is_made_and_few_rows_are_in_memory_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool, shape = Pool(), RowColumns("S", "A", {"x": LONG})
    times = np.arange(10)
    chunk = RowChunk(
        10,
        (RowBlock((shape,), None, None, times, (values_in(pa.array(times), LONG, pool),)),),
        pool,
    )
    rows = LaneRows([chunk, chunk], [shape], {}, lambda: pytest.fail("no one needs keys"))
    monkeypatch.setattr(row_texts.line_texts, "__defaults__", (4,))
    written: list[str] = []
    write_jsonl(rows, type("Stream", (), {"write": lambda _, text: written.append(text)})())
    assert [text.count("\n") for text in written] == [4, 4, 2] * 2
    monkeypatch.setattr(row_texts.cell_texts, "__defaults__", (4,))
    written.clear()
    write_csv(rows, type("Stream", (), {"write": lambda _, text: written.append(text)})())
    assert [text.count("\n") for text in written] == [1, *[4, 4, 2] * 2]
