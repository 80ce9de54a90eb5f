"""The functions of single values: how each is called, what it gives, and what it is for.

Where a domain ends, results follow IEEE 754 (`sqrt(-1)` is NaN, `ln(0)` is -Infinity); no function
raises, but where a text would grow beyond `MOST_TEXT`. A null argument gives null except where the function is about nulls (`coalesce`, `nullif`).
Positions in texts count from one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any

from cepheid.core.event import Value
from cepheid.core.time import zone_named
from cepheid.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    MOST_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    EventType,
    is_calendar,
    is_integral,
    is_numeric,
    is_open,
    is_ordered,
    wider,
)
from cepheid.errors import RunError, error, suggest
from cepheid.expr import dates
from cepheid.expr.arithmetic import remainder
from cepheid.expr.tree import Call, Expr, Literal, walk
from cepheid.expr.values import Number, can_convert, is_nan, is_number, same, sort_key

MOST_TEXT = 1 << 24  # characters of a text that functions make of others


class Kind(Enum):
    """What an argument may be; of some, a literal must say something that exists."""

    NUMBER = "a number"
    WHOLE = "a whole number"
    STRING = "a string"
    TEXT = "a string, number, time or boolean"  # turned into a string as `cast` does
    ORDERED = "a number, a string or a time"
    TIME = "a timestamp or a date"
    PART = "a part of a time, such as 'hour'"
    UNIT = "a unit of time, such as 'day'"
    PATTERN = "a pattern, such as 'yyyy-MM-dd'"
    ZONE = "a time zone, such as 'Europe/Berlin'"
    VALUE = "a value"

    def accepts(self, type: DataType) -> bool:
        return is_open(type) or _ACCEPTS[self](type)

    def admits(self, value: Value) -> bool:
        """Whether a value without a static type will do."""
        return _ADMITS[self](value)


_ACCEPTS: dict[Kind, Callable[[DataType], bool]] = {
    Kind.NUMBER: is_numeric,
    Kind.WHOLE: is_integral,
    Kind.STRING: lambda t: t == STRING,
    Kind.TEXT: lambda t: can_convert(t, STRING),
    Kind.ORDERED: is_ordered,
    Kind.TIME: is_calendar,
    **dict.fromkeys((Kind.PART, Kind.UNIT, Kind.PATTERN, Kind.ZONE), lambda t: t == STRING),
    Kind.VALUE: lambda _: True,
}
_ADMITS: dict[Kind, Callable[[Value], bool]] = {
    Kind.NUMBER: is_number,
    Kind.WHOLE: lambda value: isinstance(value, int) and is_number(value),
    Kind.STRING: lambda value: isinstance(value, str),
    Kind.TEXT: lambda value: isinstance(value, str | int | float | Decimal | date),
    Kind.ORDERED: lambda value: isinstance(value, str | date) or is_number(value),
    Kind.TIME: lambda value: isinstance(value, date),
    **dict.fromkeys(
        (Kind.PART, Kind.UNIT, Kind.PATTERN, Kind.ZONE), lambda value: isinstance(value, str)
    ),
    Kind.VALUE: lambda _: True,
}


class Result(Enum):
    """Result types that depend on the arguments."""

    FIRST = "the type of the first argument"
    COMMON = "the type that holds all arguments, which are converted to it"
    TIME = "the type of the argument that is a time"


@dataclass(frozen=True, slots=True)
class Function:
    """A function: `usage` shows how to call it, `apply` gets its converted arguments."""

    usage: str
    doc: str
    parameters: tuple[Kind, ...]
    result: DataType | Result
    apply: Callable[..., Value]
    optional: int = 0  # how many of the last parameters may be left out
    repeats: bool = False  # the last parameter may be given any number of times
    sees_nulls: bool = False
    of_frame: bool = False  # `apply` gets the frame instead of arguments

    def accepts_count(self, count: int) -> bool:
        least = len(self.parameters) - self.optional
        return least <= count and (self.repeats or count <= len(self.parameters))

    def kind(self, position: int) -> Kind:
        return self.parameters[min(position, len(self.parameters) - 1)]

    def result_type(
        self, types: Sequence[DataType], known: Mapping[str, EventType]
    ) -> DataType | None:
        """The type of a call with arguments of these types; None where they do not go together."""
        if self.result is Result.COMMON:
            return common_type(types, known)
        if self.result is Result.FIRST:
            return _one_digit_more(types[0])
        if self.result is Result.TIME:
            return next((t for t in types if not is_open(t) and is_calendar(t)), TIMESTAMP)
        assert isinstance(self.result, DataType)
        return self.result


def _one_digit_more(type: DataType) -> DataType:
    """What rounding may need: 0.99 is nearly 1."""
    if not isinstance(type, DecimalType):
        return type
    return DecimalType(min(type.precision + 1, MOST_DIGITS), type.scale)


def misfit(kind: Kind, call: Call, argument: Literal) -> tuple[str, str | None] | None:
    """What is wrong with a literal that says which part, unit, pattern or zone is meant, and a hint."""
    value = argument.value
    if not isinstance(value, str):
        return None
    if kind is Kind.PART or kind is Kind.UNIT:
        is_day = kind is Kind.UNIT and DATE in {a.type for a in call.arguments}
        known = dates.PARTS if kind is Kind.PART else dates.UNITS
        if value not in known:
            return f"no {kind.name.lower()} of time {value!r}", suggest(value, known, "known")
        if is_day and value not in dates.UNITS_OF_DAYS and call.function != "date_diff":
            return f"a date has no {value}", "cast it to timestamp"
        return None
    check = {Kind.PATTERN: dates.pattern_pieces, Kind.ZONE: zone_named}.get(kind)
    try:
        if check is not None:
            check(value)
    except ValueError as problem:
        fields = f"fields: {', '.join(dates.LETTERS)}; other letters in quotes"
        return str(problem), fields if kind is Kind.PATTERN else "zones have names as Europe/Berlin"
    return None


def common_type(
    types: Sequence[DataType], known: Mapping[str, EventType] = MappingProxyType({})
) -> DataType | None:
    """The type that holds values of all the types; `known` says which events are of which."""
    common: DataType = NULL
    for type in types:
        held = wider(common, type, known)
        if held is None:
            return None
        common = held
    return common


# -- numbers -----------------------------------------------------------------------------------


def _ieee(function: Callable[[float], float]) -> Callable[[Number], float]:
    """A function of a double whose domain errors give NaN and whose overflow is infinite."""

    def apply(value: Number) -> float:
        try:
            return function(value)  # type: ignore[arg-type]  # which a decimal becomes
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return apply


def _logarithm(function: Callable[[float], float]) -> Callable[[Number], float]:
    safe = _ieee(function)
    return lambda value: -math.inf if value == 0 else safe(value)


def _power(base: Number, exponent: Number) -> float:
    x, y = float(base), float(exponent)
    odd = math.fmod(y, 2.0) in (1.0, -1.0) if math.isfinite(y) else False
    sign = math.copysign(1.0, x) if odd else 1.0
    try:
        return math.pow(x, y)
    except OverflowError:
        return sign * math.inf
    except ValueError:
        # C gives an infinity for a pole at zero; only a negative base has no real power.
        return sign * math.inf if x == 0.0 else math.nan


def _sign(value: Number) -> Number:
    if value == 0 or is_nan(value):
        return value
    one = type(value)(1)
    return one if value > 0 else -one


def _towards(function: Callable[..., int]) -> Callable[[Number], Number]:
    def apply(value: Number) -> Number:
        if isinstance(value, int) or not math.isfinite(value):
            return value
        if isinstance(value, Decimal):
            return Decimal(function(value))
        return math.copysign(function(value), value)

    return apply


def _round(value: Number, digits: int = 0) -> Number:
    """Half away from zero, of the shortest decimal that writes the number."""
    if isinstance(value, int):
        return _round_whole(value, -digits) if digits < 0 else value
    if isinstance(value, Decimal):
        return _round_decimal(value, digits)
    if not math.isfinite(value) or digits > 350:
        return value
    if digits < -310:
        return math.copysign(0.0, value)
    step = Decimal(1).scaleb(-digits)
    rounded = Decimal(repr(value)).quantize(step, ROUND_HALF_UP, Context(prec=800))
    return math.copysign(float(rounded), value)


def _round_decimal(value: Decimal, digits: int) -> Decimal:
    if digits >= MOST_DIGITS:
        return value
    if digits < -MOST_DIGITS:
        return Decimal(0)
    return value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, Context(prec=80))


def _round_whole(value: int, zeros: int) -> int:
    if zeros > 19:
        return 0
    step = int(10**zeros)
    rounded = (abs(value) + step // 2) // step * step
    return -rounded if value < 0 else rounded


def _least(*values: Value) -> Value:
    return min(values, key=sort_key)


def _greatest(*values: Value) -> Value:
    return max(values, key=sort_key)


# -- nulls -------------------------------------------------------------------------------------


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _nullif(value: Value, unwanted: Value) -> Value:
    return None if same(value, unwanted) and not is_nan(value) else value


# -- texts -------------------------------------------------------------------------------------

_BLANKS = " \t\r\n"


def _substring(text: str, start: int, length: int | None = None) -> str:
    """The characters at the positions start, start + 1, ... that exist."""
    end = len(text) if length is None else start - 1 + length
    return text[max(start - 1, 0) : max(end, 0)]


def _replace(text: str, old: str, new: str) -> str:
    if len(new) > len(old) > 0:
        expect_length(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new) if old else text


def joined(*texts: str) -> str:
    """`||` and `concat`."""
    expect_length(sum(map(len, texts)))
    return "".join(texts)


def expect_length(length: int) -> None:
    """Texts that statements make of each other's would else grow without end."""
    if length > MOST_TEXT:
        fact = f"a text would have {length:,} characters; {MOST_TEXT:,} are the most"
        raise RunError(error("too-large", fact))


