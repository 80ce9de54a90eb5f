"""What SQLite computes in another way than Spark's ANSI mode, in Python.

Null arguments give null; what ANSI mode refuses raises ArithmeticError or ValueError with a fact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache, wraps
from typing import Any

from cepheid.core.numbers import NOT_FINITE, fits_int, fits_long
from cepheid.core.time import format_instant
from cepheid.expr.arithmetic import like_pattern

_SHOWN = 40
# What Spark leaves out around a text that it casts.
_BLANKS = "".join(map(chr, (*range(0x21), 0x7F)))
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]++\.?[0-9]*+|\.[0-9]++)([eE][+-]?[0-9]+)?[dDfF]?")
_ESCAPED = re.compile(r"\\[%_\\]")  # in a pattern of `like`
_TRUTHS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}

Function = Callable[..., Any]


def _strict(function: Function) -> Function:
    """Null where an argument is null."""

    @wraps(function)
    def checked(*arguments: Any) -> Any:
        return None if None in arguments else function(*arguments)

    return checked


def _long(value: int, fact: str) -> int:
    if fits_long(value):
        return value
    raise OverflowError(f"{fact} does not fit into 64 bits")


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def add(a: int, b: int) -> int:
    return _long(a + b, f"{a} + {b}")


def subtract(a: int, b: int) -> int:
    return _long(a - b, f"{a} - {b}")


def multiply(a: int, b: int) -> int:
    return _long(a * b, f"{a} * {b}")


def negative(a: int) -> int:
    return _long(-a, f"-({a})")


def divide(a: float, b: float) -> float | None:
    if b == 0:
        raise ZeroDivisionError(f"{a} is divided by zero")
    return _number(float(a) / float(b))


def modulo(a: float, b: float) -> float | None:
    """With the sign of the dividend."""
    if b == 0:
        raise ZeroDivisionError(f"{a} is divided by zero")
    if isinstance(a, int) and isinstance(b, int):
        return int(math.copysign(1, a)) * (abs(a) % abs(b))
    return None if math.isinf(a) else math.fmod(a, b)


def round_half_up(value: float, digits: int) -> float:
    """Of the digits that the number is written with: 2.675 becomes 2.68."""
    if not math.isfinite(value):
        return value
    step = Decimal(1).scaleb(-digits)
    exact = Decimal(repr(float(value)))
    if exact.adjusted() > _MOST_PLACES:
        return value  # no digits after the point
    return float(exact.quantize(step, ROUND_HALF_UP, _WIDE))


_MOST_PLACES = 17
_WIDE = Context(prec=40)


def floor(value: float) -> int:
    if math.isinf(value):
        raise OverflowError(f"floor({value}) is no number")
    return _long(math.floor(value), f"floor({value})")


def ceil(value: float) -> int:
    if math.isinf(value):
        raise OverflowError(f"ceil({value}) is no number")
    return _long(math.ceil(value), f"ceil({value})")


def sign(value: float) -> float:
    return float((value > 0) - (value < 0))


def length(text: str) -> int:
    return len(text)


def lower(text: str) -> str:
    return text.lower()


def upper(text: str) -> str:
    return text.upper()


def substring(text: str, start: int, length: int | None = None) -> str:
    """Places count from one, negative ones from the end."""
    for value in (start, length):
        if value is not None and not fits_int(value):
            raise OverflowError(f"place {value} of a text does not fit into 32 bits")
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    last = len(text) if length is None else first + length
    return text[max(first, 0) : max(last, 0)] if last > first else ""


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    if _ESCAPED.sub("", pattern).count("\\"):
        raise ValueError(f"a backslash stands before no sign of the pattern {_show(pattern)}")
    return like_pattern(pattern, "\\")


def like(text: str, pattern: str) -> bool:
    return _pattern(pattern).fullmatch(text) is not None


def to_number(text: str) -> float | None:
    bare = text.strip(_BLANKS)
    if _NUMBER.fullmatch(bare):
        return float(bare.rstrip("dDfF"))
    word = bare.lstrip("+-").lower()
    if word in ("inf", "infinity") and len(bare) - len(word) <= 1:
        return -math.inf if bare.startswith("-") else math.inf
    if bare.lower() == "nan":
        return None
    raise ValueError(f"{_show(text)} is no number")


def to_integer(value: str | float) -> int:
    if isinstance(value, str):
        bare = value.strip(_BLANKS)
        if not _INTEGER.fullmatch(bare):
            raise ValueError(f"{_show(value)} is no whole number")
        return _long(int(bare), _show(value))
    if not math.isfinite(value):
        raise OverflowError(f"{value} is no whole number")
    return _long(math.trunc(value), str(value))


def to_boolean(text: str) -> bool:
    found = _TRUTHS.get(text.strip(_BLANKS).lower())
    if found is None:
        raise ValueError(f"{_show(text)} is neither true nor false")
    return found


def to_text(value: int) -> str:
    """Of a truth value."""
    return "true" if value else "false"


def _show(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def number_text(value: float) -> str:
    """The shortest digits that mean the number; whole ones without a fraction."""
    if not math.isfinite(value):
        return next(text for text, known in NOT_FINITE.items() if known == value)
    return repr(float(value) + 0.0).removesuffix(".0")


_TEXTS: dict[str, Callable[[Any], str]] = {
    "s": str,
    "b": to_text,
    "i": str,
    "d": number_text,
    "t": format_instant,
}


def format_message(template: str, kinds: str, *values: Any) -> str:
    """`kinds` says how each value is written, a letter for each."""
    texts = iter([
        "null" if value is None else _TEXTS[kind](value)
        for kind, value in zip(kinds, values, strict=True)
    ])  # fmt: skip
    return re.sub("%.", lambda m: "%" if m[0] == "%%" else next(texts), template)


_STRICT: tuple[tuple[str, Function], ...] = (
    ("add", add),
    ("subtract", subtract),
    ("multiply", multiply),
    ("negative", negative),
    ("divide", divide),
    ("modulo", modulo),
    ("round", round_half_up),
    ("floor", floor),
    ("ceil", ceil),
    ("sign", sign),
    ("length", length),
    ("lower", lower),
    ("upper", upper),
    ("substring", substring),
    ("like", like),
    ("to_number", to_number),
    ("to_integer", to_integer),
    ("to_boolean", to_boolean),
    ("to_text", to_text),
)
FUNCTIONS: dict[str, Function] = {
    "cepheid_format": format_message,
    **{f"cepheid_{name}": _strict(function) for name, function in _STRICT},
}


class SumOfIntegers:
    """Exact; only the result has to fit."""

    def __init__(self) -> None:
        self.total = 0
        self.count = 0

    def step(self, value: int | None) -> None:
        if value is not None:
            self.total += value
            self.count += 1

    def finalize(self) -> int | None:
        return _long(self.total, "a sum") if self.count else None


class AverageOfIntegers(SumOfIntegers):
    def finalize(self) -> float | None:  # type: ignore[override]
        return float(self.total) / self.count if self.count else None


class SumOfNumbers:
    """Adds in ascending order, as every engine does, so that all have the same bits."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def step(self, value: float | None) -> None:
        if value is not None:
            self.values.append(float(value))

    def finalize(self) -> float | None:
        total = 0.0
        for value in sorted(self.values):  # sum() of newer Pythons adds more exactly than others do
            total += value
        return _number(total) if self.values else None


class AverageOfNumbers(SumOfNumbers):
    def finalize(self) -> float | None:
        total = super().finalize()
        return None if total is None else total / len(self.values)


AGGREGATES: dict[str, type] = {
    "cepheid_sum_of_integers": SumOfIntegers,
    "cepheid_average_of_integers": AverageOfIntegers,
    "cepheid_sum_of_numbers": SumOfNumbers,
    "cepheid_average_of_numbers": AverageOfNumbers,
}
