"""Events and their values in the form in which files hold them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from operator import attrgetter

from cepheid.core.event import Event, Value
from cepheid.core.numbers import write_double
from cepheid.core.time import Instant, format_instant, to_instant
from cepheid.core.values import string_to_cell

# Rows that are marked are no events: a later program that reads them only lets time pass.
MARKS: dict[str, Callable[[Event], bool]] = {
    "@old": attrgetter("is_old"),
    "@timeout": attrgetter("is_timeout"),
}


def encode(event: Event) -> dict[str, object]:
    """The JSON form: '@type', '@time', '@old' or '@timeout' where true, then the attributes."""
    fields: dict[str, object] = {"@type": event.type, "@time": format_instant(event.instant)}
    if event.is_old:
        fields["@old"] = True
    if event.is_timeout:
        fields["@timeout"] = True
    for name, value in event.values_.items():
        fields[name] = encode_value(value)
    return fields


def encode_value(value: Value) -> object:
    """Nested events are objects with '@type' and '@time'; what JSON has not is a string.

    These are NaN and the infinities, timestamps, dates, and decimals, whose digits no reader rounds then.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else write_double(value)
    if isinstance(value, Event):
        return encode(value)
    if isinstance(value, dict):
        return {name: encode_value(member) for name, member in value.items()}
    if isinstance(value, list):
        return [encode_value(item) for item in value]
    return written(value)


def written(value: object) -> object:
    """A time, a day or a decimal as text; anything else as it is."""
    if isinstance(value, datetime):
        return format_instant(to_instant(value))
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else value


def to_cell(value: Value) -> str:
    """The text of a CSV cell: empty is null, nested values are JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return string_to_cell(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = encode_value(value)
    return plain if isinstance(plain, str) else to_json(plain)


to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def trace_records(
    events: Iterable[Event], start: Instant | None = None, end: Instant | None = None
) -> list[dict[str, object]]:
    """Events as a file has them; a record with a time alone lets it pass from the start, or to the end."""
    records = list(map(encode, events))
    if start is not None:
        records.insert(0, {"@time": format_instant(start)})
    if end is not None:
        records.append({"@time": format_instant(end)})
    return records
