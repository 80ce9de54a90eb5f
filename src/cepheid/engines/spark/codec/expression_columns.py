"""Conditions on one event as Spark columns, so that Spark drops events before it moves them.

A column means exactly what the expression means: SQL's nulls, numbers compared by their value, NaN
as IEEE 754 says, integers that wrap around. What Spark would compute in another way is not
translated, and what is not translated is not asked of Spark: the program tests it again anyway.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from functools import partial, reduce, singledispatch

from cepheid.core.numbers import fits_long
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
    is_calendar,
)
from cepheid.engines.spark.codec.sql_columns import (
    Cases,
    Column,
    call,
    coalesce,
    concat,
    lit,
    when,
)
from cepheid.expr import tree
from cepheid.expr.compare import MIRRORED, OPERATORS
from cepheid.expr.functions import common_type

# The column of an attribute of the event at hand, in the Spark type of its static type.
Read = Callable[[tree.Column], Column]

SPARK_TYPES: dict[DataType, str] = {
    STRING: "string",
    BOOLEAN: "boolean",
    INT: "int",
    LONG: "bigint",
    FLOAT: "float",
    DOUBLE: "double",
    TIMESTAMP: "timestamp",
    DATE: "date",
}
_WHOLE = (INT, LONG)
_NUMBERS = (INT, LONG, FLOAT, DOUBLE)
_EXACT_IN_DOUBLE = 2**53


class Untranslatable(Exception):
    """Spark has no column that means the same."""


def necessary(condition: tree.Expr, read: Read) -> Column | None:
    """A column that is true of every event of which the condition can become true.

    It leaves out what it cannot say; None if that is everything.
    """
    if isinstance(condition, tree.And):
        parts = [part for o in condition.operands if (part := necessary(o, read)) is not None]
        return reduce(operator.and_, parts) if parts else None
    if isinstance(condition, tree.Or):
        choices = [necessary(o, read) for o in condition.operands]
        known = [choice for choice in choices if choice is not None]
        return reduce(operator.or_, known) if len(known) == len(choices) else None
    try:
        return translate(condition, read)
    except Untranslatable:
        return None


def translate(expr: tree.Expr, read: Read) -> Column:
    """The expression as a column of its type; Untranslatable where there is none."""
    if expr.type not in SPARK_TYPES:
        raise Untranslatable
    return _translate(expr, read)


@singledispatch
def _translate(_: tree.Expr, __: Read) -> Column:
    raise Untranslatable


@_translate.register
def _literal(expr: tree.Literal, _: Read) -> Column:
    if isinstance(expr.value, float) and not math.isfinite(expr.value):
        raise Untranslatable
    if isinstance(expr.value, Decimal):
        raise Untranslatable
    return lit(expr.value).cast(SPARK_TYPES[expr.type])


@_translate.register
def _column(expr: tree.Column, read: Read) -> Column:
    if expr.tag is not None or not expr.path:
        raise Untranslatable
    return read(expr)


# -- logic -------------------------------------------------------------------------------------


@_translate.register
def _not(expr: tree.Not, read: Read) -> Column:
    return ~_truth(expr.operand, read)


@_translate.register
def _and(expr: tree.And, read: Read) -> Column:
    return reduce(operator.and_, (_truth(part, read) for part in expr.operands))


@_translate.register
def _or(expr: tree.Or, read: Read) -> Column:
    return reduce(operator.or_, (_truth(part, read) for part in expr.operands))


def _truth(expr: tree.Expr, read: Read) -> Column:
    if expr.type != BOOLEAN:
        raise Untranslatable
    return translate(expr, read)


def _negated_if(negated: bool, column: Column) -> Column:
    return ~column if negated else column


# -- comparisons -------------------------------------------------------------------------------


def _compare(symbol: str, left: tree.Expr, right: tree.Expr, read: Read) -> Column:
    if left.type in _NUMBERS and right.type in _NUMBERS:
        return _compare_numbers(symbol, left, right, read)
    has_words = left.type in (STRING, BOOLEAN) or is_calendar(left.type)
    if left.type != right.type or not has_words:
        raise Untranslatable
    if left.type == BOOLEAN and symbol not in ("=", "!="):
        raise Untranslatable
    result: Column = OPERATORS[symbol](translate(left, read), translate(right, read))
    return result


def _compare_numbers(symbol: str, left: tree.Expr, right: tree.Expr, read: Read) -> Column:
    if isinstance(left, tree.Literal) and not isinstance(right, tree.Literal):
        return _compare_numbers(MIRRORED[symbol], right, left, read)
    a, b, are_whole = _alike(left, right, read)
    result: Column = OPERATORS[symbol](a, b)
    if are_whole:
        return result
    # To Spark, NaN equals itself and is greater than all other numbers.
    if not isinstance(right, tree.Literal):
        compared = when(call("ISNAN", a) | call("ISNAN", b), lit(symbol == "!=")).otherwise(result)
        return when(a.is_not_null() & b.is_not_null(), compared)
    return result & ~call("ISNAN", a) if symbol in (">", ">=") else result


def _alike(left: tree.Expr, right: tree.Expr, read: Read) -> tuple[Column, Column, bool]:
    """Two numbers in a type that holds both exactly, and whether that is a whole one."""
    try:
        return _as_long(left, read), _as_long(right, read), True
    except Untranslatable:
        return _as_double(left, read), _as_double(right, read), False


def _as_long(expr: tree.Expr, read: Read) -> Column:
    if expr.type in _WHOLE:
        return translate(expr, read).cast("bigint")
    value = expr.value if isinstance(expr, tree.Literal) else None
    if isinstance(value, float) and value.is_integer() and fits_long(int(value)):
        return lit(int(value)).cast("bigint")
    raise Untranslatable


def _as_double(expr: tree.Expr, read: Read) -> Column:
    if expr.type == LONG:
        value = expr.value if isinstance(expr, tree.Literal) else None
        if not isinstance(value, int) or abs(value) > _EXACT_IN_DOUBLE:
            raise Untranslatable
    return translate(expr, read).cast("double")


def _identical(expr: tree.Binary, read: Read) -> Column:
    """`is` and `is not`, which take null and NaN for values like any other."""
    if isinstance(expr.right, tree.Literal) and expr.right.value is None:
        if not isinstance(expr.left, tree.Column):
            raise Untranslatable
        same = _column(expr.left, read).is_null()
    elif expr.left.type in _NUMBERS and expr.right.type in _NUMBERS:
        a, b, _ = _alike(expr.left, expr.right, read)
        same = a.is_same(b)
    elif expr.left.type == expr.right.type:
        same = translate(expr.left, read).is_same(translate(expr.right, read))
    else:
        raise Untranslatable
    return _negated_if(expr.operator == "is not", same)


@_translate.register
def _binary(expr: tree.Binary, read: Read) -> Column:
    if expr.operator in tree.ARITHMETIC:
        return _arithmetic(expr, read)
    if expr.operator in ("is", "is not"):
        return _identical(expr, read)
    if expr.operator == "||":
        if (expr.left.type, expr.right.type) != (STRING, STRING):
            raise Untranslatable
        return concat(translate(expr.left, read), translate(expr.right, read))
    return _compare(expr.operator, expr.left, expr.right, read)


@_translate.register
def _in_list(expr: tree.InList, read: Read) -> Column:
    equal = [_compare("=", expr.operand, item, read) for item in expr.items]
    return _negated_if(expr.negated, reduce(operator.or_, equal))


@_translate.register
def _in_range(expr: tree.InRange, read: Read) -> Column:
    low, high = expr.low, expr.high
    if not (isinstance(low, tree.Literal) and isinstance(high, tree.Literal)):
        raise Untranslatable
    if (
        low.value is None
        or high.value is None
        or isinstance(low.value, str) != isinstance(high.value, str)
    ):
        raise Untranslatable
    if low.value > high.value:  # type: ignore[operator]
        low, high = high, low
    above = _compare(">=" if expr.include_low else ">", expr.operand, low, read)
    below = _compare("<=" if expr.include_high else "<", expr.operand, high, read)
    return _negated_if(expr.negated, above & below)


@_translate.register
def _like(expr: tree.Like, read: Read) -> Column:
    pattern = expr.pattern.value if isinstance(expr.pattern, tree.Literal) else None
    if expr.operand.type != STRING or not isinstance(pattern, str):
        raise Untranslatable
    # To Spark, a backslash is an escape.
    if "\\" in pattern or (expr.escape and expr.escape in pattern):
        raise Untranslatable
    return _negated_if(expr.negated, translate(expr.operand, read).like(pattern))


# -- numbers, choices, functions ---------------------------------------------------------------


@_translate.register
def _negate(expr: tree.Negate, read: Read) -> Column:
    operand = translate(expr.operand, read)
    if expr.type == INT:
        return _wrapped(-operand.cast("bigint"))
    if expr.type != DOUBLE:
        raise Untranslatable
    return -operand


_EXACT: dict[str, Callable[[Column, Column], Column]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def _arithmetic(expr: tree.Binary, read: Read) -> Column:
    common = common_type((expr.left.type, expr.right.type))
    if expr.operator in ("/", "%"):
        return _divided(expr, common, read)
    apply = _EXACT[expr.operator]
    left, right = translate(expr.left, read), translate(expr.right, read)
    if common == INT:
        return _wrapped(apply(left.cast("bigint"), right.cast("bigint")))
    if common != DOUBLE:
        raise Untranslatable
    return apply(left.cast("double"), right.cast("double"))


def _wrapped(number: Column) -> Column:
    """The 32-bit integer that two's complement leaves of a long."""
    return call("SHIFTRIGHT", call("SHIFTLEFT", number, 32), 32).cast("int")


