"""How far OCCURRING AT moves an event away from those that it is made of."""

from __future__ import annotations

from sqlglot import exp

from cepheid.sql.dialect import TimeLiteral, parse_time
from cepheid.sql.text import Sql


def shift_of(occurring: Sql) -> int:
    """The largest distance, in microseconds, to the occurrence of some event that the text names."""
    low, high = _range(parse_time(occurring))
    return max(abs(low), abs(high))


def _range(node: exp.Expr) -> tuple[int, int]:
    """The smallest and the largest shift of a time from the occurrences in it."""
    if isinstance(node, exp.Add | exp.Sub) and isinstance(node.expression, TimeLiteral):
        low, high = _range(node.this)
        sign = 1 if isinstance(node, exp.Add) else -1
        shift = sign * node.expression.microseconds
        return low + shift, high + shift
    if isinstance(node, exp.Column | TimeLiteral):
        return 0, 0
    parts = [
        _range(part) for part in node.iter_expressions() if not isinstance(part, exp.Identifier)
    ]
    if not parts:
        return 0, 0
    return min(low for low, _ in parts), max(high for _, high in parts)
