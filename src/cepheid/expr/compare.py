"""Comparing two values that are not null, specialised on their static types.

Numbers compare by their exact mathematical value, NaN as IEEE 754 says (only `!=` is true).
Arrays, records and events are equal when all their parts are. Values without a static type that
turn out not to be comparable give null.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date
from typing import Any

from cepheid.core.event import Value
from cepheid.core.types import (
    BOOLEAN,
    DATE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    is_numeric,
    is_open,
)
from cepheid.expr.values import is_number, same

Comparison = Callable[..., bool | None]

OPERATORS: dict[str, Callable[..., Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


_PLAIN = (STRING, BOOLEAN, TIMESTAMP, DATE)


def comparison(symbol: str, left: DataType, right: DataType) -> Comparison:
    """The function of `= != < <= > >=` for operands of these types."""
    if is_open(left) or is_open(right):
        return _dynamic(symbol)
    if (is_numeric(left) and is_numeric(right)) or left in _PLAIN:
        return OPERATORS[symbol]
    return same if symbol == "=" else _differ


def identity(left: DataType, right: DataType) -> Callable[[Value, Value], bool]:
    """The function of `is`, which also takes nulls."""
    plain = (*_PLAIN, INT, LONG)
    return operator.eq if left in plain and right in plain else same


def _differ(left: Value, right: Value) -> bool:
    return not same(left, right)


def _dynamic(symbol: str) -> Comparison:
    compare: Comparison = OPERATORS[symbol]

    def apply(left: Value, right: Value) -> bool | None:
        if is_number(left) and is_number(right):
            return compare(left, right)
        if isinstance(left, str) and isinstance(right, str):
            return compare(left, right)
        if isinstance(left, date) and type(left) is type(right):
            return compare(left, right)
        if symbol not in ("=", "!=") or not _are_alike(left, right):
            return None
        return same(left, right) == (symbol == "=")

    return apply


def _are_alike(left: Value, right: Value) -> bool:
    """Whether two values that have no order are of one kind: booleans, arrays, or records."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    plain = str | int | float | date
    return not isinstance(left, plain) and not isinstance(right, plain)
