"""What single values do: number ranges, conversions, order, and keys; one rule for all engines.

Integers wrap around (int at 32 bit, long at 64), floats are rounded to 32 bit after each
operation, doubles are IEEE 754. The order of values is total: null first, NaN after every number
and equal to itself, one zero only, strings by code point.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from typing import TypeAlias, TypeGuard

from cepheid.core.event import Event, Value
from cepheid.core.numbers import (
    INT_RANGE,
    LONG_RANGE,
    NOT_FINITE,
    fits_long,
    round_float,
    write_double,
    write_float,
)
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    DataType,
    is_open,
)

Number: TypeAlias = int | float
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


_ROUNDINGS: dict[DataType, Callable[..., Number]] = {
    INT: wrap_int,
    LONG: wrap_long,
    FLOAT: round_float,
    DOUBLE: float,
}


def widening(source: DataType, target: DataType) -> Callable[..., Number] | None:
    """How a number of one type becomes one of a wider type; None where nothing changes."""
    if source in (INT, LONG) and target in (FLOAT, DOUBLE):
        return _ROUNDINGS[target]
    return None


def rounding(type: DataType) -> Callable[..., Number]:
    """How the exact result of an operation becomes a value of its type."""
    return _ROUNDINGS.get(type, _round_number)


def is_number(value: object) -> TypeGuard[Number]:
    """Whether a value without a static type is a double or fits a long."""
    if isinstance(value, bool) or not isinstance(value, int):
        return isinstance(value, float)
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
        if number is None or not low - 1 < number < high + 1:  # NaN fails too
            return None
        return int(number)

    return convert


def _to_double(value: Value) -> Value:
    number = _to_number(value)
    return None if number is None else float(number)


def _to_float(value: Value) -> Value:
    number = _to_number(value)
    return None if number is None else round_float(float(number))


_CONVERSIONS: dict[DataType, Conversion] = {
    STRING: _to_text,
    BOOLEAN: _to_boolean,
    INT: _to_integer(*INT_RANGE),
    LONG: _to_integer(*LONG_RANGE),
    FLOAT: _to_float,
    DOUBLE: _to_double,
}


def conversion(source: DataType, target: DataType) -> Conversion:
    """What `cast` does, on values that are not null; null where a value has no counterpart.

    Numbers become integers by dropping their fraction; out of range, NaN and texts that write no
    number become null.
    """
    if source == FLOAT and target == STRING:
        return _float_to_text
    return _CONVERSIONS[target]


def can_convert(source: DataType, target: DataType) -> bool:
    """Whether `cast` from one type to the other makes sense."""
    if target not in _CONVERSIONS:
        return False
    if is_open(source) or source in (target, STRING):
        return True
    if target == STRING:
        return source in _CONVERSIONS
    return source in _ROUNDINGS and target in _ROUNDINGS


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
_NULL, _BOOLEAN, _NUMBER_RANK, _NAN, _TEXT, _ARRAY, _RECORD = range(7)
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
    if isinstance(value, int | float):
        return _GREATEST_NUMBER if is_nan(value) else (_NUMBER_RANK, value)
    if isinstance(value, list | tuple):
        return (_ARRAY, tuple(map(sort_key, value)))
    if isinstance(value, Event):
        return (_RECORD, value.instant, value.type, _sorted_entries(value.values_))
    return (_RECORD, -math.inf, "", _sorted_entries(value))


def _sorted_entries(record: dict[str, Value]) -> SortKey:
    return tuple((name, sort_key(record[name])) for name in sorted(record))


def same(left: Value, right: Value) -> bool:
    """`is`: equality that takes null and NaN for values like any other."""
    return group_key(left) == group_key(right)
