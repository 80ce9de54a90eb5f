"""What Python hands over, and what Arrow and pandas declare."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.core.event import Event
from cepheid.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    Attribute,
    DataType,
    DecimalType,
    EventType,
    RecordType,
)
from cepheid.errors import Diagnostic, InputError, UsageError
from cepheid.io import Decoder, Record, infer_types, records_of
from cepheid.io.source import Placement, source
from cepheid.io.sources import provided_by, tables_of

Triple = tuple[str | None, object, dict[str, object]]


def triples(source: object) -> list[Triple]:
    return [(r.type, r.time, r.values) for r in records_of(source)]


EXPECTED: list[Triple] = [("A", 1, {"x": 1}), ("A", 2, {"x": None})]


@pytest.mark.parametrize(
    "source",
    [
        [{"@type": "A", "@time": 1, "x": 1}, {"@type": "A", "@time": 2, "x": None}],
        {"A": [{"@time": 1, "x": 1}, {"@time": 2, "x": None}]},
        {"A": pa.table({"@time": [1, 2], "x": [1, None]})},
        {"A": pa.RecordBatch.from_pydict({"@time": [1, 2], "x": [1, None]})},
        {"A": pd.DataFrame({"@time": [1, 2], "x": pd.array([1, None], dtype="Int64")})},
        {"A": pd.DataFrame({"@time": [1, 2], "x": [1.0, float("nan")]})},
        {"A": pd.DataFrame({"@time": [1, 2], "x": pd.Series([1, None], dtype=object)})},
        [pa.table({"@type": ["A"], "@time": [1], "x": [1]}), {"@type": "A", "@time": 2, "x": None}],
        iter([Record("A", 1, {"x": 1}, None), Record("A", 2, {"x": None}, None)]),
    ],
    ids=range(9),
)
def test_sources_in_every_form_give_the_same_records(source: object) -> None:
    assert triples(source) == EXPECTED


def test_paths_folders_and_lists_of_paths_are_read(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text('{"@type": "A", "@time": 1, "x": 1}\n')
    (tmp_path / "2.jsonl").write_text('{"@type": "A", "@time": 2, "x": null}\n')
    assert triples(tmp_path) == EXPECTED
    assert triples(str(tmp_path)) == EXPECTED
    assert triples([tmp_path / "1.jsonl", str(tmp_path / "2.jsonl")]) == EXPECTED


def test_a_broken_line_raises_unless_somebody_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text('nothing\n{"@time": 1}\n')
    with pytest.raises(InputError, match=r"e\.jsonl:1:1"):
        triples(path)
    problems: list[Diagnostic] = []
    assert [r.time for r in records_of(path, on_problem=problems.append)] == [1]
    assert len(problems) == 1
    with pytest.raises(InputError, match="'@type' is the name"):
        triples([{"@type": 5}])


def test_events_are_records_of_themselves() -> None:
    event = Event("A", 5, {"x": 1}, is_old=True)
    (record,) = records_of(event)
    types = {"A": EventType("A", (Attribute("x", INT),))}
    again = Decoder(types).decode(record, 0)
    assert isinstance(again, Event)
    assert (again.type, again.instant, dict(again), again.is_old) == ("A", 5, {"x": 1}, True)


@pytest.mark.parametrize("source", [5, None, b"bytes", [5]])
def test_anything_else_holds_no_events(source: object) -> None:
    with pytest.raises(UsageError, match="holds no events"):
        triples(source)


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(InputError, match="two columns are named 'x'"):
        triples({"A": frame})


def test_two_columns_of_one_name_are_refused_unread() -> None:
    frame = pd.DataFrame([[1, 2, 3, 4]] * 2, columns=["x", "y", "x", "x"])
    # Some versions of pandas cannot read such a column of theirs again.
    frame = frame.assign(x=pd.array([pd.Period("2026-01", "M")] * 2))
    with pytest.raises(InputError, match="two columns are named 'x'"):
        cep.run(cep.parse("create schema A (x int); select x from A"), {"A": frame})


NS = pd.Timestamp("2026-01-01T00:00:00.123456789")
MICROSECONDS = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("array", "type", "value"),
    [
        (pa.array([1], pa.int16()), INT, 1),
        (pa.array([1], pa.uint32()), LONG, 1),
        (pa.array([1], pa.int64()), LONG, 1),
        (pa.array([0.5], pa.float32()), FLOAT, 0.5),
        (pa.array([1.0], pa.float64()), DOUBLE, 1.0),
        (pa.array([Decimal("1.5")]), DecimalType(2, 1), Decimal("1.5")),
        (pa.array([Decimal("1.5")], pa.decimal128(38, 1)), DOUBLE, 1.5),
        (pa.array([True]), BOOLEAN, True),
        (pa.array(["a"]), STRING, "a"),
        (pa.array(["a"], pa.large_string()), STRING, "a"),
        (pa.array(["a"]).dictionary_encode(), STRING, "a"),
        (pa.array([date(2026, 1, 2)]), DATE, date(2026, 1, 2)),
        (pa.array([NS], pa.timestamp("ns")), TIMESTAMP, MICROSECONDS),
        (pa.array([None], pa.null()), NULL, None),
        (pa.array([[1]]), ArrayType(LONG), [1]),
        (pa.array([{"a": 1}]), RecordType((Attribute("a", LONG),)), {"a": 1}),
    ],
)
def test_arrow_types_become_static_types(array: Any, type: DataType, value: object) -> None:
    records = list(records_of({"A": pa.table({"@time": [0], "x": array})}))
    types = infer_types(records, {})
    assert types["A"].find("x") == type
    event = Decoder(types).decode(records[0], 0)
    assert isinstance(event, Event)
    assert event["x"] == value


def test_a_binary_column_is_refused_value_by_value() -> None:
    table = pa.table({"x": [b"x"]})
    with pytest.raises(InputError, match="b'x' is nothing that an event can hold"):
        infer_types(records_of({"A": table}), {})


def test_a_timestamp_that_python_cannot_hold_is_a_bad_time() -> None:
    table = pa.table({"@time": pa.array([2**62, 0], pa.timestamp("us"))})
    far, near = records_of({"A": table})
    decoder = Decoder({"A": EventType("A", ())})
    with pytest.raises(InputError, match="bad-time"):
        decoder.decode(far, 0)
    event = decoder.decode(near, 0)
    assert isinstance(event, Event)
    assert event.instant == 0


def test_pandas_times_of_every_kind_are_read() -> None:
    moments = [pd.Timestamp("2026-01-01T00:00:00Z"), pd.NaT]
    frame = pd.DataFrame({"@time": moments, "x": [1, 2]})
    times = [record.time for record in records_of({"A": frame})]
    assert times == [datetime(2026, 1, 1, tzinfo=UTC), None]
    rows: Any = frame.to_dict("records")
    assert [r.time is None for r in records_of({"A": rows})] == [False, True]


def test_a_frame_with_objects_of_several_kinds_keeps_them() -> None:
    frame = pd.DataFrame({"x": [1, "a", None, [1], float("nan")]})
    assert [r.values["x"] for r in records_of({"A": frame})] == [1, "a", None, [1], None]


def test_reading_and_writing_text_loads_neither_arrow_nor_pandas() -> None:
    script = (
        "import sys, io, cepheid.io as c\n"
        "c.write_csv([], io.StringIO())\n"
        "list(c.records_of([{'@time': 1}]))\n"
        "assert not {'pyarrow', 'pandas', 'numpy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_rows_of_events_that_ceased_stay_marked() -> None:
    marked = [Event("A", 0, {}, 0, is_old=True), Event("A", 0, {}, 0, is_timeout=True)]
    found = [(record.is_old, record.is_timeout) for record in records_of(marked)]
    assert found == [(True, False), (False, True)]


def test_a_dictionary_whose_marks_have_other_names_is_one_event() -> None:
    placed = source({"kind": "A", "at": 1, "x": 1}, type="kind", time="at")
    [record] = records_of(placed)
    assert (record.type, record.time, record.values["x"]) == ("A", 1, 1)


FRAME = pd.DataFrame({"at": [1], "x": [1]})


def test_a_table_without_a_type_has_events_of_the_default_one() -> None:
    for data in (FRAME, source(FRAME, time="at"), [source(FRAME, time="at")]):
        assert provided_by([data], "A") == {"A"}
        found = tables_of([data], default_type="A")
        assert found is not None
        assert [table.type for table in found] == ["A"]


def test_a_table_keeps_what_is_said_of_its_columns() -> None:
    placed = source({"A": FRAME}, time="at", columns={"x": "y"})
    found = tables_of([placed], Placement(sequence="n"))
    assert found is not None
    [table] = found
    assert (table.type, table.placement) == (
        "A",
        Placement(time="at", sequence="n", columns={"x": "y"}),
    )


def test_times_of_a_zone_are_read_one_by_one() -> None:
    assert tables_of([source({"A": FRAME}, zone="Europe/Berlin")]) is None
    table = pa.table({"@time": ["2026-01-01T01:00:00"], "x": [1]})
    program = cep.parse("create schema A (x int); @Name('S') select x from A")
    [row] = cep.run(program, {"A": source(table, zone="Europe/Berlin")})
    assert row.time == datetime(2026, 1, 1, tzinfo=UTC)