def _left(text: str, count: int) -> str:
    return text[: max(count, 0)]


def _right(text: str, count: int) -> str:
    return text[max(len(text) - max(count, 0), 0) :]


# -- the registry ------------------------------------------------------------------------------

_N, _W, _S, _T, _O, _V = (
    Kind.NUMBER,
    Kind.WHOLE,
    Kind.STRING,
    Kind.TEXT,
    Kind.ORDERED,
    Kind.VALUE,
)


def _calendar(
    usage: str, doc: str, parameters: tuple[Kind, ...], result: DataType | Result, apply: Any
) -> Function:
    """A function that may be given a zone."""
    usage = f"{usage.removesuffix(')')}[, zone])"
    return Function(usage, doc, (*parameters, Kind.ZONE), result, apply, optional=1)


def _double(name: str, doc: str, apply: Callable[[Number], float]) -> Function:
    return Function(f"{name}(number)", doc, (_N,), DOUBLE, apply)


def _text(name: str, doc: str, apply: Callable[[str], str]) -> Function:
    return Function(f"{name}(text)", doc, (_S,), STRING, apply)


def _test(usage: str, doc: str, apply: Callable[[str, str], bool]) -> Function:
    return Function(usage, doc, (_S, _S), BOOLEAN, apply)


_POWER = Function("power(base, exponent)", "base to the exponent", (_N, _N), DOUBLE, _power)
_LN = _double("ln", "natural logarithm", _logarithm(math.log))
_CEILING = Function(
    "ceiling(number)", "next whole number up", (_N,), Result.FIRST, _towards(math.ceil)
)

