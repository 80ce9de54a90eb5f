"""Conditions on single events, tested for a whole batch at once.

Only what NumPy computes exactly as expressions are defined can be tested: comparisons of an
attribute with a constant, and what `and`, `or` and `not` make of them, with three truth values.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cepheid.core.numbers import scaled, unscaled
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
from cepheid.expr.compare import MIRRORED, OPERATORS
from cepheid.expr.tree import And, Binary, Column, Expr, Literal, Not, Or
from cepheid.matcher.columns.interning import count_of

Bits: TypeAlias = NDArray[np.bool_]
_EXACT = 1 << 53  # integers up to here are doubles, too


class Values(NamedTuple):
    """The values of an attribute, with null where it has none; None: everywhere it has one."""

    words: NDArray[Any]
    nulls: Bits | None


class Truth(NamedTuple):
    """Where a condition is true, and where it is neither true nor false."""

    true: Bits
    unknown: Bits | None

    @property
    def false(self) -> Bits:
        return ~self.true if self.unknown is None else ~(self.true | self.unknown)


ValuesOf: TypeAlias = Callable[[Column], Values]
NumberOf: TypeAlias = Callable[[str], int]


def can_test(expr: Expr) -> bool:
    match expr:
        case And(operands) | Or(operands):
            return all(map(can_test, operands))
        case Not(operand):
            return can_test(operand)
        case Binary():
            return _sides(expr) is not None
    return isinstance(expr, Column) and _is_own(expr) and expr.type == BOOLEAN


def truth_of(expr: Expr, values_of: ValuesOf, number_of: NumberOf) -> Truth:
    """The truth of a condition that can be tested, for each event; strings are their numbers."""
    match expr:
        case And(operands):
            return reduce(_both, (truth_of(o, values_of, number_of) for o in operands))
        case Or(operands):
            return reduce(_either, (truth_of(o, values_of, number_of) for o in operands))
        case Not(operand):
            inner = truth_of(operand, values_of, number_of)
            return Truth(inner.false, inner.unknown)
        case Binary():
            sides = _sides(expr)
            assert sides is not None
            column, compare, constant = sides
            values = values_of(column)
            word = number_of(constant) if isinstance(constant, str) else constant
            return _known(compare(values.words, word), values.nulls)
    assert isinstance(expr, Column)
    values = values_of(expr)
    return _known(values.words.astype(bool), values.nulls)


def _known(true: Bits, nulls: Bits | None) -> Truth:
    return Truth(true if nulls is None else true & ~nulls, nulls)


def _both(one: Truth, other: Truth) -> Truth:
    if one.unknown is other.unknown is None:
        return Truth(one.true & other.true, None)
    true = one.true & other.true
    return Truth(true, ~(true | one.false | other.false))


def _either(one: Truth, other: Truth) -> Truth:
    if one.unknown is other.unknown is None:
        return Truth(one.true | other.true, None)
    true = one.true | other.true
    return Truth(true, ~(true | (one.false & other.false)))


def _sides(expr: Binary) -> tuple[Column, Callable[[Any, Any], Any], Any] | None:
    """An attribute, how it is compared, and with which constant."""
    match expr:
        case Binary(operator_, Column() as column, Literal(value)):
            sign: str = operator_
        case Binary(operator_, Literal(value), Column() as column):
            sign = MIRRORED.get(operator_, operator_)
        case _:
            return None
    if sign not in OPERATORS or not _is_own(column):
        return None
    if isinstance(value, date | Decimal):
        count = _count(value, column.type)
        return None if count is None else (column, OPERATORS[sign], count)
    if not _is_comparable(column.type, value, is_equality=sign in ("=", "!=")):
        return None
    return column, OPERATORS[sign], value


def _count(value: date | Decimal, type: DataType) -> int | None:
    """A constant as values of a type are counted; None where no value of the type can be it."""
    if isinstance(type, DecimalType) and isinstance(value, Decimal):
        found = scaled(value, type.scale)
        return unscaled(found) if found is not None and found == value else None
    is_one = type == (TIMESTAMP if isinstance(value, datetime) else DATE)
    return count_of(value, type) if is_one else None


def _is_comparable(
    type: DataType, value: str | bool | int | float | None, *, is_equality: bool
) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, str):
        return type == STRING and is_equality
    if type in (INT, LONG):
        return isinstance(value, int) and abs(value) < 1 << 63
    return type in (FLOAT, DOUBLE) and (isinstance(value, float) or abs(value) < _EXACT)


def _is_own(column: Column) -> bool:
    """Whether it is an attribute of the event at hand."""
    return column.tag is None and column.is_attribute
