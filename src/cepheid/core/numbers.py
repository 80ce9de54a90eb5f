"""The numbers that values may be: their ranges, their rounding, their shortest texts."""

from __future__ import annotations

import math
from ctypes import c_float

INT_RANGE = (-(2**31), 2**31 - 1)
LONG_RANGE = (-(2**63), 2**63 - 1)
# How texts and files write what has no digits.
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def fits_int(value: float) -> bool:
    return INT_RANGE[0] <= value <= INT_RANGE[1]


def fits_long(value: float) -> bool:
    return LONG_RANGE[0] <= value <= LONG_RANGE[1]


def round_float(value: float) -> float:
    """The nearest 32-bit float; beyond its range an infinity."""
    return c_float(value).value


def write_double(value: float) -> str:
    """The shortest text that reads back as the same double: `1.0`, `1e+16`, `NaN`, `Infinity`."""
    if math.isfinite(value):
        return repr(float(value))
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def write_float(value: float) -> str:
    """The shortest text that reads back as the same 32-bit float; nine digits always do."""
    for digits in range(1, 9):
        short = float(f"{value:.{digits}g}")
        if round_float(short) == value:
            return write_double(short)
    return write_double(float(f"{value:.9g}"))
