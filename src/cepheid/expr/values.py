"""What single values do: number ranges, conversions, order, and keys; one rule for all engines.

Integers wrap around (int at 32 bit, long at 64), floats are rounded to 32 bit after each
operation, doubles are IEEE 754. The order of values is total: null first, NaN after every number
and equal to itself, one zero only, strings by code point. Decimals are exact; one that has more
digits than its type is null. A day beside timestamps is its first instant in UTC.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache, partial
from typing import TypeAlias, TypeGuard

from cepheid.core.event import Event, Value
from cepheid.core.numbers import (
    INT_RANGE,
    LONG_RANGE,
    NOT_FINITE,
    fits_digits,
    fits_long,
    round_float,
    scaled,
    write_double,
    write_float,
)
from cepheid.core.time import (
    FIRST_INSTANT,
    LAST_INSTANT,
    format_instant,
    parse_instant,
    to_datetime,
    to_instant,
)
from cepheid.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    is_calendar,
    is_integral,
    is_numeric,
    is_open,
)

Number: TypeAlias = int | float | Decimal
Conversion: TypeAlias = Callable[[Value], Value]


def wrap_int(value: int) -> int:
    """The 32-bit integer that two's complement leaves of a value."""
    return ((value + 0x8000_0000) & 0xFFFF_FFFF) - 0x8000_0000


def wrap_long(value: int) -> int:
    """The 64-bit integer that two's complement leaves of a value."""
    return ((value + 0x8000_0000_0000_0000) & 0xFFFF_FFFF_FFFF_FFFF) - 0x8000_0000_0000_0000


def _round_number(value: Number) -> Number:
    """The rounding of values without a static type: integers are long, the rest double."""
    return wrap_long(value) if isinstance(value, int) else value


@lru_cache(maxsize=64)
def to_decimal(type: DecimalType) -> Callable[[int | Decimal], Decimal | None]:
    """An exact number as one of a type, halves away from zero; null where it has too many digits."""

    def convert(value: int | Decimal) -> Decimal | None:
        found = scaled(Decimal(value), type.scale)
        return found if found is not None and fits_digits(found, type.precision) else None

    return convert


_ROUNDINGS: dict[DataType, Callable[..., Number]] = {
    INT: wrap_int,
    LONG: wrap_long,
    FLOAT: round_float,
    DOUBLE: float,
}


def widening(source: DataType, target: DataType) -> Callable[..., Value] | None:
    """How a value of one type becomes one of a wider type; None where nothing changes."""
    if source in (INT, LONG) and target in (FLOAT, DOUBLE):
        return _ROUNDINGS[target]
    if isinstance(target, DecimalType) and source != target and is_numeric(source):
        return to_decimal(target)
    if isinstance(source, DecimalType) and target == DOUBLE:
        return float
    return first_instant if (source, target) == (DATE, TIMESTAMP) else None


def first_instant(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def rounding(type: DataType) -> Callable[..., Value]:
    """How the exact result of an operation becomes a value of its type."""
    if isinstance(type, DecimalType):
        return to_decimal(type)
    return _ROUNDINGS.get(type, _round_number)


def is_number(value: object) -> TypeGuard[Number]:
    """Whether a value without a static type is a decimal or a double, or fits a long."""
    if isinstance(value, bool) or not isinstance(value, int):
        return isinstance(value, float | Decimal)
    return fits_long(value)


def is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


# -- conversions -------------------------------------------------------------------------------

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)  # longer ones are out of every range
_BLANKS = " \t\r\n"
_SPECIAL_NUMBERS = {**NOT_FINITE, "+Infinity": math.inf}


def parse_number(text: str) -> Number | None:
    """The number that a text writes, or None where it writes none."""
    text = text.strip(_BLANKS)
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return _SPECIAL_NUMBERS.get(text)


def _to_text(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return write_double(value)
    if isinstance(value, datetime):
        return format_instant(to_instant(value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value) if isinstance(value, int | str) else None


def _float_to_text(value: Value) -> Value:
    return write_float(value) if isinstance(value, float) else _to_text(value)


def _to_boolean(value: Value) -> Value:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip(_BLANKS).lower())
    return value if isinstance(value, bool) else None


def _to_number(value: Value) -> Number | None:
    if isinstance(value, str):
        return parse_number(value)
    return value if is_number(value) else None


def _to_integer(low: int, high: int) -> Conversion:
    def convert(value: Value) -> Value:
        number = _to_number(value)
        if number is None or not low - 1 < number < high + 1:  # NaN fails, too
            return None
        return int(number)

    return convert


def _to_double(value: Value) -> Value:
    number = _to_number(value)
    return None if number is None else float(number)


def _to_float(value: Value) -> Value:
    number = _to_number(value)
    return None if number is None else round_float(float(number))


def _to_timestamp(value: Value) -> Value:
    if isinstance(value, str):
        try:
            return to_datetime(parse_instant(value))
        except ValueError:
            return None
    if isinstance(value, date):
        return value if isinstance(value, datetime) else first_instant(value)
    if not isinstance(value, int):
        return None
    instant = value * 1000
    return to_datetime(instant) if FIRST_INSTANT <= instant <= LAST_INSTANT else None


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def _to_date(value: Value) -> Value:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, str):
        text = value.strip(_BLANKS)
        try:
            return date.fromisoformat(text) if _DAY.fullmatch(text) else None
        except ValueError:
            return None
    return value if isinstance(value, date) else None


