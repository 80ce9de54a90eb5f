"""Expression trees.

A parser or the Python builder makes trees with `Ref`s; resolving (`expr.typing`) returns the same
tree with every `Ref` turned into a `Column` and every node's `type` filled in. Types and places in
the text never take part in equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeGuard
from typing import Literal as OneOf

from cepheid.core.checks import need
from cepheid.core.event import Scalar
from cepheid.core.types import ANY, DataType, is_numeric
from cepheid.errors import Span
from cepheid.expr.python import PythonFunction

BinaryOperator = OneOf[
    "+", "-", "*", "/", "%", "||", "=", "!=", "<", "<=", ">", ">=", "is", "is not"
]
ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})
COMPARISON = frozenset({"=", "!=", "<", "<=", ">", ">=", "is", "is not"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Expr:
    type: DataType = field(default=ANY, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expr):
    """A constant. Its type is part of it: 1, 1L and 1.0 are three literals; null has type NULL.

    So is its sign: what shows -0.0 does not show 0.0, although these numbers are equal.
    """

    value: Scalar | None
    type: DataType = field(kw_only=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return self.type == other.type and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((self.type, self.value))


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a name: `a`, or `a[0]`."""

    name: str
    index: int | None = None

    def __post_init__(self) -> None:
        need(self.index is None or self.index >= 0, "an index counts from zero")


@dataclass(frozen=True, slots=True)
class Ref(Expr):
    """A name as written: `speed`, `a.speed`, `a[0].position.x`."""

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        need(bool(self.parts), "a name needs a part")


@dataclass(frozen=True, slots=True)
class Column(Expr):
    """A resolved name: an attribute path into the event that a tag is bound to.

    Tag None is the event at hand: the one a filter tests, or the one a stream statement reads.
    An empty path is the event itself.
    """

    tag: str | None
    path: tuple[Part, ...]
    index: int | None = None  # of a tag bound to several events

    @property
    def is_attribute(self) -> bool:
        """Whether it is an attribute of one event, not a part of it."""
        return self.index is None and len(self.path) == 1 and self.path[0].index is None


@dataclass(frozen=True, slots=True)
class Negate(Expr):
    """Minus; the opposite of a number is that number, which `negate` knows."""

    operand: Expr

    def __post_init__(self) -> None:
        need(not is_number(self.operand), "the opposite of a number is a number")


@dataclass(frozen=True, slots=True)
class Not(Expr):
    operand: Expr


@dataclass(frozen=True, slots=True)
class And(Expr):
    operands: tuple[Expr, ...]

    def __post_init__(self) -> None:
        need(len(self.operands) > 1, "`and` needs two operands")


@dataclass(frozen=True, slots=True)
class Or(Expr):
    operands: tuple[Expr, ...]

    def __post_init__(self) -> None:
        need(len(self.operands) > 1, "`or` needs two operands")


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    operator: BinaryOperator
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class InList(Expr):
    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False

    def __post_init__(self) -> None:
        need(bool(self.items), "`in` needs an item")


@dataclass(frozen=True, slots=True)
class InRange(Expr):
    """`between` (both ends included) and `in [low:high]`, `in (low:high)` and their mixtures."""

    operand: Expr
    low: Expr
    high: Expr
    include_low: bool = True
    include_high: bool = True
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Expr):
    operand: Expr
    pattern: Expr
    escape: str | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Regexp(Expr):
    operand: Expr
    pattern: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """`case when c then v ...` or, with an operand, `case x when v then w ...`."""

    operand: Expr | None
    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None

    def __post_init__(self) -> None:
        need(bool(self.branches), "`case` needs a branch")


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    operand: Expr
    target: DataType


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A function of single values; names are lower case. `expr.functions` knows them all."""

    function: str
    arguments: tuple[Expr, ...]
    python: PythonFunction | None = field(default=None, kw_only=True)  # set by resolving

    def __post_init__(self) -> None:
        is_aggregate = self.function in ("min", "max") and len(self.arguments) < 2
        need(not is_aggregate, f"{self.function} of less than two values is an aggregate")


@dataclass(frozen=True, slots=True)
class Aggregate(Expr):
    """A function of many rows; no argument is `count(*)`. Only `nth` has an index."""

    function: str
    argument: Expr | None
    distinct: bool = False
    index: int | None = None


def children(expr: Expr) -> Iterator[Expr]:
    """The direct parts of an expression, from left to right."""
    kind: type = type(expr)
    for name in _names_of_parts(kind):
        yield from _expressions(getattr(expr, name))


@cache
def _names_of_parts(kind: type) -> tuple[str, ...]:
    """The fields that can hold expressions; looked up once, because trees are walked often."""
    return tuple(f.name for f in fields(kind) if f.name not in ("type", "span"))


def _expressions(value: object) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)


def conjuncts(condition: Expr | None) -> list[Expr]:
    """What must be true all together for a condition to be."""
    if condition is None:
        return []
    if isinstance(condition, And):
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything in it, parents first."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(list(children(node))))


def mapped(expr: Expr, function: Callable[[Expr], Expr]) -> Expr:
    """The expression with its direct parts replaced."""

    def of(value: Any) -> Any:
        if isinstance(value, Expr):
            return function(value)
        return tuple(map(of, value)) if isinstance(value, tuple) else value

    kind: Any = expr
    changed = {
        f.name: of(getattr(expr, f.name)) for f in fields(kind) if f.name not in ("type", "span")
    }
    return replace(expr, **changed)


def is_number(expr: Expr) -> TypeGuard[Literal]:
    """Whether it is a literal with a sign of its own; null has none."""
    return isinstance(expr, Literal) and is_numeric(expr.type) and expr.value is not None


def negate(operand: Expr) -> Expr:
    """Minus, folded into a numeric literal so that `-5` has one form only."""
    if is_number(operand):
        return Literal(-operand.value, type=operand.type, span=operand.span)  # type: ignore[operator]
    return Negate(operand, span=operand.span)
