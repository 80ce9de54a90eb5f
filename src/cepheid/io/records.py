"""Records, events as they were read, and the decoder that checks them against their types."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from decimal import Decimal
from typing import Literal, cast

from cepheid.core.event import Event, Value
from cepheid.core.time import (
    FIRST_INSTANT,
    LAST_INSTANT,
    MICROSECONDS,
    FarTime,
    Instant,
    TimeUnit,
    format_instant,
    parse_instant,
    to_datetime,
)
from cepheid.core.types import (
    ANY,
    STRING,
    TIMESTAMP,
    DataType,
    EventTime,
    EventType,
    is_calendar,
    is_integral,
)
from cepheid.core.values import Coercions, is_null, native, number_from, shown
from cepheid.errors import InputError, Span, error, nearest, suggest
from cepheid.io.source import NOWHERE, SEQUENCE, Placement

# The hint beside columns that no schema has.
EXTRA = "extra='error', or --extra error, refuses them"


@dataclass(slots=True)
class Record:
    """One event as read, before its type is known to be right.

    No one changes it; but there is one for each event, and making it takes a third of the time if it may be.
    """

    type: str | None  # None: only lets time pass
    time: object | None  # raw '@time'
    values: dict[str, object]
    span: Span | None
    is_text: bool = False  # the values are CSV cells
    is_old: bool = False  # a row of the remove stream, '@old'
    is_timeout: bool = False  # a partial match whose time ran out, '@timeout'
    columns: Mapping[str, DataType] | None = None  # types that the source itself declares
    sequence: object | None = None  # raw, where a column orders events of one time
    placement: Placement = NOWHERE
    names: Collection[str] | None = None  # of the table's columns, where nulls are left out
    given: Collection[str] = ()  # the columns as its source names them, where some are renamed

    @property
    def present(self) -> Collection[str]:
        """The attributes that it has, null or not."""
        return self.values if self.names is None else self.names


def record_from(
    fields: Mapping[str, object],
    span: Span | None,
    default_type: str | None = None,
    placement: Placement = NOWHERE,
) -> Record:
    """A record from the keys '@type', '@time' and so on, and the attributes.

    ValueError with a fact where it is none. '@why', which explains a row, is no part of it.
    """
    values = placement.arranged(fields) if placement else dict(fields)
    type = values.pop("@type", None)
    name = default_type if type is None else type_name(type)
    time = values.pop("@time", None)
    is_old = is_true(values.pop("@old", None), "@old")
    is_timeout = is_true(values.pop("@timeout", None), "@timeout")
    values.pop("@why", None)
    if placement.time is not None and name is None and not values:
        time = fields.get("@time")  # it only lets time pass
    time = None if is_null(time) else time
    record = Record(name, time, values, span, is_old=is_old, is_timeout=is_timeout)
    return placed(record, placement, fields) if placement else record


def placed(record: Record, placement: Placement, given: Collection[str]) -> Record:
    """A record of a source that says where it has what, and the columns as that names them."""
    sequence = record.values.pop(SEQUENCE, None) if placement.sequence else None
    given = given if placement.columns else ()
    return replace(record, sequence=sequence, placement=placement, given=given)


def sequence_of(record: Record, column: str) -> int:
    """The place of an event among those of its time, as a column says."""
    raw = native(record.sequence)
    if isinstance(raw, str) and record.is_text:
        raw = _number_or_text(raw.strip())
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if isinstance(raw, int) and not isinstance(raw, bool) and abs(raw) < _LARGEST_SEQUENCE:
        return raw
    found = "null" if raw is None else shown(record.sequence)
    fact = f"{column!r} orders events by whole numbers, not by {found}"
    raise InputError(error("bad-value", fact, record.span))


_LARGEST_SEQUENCE = 2**63


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

    An attribute that a record leaves out is null. One that the type does not have is left out, and
    kept in mind in `ignored`; or it is an error, if `extra` says so. Where a type takes its time from an
    attribute, that attribute wins over '@time'; where it is null, '@time' stands in and fills it. A column
    that was named as the time wins over both. Rows of a remove stream become events with `is_old`; what
    they mean is for the engine to say.
    """

    def __init__(
        self, types: Mapping[str, EventType], extra: Literal["ignore", "error"] = "ignore"
    ) -> None:
        self.ignored: dict[str, dict[str, None]] = {}  # by type, in the order of their first use
        self._extra = extra
        self._types = types
        self._decoders: dict[tuple[str, str | None], _TypeDecoder] = {}  # by type and zone

    def decode(self, record: Record, sequence: int) -> Event | Instant:
        """The event, or for a record without a type the instant up to which time passes."""
        if record.type is None:
            return self._time_alone(record)
        given: object = record.type  # which callers may have filled with anything
        if not isinstance(given, str):
            fact = f"the type of an event is a text, not {shown(given)}"
            raise InputError(error("unknown-type", fact, record.span))
        zone = record.placement.zone
        decoder = self._decoders.get((record.type, zone)) or self._compile(record.type, record)
        values = decoder.values(record)
        instant = decoder.instant(record, values)
        is_old, is_timeout = record.is_old, record.is_timeout
        return Event(record.type, instant, values, sequence, is_old=is_old, is_timeout=is_timeout)

    def _time_alone(self, record: Record) -> Instant:
        place = record.placement
        if record.values or record.time is None:
            hint = (
                f"{place.type!r} holds the type"
                if place.type
                else "a line with '@time' alone lets time pass; an event needs '@type'"
            )
            raise InputError(error("missing-type", "an event without a type", record.span, hint))
        return _instant(record, _time_value(record), place.unit or "seconds", place.tzinfo)

    def _compile(self, name: str, record: Record) -> _TypeDecoder:
        span, place = record.span, record.placement
        if name not in self._types:
            hint = suggest(name, self._types, "event types")
            raise InputError(error("unknown-type", f"no event type {shown(name)}", span, hint))
        if self._types[name].is_open:
            fact = f"type {shown(name)} has no schema"
            raise InputError(error("no-schema", fact, span, f"create schema {name} (...)"))
        ignored = None if self._extra == "error" else self.ignored.setdefault(name, {})
        coercions = Coercions(self._types, place.tzinfo)
        decoder = _TypeDecoder(self._types[name], coercions, place.tzinfo, ignored)
        self._decoders[name, place.zone] = decoder
        return decoder


