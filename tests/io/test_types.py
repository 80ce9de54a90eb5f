"""Timestamps, dates and decimals come back from every format as they went in; zones are what is said."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import cepheid as cep
from cepheid.io import write_csv, write_jsonl, write_parquet

SCHEMA = "create schema Sale (at timestamp, day date, price decimal(8, 2), several timestamp[]);"
PROGRAM = cep.parse(f"{SCHEMA} insert into Copy select at, day, price, several from Sale;")
AGAIN = cep.parse(
    "create schema Copy (at timestamp, day date, price decimal(8, 2), several timestamp[]);"
    "insert into Other select at, day, price, several from Copy;"
)
EVENTS = [
    {
        "@type": "Sale",
        "@time": 0,
        "at": "2026-03-29T03:30:00.25+02:00",
        "day": "2026-03-29",
        "price": "19.90",
        "several": ["1969-12-31T23:59:59.999999Z", None],
    },
    {"@type": "Sale", "@time": 1, "day": None, "price": -0.01},
]
VALUES = [
    {
        "at": datetime(2026, 3, 29, 1, 30, 0, 250_000, tzinfo=UTC),
        "day": date(2026, 3, 29),
        "price": Decimal("19.90"),
        "several": [datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), None],
    },
    {"at": None, "day": None, "price": Decimal("-0.01"), "several": None},
]


def written(name: str, folder: Path) -> Any:
    """The rows in some form in which events are read."""
    result = cep.run(PROGRAM, EVENTS)
    path = folder / f"Copy.{name}"
    if name == "arrow":
        return {"Copy": result.to_arrow().drop_columns(["@type"])}
    if name == "pandas":
        return {"Copy": result.to_pandas().drop(columns="@type")}
    if name == "parquet":
        write_parquet(list(result), path, PROGRAM.resolve().types)
        return path
    writer = {"jsonl": write_jsonl, "csv": write_csv}[name]
    with path.open("w") as file:
        writer(result, file)
    return path


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_values_are_those_of_python(engine: str) -> None:
    assert [dict(row) for row in cep.run(PROGRAM, EVENTS, engine=engine)] == VALUES


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet", "arrow", "pandas"])
def test_what_is_written_is_read_back(name: str, tmp_path: Path) -> None:
    found = cep.run(AGAIN, written(name, tmp_path))
    assert [dict(row) for row in found] == VALUES


def test_a_frame_without_a_schema_has_times_and_decimals() -> None:
    frame = pd.DataFrame(
        {
            "@time": pd.to_datetime(["2026-01-01"]),
            "at": pd.to_datetime(["2026-01-02 03:04"]),
            "day": [date(2026, 1, 3)],
            "price": [Decimal("1.50")],
        }
    )
    program = cep.parse(
        "select extract('hour', at) as h, day > at as later, price * 2 as p from E;"
    )
    [row] = cep.run(program, {"E": frame})
    assert dict(row) == {"h": 3, "later": True, "p": Decimal("3.00")}


LOCAL = ["2026-03-29T02:30:00", "2026-10-25T02:30:00", "2026-10-25T02:30:00Z"]
INSTANTS = ["2026-03-29T01:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z"]


@pytest.mark.parametrize("form", ["dictionaries", "csv", "pandas", "source"])
def test_times_without_a_zone_are_of_the_zone_that_is_said(form: str, tmp_path: Path) -> None:
    program = cep.parse("create schema E (at timestamp); select at from E;")
    rows: list[dict[str, object]] = [{"@time": at, "at": at} for at in LOCAL]
    events: Any = [{"@type": "E", **row} for row in rows]
    options: dict[str, Any] = {"zone": "Europe/Berlin"}
    if form == "csv":
        events = tmp_path / "E.csv"
        events.write_text("@time,at\n" + "".join(f"{at},{at}\n" for at in LOCAL))
    elif form == "pandas":
        events = {"E": pd.DataFrame(rows)}
    elif form == "source":
        events, options = cep.source(events, zone="Europe/Berlin"), {}
    found = [(row.time, row["at"]) for row in cep.run(program, events, **options)]
    instants = [datetime.fromisoformat(text) for text in INSTANTS]
    assert found == [(instant, instant) for instant in instants]


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(cep.UsageError, match="no time zone 'Berlin'"):
        cep.run(PROGRAM, EVENTS, zone="Berlin")


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        ({"at": 12}, "attribute 'at' of Sale: 12 is not a timestamp"),
        ({"at": "soon"}, "attribute 'at' of Sale: 'soon' is not an ISO 8601 time"),
        ({"day": "2026-02-30"}, "attribute 'day' of Sale: '2026-02-30' is not a date"),
        ({"price": "1.001"}, "attribute 'price' of Sale: '1.001' does not fit a decimal(8, 2)"),
    ],
)
def test_what_is_no_time_and_no_decimal_is_refused(values: dict[str, object], fact: str) -> None:
    with pytest.raises(cep.InputError) as refused:
        cep.run(PROGRAM, [{"@type": "Sale", "@time": 0, **values}])
    assert [d.message for d in refused.value.diagnostics] == [fact]