def _divided(expr: tree.Binary, common: DataType | None, read: Read) -> Column:
    """`/` and `%` by a number that is not zero; Spark makes an error of the others."""
    if not isinstance(expr.right, tree.Literal) or not expr.right.value:
        raise Untranslatable
    if expr.operator == "/":
        common = DOUBLE
    if common not in SPARK_TYPES or common == FLOAT:
        raise Untranslatable
    type = SPARK_TYPES[common]
    left, right = translate(expr.left, read).cast(type), translate(expr.right, read).cast(type)
    return left / right if expr.operator == "/" else left % right


@_translate.register
def _case(expr: tree.Case, read: Read) -> Column:
    chosen: Cases | None = None
    for test, value in expr.branches:
        if expr.operand is None:
            holds = _truth(test, read)
        else:
            holds = _compare("=", expr.operand, test, read)
        result = _widened(value, expr.type, read)
        chosen = when(holds, result) if chosen is None else chosen.when(holds, result)
    assert chosen is not None
    if expr.otherwise is None:
        return chosen
    return chosen.otherwise(_widened(expr.otherwise, expr.type, read))


def _widened(expr: tree.Expr, type: DataType, read: Read) -> Column:
    return translate(expr, read).cast(SPARK_TYPES[type])


@_translate.register
def _cast(expr: tree.Cast, read: Read) -> Column:
    source, target = expr.operand.type, expr.target
    is_exact = source == target or (source, target) in ((INT, LONG), (INT, DOUBLE), (FLOAT, DOUBLE))
    if not is_exact:
        raise Untranslatable
    return _widened(expr.operand, target, read)


@_translate.register
def _call(expr: tree.Call, read: Read) -> Column:
    if expr.function == "coalesce":
        return coalesce(*(_widened(a, expr.type, read) for a in expr.arguments))
    if expr.function == "abs" and expr.type != DOUBLE:
        raise Untranslatable
    function = _FUNCTIONS.get(expr.function)
    if function is None:
        raise Untranslatable
    return function(*(translate(argument, read) for argument in expr.arguments))


_FUNCTIONS: dict[str, Callable[..., Column]] = {
    "abs": partial(call, "ABS"),
    "length": partial(call, "LENGTH"),
    "startswith": partial(call, "STARTSWITH"),
    "endswith": partial(call, "ENDSWITH"),
    "contains": partial(call, "CONTAINS"),
}
