"""Values as JSON and back, exactly: NaN, infinities, records and events included.

Scalars and arrays are themselves; what JSON has no form for is an object with one telling key.
An event is kept without the events behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias, cast

from cepheid.core.event import Event, Value
from cepheid.core.time import to_datetime, to_instant

JSON: TypeAlias = "str | bool | int | float | list[JSON] | dict[str, JSON] | None"


def encode_value(value: Value) -> JSON:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, list | tuple):
        return [encode_value(item) for item in value]
    if isinstance(value, dict):
        return {"record": _encode_record(value)}
    if isinstance(value, Event):
        return {"event": _encode_event(value)}
    if isinstance(value, datetime):
        return {"timestamp": to_instant(value)}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": f"{value:f}"}
    return value


def decode_value(data: JSON) -> Value:
    if isinstance(data, list):
        return [decode_value(item) for item in data]
    if not isinstance(data, dict):
        return data
    [(kind, content)] = data.items()
    if kind in _SCALARS:
        return _SCALARS[kind](content)
    record = cast("dict[str, JSON]", content)
    return _decode_record(record) if kind == "record" else _decode_event(record)


_SCALARS: dict[str, Callable[..., Value]] = {
    "float": float,
    "timestamp": to_datetime,
    "date": date.fromisoformat,
    "decimal": Decimal,
}


def _encode_record(record: dict[str, Value]) -> dict[str, JSON]:
    return {name: encode_value(value) for name, value in record.items()}


def _decode_record(record: dict[str, JSON]) -> dict[str, Value]:
    return {name: decode_value(value) for name, value in record.items()}


def _encode_event(event: Event) -> dict[str, JSON]:
    return {
        "type": event.type,
        "instant": event.instant,
        "values": _encode_record(event.values_),
        "sequence": event.sequence,
        "statement": event.statement,
        "is_old": event.is_old,
    }


def _decode_event(data: dict[str, JSON]) -> Event:
    return Event(
        cast("str", data["type"]),
        cast("int", data["instant"]),
        _decode_record(cast("dict[str, JSON]", data["values"])),
        cast("int", data["sequence"]),
        cast("str | None", data["statement"]),
        is_old=cast("bool", data["is_old"]),
    )
