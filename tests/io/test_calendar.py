"""Times that end where Python's calendar does, on every way in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ENGINES = ["local", "reference"]
DAYS = cep.parse("create schema A (day date); select day from A;")
FIRST, LAST = -719_162, 2_932_896  # days since the epoch
KINDS: dict[str, Callable[[Any], Any]] = {
    "date32": lambda days: days,
    "date64": lambda days: days.cast(pa.date64()),
    "dictionary": lambda days: days.dictionary_encode(),
}


def days_of(*days: int | None, kind: str = "date32") -> pa.Table:
    column = KINDS[kind](pa.array(list(days), pa.date32()))
    return pa.table({"@time": list(range(len(days))), "day": column})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("day", [FIRST - 1, LAST + 1])
def test_a_day_beyond_the_calendar_is_a_wrong_value(kind: str, day: int, engine: str) -> None:
    given: Any = {"A": days_of(FIRST, day, LAST, kind=kind)}
    with pytest.raises(cep.InputError) as refused:
        cep.run(DAYS, given, engine=engine)
    [finding] = refused.value.diagnostics
    assert (finding.code, finding.span and finding.span.line) == ("bad-value", 2)
    assert finding.message.endswith("is outside the years 1 to 9999")
    rows = cep.run(DAYS, given, engine=engine, on_error="skip")
    assert [row["day"] for row in rows] == [date.min, date.max]
    with pytest.raises(cep.InputError, match="bad-value"):
        cep.open(DAYS, engine=engine).send_table(given)


@pytest.mark.parametrize("engine", ENGINES)
def test_such_a_day_in_a_file_is_a_wrong_value(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "A.parquet"
    pq.write_table(days_of(0, LAST + 1), path)
    with pytest.raises(cep.InputError, match=r"A\.parquet:2:1: error\[bad-value\]"):
        cep.run(DAYS, path, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_last_days_of_the_calendar_and_null_are_days(engine: str) -> None:
    rows = cep.run(DAYS, {"A": days_of(FIRST, None, LAST)}, engine=engine)
    assert [row["day"] for row in rows] == [date.min, None, date.max]


# Lists have no columns, so that all is read by records beside one.
SCHEMAS = {"columns": "at timestamp", "records": "at timestamp, s string, list timestamp[]"}
NANOSECONDS = [-1_500, -1_000, -1, None, 0, 999, 1_500]
CUT = [-2, -1, -1, None, 0, 0, 1]  # microseconds


def times_in(form: str) -> Any:
    """The same instants in one of the forms that hold nanoseconds, as all that can hold a time."""
    column = pa.array(NANOSECONDS, pa.int64()).cast(pa.timestamp("ns", "UTC"))
    stamps = [pd.Timestamp(n or 0, tz="UTC") for n in NANOSECONDS]
    rows = [
        {"@time": stamp, "at": at.as_py(), "s": at.as_py(), "list": [at.as_py()]}
        for stamp, at in zip(stamps, column, strict=True)
    ]
    lists = pa.ListArray.from_arrays(list(range(len(column) + 1)), column)
    table = {"@time": column.fill_null(0), "at": column, "s": column, "list": lists}
    match form:
        case "arrow":
            return {"A": pa.table(table)}
        case "dictionary":
            return {"A": pa.table(table | {"at": column.dictionary_encode()})}
        case "chunks":
            return {"A": pa.table(table).to_pandas(types_mapper=pd.ArrowDtype)}
        case "pandas":
            return {"A": pa.table(table).to_pandas()}
        case "texts":
            rows = [{name: written(value) for name, value in row.items()} for row in rows]
    return [{"@type": "A", **row} for row in rows]


def written(value: Any) -> Any:
    if isinstance(value, list):
        return [written(item) for item in value]
    return None if value is None else value.isoformat()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("form", ["arrow", "dictionary", "chunks", "pandas", "records", "texts"])
def test_digits_beyond_microseconds_are_cut_downwards(form: str, schema: str, engine: str) -> None:
    program = cep.parse(f"create schema A ({SCHEMAS[schema]}); select * from A;")
    rows = list(cep.run(program, times_in(form), engine=engine))
    expected = [None if n is None else EPOCH + n * timedelta(microseconds=1) for n in CUT]
    assert [row["at"] for row in rows] == expected
    assert [row.time for row in rows] == [moment or EPOCH for moment in expected]
    if schema == "records":
        assert [row["list"] for row in rows] == [[moment] for moment in expected]
    if schema == "records" and form != "texts":  # which stay what they are
        texts = [moment and moment.isoformat().replace("+00:00", "Z") for moment in expected]
        assert [row["s"] for row in rows] == texts


TYPES = {"A": {"at": "timestamp", "day": "date", "s": "string", "list": "date[]"}}
ALL = cep.parse("select * from A;", types=TYPES)
FAR = ["10000-01-01", "0000-06-30", "-0044-03-15", "+12026-01-01", "123456-02-03T04:05:06.789Z"]
WRONG = ["2026-02-30", "100000101", "soon", "+2026-01-01", "10000-1-1", "-44-03-15", "10000"]


def told(program: cep.Program, given: Any, engine: str = "reference") -> list[str]:
    with pytest.raises(cep.InputError) as refused:
        cep.run(program, given, engine=engine)
    return [d.message for d in refused.value.diagnostics]


@pytest.mark.parametrize("text", FAR)
def test_texts_of_other_years_are_outside_the_calendar(text: str) -> None:
    outside = f"{text!r} is outside the years 1 to 9999"
    assert told(ALL, [{"@type": "A", "@time": text}]) == [f"time {outside}"]
    for name, given, what in (
        ("at", text, "time"),
        ("day", text, "date"),
        ("list", [text], "date"),
    ):
        event = {"@type": "A", "@time": 0, name: given}
        assert told(ALL, [event]) == [f"attribute {name!r} of A: {what} {outside}"]


@pytest.mark.parametrize("text", WRONG)
def test_other_texts_are_no_times(text: str) -> None:
    event = {"@type": "A", "@time": 0}
    said = f"{text!r} is not an ISO 8601 time"
    assert told(ALL, [event | {"@time": text}]) == [said]
    assert told(ALL, [event | {"day": text}]) == [f"attribute 'day' of A: {text!r} is not a date"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_timestamps_of_other_years_are_outside_the_calendar(unit: Any, engine: str) -> None:
    far = 10**12 * {"s": 1, "ms": 10**3, "us": 10**6}[unit]  # the year 33658
    column = pa.array([0, far], pa.int64()).cast(pa.timestamp(unit))
    fact = f"time 'timestamp[{unit}] {far}' is outside the years 1 to 9999"
    zeros = pa.array([0, 0])
    assert told(ALL, {"A": pa.table({"@time": column})}, engine) == [fact]
    for name in ("at", "s"):
        table = pa.table({"@time": zeros, name: column})
        assert told(ALL, {"A": table}, engine) == [f"attribute {name!r} of A: {fact}"]
    lists = pa.ListArray.from_arrays(
        [0, 1, 2], pa.array([0, LAST + 1], pa.int32()).cast(pa.date32())
    )
    [fact] = told(ALL, {"A": pa.table({"@time": zeros, "list": lists})}, engine)
    assert (
        fact
        == f"attribute 'list' of A: date 'date32[day] {LAST + 1}' is outside the years 1 to 9999"
    )
