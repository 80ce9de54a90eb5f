"""Writes expressions, names and types as text, with as few parentheses as their meaning allows."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from typing import Any

from cepheid.core.types import DOUBLE, FLOAT, LONG, ArrayType, DataType, EventRef
from cepheid.expr.notation import (
    AND,
    COMPARISON,
    CONCAT,
    NOT,
    OR,
    PRECEDENCE,
    SIGN,
    TYPE_NAMES,
    is_plain_name,
)
from cepheid.expr.tree import (
    Aggregate,
    And,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    InList,
    InRange,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Part,
    Ref,
    Regexp,
)

_PRIMARY = SIGN + 1
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b"}
_TO_ESCAPE = re.compile(r"[\\'\x00-\x1f\x7f-\x9f\u2028\u2029]")


def print_expr(expr: Expr, floor: int = OR) -> str:
    """The text of an expression, in parentheses where it binds looser than the floor."""
    write, precedence = _WRITERS[type(expr)]
    if isinstance(expr, Binary):
        precedence = PRECEDENCE[expr.operator]
    text = write(expr)
    return text if precedence >= floor else f"({text})"


def print_list(exprs: Iterable[Expr]) -> str:
    return ", ".join(map(print_expr, exprs))


def print_name(name: str) -> str:
    return name if is_plain_name(name) else f"`{name}`"


def print_string(text: str) -> str:
    return f"'{_TO_ESCAPE.sub(_escape, text)}'"


def print_type(data_type: DataType) -> str:
    if isinstance(data_type, ArrayType):
        return f"{print_type(data_type.element)}[]"
    if isinstance(data_type, EventRef):
        name = data_type.name
        return f"`{name}`" if name.lower() in TYPE_NAMES else print_name(name)
    return str(data_type)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"


def _literal(expr: Literal) -> str:
    value = expr.value
    if value is None:
        return "null"
    if isinstance(value, str):
        return print_string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if expr.type == FLOAT:
        return f"{_shortest_single(value)}f"
    if expr.type == DOUBLE:
        return repr(float(value))
    return f"{value}L" if expr.type == LONG else repr(value)


def _shortest_single(value: float) -> str:
    """The fewest digits that give the same number of 32 bits; nine always do."""
    packed = struct.pack("f", value)
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next((text for text in texts if struct.pack("f", float(text)) == packed), repr(value))


def _ref(expr: Ref) -> str:
    text = ".".join(map(_part, expr.parts))
    # Without backquotes this name is the function.
    is_clock = expr.parts[0].name.lower() == "current_timestamp"
    return re.sub(r"^[^.\[]*", r"`\g<0>`", text, count=1) if is_clock else text


def _part(part: Part) -> str:
    index = "" if part.index is None else f"[{part.index}]"
    return print_name(part.name) + index


def _column(expr: Column) -> str:
    tag = () if expr.tag is None else (Part(expr.tag, expr.index),)
    return ".".join(map(_part, (*tag, *expr.path)))


def _negate(expr: Negate) -> str:
    return f"-{print_expr(expr.operand, _PRIMARY)}"


def _not(expr: Not) -> str:
    return f"not {print_expr(expr.operand, NOT)}"


def _and(expr: And) -> str:
    return " and ".join(print_expr(operand, NOT) for operand in expr.operands)


def _or(expr: Or) -> str:
    return " or ".join(print_expr(operand, AND) for operand in expr.operands)


def _binary(expr: Binary) -> str:
    precedence = PRECEDENCE[expr.operator]
    # Comparisons do not chain; the others group from the left.
    left = print_expr(expr.left, precedence + (precedence == COMPARISON))
    return f"{left} {expr.operator} {print_expr(expr.right, precedence + 1)}"


def _predicate(expr: InList | InRange | Like | Regexp, word: str) -> str:
    negated = "not " if expr.negated else ""
    return f"{print_expr(expr.operand, CONCAT)} {negated}{word}"


def _in_list(expr: InList) -> str:
    return f"{_predicate(expr, 'in')} ({print_list(expr.items)})"


def _in_range(expr: InRange) -> str:
    if expr.include_low and expr.include_high:
        low, high = print_expr(expr.low, CONCAT), print_expr(expr.high, CONCAT)
        return f"{_predicate(expr, 'between')} {low} and {high}"
    opening = "[" if expr.include_low else "("
    closing = "]" if expr.include_high else ")"
    inside = f"{print_expr(expr.low)}:{print_expr(expr.high)}"
    return f"{_predicate(expr, 'in')} {opening}{inside}{closing}"


def _like(expr: Like) -> str:
    escape = "" if expr.escape is None else f" escape {print_string(expr.escape)}"
    return f"{_predicate(expr, 'like')} {print_expr(expr.pattern, CONCAT)}{escape}"


def _regexp(expr: Regexp) -> str:
    return f"{_predicate(expr, 'regexp')} {print_expr(expr.pattern, CONCAT)}"


def _case(expr: Case) -> str:
    operand = "" if expr.operand is None else f" {print_expr(expr.operand)}"
    branches = "".join(
        f" when {print_expr(when)} then {print_expr(then)}" for when, then in expr.branches
    )
    otherwise = "" if expr.otherwise is None else f" else {print_expr(expr.otherwise)}"
    return f"case{operand}{branches}{otherwise} end"


def _cast(expr: Cast) -> str:
    return f"cast({print_expr(expr.operand)}, {print_type(expr.target)})"


def _call(expr: Call) -> str:
    return f"{expr.function}({print_list(expr.arguments)})"


def _aggregate(expr: Aggregate) -> str:
    if expr.argument is None:
        return f"{expr.function}(*)"
    distinct = "distinct " if expr.distinct else ""
    return f"{expr.function}({distinct}{print_expr(expr.argument)})"


# Of a binary operator, the precedence depends on which it is.
_WRITERS: dict[type[Expr], tuple[Callable[[Any], str], int]] = {
    Literal: (_literal, _PRIMARY),
    Ref: (_ref, _PRIMARY),
    Column: (_column, _PRIMARY),
    Negate: (_negate, SIGN),
    Not: (_not, NOT),
    And: (_and, AND),
    Or: (_or, OR),
    Binary: (_binary, COMPARISON),
    InList: (_in_list, COMPARISON),
    InRange: (_in_range, COMPARISON),
    Like: (_like, COMPARISON),
    Regexp: (_regexp, COMPARISON),
    Case: (_case, _PRIMARY),
    Cast: (_cast, _PRIMARY),
    Call: (_call, _PRIMARY),
    Aggregate: (_aggregate, _PRIMARY),
}