class _TypeDecoder:
    """What decoding needs to know of one type, worked out once."""

    def __init__(
        self,
        type: EventType,
        coercions: Coercions,
        zone: tzinfo,
        ignored: dict[str, None] | None,
    ) -> None:
        self._type = type
        self._zone = zone
        self._ignored = ignored
        self._names = [a.name for a in type.attributes]
        self._plain = {a.name: coercions.of(a.type) for a in type.attributes}
        self._text = {a.name: coercions.of_text(a.type) for a in type.attributes}

    def values(self, record: Record) -> dict[str, Value]:
        """The attributes in the order of the schema."""
        coercions = self._text if record.is_text else self._plain
        values: dict[str, Value] = dict.fromkeys(self._names)
        for name, raw in record.values.items():
            if name not in coercions:
                self._ignore(name, record)
                continue
            try:
                values[name] = coercions[name](raw)
            except ValueError as problem:
                fact = f"attribute {shown(name)} of {self._type.name}: {problem}"
                raise InputError(error("bad-value", fact, record.span)) from None
        return values

    def _ignore(self, name: str, record: Record) -> None:
        if name in record.placement.used:
            return
        if self._ignored is not None:
            self._ignored[str(name)] = None
            return
        fact = f"no attribute {shown(name)} in {self._type.name}"
        raise InputError(error("unknown-attribute", fact, record.span, self._slip(name)))

    def _slip(self, name: str) -> str | None:
        close = nearest(str(name), self._names)
        return None if close is None else f"did you mean {close!r}?"

    def instant(self, record: Record, values: dict[str, Value]) -> Instant:
        rule, column = self._type.time, record.placement.time
        is_said = rule is not None and values.get(rule.attribute) is not None
        if rule is not None and is_said and column is None:
            return _instant(record, values[rule.attribute], cast("TimeUnit", rule.unit), self._zone)
        if record.time is None or record.time == "":
            fact = f"an event of type {self._type.name} without a time"
            raise InputError(error("missing-time", fact, record.span, _need(column, rule, record)))
        unit = record.placement.unit_of_time(rule)
        instant = _instant(record, _time_value(record), unit, self._zone)
        if rule is not None and not is_said:
            values[rule.attribute] = self._time_attribute(instant, rule)
        return instant

    def _time_attribute(self, instant: Instant, rule: EventTime) -> Value:
        """What the time attribute would have said, so that patterns can rely on it."""
        type = self._type.find(rule.attribute)
        if type == STRING:
            return format_instant(instant)
        if type is not None and is_calendar(type):
            moment = to_datetime(instant)
            return moment if type == TIMESTAMP else moment.date()
        unit = MICROSECONDS[cast("TimeUnit", rule.unit)]
        return instant // unit if is_integral(type or ANY) else instant / unit


