"""Resolving expressions: every name becomes a column, every node gets its static type.

The rules, decided once for all engines:

- `+ - * %` give the wider type of their operands (`core.types.wider`), `/` always gives double;
- strings are joined with `||`, which turns numbers and booleans into strings as `cast` does;
- numbers compare with numbers, strings with strings; booleans, arrays, records and events have
  no order and only compare with `=`, `!=`, `is`, `is not`; null compares with everything;
- conditions, and the operands of `and`, `or`, `not`, are boolean;
- branches of a `case` have a common type, and a missing `else` is null;
- `cast` goes between strings and numbers or booleans, and between numbers;
- `sum`, `min`, `max`, `first`, `last` have the type of their argument, `count` is long, `avg`,
  `median` and `stddev` are double.

A value whose schema is not known has type ANY: nothing is held against it before the run, in which
it is null, since events of a type without a schema are never taken. A node with an error gets type
ANY too, so that one mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch

from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    NULL,
    STRING,
    DataType,
    EventRef,
    RecordType,
    is_numeric,
    is_open,
    wider,
)
from cepheid.errors import Diagnostic, ProgramError, Span, error, suggest
from cepheid.expr.arithmetic import regular_expression
from cepheid.expr.elsewhere import INSTEAD
from cepheid.expr.functions import AGGREGATES, FUNCTIONS, Function, Result, common_type
from cepheid.expr.scope import Scope, resolve_name
from cepheid.expr.tree import (
    ARITHMETIC,
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
    Ref,
    Regexp,
    walk,
)
from cepheid.expr.values import can_convert

__all__ = [
    "Scope",
    "aggregates_in",
    "is_aggregated",
    "resolve",
    "resolve_condition",
]


def resolve(expr: Expr, scope: Scope, problems: list[Diagnostic]) -> Expr:
    """The expression with columns for names and a type on every node; problems are appended."""
    return _resolve(expr, _Place(scope, problems))


def resolve_condition(expr: Expr, scope: Scope, problems: list[Diagnostic]) -> Expr:
    """Like `resolve`, for what must be boolean: filters, `where`, `having`, `while`."""
    return _Place(scope, problems).condition(expr, "a condition")


def aggregates_in(expr: Expr) -> tuple[Aggregate, ...]:
    """The aggregates of an expression from left to right, each once."""
    return tuple(dict.fromkeys(node for node in walk(expr) if isinstance(node, Aggregate)))


def is_aggregated(expr: Expr) -> bool:
    return any(isinstance(node, Aggregate) for node in walk(expr))


class _Place:
    """Where an expression stands: its scope, the problems found so far, an aggregate around it."""

    __slots__ = ("inside_aggregate", "problems", "scope")

    def __init__(
        self, scope: Scope, problems: list[Diagnostic], inside_aggregate: bool = False
    ) -> None:
        self.scope = scope
        self.problems = problems
        self.inside_aggregate = inside_aggregate

    def report(self, code: str, message: str, span: Span | None, hint: str | None = None) -> None:
        self.problems.append(error(code, message, span, hint))

    def all(self, expressions: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(_resolve(expr, self) for expr in expressions)

    def condition(self, expr: Expr, what: str) -> Expr:
        resolved = _resolve(expr, self)
        if not is_open(resolved.type) and resolved.type != BOOLEAN:
            is_joined = isinstance(expr, Binary) and expr.operator == "||"
            hint = "`||` joins strings; write `or`" if is_joined else None
            fact = f"{what} must be boolean, not {resolved.type}"
            self.report("type-mismatch", fact, expr.span, hint)
            return replace(resolved, type=ANY)
        return resolved

    def string(self, expr: Expr, what: str) -> Expr:
        resolved = _resolve(expr, self)
        if not is_open(resolved.type) and resolved.type != STRING:
            self.report("type-mismatch", f"{what} takes strings, not {resolved.type}", expr.span)
        return resolved

    def check_comparison(self, what: str, left: Expr, right: Expr, span: Span | None) -> None:
        if not _comparable(left.type, right.type, self.scope):
            message = f"{what} cannot compare {left.type} with {right.type}"
            self.report("type-mismatch", message, span or left.span)

    def check_order(self, what: str, expr: Expr, span: Span | None) -> None:
        if not (is_numeric(expr.type) or expr.type == STRING):
            message = f"{what} needs numbers or strings, not {expr.type}"
            self.report("type-mismatch", message, expr.span or span)


def _comparable(left: DataType, right: DataType, scope: Scope) -> bool:
    if wider(left, right, scope.types) is not None:
        return True
    if isinstance(left, EventRef) and isinstance(right, EventRef):
        return not {left.name, right.name} <= scope.types.keys()  # what is not known may be alike
    records = EventRef | RecordType
    return isinstance(left, records) and isinstance(right, records)


@singledispatch
def _resolve(expr: Expr, _: _Place) -> Expr:
    raise TypeError(f"{type(expr).__name__} is not an expression with typing rules")


@_resolve.register
def _literal(expr: Literal, _: _Place) -> Expr:
    return expr


@_resolve.register
def _ref(expr: Ref, place: _Place) -> Expr:
    try:
        return resolve_name(expr, place.scope)
    except ProgramError as problem:
        place.problems.extend(problem.diagnostics)
        return replace(expr, type=ANY)


@_resolve.register
def _column(expr: Column, _: _Place) -> Expr:
    return expr


@_resolve.register
def _negate(expr: Negate, place: _Place) -> Expr:
    operand = _resolve(expr.operand, place)
    if is_numeric(operand.type):
        return replace(expr, operand=operand, type=operand.type)
    message = f"'-' takes numbers, not {operand.type}"
    place.report("type-mismatch", message, expr.span or operand.span)
    return replace(expr, operand=operand, type=ANY)


@_resolve.register
def _not(expr: Not, place: _Place) -> Expr:
    return replace(expr, operand=place.condition(expr.operand, "what 'not' takes"), type=BOOLEAN)


@_resolve.register
def _and(expr: And, place: _Place) -> Expr:
    operands = tuple(place.condition(part, "what 'and' joins") for part in expr.operands)
    return replace(expr, operands=operands, type=BOOLEAN)


@_resolve.register
def _or(expr: Or, place: _Place) -> Expr:
    operands = tuple(place.condition(part, "what 'or' joins") for part in expr.operands)
    return replace(expr, operands=operands, type=BOOLEAN)


@_resolve.register
def _binary(expr: Binary, place: _Place) -> Expr:
    left, right = _resolve(expr.left, place), _resolve(expr.right, place)
    resolved = replace(expr, left=left, right=right)
    if expr.operator in ARITHMETIC:
        return replace(resolved, type=_arithmetic_type(resolved, place))
    if expr.operator == "||":
        return replace(resolved, type=_joined_type(resolved, place))
    place.check_comparison(f"'{expr.operator}'", left, right, expr.span)
    if expr.operator in ("<", "<=", ">", ">="):
        _check_ordered(resolved, place)
    return replace(resolved, type=BOOLEAN)


def _arithmetic_type(expr: Binary, place: _Place) -> DataType:
    left, right = expr.left.type, expr.right.type
    if not (is_numeric(left) and is_numeric(right)):
        wrong = left if not is_numeric(left) else right
        hint = "join strings with ||" if expr.operator == "+" and STRING in (left, right) else None
        message = f"'{expr.operator}' takes numbers, not {wrong}"
        place.report("type-mismatch", message, expr.span or expr.left.span, hint)
        return ANY
    if expr.operator == "/":
        return DOUBLE
    # Null, or a mistake that was reported already.
    return ANY if ANY in (left, right) else common_type((left, right)) or ANY


def _joined_type(expr: Binary, place: _Place) -> DataType:
    for side in (expr.left, expr.right):
        if not can_convert(side.type, STRING):
            message = f"'||' joins strings, numbers and booleans, not {side.type}"
            place.report("type-mismatch", message, side.span or expr.span)
    return STRING


def _check_ordered(expr: Binary, place: _Place) -> None:
    """One report per comparison: sides of different kinds were reported already."""
    common = wider(expr.left.type, expr.right.type)
    if common is not None:
        place.check_order(f"'{expr.operator}'", replace(expr.left, type=common), expr.span)


@_resolve.register
def _in_list(expr: InList, place: _Place) -> Expr:
    operand, items = _resolve(expr.operand, place), place.all(expr.items)
    for item in items:
        place.check_comparison("'in'", operand, item, item.span or expr.span)
    return replace(expr, operand=operand, items=items, type=BOOLEAN)


@_resolve.register
def _in_range(expr: InRange, place: _Place) -> Expr:
    operand, low, high = place.all((expr.operand, expr.low, expr.high))
    place.check_order("a range", operand, expr.span)
    for end in (low, high):
        place.check_comparison("a range", operand, end, end.span or expr.span)
    return replace(expr, operand=operand, low=low, high=high, type=BOOLEAN)


@_resolve.register
def _like(expr: Like, place: _Place) -> Expr:
    operand, pattern = place.string(expr.operand, "'like'"), place.string(expr.pattern, "'like'")
    if expr.escape is not None and len(expr.escape) != 1:
        message = f"the escape of 'like' is one character, not {expr.escape!r}"
        place.report("wrong-arguments", message, expr.span)
    return replace(expr, operand=operand, pattern=pattern, type=BOOLEAN)


@_resolve.register
def _regexp(expr: Regexp, place: _Place) -> Expr:
    operand = place.string(expr.operand, "'regexp'")
    pattern = place.string(expr.pattern, "'regexp'")
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        try:
            regular_expression(pattern.value)
        except ValueError as problem:
            place.report("wrong-arguments", str(problem), pattern.span or expr.span)
    return replace(expr, operand=operand, pattern=pattern, type=BOOLEAN)


@_resolve.register
def _case(expr: Case, place: _Place) -> Expr:
    operand = None if expr.operand is None else _resolve(expr.operand, place)
    tests = tuple(_case_test(test, operand, place) for test, _ in expr.branches)
    values = place.all([value for _, value in expr.branches])
    otherwise = None if expr.otherwise is None else _resolve(expr.otherwise, place)
    results = values if otherwise is None else (*values, otherwise)
    return replace(
        expr,
        operand=operand,
        branches=tuple(zip(tests, values, strict=True)),
        otherwise=otherwise,
        type=_case_type(expr, [value.type for value in results], place),
    )


def _case_test(test: Expr, operand: Expr | None, place: _Place) -> Expr:
    if operand is None:
        return place.condition(test, "what follows 'when'")
    resolved = _resolve(test, place)
    place.check_comparison("'case'", operand, resolved, resolved.span)
    return resolved


def _case_type(expr: Case, types: Sequence[DataType], place: _Place) -> DataType:
    common = common_type(types, place.scope.types)
    if common is not None:
        return common
    shown = ", ".join(dict.fromkeys(map(str, types)))
    place.report("type-mismatch", f"the branches of 'case' have no common type: {shown}", expr.span)
    return ANY


@_resolve.register
def _cast(expr: Cast, place: _Place) -> Expr:
    operand = _resolve(expr.operand, place)
    if can_convert(operand.type, expr.target):
        return replace(expr, operand=operand, type=expr.target)
    message = f"cannot cast {operand.type} to {expr.target}"
    place.report("type-mismatch", message, expr.span or operand.span)
    return replace(expr, operand=operand, type=ANY)


@_resolve.register
def _call(expr: Call, place: _Place) -> Expr:
    resolved = replace(expr, arguments=place.all(expr.arguments))
    function = FUNCTIONS.get(expr.function)
    if function is None:
        known = suggest(expr.function, {*FUNCTIONS, *AGGREGATES}, "functions")
        hint = INSTEAD.get(expr.function, known)
        place.report("unknown-function", f"no function {expr.function!r}", expr.span, hint)
        return replace(resolved, type=ANY)
    return replace(resolved, type=_call_type(resolved, function, place))


def _call_type(expr: Call, function: Function, place: _Place) -> DataType:
    if not function.accepts_count(len(expr.arguments)):
        message = f"{expr.function} does not take {_count(len(expr.arguments), 'argument')}"
        place.report("wrong-arguments", message, expr.span, f"usage: {function.usage}")
        return ANY
    if not _check_arguments(expr, function, place):
        return ANY
    types = [argument.type for argument in expr.arguments]
    result = function.result_type(types, place.scope.types)
    if result is not None:
        return result
    shown = ", ".join(dict.fromkeys(map(str, types)))
    message = f"the arguments of {expr.function} have no common type: {shown}"
    place.report("wrong-arguments", message, expr.span, f"usage: {function.usage}")
    return ANY


def _check_arguments(expr: Call, function: Function, place: _Place) -> bool:
    fine = True
    for position, argument in enumerate(expr.arguments):
        kind = function.kind(position)
        if not kind.accepts(argument.type):
            what = f"argument {position + 1} of {expr.function}"
            message = f"{what} must be {kind.value}, not {argument.type}"
            hint = f"usage: {function.usage}"
            place.report("wrong-arguments", message, argument.span or expr.span, hint)
            fine = False
    return fine


@_resolve.register
def _aggregate(expr: Aggregate, place: _Place) -> Expr:
    if place.inside_aggregate:
        message = f"{expr.function} stands inside another aggregate"
        place.report("nested-aggregate", message, expr.span)
    elif place.scope.no_aggregates is not None:
        message = f"{expr.function} is an aggregate and not allowed {place.scope.no_aggregates}"
        place.report("misplaced-aggregate", message, expr.span)
    inside = _Place(place.scope, place.problems, inside_aggregate=True)
    argument = None if expr.argument is None else _resolve(expr.argument, inside)
    resolved = replace(expr, argument=argument)
    return replace(resolved, type=_aggregate_type(resolved, place))


def _aggregate_type(expr: Aggregate, place: _Place) -> DataType:
    function = AGGREGATES.get(expr.function)
    if function is None:
        hint = suggest(expr.function, AGGREGATES, "aggregates")
        place.report("unknown-function", f"no aggregate {expr.function!r}", expr.span, hint)
        return ANY
    if expr.argument is None and (expr.function != "count" or expr.distinct):
        shown = "distinct *" if expr.distinct else "*"
        place.report("wrong-arguments", f"{expr.function} does not take {shown}", expr.span)
        return ANY
    argument = NULL if expr.argument is None else expr.argument.type
    if not function.parameter.accepts(argument):
        message = f"{expr.function} takes {function.parameter.value}, not {argument}"
        span = expr.argument.span if expr.argument else None
        place.report("wrong-arguments", message, span or expr.span)
        return ANY
    return argument if isinstance(function.result, Result) else function.result


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
