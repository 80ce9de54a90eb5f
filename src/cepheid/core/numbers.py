"""The numbers that values may be: their ranges, their rounding, their shortest texts."""

from __future__ import annotations

import math
from ctypes import c_float
from decimal import ROUND_HALF_UP, Context, Decimal

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


# -- decimals ----------------------------------------------------------------------------------

# More digits than any two decimals have together.
_EXACTLY = Context(prec=80, Emax=10_000, Emin=-10_000)


def scaled(number: Decimal, scale: int) -> Decimal | None:
    """The number with so many digits after the point, halves away from zero; None if too large."""
    if number and number.adjusted() > 40:
        return None
    found = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACTLY)
    return found or abs(found)  # there is one zero only


def unscaled(number: Decimal) -> int:
    """How many units of its last digit a number is: 250 of 2.50."""
    return int(number.scaleb(-int(number.as_tuple().exponent), _EXACTLY))


def decimal_of(units: int, scale: int) -> Decimal:
    """The number of so many units of its last digit."""
    return Decimal(units).scaleb(-scale, _EXACTLY)


def fits_digits(number: Decimal, precision: int) -> bool:
    """Whether a number with the digits of its type after the point has no more than these in all."""
    return abs(unscaled(number)) < int(10**precision)