FUNCTIONS: dict[str, Function] = {
    "abs": Function("abs(number)", "absolute value", (_N,), Result.FIRST, abs),
    "sign": Function("sign(number)", "-1, 0 or 1", (_N,), Result.FIRST, _sign),
    "sqrt": _double("sqrt", "square root", _ieee(math.sqrt)),
    "power": _POWER,
    "pow": _POWER,
    "exp": _double("exp", "e to the number", _ieee(math.exp)),
    "ln": _LN,
    "log": _LN,
    "log10": _double("log10", "decimal logarithm", _logarithm(math.log10)),
    "sin": _double("sin", "sine of radians", _ieee(math.sin)),
    "cos": _double("cos", "cosine of radians", _ieee(math.cos)),
    "tan": _double("tan", "tangent of radians", _ieee(math.tan)),
    "asin": _double("asin", "arc sine in radians", _ieee(math.asin)),
    "acos": _double("acos", "arc cosine in radians", _ieee(math.acos)),
    "atan": _double("atan", "arc tangent in radians", _ieee(math.atan)),
    "atan2": Function("atan2(y, x)", "angle of a point in radians", (_N, _N), DOUBLE, math.atan2),
    "radians": _double("radians", "degrees as radians", math.radians),
    "degrees": _double("degrees", "radians as degrees", math.degrees),
    "pi": Function("pi()", "the number pi", (), DOUBLE, lambda: math.pi),
    "floor": Function(
        "floor(number)", "next whole number down", (_N,), Result.FIRST, _towards(math.floor)
    ),
    "ceiling": _CEILING,
    "ceil": _CEILING,
    "round": Function(
        "round(number[, digits])",
        "rounds to digits after the point, halves away from zero",
        (_N, _W),
        Result.FIRST,
        _round,
        optional=1,
    ),
    "mod": Function(
        "mod(number, divisor)", "the same as number % divisor", (_N, _N), Result.COMMON, remainder
    ),
    "min": Function("min(a, b, ...)", "the least", (_O, _O), Result.COMMON, _least, repeats=True),
    "max": Function(
        "max(a, b, ...)", "the greatest", (_O, _O), Result.COMMON, _greatest, repeats=True
    ),
    "coalesce": Function(
        "coalesce(a, b, ...)",
        "the first that is not null",
        (_V,),
        Result.COMMON,
        _coalesce,
        repeats=True,
        sees_nulls=True,
    ),
    "nullif": Function(
        "nullif(a, b)",
        "null if a = b, else a",
        (_V, _V),
        Result.COMMON,
        _nullif,
        sees_nulls=True,
    ),
    "length": Function("length(text)", "number of characters", (_S,), INT, len),
    "upper": _text("upper", "in capital letters", str.upper),
    "lower": _text("lower", "in small letters", str.lower),
    "trim": _text("trim", "without blanks at both ends", lambda text: text.strip(_BLANKS)),
    "ltrim": _text("ltrim", "without blanks at the start", lambda text: text.lstrip(_BLANKS)),
    "rtrim": _text("rtrim", "without blanks at the end", lambda text: text.rstrip(_BLANKS)),
    "substring": Function(
        "substring(text, start[, length])",
        "the part from a position on",
        (_S, _W, _W),
        STRING,
        _substring,
        optional=1,
    ),
    "left": Function("left(text, count)", "the first characters", (_S, _W), STRING, _left),
    "right": Function("right(text, count)", "the last characters", (_S, _W), STRING, _right),
    "replace": Function(
        "replace(text, old, new)", "every old replaced by new", (_S, _S, _S), STRING, _replace
    ),
    "concat": Function(
        "concat(a, b, ...)",
        "the texts joined, as || does",
        (_T,),
        STRING,
        joined,
        repeats=True,
    ),
    "startswith": _test("startswith(text, part)", "whether it starts so", str.startswith),
    "endswith": _test("endswith(text, part)", "whether it ends so", str.endswith),
    "contains": _test("contains(text, part)", "whether the part occurs", str.__contains__),
    "instr": Function(
        "instr(text, part)",
        "where the part first occurs, 0 if nowhere",
        (_S, _S),
        INT,
        lambda text, part: text.find(part) + 1,
    ),
    "position": Function(
        "position(part, text)",
        "where the part first occurs, 0 if nowhere",
        (_S, _S),
        INT,
        lambda part, text: text.find(part) + 1,
    ),
    "extract": _calendar(
        "extract(part, time)",
        "a number of its date or of its clock",
        (Kind.PART, Kind.TIME),
        INT,
        dates.extract,
    ),
    "date_trunc": _calendar(
        "date_trunc(unit, time)",
        "when the unit around it began",
        (Kind.UNIT, Kind.TIME),
        Result.TIME,
        dates.truncate,
    ),
    "date_add": _calendar(
        "date_add(unit, count, time)",
        "so many units later",
        (Kind.UNIT, _W, Kind.TIME),
        Result.TIME,
        dates.add,
    ),
    "date_diff": _calendar(
        "date_diff(unit, from, to)",
        "how many whole units pass",
        (Kind.UNIT, Kind.TIME, Kind.TIME),
        LONG,
        dates.difference,
    ),
    "date_format": _calendar(
        "date_format(time, pattern)",
        "as a text, UTC unless a zone is given",
        (Kind.TIME, Kind.PATTERN),
        STRING,
        dates.formatted,
    ),
    "to_timestamp": _calendar(
        "to_timestamp(text, pattern)",
        "the time that a text says, else null",
        (_S, Kind.PATTERN),
        TIMESTAMP,
        dates.parsed,
    ),
    "current_timestamp": Function(
        "current_timestamp()",
        "the clock in milliseconds since the epoch",
        (),
        LONG,
        lambda frame: frame.now // 1000,
        of_frame=True,
    ),
    "istream": Function(
        "istream()",
        "whether the row is new, not one that leaves",
        (),
        BOOLEAN,
        lambda frame: frame.is_new,
        of_frame=True,
    ),
}


