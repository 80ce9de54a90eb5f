"""Conditions on single events or results, tested for a whole batch at once.

Only what NumPy computes exactly as expressions are defined can be tested: comparisons of an
attribute or an aggregate with a constant, and what `and`, `or` and `not` make of them, with three
truth values.
"""

from __future__ import annotations

import math
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
from cepheid.expr.tree import Aggregate, And, Binary, Column, Expr, Literal, Not, Or
from cepheid.matcher.columns.interning import count_of

Bits: TypeAlias = NDArray[np.bool_]
_EXACT = 1 << 53  # integers up to here are doubles, too
STORED: dict[DataType, type] = {
    INT: np.int32,
    LONG: np.int64,
    FLOAT: np.float32,
    DOUBLE: np.float64,
    BOOLEAN: np.bool_,
    STRING: np.int64,
}


def stored_as(type: DataType) -> type[Any]:
    """What values of a scalar type are for NumPy; what is counted, are words."""
    return STORED.get(type, np.int64)


class Values(NamedTuple):
    """The values of an attribute, with null where it has none; None: everywhere it has one."""

    words: NDArray[Any]
    nulls: Bits | None

    def of(self, places: NDArray[np.int64]) -> Values:
        """Those at some places."""
        return Values(self.words[places], None if self.nulls is None else self.nulls[places])


class Truth(NamedTuple):
    """Where a condition is true, and where it is neither true nor false."""

    true: Bits
    unknown: Bits | None

    @property
    def false(self) -> Bits:
        return ~self.true if self.unknown is None else ~(self.true | self.unknown)


Known: TypeAlias = Column | Aggregate  # what has a value for each event, or for each result
ValuesOf: TypeAlias = Callable[[Known], Values]
NumberOf: TypeAlias = Callable[[str], int]
IsKnown: TypeAlias = Callable[[Known], bool]


class Comparison(NamedTuple):
    """What has a value for each event, how it is compared, and with which constant, as values are stored."""

    known: Known
    sign: str
    constant: Any


LEAST, GREATEST = (">", ">="), ("<", "<=")


def is_bound(comparison: Comparison) -> bool:
    """Whether it is true of all values on one side of a constant; nothing is on a side of NaN."""
    constant = comparison.constant
    return comparison.sign in (*LEAST, *GREATEST) and not _is_nan(constant)


def _is_nan(constant: Any) -> bool:
    return isinstance(constant, float) and math.isnan(constant)


def is_own(known: Known) -> bool:
    """Whether it is an attribute of the event at hand."""
    return isinstance(known, Column) and known.tag is None and known.is_attribute


def can_test(expr: Expr, is_known: IsKnown = is_own) -> bool:
    match expr:
        case And(operands) | Or(operands):
            return all(can_test(operand, is_known) for operand in operands)
        case Not(operand):
            return can_test(operand, is_known)
        case Binary():
            found = comparison_in(expr)
            return found is not None and is_known(found.known)
    return isinstance(expr, Known) and is_known(expr) and expr.type == BOOLEAN


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
            found = comparison_in(expr)
            assert found is not None
            values, constant = values_of(found.known), found.constant
            word = number_of(constant) if isinstance(constant, str) else constant
            return _known(OPERATORS[found.sign](exact(values.words), word), values.nulls)
    assert isinstance(expr, Known)
    values = values_of(expr)
    return _known(values.words.astype(bool), values.nulls)


def exact(words: NDArray[Any]) -> NDArray[Any]:
    """NumPy would make a float of a constant that is compared with floats."""
    return words.astype(np.float64) if words.dtype == np.float32 else words


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


def comparison_in(expr: Binary) -> Comparison | None:
    """The comparison of something that has a value with a constant that it can be."""
    match expr:
        case Binary(operator_, (Column() | Aggregate()) as known, Literal(value)):
            sign: str = operator_
        case Binary(operator_, Literal(value), (Column() | Aggregate()) as known):
            sign = MIRRORED.get(operator_, operator_)
        case _:
            return None
    if sign not in OPERATORS:
        return None
    if isinstance(value, date | Decimal):
        count = _count(value, known.type)
        return None if count is None else Comparison(known, sign, count)
    if not _is_comparable(known.type, value, is_equality=sign in ("=", "!=")):
        return None
    return Comparison(known, sign, value)


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
    if isinstance(value, bool):
        return type == BOOLEAN and is_equality
    if value is None:
        return False
    if isinstance(value, str):
        return type == STRING and is_equality
    if type in (INT, LONG):
        return isinstance(value, int) and abs(value) < 1 << 63
    return type in (FLOAT, DOUBLE) and (isinstance(value, float) or abs(value) < _EXACT)
