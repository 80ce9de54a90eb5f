"""What words can do for decimals, days and timestamps, which count units; else Python is asked."""

from __future__ import annotations

from cepheid.core.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    MOST_DIGITS,
    TIMESTAMP,
    DataType,
    DecimalType,
    as_decimal,
    fits,
    wider,
)
from cepheid.expr.tree import Expr

_NUMBERS = {INT, LONG, FLOAT, DOUBLE}
_EXACT_DIGITS = 15  # of a double


def scale_of(type: DataType) -> int:
    """How many digits after the point a word of the type counts."""
    return type.scale if isinstance(type, DecimalType) else 0


def are_scaled(left: DataType, right: DataType) -> bool:
    """Whether one is a decimal, and words hold both with the digits of the other."""
    if not (isinstance(left, DecimalType) or isinstance(right, DecimalType)):
        return False
    one, other = as_decimal(left), as_decimal(right)
    if one is None or other is None or LONG in (left, right):
        return False
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return whole + scale <= MOST_DIGITS


def is_within(operator: str, left: Expr, right: Expr) -> bool:
    """Whether no operands have a result of too many digits, nor of more than a word holds."""
    one, other = as_decimal(left.type), as_decimal(right.type)
    if one is None or other is None or LONG in (left.type, right.type):
        return False
    if operator == "*":
        return one.precision + other.precision <= MOST_DIGITS
    common = wider(one, other)
    assert isinstance(common, DecimalType)
    is_wide_enough = common.precision + (operator != "%") <= MOST_DIGITS
    return is_wide_enough and are_scaled(one, other)


def is_converted(source: DataType, target: DataType) -> bool:
    """Whether `cast` is arithmetic of words."""
    if source == target or {source, target} <= _NUMBERS or (source, target) == (DATE, TIMESTAMP):
        return True
    if isinstance(target, DecimalType):
        given = as_decimal(source)
        return source != LONG and given is not None and fits(given, target)
    return (
        isinstance(source, DecimalType) and target == DOUBLE and source.precision <= _EXACT_DIGITS
    )