def _need(column: str | None, rule: EventTime | None, record: Record) -> str:
    if column is not None:
        close = None if column in record.values else nearest(column, map(str, record.values))
        holds = f"{column!r} holds the time"
        return holds if close is None else f"{holds}: did you mean {close!r}?"
    named = f"give '@time' or the attribute {rule.attribute!r}" if rule else "give '@time'"
    return f"{named}, or name its column (time=, --time)"


def _instant(record: Record, raw: object, unit: TimeUnit, zone: tzinfo) -> Instant:
    try:
        if isinstance(raw, int) and abs(raw) > _FARTHEST:
            raise OverflowError
        return int(parse_instant(raw, unit, zone))
    except OverflowError:
        fact = f"time {shown(raw)} is outside the years 1 to 9999"
    except ValueError as problem:
        fact = str(problem)
    raise InputError(error("bad-time", fact, record.span, _hint(raw, unit)))


TIME_HINT = "write ISO 8601, such as 2026-01-01T00:09:00Z, or a number of seconds"


def _hint(raw: object, unit: TimeUnit) -> str:
    if type(raw).__name__ == "Period":  # of pandas
        return "a period has a begin and an end: .dt.to_timestamp()"
    if isinstance(raw, str) and raw.strip().isdigit():
        return "this is a text; a number counts seconds"
    return _finer_unit(raw, unit) or TIME_HINT


def _finer_unit(raw: object, unit: TimeUnit) -> str | None:
    """What to say of a number that is too large for its unit, and would be a time in a finer one."""
    is_number = isinstance(raw, int | float) and not isinstance(raw, bool)
    if not is_number or not abs(cast("float", raw)) < _FARTHEST:  # nor is NaN
        return None
    for finer in (u for u in _FINER if MICROSECONDS[u] < MICROSECONDS[unit]):
        instant = int(cast("float", raw) * MICROSECONDS[finer])
        if FIRST_INSTANT <= instant <= LAST_INSTANT:
            time = format_instant(instant)
            return f"numbers count {unit}: unit='{finer}' (--unit) reads it as {time}"
    return None


_FINER: tuple[TimeUnit, ...] = ("milliseconds", "microseconds")


def _time_value(record: Record) -> object:
    """The raw '@time' as the time reader takes it: cells of digits are numbers of seconds."""
    raw = record.time
    if type(raw) is float or type(raw) is int:
        return raw
    if isinstance(raw, datetime) or (type(raw) is str and not record.is_text):
        return raw
    if isinstance(raw, date | FarTime):
        return raw
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
