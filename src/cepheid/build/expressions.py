"""Expressions in Python: columns, literals, operators.

Inside an expression a Python text is a text; where a clause lists columns it is their name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal as OneOf
from typing import NoReturn, TypeAlias

from cepheid.build.checks import name, refuse, refusing
from cepheid.core.numbers import fits_int, fits_long
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    NULL,
    PLAIN_SCALARS,
    STRING,
    DataType,
    is_integral,
    is_numeric,
)
from cepheid.core.values import coerce, native, shown
from cepheid.expr.printing import excess, print_expr
from cepheid.expr.tree import (
    And,
    Binary,
    BinaryOperator,
    Cast,
    Expr,
    InList,
    InRange,
    Like,
    Literal,
    Not,
    Or,
    Part,
    Ref,
    Regexp,
    negate,
)
from cepheid.io.type_arguments import data_type

Operand: TypeAlias = "Expression | str | bool | int | float | None"
Ends: TypeAlias = OneOf["both", "left", "right", "neither"]
_ENDS = {
    "both": (True, True),
    "left": (True, False),
    "right": (False, True),
    "neither": (False, False),
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expression:
    """An expression; its operators and methods give larger ones.

    `==` gives an expression too: compare the `tree`s to see whether two are the same.

    >>> print((cep.col("speed") >= 50) & ~cep.col("seat"))
    speed >= 50 and not seat
    >>> print(cep.col("a.x") * 2 - cep.col("b.x"))
    a.x * 2 - b.x
    """

    tree: Expr

    __hash__ = None  # type: ignore[assignment]

    # Arithmetic.

    def __add__(self, other: Operand) -> Expression:
        return _binary("+", self, other)

    def __radd__(self, other: Operand) -> Expression:
        return _binary("+", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return _binary("-", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return _binary("-", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return _binary("*", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return _binary("*", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return _binary("/", other, self)

    def __mod__(self, other: Operand) -> Expression:
        return _binary("%", self, other)

    def __rmod__(self, other: Operand) -> Expression:
        return _binary("%", other, self)

    def __neg__(self) -> Expression:
        negated = negate(self.tree)
        # The least integers have no opposite.
        if isinstance(negated, Literal) and is_integral(negated.type):
            return lit(negated.value, str(negated.type))
        return Expression(negated)

    def concat(self, *others: Operand) -> Expression:
        """`a || b`: the texts joined."""
        joined = self
        for other in others:
            joined = _binary("||", joined, other)
        return joined

    # Comparisons.

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return _binary("=", self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return _binary("!=", self, other)

    def __lt__(self, other: Operand) -> Expression:
        return _binary("<", self, other)

    def __le__(self, other: Operand) -> Expression:
        return _binary("<=", self, other)

    def __gt__(self, other: Operand) -> Expression:
        return _binary(">", self, other)

    def __ge__(self, other: Operand) -> Expression:
        return _binary(">=", self, other)

    def is_(self, other: Operand) -> Expression:
        """Like `==`, but null is null: `cep.col("x").is_(None)`."""
        return _binary("is", self, other)

    def is_not(self, other: Operand) -> Expression:
        return _binary("is not", self, other)

    # Predicates.

    def isin(self, *items: Operand | Iterable[Operand]) -> Expression:
        """Whether it is one of the items, given one by one or as one list.

        >>> print(cep.col("city").isin("Cadiz", "Sevilla"))
        city in ('Cadiz', 'Sevilla')
        """
        return Expression(InList(self.tree, _items(items)))

    def not_in(self, *items: Operand | Iterable[Operand]) -> Expression:
        return Expression(InList(self.tree, _items(items), negated=True))

    def between(self, low: Operand, high: Operand, inclusive: Ends = "both") -> Expression:
        """Whether it lies in a range; `inclusive` says which ends belong to it.

        >>> print(cep.col("v").between(1, 5), "|", cep.col("v").between(1, 5, "left"))
        v between 1 and 5 | v in [1:5)
        """
        return _range(self, low, high, inclusive, negated=False)

    def not_between(self, low: Operand, high: Operand, inclusive: Ends = "both") -> Expression:
        return _range(self, low, high, inclusive, negated=True)

    def like(self, pattern: Operand, escape: str | None = None) -> Expression:
        """`%` stands for any text, `_` for any character."""
        return _like(self, pattern, escape, negated=False)

    def not_like(self, pattern: Operand, escape: str | None = None) -> Expression:
        return _like(self, pattern, escape, negated=True)

    def regexp(self, pattern: Operand) -> Expression:
        """Whether all of it matches a regular expression."""
        return Expression(Regexp(self.tree, lift(pattern)))

    def not_regexp(self, pattern: Operand) -> Expression:
        return Expression(Regexp(self.tree, lift(pattern), negated=True))

    # Logic.

    def __and__(self, other: Operand) -> Expression:
        return _chain(And, self.tree, lift(other))

    def __rand__(self, other: Operand) -> Expression:
        return _chain(And, lift(other), self.tree)

    def __or__(self, other: Operand) -> Expression:
        return _chain(Or, self.tree, lift(other))

    def __ror__(self, other: Operand) -> Expression:
        return _chain(Or, lift(other), self.tree)

    def __invert__(self) -> Expression:
        return Expression(Not(self.tree))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "an expression is neither true nor false before it runs: write & | ~ instead of"
            " and, or, not, each comparison in parentheses; write (a < b) & (b < c) for a < b < c"
        )

    # The rest.

    def cast(self, type: str) -> Expression:
        """The value as one of another type: `"int"`, `"string"`, `"double"`..."""
        return Expression(Cast(self.tree, data_type(type)))

    def alias(self, alias: str) -> Aliased:
        """The expression under a name, for `select`."""
        return Aliased(self.tree, name(alias, "an alias"))

    def desc(self) -> Descending:
        """The largest first, for `order_by`."""
        return Descending(self.tree)

    def __str__(self) -> str:
        """As a text says it."""
        return print_expr(self.tree)

    def __repr__(self) -> str:
        return f"<Expression: {self}>"


@dataclass(frozen=True, slots=True)
class Aliased:
    """An expression of a select list and its name."""

    tree: Expr
    alias: str


@dataclass(frozen=True, slots=True)
class Descending:
    """An expression to order by, the largest value first."""

    tree: Expr


# Leaves.

_PART = re.compile(r"(?:`([^`\n]+)`|([^`.\[\]\n]+))(?:\[([0-9]+)\])?")
_PATH = re.compile(rf"{_PART.pattern}(?:\.{_PART.pattern})*")


def col(path: str) -> Expression:
    """A column: an attribute, or with a tag or alias one of that event.

    >>> print(cep.col("speed"), cep.col("a1.speed"), cep.col("a[0].position.x"))
    speed a1.speed a[0].position.x

    Odd names need backquotes only if they hold a dot or a bracket.

    >>> print(cep.col("two words"), cep.col("a.`x.y`"))
    `two words` a.`x.y`
    """
    return Expression(_reference(path))


def _reference(path: object) -> Ref:
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        refuse("usage", f"{shown(path)} is not a column", "write for example 'speed' or 'a[0].x'")
    return Ref(tuple(_part(*match.groups()) for match in _PART.finditer(path)))


def _part(quoted: str | None, plain: str | None, index: str | None) -> Part:
    if index is not None and (len(index) > 19 or not fits_long(int(index))):
        refuse("bad-number", f"{shown(index)} is no index: it does not fit a long")
    return Part(quoted or plain or "", None if index is None else int(index))


def lit(value: object, type: str | None = None) -> Expression:
    """A constant, of the type that a text gives it or of the type named.

    >>> print(cep.lit(5), cep.lit(2**40), cep.lit(1.5), cep.lit("it's"), cep.lit(None))
    5 1099511627776L 1.5 'it\\'s' null
    >>> print(cep.lit(5, "long"), cep.lit(1, "double"), cep.lit(0.1, "float"))
    5L 1.0 0.1f
    """
    with refusing("usage"):
        value = native(value)
    wanted = _type_of(value) if type is None else _LITERALS.get(str(type).lower())
    if wanted is None:
        what = f"{shown(value)} is no literal" if type is None else f"no literals of type {type!r}"
        refuse("usage", what, f"a literal is null or of one of the types {', '.join(_LITERALS)}")
    return Expression(_literal(value, wanted))


# Times are texts, and decimals are numbers, that stand beside others.
_LITERALS: dict[str, DataType] = {**PLAIN_SCALARS, "bool": BOOLEAN}


def _literal(value: object, type: DataType) -> Literal:
    if value is None:
        return Literal(None, type=NULL)
    with refusing("bad-number" if is_numeric(type) else "usage"):
        converted = coerce(value, type, {})
    if isinstance(converted, float) and not math.isfinite(converted):
        refuse("bad-number", f"{value!r} cannot be written as a literal")
    assert isinstance(converted, str | bool | int | float)
    return Literal(converted, type=type)


def _type_of(value: object) -> DataType | None:
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return INT if fits_int(value) else LONG
    if isinstance(value, float | Decimal):
        return DOUBLE
    if isinstance(value, str):
        return STRING
    return NULL if value is None else None


# What the operators make.


def _binary(operator: BinaryOperator, left: object, right: object) -> Expression:
    return Expression(Binary(operator, lift(left), lift(right)))


def _chain(node: type[And | Or], left: Expr, right: Expr) -> Expression:
    """`a & b & c` is one node of three operands, as a text without parentheses gives it."""
    before = left.operands if isinstance(left, node) else (left,)
    return Expression(node((*before, right)))


def _items(items: tuple[object, ...]) -> tuple[Expr, ...]:
    if len(items) == 1 and isinstance(items[0], Iterable) and not isinstance(items[0], str):
        items = tuple(items[0])
    if not items:
        refuse("usage", "a list of no items holds nothing", "give at least one item")
    return tuple(lift(item) for item in items)


def _range(
    operand: Expression, low: Operand, high: Operand, inclusive: Ends, *, negated: bool
) -> Expression:
    if inclusive not in _ENDS:
        refuse("usage", f"no ends {shown(inclusive)} of a range", f"ends: {', '.join(_ENDS)}")
    return Expression(
        InRange(operand.tree, lift(low), lift(high), *_ENDS[inclusive], negated=negated)
    )


def _like(
    operand: Expression, pattern: Operand, escape: str | None, *, negated: bool
) -> Expression:
    if escape is not None and not (isinstance(escape, str) and len(escape) == 1):
        refuse("usage", f"the escape of like is one character, not {shown(escape)}")
    return Expression(Like(operand.tree, lift(pattern), escape, negated))


# What patterns and statements take.


def lift(value: object) -> Expr:
    """The tree of an expression, or the literal of a Python value."""
    return value.tree if isinstance(value, Expression) else _literal_tree(value)


def _literal_tree(value: object) -> Expr:
    if isinstance(value, Aliased | Descending):
        what = "alias" if isinstance(value, Aliased) else "desc"
        refuse("usage", f"'{what}' comes last and outside of other expressions")
    return lit(value).tree


def column(value: object) -> Expr:
    """Like `lift`, but a text names a column."""
    return checked(_reference(value) if isinstance(value, str) else lift(value))


def conjunction(conditions: Iterable[object]) -> Expr | None:
    """The conditions joined by `and`; None if there are none."""
    found = [_condition(condition) for condition in conditions]
    if len(found) < 2:
        return found[0] if found else None
    operands = [o for e in found for o in (e.operands if isinstance(e, And) else (e,))]
    return checked(And(tuple(operands)))


def _condition(value: object) -> Expr:
    if isinstance(value, Expr):
        return value
    if not isinstance(value, Expression | bool):
        refuse("usage", f"{shown(value)} is not a condition", "write for example cep.col('x') > 5")
    return checked(lift(value))


def checked(expr: Expr) -> Expr:
    """The expression itself, refused where a text of it would be."""
    fact = excess(expr)
    if fact:
        refuse("too-deep", fact)
    return expr
