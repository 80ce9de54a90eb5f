"""The operators on numbers and texts, for values that are not null; one rule for all engines.

`+ - *` are exact and then rounded to their type (`values.rounding`). `/` converts both sides to
double and follows IEEE 754, so dividing by zero gives an infinity or NaN. `%` has the sign of the
dividend; on integers and decimals x % 0 is null, on floats it is NaN. On decimals `+ - * %` are exact
and null where the result has more digits than its type. Nothing here raises.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from cepheid.core.event import Value
from cepheid.core.numbers import round_float
from cepheid.core.types import (
    ANY,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    MOST_DIGITS,
    DataType,
    DecimalType,
    as_decimal,
    wider,
)
from cepheid.expr.values import (
    Number,
    is_number,
    rounding,
    to_decimal,
    wrap_int,
    wrap_long,
)

BinaryFunction: TypeAlias = Callable[..., Value]
Exact: TypeAlias = Callable[..., Any]


def divide(left: Number, right: Number) -> float:
    dividend, divisor = float(left), float(right)
    if divisor != 0.0:
        return dividend / divisor
    if dividend == 0.0 or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def remainder_of_integers(left: int, right: int) -> int | None:
    if right == 0:
        return None
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def remainder_of_floats(left: float, right: float) -> float:
    try:
        return math.fmod(left, right)
    except ValueError:  # of an infinity, or by zero
        return math.nan


def remainder(left: Number, right: Number) -> Number | None:
    """`%` on values without a static type, or of one type."""
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return _EXACTLY.remainder(left, right) if right else None
    if isinstance(left, int) and isinstance(right, int):
        return remainder_of_integers(left, right)
    return remainder_of_floats(float(left), float(right))


def _wrapped_int(function: Exact) -> BinaryFunction:
    return lambda left, right: wrap_int(function(left, right))


def _wrapped_long(function: Exact) -> BinaryFunction:
    return lambda left, right: wrap_long(function(left, right))


def _rounded_float(function: Exact) -> BinaryFunction:
    return lambda left, right: round_float(function(left, right))


def _as_it_is(function: Exact) -> BinaryFunction:
    return function


def _on_numbers_only(function: Exact) -> BinaryFunction:
    """For values without a static type: null where one of them is not a number."""
    fit = rounding(ANY)

    def apply(left: Value, right: Value) -> Value:
        if not (is_number(left) and is_number(right)):
            return None
        result = function(left, right)
        return None if result is None else fit(result)

    return apply


_EXACT: dict[str, Exact] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


_MAKERS: dict[DataType, Callable[[Exact], BinaryFunction]] = {
    INT: _wrapped_int,
    LONG: _wrapped_long,
    FLOAT: _rounded_float,
    DOUBLE: _as_it_is,
}


# More digits than a product of two decimals has.
_EXACTLY = Context(prec=80)


def decimal_type(symbol: str, left: DataType, right: DataType) -> DecimalType | None:
    """The type of `+ - * %` on exact numbers, one a decimal; None where too many digits follow the point."""
    one, other = as_decimal(left), as_decimal(right)
    if one is None or other is None:
        return None
    if symbol == "*":
        scale = one.scale + other.scale
        digits = one.precision + other.precision
        return DecimalType(min(digits, MOST_DIGITS), scale) if scale <= MOST_DIGITS else None
    common = wider(one, other)
    assert isinstance(common, DecimalType)
    more = common.precision if symbol == "%" else common.precision + 1
    return DecimalType(min(more, MOST_DIGITS), common.scale)


def _on_decimals(symbol: str, type: DecimalType) -> BinaryFunction:
    fit = to_decimal(type)
    compute: Callable[[Decimal, Decimal], Decimal] = {
        "+": _EXACTLY.add,
        "-": _EXACTLY.subtract,
        "*": _EXACTLY.multiply,
        "%": _EXACTLY.remainder,
    }[symbol]

    def apply(left: int | Decimal, right: int | Decimal) -> Decimal | None:
        if symbol == "%" and not right:
            return None
        return fit(compute(Decimal(left), Decimal(right)))

    return apply


def arithmetic(symbol: str, type: DataType) -> BinaryFunction:
    """The function of an operator on operands that were converted to a common type.

    Operands of decimals are as they are, and the type is that of the result.
    """
    if isinstance(type, DecimalType):
        return _on_decimals(symbol, type)
    if symbol == "/":
        return divide if type == DOUBLE else _on_numbers_only(divide)
    if symbol == "%":
        if type in (INT, LONG):
            return remainder_of_integers
        return remainder_of_floats if type in (FLOAT, DOUBLE) else _on_numbers_only(remainder)
    return _MAKERS.get(type, _on_numbers_only)(_EXACT[symbol])


# -- text patterns -----------------------------------------------------------------------------


@lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """The regular expression of a `like` pattern: `%` is any text, `_` any character.

    Every part between two `%` may settle for its first occurrence, so the groups are atomic and
    matching takes no exponential time.
    """
    first, *others = _like_pieces(pattern, escape)
    if not others:
        return re.compile(first, re.DOTALL)
    *middle, last = others
    inner = "".join(f"(?>.*?{piece})" for piece in middle)
    return re.compile(f"{first}{inner}.*{last}", re.DOTALL)


def _like_pieces(pattern: str, escape: str | None) -> list[str]:
    """Regular expressions of what stands between the `%`s; a lone escape stands for itself."""
    pieces = [""]
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == escape and position + 1 < len(pattern):
            position += 1
            pieces[-1] += re.escape(pattern[position])
        elif character == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if character == "_" else re.escape(character)
        position += 1
    return pieces