def reads_clock(expr: Expr) -> bool:
    """Whether its value depends on when it is asked for: on the clock, or on the way of its row."""
    return any(isinstance(node, Call) and _is_of_frame(node) for node in walk(expr))


def calls_python(expr: Expr) -> bool:
    """Whether it calls functions of users, which may fail."""
    return any(isinstance(node, Call) and node.python is not None for node in walk(expr))


def _is_of_frame(call: Call) -> bool:
    known = FUNCTIONS.get(call.function)
    if call.python is not None:
        return False
    return known is None or known.of_frame  # of what does not exist, everything may be true


# -- functions of many rows --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """A function of many rows; `expr.aggregates` computes it."""

    doc: str
    parameter: Kind
    result: DataType | Result


AGGREGATES: dict[str, AggregateFunction] = {
    "avedev": AggregateFunction("the mean distance from the mean", _N, DOUBLE),
    "avg": AggregateFunction("the mean", _N, DOUBLE),
    "count": AggregateFunction("how many are not null; count(*) counts rows", _V, LONG),
    "first": AggregateFunction("the value of the first row still counted", _V, Result.FIRST),
    "last": AggregateFunction("the value of the last row", _V, Result.FIRST),
    "max": AggregateFunction("the greatest", _O, Result.FIRST),
    "median": AggregateFunction("the middle value", _N, DOUBLE),
    "min": AggregateFunction("the least", _O, Result.FIRST),
    "nth": AggregateFunction(
        "nth(x, n): the value of the n-th row before the last", _V, Result.FIRST
    ),
    "stddev": AggregateFunction("the sample standard deviation", _N, DOUBLE),
    "sum": AggregateFunction("the sum", _N, Result.FIRST),
}
