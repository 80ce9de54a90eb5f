"""Inscriptions as CPN ML."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatchmethod

from cepheid.core.event import Event
from cepheid.core.types import BOOLEAN, DOUBLE, INT, LONG, NULL, STRING, DataType, is_numeric
from cepheid.errors import Span
from cepheid.expr import tree as exprs
from cepheid.expr.functions import common_type
from cepheid.formal.petri.export.cpn.colours import plain, string, text_of, value_text
from cepheid.formal.petri.export.cpn.prelude import FUNCTIONS
from cepheid.formal.petri.nets.terms import (
    Applied,
    Apply,
    Call,
    Const,
    Defined,
    Function,
    If,
    Items,
    Product,
    Term,
    Var,
)
from cepheid.formal.petri.translation.grouping import Empty
from cepheid.formal.petri.translation.inscriptions import (
    STREAM,
    Columns,
    Derived,
    Emitted,
    Evaluations,
    Folded,
    Holds,
    IsNull,
    KeyOf,
    Moved,
    Row,
    Told,
    is_count,
)


class Unwritable(Exception):
    """Something for which CPN ML has no text here."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.span = span


# What stands behind functions that have no definition.
_OPAQUE = {
    "next": "'timer:at'",
    **dict.fromkeys(("after", "boundary"), "a period of calendar months"),
}
_COMPARISONS = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul"}
_TITLES: dict[DataType, str] = {INT: "Int", LONG: "Long", DOUBLE: "Double"}


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints the terms of one transition; `name` is how its variables are called."""

    name: Callable[[str], str]

    def term(self, term: Term) -> str:
        return self._term(term)

    @singledispatchmethod
    def _term(self, term: Term) -> str:
        raise Unwritable(f"'{term}'")

    @_term.register
    def _(self, term: Var) -> str:
        return self.name(term.name)

    @_term.register
    def _(self, term: Const) -> str:
        if isinstance(term.value, Event):
            return text_of(term.value, "EVENT")
        return plain(term.value)

    @_term.register
    def _(self, term: Product) -> str:
        return f"({', '.join(map(self.term, term.parts))})"

    @_term.register
    def _(self, term: Apply) -> str:
        return f"({self.term(term.left)} {term.operator} {self.term(term.right)})"

    @_term.register
    def _(self, term: If) -> str:
        then, otherwise = self.term(term.then), self.term(term.otherwise)
        return f"(if {self.term(term.condition)} then {then} else {otherwise})"

    @_term.register
    def _(self, term: Call) -> str:
        is_own = isinstance(term.function, Defined | Applied)
        if not is_own and FUNCTIONS.get(term.function.name) is not term.function:
            raise Unwritable(
                _OPAQUE.get(term.function.name, f"the function '{term.function.name}'")
            )
        return f"{term.function.name}({', '.join(map(self.term, term.arguments))})"

    @_term.register
    def _(self, term: Items) -> str:
        return f"[{', '.join(map(self.term, term.items))}]"

    @_term.register
    def _(self, term: Empty) -> str:
        assert isinstance(term.value, tuple)
        return f"({term.value[0]}, {value_text(term.value[1])})"

    @_term.register
    def _(self, term: KeyOf) -> str:
        event = self.term(term.event)
        return f"[{', '.join(f'attr({event}, {string(a)})' for a in term.attributes)}]"

    @_term.register
    def _(self, term: Columns) -> str:
        pairs = (f"({string(c.name)}, {self.expr(c.expr, term.row)})" for c in term.columns)
        return f"[{', '.join(pairs)}]"

    @_term.register
    def _(self, term: Emitted) -> str:
        target, results = string(term.statement.target), self.term(term.results)
        return f"event({target}, {self.term(term.now)}, attrsOf({results}))"

    @_term.register
    def _(self, term: Moved) -> str:
        move = _moves(term.aggregate, enters=term.enters, rows_leave=term.rows_leave)
        return f"{move}({self.term(term.state)}, {self.term(term.value)})"

    @_term.register
    def _(self, term: Holds) -> str:
        condition = f"truth({self.expr(term.condition, term.row)})"
        return f"not({condition})" if term.negated else condition

    @_term.register
    def _(self, term: IsNull) -> str:
        return f"isNull({self.expr(term.expr, term.row)})"

    @_term.register
    def _(self, term: Evaluations) -> str:
        return f"[{', '.join(self.expr(expr, term.row) for expr in term.exprs)}]"

    @_term.register
    def _(self, term: Derived) -> str:
        columns = (
            f"({string(c.name)}, {self.expr(c.expr, term.row)})" for c in term.statement.columns
        )
        target, now = string(term.statement.target), self.term(term.row.now)
        return f"event({target}, {now}, [{', '.join(columns)}])"

    @_term.register
    def _(self, term: Folded) -> str:
        aggregate = term.aggregate
        assert aggregate.argument is not None
        value = self.expr(aggregate.argument, term.row)
        move = _moves(aggregate, enters=term.enters, rows_leave=term.rows_leave)
        return f"{move}({self.term(term.state)}, {value})"

    @_term.register
    def _(self, term: Told) -> str:
        function = term.aggregate.function
        if function in ("sum", "avg"):
            return f"{function}Of({self.term(term.state)})"
        last = function in ("max", "last") and term.rows_leave
        return f"{'last' if last else 'first'}Of({self.term(term.state)})"

    # Expressions of the program.

    def expr(self, expr: exprs.Expr, row: Row) -> str:
        printed = self._expr(expr, row)
        assert isinstance(printed, str)
        return printed

    @singledispatchmethod
    def _expr(self, expr: exprs.Expr, row: Row) -> str:
        raise Unwritable(f"'{type(expr).__name__.lower()}'", expr.span)

    @_expr.register
    def _(self, expr: exprs.Literal, row: Row) -> str:
        if isinstance(expr.value, float) and not math.isfinite(expr.value):
            raise Unwritable(f"{expr.value}", expr.span)
        return value_text(expr.value)

    @_expr.register
    def _(self, expr: exprs.Column, row: Row) -> str:
        if len(expr.path) != 1 or expr.path[0].index is not None:
            raise Unwritable("a path into nested values", expr.span)
        attribute = string(expr.path[0].name)
        if expr.tag is None and row.event is None:
            assert row.binding is not None
            return f"attrOf({self.term(row.binding)}, {string(STREAM)}, {attribute})"
        if expr.tag is None:
            assert row.event is not None
            return f"attr({self.term(row.event)}, {attribute})"
        if row.binding is not None:
            binding, tag = self.term(row.binding), string(expr.tag)
            if expr.index is None:
                return f"attrOf({binding}, {tag}, {attribute})"
            return f"attrAt({binding}, {tag}, {expr.index}, {attribute})"
        bound = dict(row.tags).get(expr.tag)
        # A tag of this very event: a filter may name it.
        event = bound if bound is not None else row.event
        assert event is not None
        return f"attr({self.term(event)}, {attribute})"

    @_expr.register
    def _(self, expr: exprs.Not, row: Row) -> str:
        return f"not3({self.expr(expr.operand, row)})"

    @_expr.register
    def _(self, expr: exprs.And, row: Row) -> str:
        return self.folded("and3", expr.operands, row)

    @_expr.register
    def _(self, expr: exprs.Or, row: Row) -> str:
        return self.folded("or3", expr.operands, row)

    def folded(self, function: str, operands: tuple[exprs.Expr, ...], row: Row) -> str:
        first, *rest = (self.expr(operand, row) for operand in operands)
        for operand in rest:
            first = f"{function}({first}, {operand})"
        return first

    @_expr.register
    def _(self, expr: exprs.Binary, row: Row) -> str:
        left, right = self.expr(expr.left, row), self.expr(expr.right, row)
        symbol = expr.operator
        if symbol in ("is", "is not"):
            printed = f"is({left}, {right})"
            return printed if symbol == "is" else f"not3({printed})"
        if symbol in _COMPARISONS:
            known = is_numeric(expr.left.type) and is_numeric(expr.right.type)
            if not known and expr.left.type not in (STRING, BOOLEAN):
                raise Unwritable(f"'{symbol}' of such values", expr.span)
            return f"{_COMPARISONS[symbol]}({left}, {right})"
        common = common_type((expr.left.type, expr.right.type))
        if symbol == "/" and is_numeric(expr.left.type) and is_numeric(expr.right.type):
            return f"divide({left}, {right})"
        if symbol == "%" and common in (INT, LONG):
            return f"remainder({left}, {right})"
        if symbol in _ARITHMETIC and common in _TITLES:
            return f"{_ARITHMETIC[symbol]}{_TITLES[common]}({left}, {right})"
        raise Unwritable(f"'{symbol}' of such values", expr.span)

    @_expr.register
    def _(self, expr: exprs.InList, row: Row) -> str:
        items = ", ".join(self.expr(item, row) for item in expr.items)
        printed = f"oneOf({self.expr(expr.operand, row)}, [{items}])"
        return f"not3({printed})" if expr.negated else printed

    @_expr.register
    def _(self, expr: exprs.Cast, row: Row) -> str:
        source, printed = expr.operand.type, self.expr(expr.operand, row)
        if source == expr.target or (source == INT and expr.target == LONG):
            return printed
        if expr.target == DOUBLE and source in (INT, LONG):
            return f"toDouble({printed})"
        raise Unwritable(f"a cast to {expr.target}", expr.span)

    @_expr.register
    def _(self, expr: exprs.Case, row: Row) -> str:
        otherwise = "NULL" if expr.otherwise is None else self.expr(expr.otherwise, row)
        for condition, value in reversed(expr.branches):
            if value.type not in (expr.type, NULL):
                raise Unwritable("'case' over several types", expr.span)
            test = self.expr(condition, row)
            if expr.operand is not None:
                test = f"eq({self.expr(expr.operand, row)}, {test})"
            otherwise = f"(if truth({test}) then {self.expr(value, row)} else {otherwise})"
        return otherwise

    @_expr.register
    def _(self, expr: exprs.Call, row: Row) -> str:
        if expr.function != "current_timestamp":
            raise Unwritable(f"the function '{expr.function}'", expr.span)
        return f"millis({self.term(row.now)})"

    @_expr.register
    def _(self, expr: exprs.Aggregate, row: Row) -> str:
        told = dict(row.aggregates)[expr]
        printed = self.term(told)
        return printed if isinstance(told, Told | Call) else f"I({printed})"


def _moves(aggregate: exprs.Aggregate, *, enters: bool, rows_leave: bool) -> str:
    """The function by which a value enters or leaves the state of an aggregate."""
    if is_count(aggregate):
        return "countIn" if enters else "countOut"
    function, argument = aggregate.function, aggregate.argument
    assert argument is not None
    way = "enter" if enters else "leave"
    if not aggregate.distinct:
        if function == "avg":
            return f"{way}Double"
        if function == "sum" and argument.type in _TITLES:
            return f"{way}{_TITLES[argument.type]}"
        if function in ("min", "max", "first", "last"):
            if not rows_leave:
                return f"keep{function.capitalize()}"
            entering = "enterSorted" if function in ("min", "max") else "enterLast"
            return entering if enters else "leaveFirst"
    raise Unwritable(f"the aggregate '{function}'", aggregate.span)


def definitions(function: Function) -> dict[str, str]:
    """The definition of a function that a net brings along, after those that it needs."""
    if isinstance(function, Applied):
        found = {k: v for f in function.functions for k, v in definitions(f).items()}
        names = ", ".join(f.name for f in function.functions)
        return found | {function.name: f"fun {function.name} z = {function.general} ({names}) z;"}
    if isinstance(function, Defined):
        body = Printer(lambda name: name).term(function.body)
        head = ", ".join(function.parameters)
        return {function.name: f"fun {function.name} ({head}) = {body};"}
    return {}
