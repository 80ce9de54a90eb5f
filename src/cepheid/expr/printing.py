"""Writes expressions, names and types as text, with as few parentheses as their meaning allows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from cepheid.core.numbers import write_double, write_float
from cepheid.core.types import DOUBLE, FLOAT, LONG, STRING, ArrayType, DataType, EventRef
from cepheid.core.values import TYPE_NAMES
from cepheid.expr.notation import (
    AND,
    COMPARISON,
    CONCAT,
    NOT,
    OR,
    PRECEDENCE,
    SIGN,
    find_excess,
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
    children,
)
from cepheid.expr.values import conversion

_PRIMARY = SIGN + 1
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b"}
_TO_ESCAPE = re.compile(r"[\\'\x00-\x1f\x7f-\x9f\u2028\u2029]")


def print_expr(expr: Expr, floor: int = OR) -> str:
    """The text of an expression, in parentheses where it binds looser than the floor."""
    texts = [print_expr(place.expr, place.floor) for place in _places(expr)]
    text = _WRITERS[type(expr)](expr, *texts)
    return text if _precedence(expr) >= floor else f"({text})"


def excess(expr: Expr) -> str | None:
    """What of an expression goes beyond the limits, if anything does."""
    return find_excess(expr, levels, "an expression")


def levels(expr: Expr) -> Iterator[tuple[Expr, int]]:
    """The direct parts of an expression, each with the levels that its text lies deeper."""
    for place in _places(expr):
        yield place.expr, place.is_inside + (_precedence(place.expr) < place.floor)


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
    if isinstance(value, date):  # as a text that the other side makes a time of
        return print_string(str(conversion(expr.type, STRING)(value)))
    if isinstance(value, Decimal):
        return f"{value:f}"
    if expr.type == FLOAT:
        return f"{write_float(value)}f"
    if expr.type == DOUBLE:
        return write_double(value)
    return f"{value}L" if expr.type == LONG else repr(value)


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


def _negate(_: Negate, operand: str) -> str:
    return f"-{operand}"


def _not(_: Not, operand: str) -> str:
    return f"not {operand}"


def _and(_: And, *operands: str) -> str:
    return " and ".join(operands)


def _or(_: Or, *operands: str) -> str:
    return " or ".join(operands)


def _binary(expr: Binary, left: str, right: str) -> str:
    return f"{left} {expr.operator} {right}"


def _predicate(expr: InList | InRange | Like | Regexp, operand: str, word: str) -> str:
    return f"{operand} not {word}" if expr.negated else f"{operand} {word}"


def _in_list(expr: InList, operand: str, *items: str) -> str:
    return f"{_predicate(expr, operand, 'in')} ({', '.join(items)})"


def _in_range(expr: InRange, operand: str, low: str, high: str) -> str:
    if _is_between(expr):
        return f"{_predicate(expr, operand, 'between')} {low} and {high}"
    opening = "[" if expr.include_low else "("
    closing = "]" if expr.include_high else ")"
    return f"{_predicate(expr, operand, 'in')} {opening}{low}:{high}{closing}"


def _is_between(expr: InRange) -> bool:
    return expr.include_low and expr.include_high


def _like(expr: Like, operand: str, pattern: str) -> str:
    escape = "" if expr.escape is None else f" escape {print_string(expr.escape)}"
    return f"{_predicate(expr, operand, 'like')} {pattern}{escape}"


def _regexp(expr: Regexp, operand: str, pattern: str) -> str:
    return f"{_predicate(expr, operand, 'regexp')} {pattern}"


def _case(expr: Case, *parts: str) -> str:
    rest = iter(parts)
    operand = "" if expr.operand is None else f" {next(rest)}"
    branches = "".join(f" when {next(rest)} then {next(rest)}" for _ in expr.branches)
    otherwise = "" if expr.otherwise is None else f" else {next(rest)}"
    return f"case{operand}{branches}{otherwise} end"


def _cast(expr: Cast, operand: str) -> str:
    return f"cast({operand}, {print_type(expr.target)})"


def _call(expr: Call, *arguments: str) -> str:
    return f"{expr.function}({', '.join(arguments)})"


def _aggregate(expr: Aggregate, argument: str = "*") -> str:
    distinct = "distinct " if expr.distinct and expr.argument is not None else ""
    index = "" if expr.index is None else f", {expr.index}"
    return f"{expr.function}({distinct}{argument}{index})"


# Each takes the node and the texts of its parts, from left to right.
_WRITERS: dict[type[Expr], Callable[..., str]] = {
    Literal: _literal,
    Ref: _ref,
    Column: _column,
    Negate: _negate,
    Not: _not,
    And: _and,
    Or: _or,
    Binary: _binary,
    InList: _in_list,
    InRange: _in_range,
    Like: _like,
    Regexp: _regexp,
    Case: _case,
    Cast: _cast,
    Call: _call,
    Aggregate: _aggregate,
}


# Precedence.


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part stands: what binds looser than the floor is put in parentheses there.

    What stands inside, between brackets or keywords, lies one level deeper.
    """

    expr: Expr
    floor: int = OR
    is_inside: bool = False


# Of those that bind looser than names and calls.
_PRECEDENCES: dict[type[Expr], int] = {
    Negate: SIGN,
    Not: NOT,
    And: AND,
    Or: OR,
    InList: COMPARISON,
    InRange: COMPARISON,
    Like: COMPARISON,
    Regexp: COMPARISON,
}


def _precedence(expr: Expr) -> int:
    if isinstance(expr, Binary):
        return PRECEDENCE[expr.operator]
    return _PRECEDENCES.get(type(expr), _PRIMARY)


def _places(expr: Expr) -> Iterable[_Place]:
    find = _PLACES.get(type(expr))
    return find(expr) if find else [_Place(part, is_inside=True) for part in children(expr)]


def _operands(floor: int) -> Callable[[Expr], Iterator[_Place]]:
    return lambda expr: (_Place(operand, floor) for operand in children(expr))


def _sides(expr: Binary) -> Iterator[_Place]:
    """Comparisons do not chain; the others group from the left."""
    precedence = PRECEDENCE[expr.operator]
    yield _Place(expr.left, precedence + (precedence == COMPARISON))
    yield _Place(expr.right, precedence + 1)


def _after_operand(floor: int) -> Callable[[Expr], Iterator[_Place]]:
    def find(expr: Expr) -> Iterator[_Place]:
        operand, *others = children(expr)
        yield _Place(operand, CONCAT)
        yield from (_Place(other, floor, is_inside=True) for other in others)

    return find


def _ends(expr: InRange) -> Iterator[_Place]:
    return _after_operand(CONCAT if _is_between(expr) else OR)(expr)


# All parts of others stand inside them.
_PLACES: dict[type[Expr], Callable[[Any], Iterator[_Place]]] = {
    Negate: _operands(_PRIMARY),
    Not: _operands(NOT),
    And: _operands(NOT),
    Or: _operands(AND),
    Binary: _sides,
    InList: _after_operand(OR),
    InRange: _ends,
    Like: _after_operand(CONCAT),
    Regexp: _after_operand(CONCAT),
}
