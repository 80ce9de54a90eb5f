"""Columns of Arrow as columns of attributes, wherever nothing has to be said about single values.

What a column holds is taken over or converted as a whole, with the result that the decoder has value by
value. Where that is in doubt, or where a value does not fit, `NeedsRecords` sends the reader back to records,
which know the place of each value and what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, MICROSECONDS, TimeUnit
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
)
from cepheid.io.arrow import arrow_type, without_nanoseconds

Array: TypeAlias = Any  # of Arrow, whose stubs know less than it does
Words: TypeAlias = npt.NDArray[np.int64]

INSTANT = pa.timestamp("us", "UTC")
EXACT = 2**53  # below, no two whole numbers are one double


class NeedsRecords(Exception):
    """These events need a look at each of them."""


def refuse(reason: str) -> NoReturn:
    raise NeedsRecords(reason)


# Attributes -----------------------------------------------------------------------------------


def attribute(array: Array, type: DataType) -> Array:
    """A column as values of a scalar type."""
    wanted = stored(type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        return array.cast(wanted)
    convert = _conversion(type)
    assert convert is not None
    return convert(array, wanted)


def stored(type: DataType) -> pa.DataType:
    """As which Arrow type a scalar is held; nested values are not to be had in columns."""
    if _conversion(type) is None:
        refuse(f"attributes of type {type}")
    return arrow_type(type, {})


def _whole(array: Array, wanted: pa.DataType) -> Array:
    if pa.types.is_floating(array.type):
        array = array.cast(pa.float64())
        numbers = array.fill_null(0).to_numpy(zero_copy_only=False)
        if not (np.abs(numbers) < EXACT).all():  # nor is NaN
            refuse("large numbers")
    elif not pa.types.is_integer(array.type):
        refuse(f"whole numbers from {array.type}")
    return array.cast(wanted)  # refuses what does not fit, and fractions


def _double(array: Array, wanted: pa.DataType) -> Array:
    if not (pa.types.is_floating(array.type) or pa.types.is_integer(array.type)):
        refuse(f"numbers from {array.type}")
    return array.cast(wanted)  # refuses whole numbers that no double is equal to


def _float(array: Array, wanted: pa.DataType) -> Array:
    if array.type == wanted:
        return array
    doubles = _double(array, pa.float64())
    rounded = doubles.cast(wanted, safe=False)
    if not pc.is_finite(rounded).equals(pc.is_finite(doubles)):
        refuse("numbers beyond a float")
    return rounded


def _string(array: Array, wanted: pa.DataType) -> Array:
    if not is_text(array.type):
        refuse(f"strings from {array.type}")
    array.validate(full=True)  # refuses what is not UTF-8
    return array.cast(wanted)


def _boolean(array: Array, wanted: pa.DataType) -> Array:
    if array.type != wanted:
        refuse(f"booleans from {array.type}")
    return array


def is_text(type: pa.DataType) -> bool:
    return pa.types.is_string(type) or pa.types.is_large_string(type)


def _timestamp(array: Array, wanted: pa.DataType) -> Array:
    if not pa.types.is_timestamp(array.type):
        refuse(f"timestamps from {array.type}")
    return pa.array(of_timestamps(array), mask=_mask(array)).cast(wanted)


def _date(array: Array, wanted: pa.DataType) -> Array:
    if array.type != wanted:
        refuse(f"dates from {array.type}")
    days = _words(array.cast(pa.int32()).fill_null(0))
    check_calendar(days, MICROSECONDS["days"])  # Arrow has dates that Python does not
    return array


def _decimal(array: Array, wanted: pa.DataType) -> Array:
    if not (pa.types.is_decimal(array.type) or pa.types.is_integer(array.type)):
        refuse(f"decimals from {array.type}")
    return array.cast(wanted)  # refuses digits that would be lost


def _mask(array: Array) -> Any:
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def _conversion(type: DataType) -> Callable[[Array, pa.DataType], Array] | None:
    return _decimal if isinstance(type, DecimalType) else _CONVERSIONS.get(type)


_CONVERSIONS: dict[DataType, Callable[[Array, pa.DataType], Array]] = {
    INT: _whole,
    LONG: _whole,
    FLOAT: _float,
    DOUBLE: _double,
    STRING: _string,
    BOOLEAN: _boolean,
    TIMESTAMP: _timestamp,
    DATE: _date,
}


# Times ----------------------------------------------------------------------------------------


def instants(array: Array, unit: TimeUnit = "seconds") -> Words:
    """A column of times as microseconds since the epoch: timestamps, ISO texts, numbers of units."""
    if array.null_count:
        refuse("events without a time")
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type):
        found = of_timestamps(array)
    elif pa.types.is_integer(array.type):
        found = _of_integers(array, MICROSECONDS[unit])
    elif pa.types.is_floating(array.type):
        found = _of_doubles(array, MICROSECONDS[unit])
    elif is_text(array.type):
        found = of_timestamps(array.cast(timestamp_type(array[0].as_py() if len(array) else "")))
    else:
        refuse(f"times from {array.type}")
    return found


def check_calendar(micros: Any, unit: int = 1) -> None:
    """Numbers that are instants, if they count so many microseconds; NaN is not."""
    if not len(micros):
        return
    first, last = micros.min().item() * unit, micros.max().item() * unit
    if not FIRST_INSTANT <= first <= last <= LAST_INSTANT:
        refuse("times outside the calendar")


def timestamp_type(text: str) -> pa.DataType:
    """As what texts can be read that are like this one; Arrow takes all with a zone, or none."""
    clock = text[10:]
    has_zone = clock.endswith("Z") or "+" in clock or "-" in clock
    return INSTANT if has_zone else pa.timestamp("us")


def of_timestamps(array: Array) -> Words:
    """Timestamps as microseconds since the epoch; those of nulls mean nothing."""
    exact = without_nanoseconds(array).cast(pa.timestamp("us", array.type.tz))
    micros = _words(exact.cast(pa.int64()).fill_null(0))
    check_calendar(micros)
    return micros


def _of_integers(array: Array, unit: int) -> Words:
    counts = _words(array.cast(pa.int64()))
    check_calendar(counts, unit)  # before there may be an overflow
    return counts * unit


def _of_doubles(array: Array, unit: int) -> Words:
    counts = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    check_calendar(counts)  # no unit is shorter, and so there is no overflow below
    micros = counts * unit
    check_calendar(micros)
    found: Words = np.rint(micros).astype(np.int64)
    return found


def _words(array: Array) -> Words:
    found: Words = array.to_numpy(zero_copy_only=False)
    return found
