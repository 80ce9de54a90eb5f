"""The operators on numbers and texts, for values that are not null; one rule for all engines.

`+ - *` are exact and then rounded to their type (`values.rounding`). `/` converts both sides to
double and follows IEEE 754, so dividing by zero gives an infinity or NaN. `%` has the sign of the
dividend; on integers x % 0 is null, on floats it is NaN. Nothing here raises.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from cepheid.core.event import Value
from cepheid.core.numbers import round_float
from cepheid.core.types import ANY, DOUBLE, FLOAT, INT, LONG, DataType
from cepheid.expr.values import Number, is_number, rounding, wrap_int, wrap_long

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
    """`%` on values without a static type."""
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


def arithmetic(symbol: str, type: DataType) -> BinaryFunction:
    """The function of an operator on operands that were converted to a common type."""
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