def _milliseconds(value: Value) -> Value:
    return to_instant(value) // 1000 if isinstance(value, datetime) else None


def _parsed_decimal(type: DecimalType, write: Callable[..., str], value: Value) -> Value:
    """From a text or a double, by the digits that people read."""
    text = write(value).strip(_BLANKS) if isinstance(value, str | float) else ""
    return to_decimal(type)(Decimal(text)) if _NUMBER.fullmatch(text) else None


def _decimal_conversion(source: DataType, target: DecimalType) -> Conversion:
    if is_integral(source) or isinstance(source, DecimalType):
        return to_decimal(target)  # type: ignore[return-value]
    writers: dict[DataType, Callable[..., str]] = {FLOAT: write_float, DOUBLE: write_double}
    write = writers.get(source, str)
    return partial(_parsed_decimal, target, write)


_CONVERSIONS: dict[DataType, Conversion] = {
    STRING: _to_text,
    TIMESTAMP: _to_timestamp,
    DATE: _to_date,
    BOOLEAN: _to_boolean,
    INT: _to_integer(*INT_RANGE),
    LONG: _to_integer(*LONG_RANGE),
    FLOAT: _to_float,
    DOUBLE: _to_double,
}


def conversion(source: DataType, target: DataType) -> Conversion:
    """What `cast` does, on values that are not null; null where a value has no counterpart.

    Numbers become integers by dropping their fraction, and decimals by rounding halves away from
    zero; out of range, NaN and texts that write no number become null. Whole numbers are timestamps as
    milliseconds, which is how `current_timestamp` counts.
    """
    if isinstance(target, DecimalType):
        return _decimal_conversion(source, target)
    if source == TIMESTAMP and target == LONG:
        return _milliseconds
    if source == FLOAT and target == STRING:
        return _float_to_text
    return _CONVERSIONS[target]


def can_convert(source: DataType, target: DataType) -> bool:
    """Whether `cast` from one type to the other makes sense."""
    if target not in _CONVERSIONS and not isinstance(target, DecimalType):
        return False
    if is_open(source) or source in (target, STRING):
        return True
    if target == STRING:
        return source in _CONVERSIONS or isinstance(source, DecimalType)
    if is_calendar(target):
        return is_calendar(source) or (is_integral(source) and target == TIMESTAMP)
    if source == TIMESTAMP:
        return target == LONG
    return is_numeric(source) and is_numeric(target)


# -- order and equality ------------------------------------------------------------------------

_NAN_KEY = ("nan",)


def group_key(value: Value) -> Hashable:
    """Equal for values that are not distinct: NaN is NaN, 1 is 1.0, but true is not 1."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, float):
        return _NAN_KEY if math.isnan(value) else value
    if isinstance(value, list | tuple):
        return ("array", *map(group_key, value))
    if isinstance(value, dict):
        return ("record", *_entries(value))
    if isinstance(value, Event):
        return ("event", value.type, value.instant, *_entries(value.values_))
    return value


def _entries(record: dict[str, Value]) -> list[Hashable]:
    return [(name, group_key(record[name])) for name in sorted(record)]


SortKey: TypeAlias = tuple[object, ...]
_NULL, _BOOLEAN, _NUMBER_RANK, _NAN, _TEXT, _TIME, _ARRAY, _RECORD = range(8)
_NULL_KEY: SortKey = (_NULL,)
_GREATEST_NUMBER: SortKey = (_NAN,)


def sort_key(value: Value) -> SortKey:
    """The place of a value in the total order of all values."""
    if value is None:
        return _NULL_KEY
    if isinstance(value, str):
        return (_TEXT, value)
    if isinstance(value, bool):
        return (_BOOLEAN, value)
    if isinstance(value, int | float | Decimal):
        return _GREATEST_NUMBER if is_nan(value) else (_NUMBER_RANK, value)
    if isinstance(value, list | tuple):
        return (_ARRAY, tuple(map(sort_key, value)))
    if isinstance(value, Event):
        return (_RECORD, value.instant, value.type, _sorted_entries(value.values_))
    if isinstance(value, date):
        return (_TIME, value)
    return (_RECORD, -math.inf, "", _sorted_entries(value))


def _sorted_entries(record: dict[str, Value]) -> SortKey:
    return tuple((name, sort_key(record[name])) for name in sorted(record))


def same(left: Value, right: Value) -> bool:
    """`is`: equality that takes null and NaN for values like any other."""
    return group_key(left) == group_key(right)
