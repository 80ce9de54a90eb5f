"""Records, events as they were read, and the decoder that checks them against their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import cast

from cepheid.core.event import Event, Value
from cepheid.core.time import MICROSECONDS, Instant, TimeUnit, format_instant, parse_instant
from cepheid.core.types import (
    ANY,
    STRING,
    DataType,
    EventTime,
    EventType,
    is_integral,
)
from cepheid.core.values import Coercions, is_null, native, number_from, shown
from cepheid.errors import InputError, Span, error, suggest


@dataclass(frozen=True, slots=True)
class Record:
    """One event as read, before its type is known to be right."""

    type: str | None  # None: only lets time pass
    time: object | None  # raw '@time'
    values: dict[str, object]
    span: Span | None
    is_text: bool = False  # the values are CSV cells
    is_old: bool = False  # a row of the remove stream, '@old'
    is_timeout: bool = False  # a partial match whose time ran out, '@timeout'
    columns: Mapping[str, DataType] | None = None  # types that the source itself declares


def record_from(
    fields: Mapping[str, object], span: Span | None, default_type: str | None = None
) -> Record:
    """A record from the keys '@type', '@time' and so on, and the attributes.

    ValueError with a fact where it is none. '@why', which explains a row, is no part of it.
    """
    values = dict(fields)
    type = values.pop("@type", None)
    name = default_type if type is None else type_name(type)
    time = values.pop("@time", None)
    is_old = is_true(values.pop("@old", None), "@old")
    is_timeout = is_true(values.pop("@timeout", None), "@timeout")
    values.pop("@why", None)
    time = None if is_null(time) else time
    return Record(name, time, values, span, is_old=is_old, is_timeout=is_timeout)


def type_name(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"'@type' is the name of an event type, not {shown(value)}")
    return value


def is_true(value: object, mark: str) -> bool:
    """The raw mark of a record, such as '@old'."""
    if value is None:
        return False
    value = native(value)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"'{mark}' is true or false, not {shown(value)}")
    return bool(value)


class Decoder:
    """Turns records into events of the given types.

    An attribute that a record leaves out is null. Where a type takes its time from an attribute,
    that attribute wins over '@time'; where it is null, '@time' stands in and fills it. Rows of a remove
    stream become events with `is_old`; what they mean is for the engine to say.
    """

    def __init__(self, types: Mapping[str, EventType]) -> None:
        self._types = types
        self._coercions = Coercions(types)
        self._decoders: dict[str, _TypeDecoder] = {}

    def decode(self, record: Record, sequence: int) -> Event | Instant:
        """The event, or for a record without a type the instant up to which time passes."""
        if record.type is None:
            return self._time_alone(record)
        given: object = record.type  # which callers may have filled with anything
        if not isinstance(given, str):
            fact = f"the type of an event is a text, not {shown(given)}"
            raise InputError(error("unknown-type", fact, record.span))
        decoder = self._decoders.get(record.type) or self._compile(record.type, record.span)
        values = decoder.values(record)
        instant = decoder.instant(record, values)
        is_old, is_timeout = record.is_old, record.is_timeout
        return Event(record.type, instant, values, sequence, is_old=is_old, is_timeout=is_timeout)

    def _time_alone(self, record: Record) -> Instant:
        if record.values or record.time is None:
            raise InputError(
                error(
                    "missing-type",
                    "an event without a type",
                    record.span,
                    "a line with '@time' alone lets time pass; an event needs '@type'",
                )
            )
        return _instant(record, _time_value(record), "seconds")

    def _compile(self, name: str, span: Span | None) -> _TypeDecoder:
        if name not in self._types:
            hint = suggest(name, self._types, "event types")
            raise InputError(error("unknown-type", f"no event type {shown(name)}", span, hint))
        if self._types[name].is_open:
            fact = f"type {shown(name)} has no schema"
            raise InputError(error("no-schema", fact, span, f"create schema {name} (...)"))
        decoder = self._decoders[name] = _TypeDecoder(self._types[name], self._coercions)
        return decoder


class _TypeDecoder:
    """What decoding needs to know of one type, worked out once."""

    def __init__(self, type: EventType, coercions: Coercions) -> None:
        self._type = type
        self._names = [a.name for a in type.attributes]
        self._plain = {a.name: coercions.of(a.type) for a in type.attributes}
        self._text = {a.name: coercions.of_text(a.type) for a in type.attributes}

    def values(self, record: Record) -> dict[str, Value]:
        """The attributes in the order of the schema."""
        coercions = self._text if record.is_text else self._plain
        values: dict[str, Value] = dict.fromkeys(self._names)
        for name, raw in record.values.items():
            if name not in coercions:
                raise self._unknown(name, record)
            try:
                values[name] = coercions[name](raw)
            except ValueError as problem:
                fact = f"attribute {shown(name)} of {self._type.name}: {problem}"
                raise InputError(error("bad-value", fact, record.span)) from None
        return values

    def _unknown(self, name: str, record: Record) -> InputError:
        fact = f"no attribute {shown(name)} in {self._type.name}"
        hint = suggest(str(name), self._names, f"attributes of {self._type.name}")
        return InputError(error("unknown-attribute", fact, record.span, hint))

    def instant(self, record: Record, values: dict[str, Value]) -> Instant:
        rule = self._type.time
        if rule is not None and values.get(rule.attribute) is not None:
            return _instant(record, values[rule.attribute], cast("TimeUnit", rule.unit))
        if record.time is None or record.time == "":
            need = f"give '@time' or the attribute {rule.attribute!r}" if rule else "give '@time'"
            fact = f"an event of type {self._type.name} without a time"
            raise InputError(error("missing-time", fact, record.span, need))
        instant = _instant(record, _time_value(record), "seconds")
        if rule is not None:
            values[rule.attribute] = self._time_attribute(instant, rule)
        return instant

    def _time_attribute(self, instant: Instant, rule: EventTime) -> Value:
        """What the time attribute would have said, so that patterns can rely on it."""
        type = self._type.find(rule.attribute)
        if type == STRING:
            return format_instant(instant)
        unit = MICROSECONDS[cast("TimeUnit", rule.unit)]
        return instant // unit if is_integral(type or ANY) else instant / unit


def _instant(record: Record, raw: object, unit: TimeUnit) -> Instant:
    try:
        if isinstance(raw, int) and abs(raw) > _FARTHEST:
            raise OverflowError
        return int(parse_instant(raw, unit))
    except OverflowError:
        fact = f"time {shown(raw)} is outside the years 1 to 9999"
    except ValueError as problem:
        fact = str(problem)
    raise InputError(error("bad-time", fact, record.span, TIME_HINT))


TIME_HINT = "write ISO 8601, such as 2026-01-01T00:09:00Z, or a number of seconds"


def _time_value(record: Record) -> object:
    """The raw '@time' as the time reader takes it: cells of digits are numbers of seconds."""
    raw = record.time
    if isinstance(raw, datetime) or (type(raw) is str and not record.is_text):
        return raw
    if isinstance(raw, date):
        return datetime(raw.year, raw.month, raw.day, tzinfo=UTC)
    raw = native(raw)
    if isinstance(raw, Decimal):
        return float(raw)
    return _number_or_text(raw.strip()) if record.is_text and isinstance(raw, str) else raw


# No unit reaches beyond it, and its digits can still be printed.
_FARTHEST = 10**40


def _number_or_text(text: str) -> object:
    try:
        return number_from(text)
    except ValueError:
        return text
