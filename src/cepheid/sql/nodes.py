"""Building blocks of resolved trees: typed nodes, and what sqlglot has no node for."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from sqlglot import exp

from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    Scalar,
)

Operator = type[exp.Expr]
Node = TypeVar("Node", bound=exp.Expr)
Type = exp.DType

PERIOD = Scalar("time period")  # of time literals; beside numbers they are seconds
SECOND = 1_000_000

_TYPES: dict[DataType, Type] = {
    STRING: Type.TEXT,
    LONG: Type.BIGINT,
    DOUBLE: Type.DOUBLE,
    BOOLEAN: Type.BOOLEAN,
    TIMESTAMP: Type.TIMESTAMP,
}
_WORDS: dict[DataType, str] = {
    STRING: "a text",
    LONG: "a whole number",
    DOUBLE: "a number",
    BOOLEAN: "a truth value",
    TIMESTAMP: "a time",
    PERIOD: "a length of time",
}


class Primitive(exp.Expression, exp.Predicate):
    """ANNOUNCEMENT and its siblings; `low` and `high` are the delays of LATE(low, high) in µs."""

    arg_types = {"this": True, "low": False, "high": False}


class Now(exp.Expression, exp.Condition):
    """The instant of the round."""

    arg_types: ClassVar[dict[str, bool]] = {}


class Message(exp.Expression, exp.Condition):
    """`format(...)`: `this` is the template, `kinds` has a letter for each value."""

    arg_types = {"this": True, "kinds": True, "expressions": False}


def typed(node: Node, type: DataType) -> Node:
    """The node, which from now on says its type; a type without values leaves it open."""
    if type in _TYPES:
        node.type = _TYPES[type]
    return node


_TYPE_OF = {known: type for type, known in _TYPES.items()}


def type_of(node: exp.Expr) -> DataType:
    """The type that a node says; NULL where it is open."""
    return _TYPE_OF.get(node.type.this, NULL) if node.type else NULL


def projected(node: exp.Expr, label: str, type: DataType) -> exp.Alias:
    return typed(exp.Alias(this=node, alias=name(label)), type)


def words(type: DataType) -> str:
    """A type as messages name it."""
    return _WORDS.get(type, str(type))


def sql_type(type: DataType) -> exp.DataType:
    return exp.DataType(this=_TYPES[type], nested=False)


def name(text: str) -> exp.Identifier:
    return exp.Identifier(this=text, quoted=True)


def column(text: str, type: DataType, table: str | None = None) -> exp.Column:
    found = exp.Column(this=name(text), table=name(table) if table else None)
    return typed(found, type)


def whole(value: int, type: DataType = LONG) -> exp.Literal:
    """A constant, also a negative one, as one node."""
    return typed(exp.Literal(this=str(value), is_string=False), type)


def number(value: float) -> exp.Literal:
    return typed(exp.Literal(this=repr(float(value)), is_string=False), DOUBLE)


def cast(node: exp.Expr, type: DataType) -> exp.Expr:
    """The node as another type; constants change at once."""
    bare = node.unnest()
    if isinstance(bare, exp.Literal) and not bare.is_string and type == DOUBLE:
        return number(float(bare.name))
    return typed(exp.Cast(this=node, to=sql_type(type)), type)


def wrapped(node: exp.Expr) -> exp.Expr:
    """In parentheses where an operator needs them around it."""
    if isinstance(node, (exp.Binary, exp.Not, exp.Between, exp.In, exp.Is, exp.Neg)):
        found = exp.Paren(this=node)
        found.type = node.type
        return found
    return node


def both(left: exp.Expr, right: exp.Expr, operator: Operator, type: DataType) -> exp.Expr:
    return typed(operator(this=wrapped(left), expression=wrapped(right)), type)


def microseconds(node: exp.Expr) -> int:
    """Of a constant length of time."""
    return int(node.unnest().name)


def shifted(time: exp.Expr, offset: int) -> exp.Expr:
    """A time that many microseconds later."""
    if offset == 0:
        return time.copy()
    operator: Operator = exp.Add if offset > 0 else exp.Sub
    return both(time.copy(), whole(abs(offset), TIMESTAMP), operator, TIMESTAMP)


def all_of(*parts: exp.Expr) -> exp.Expr:
    return _chain(exp.And, parts)


def any_of(*parts: exp.Expr) -> exp.Expr:
    return _chain(exp.Or, parts)


def _chain(operator: Operator, parts: tuple[exp.Expr, ...]) -> exp.Expr:
    found, *others = (wrapped(p) if isinstance(p, exp.Connector) else p for p in parts)
    for other in others:
        found = typed(operator(this=found, expression=other), BOOLEAN)
    return found


def not_(part: exp.Expr) -> exp.Expr:
    return typed(exp.Not(this=wrapped(part)), BOOLEAN)


def is_time(node: exp.Expr) -> bool:
    return bool(node.is_type(Type.TIMESTAMP))
