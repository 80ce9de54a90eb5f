"""Rows as text in which everything counts: type, time, kind, statement, attributes, events in events."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from cepheid.core.event import Event, Value
from cepheid.core.time import to_instant
from cepheid.core.types import EventType
from cepheid.io.encode import encode_value


def kind_of(row: Event) -> str:
    return "old" if row.is_old else "timeout" if row.is_timeout else "match"


def strict(row: Event, *, with_statement: bool = True) -> str:
    """A row as text; two look the same only if nothing tells them apart."""
    statement = [f"by {row.statement}"] if with_statement else []
    head = [str(row.instant), kind_of(row), row.type, *statement]
    return " ".join([*head, *(f"{name}={_text(value)}" for name, value in row.items())])


def _text(value: Value) -> str:
    """1 and 1.0 differ, and so do the types and times of events in rows; one NaN is like the other."""
    if isinstance(value, Event):
        inside = " ".join(f"{name}={_text(v)}" for name, v in value.items())
        return f"{value.type}@{value.instant}({inside})"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}={_text(v)}" for name, v in value.items()) + "}"
    if isinstance(value, date | Decimal):
        return str(encode_value(value))
    return "NaN" if isinstance(value, float) and math.isnan(value) else repr(value)


def events_of(table: pa.Table, types: Mapping[str, EventType]) -> Iterator[Event]:
    """The rows of an operator or of a Spark frame as events."""
    for row in table.to_pylist():
        kind, values = row["@kind"], row.get(row["@type"], {})  # a type may have no attributes
        yield Event(
            row["@type"],
            to_instant(row["@time"]),
            {name: _value(value, types) for name, value in values.items()},
            is_old=kind == "old",
            is_timeout=kind == "timeout",
        )


def _value(stored: Any, types: Mapping[str, EventType]) -> Value:
    """Events are structs that have their type and time in front, and room for what children have.

    Records that an event holds may have the same room, with nothing in it.
    """
    if isinstance(stored, list):
        return [_value(item, types) for item in stored]
    if not isinstance(stored, dict):
        found: Value = stored
        return found
    values = {name: _value(value, types) for name, value in stored.items()}
    if stored.get("@type") is None:
        return {name: value for name, value in values.items() if not name.startswith("@")}
    type = types[stored["@type"]]
    own = {a.name: values[a.name] for a in type.attributes}
    return Event(type.name, to_instant(stored["@time"]), own)
