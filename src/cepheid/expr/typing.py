"""Resolving expressions: every name becomes a column, every node gets its static type.

The rules, decided once for all engines:

- `+ - * %` give the wider type of their operands (`core.types.wider`), beside a decimal one with the
  digits of the result (`arithmetic.decimal_type`), `/` always gives double;
- a text that is written beside a timestamp or a date is one, a number beside a decimal is a decimal;
- strings are joined with `||`, which turns numbers and booleans into strings as `cast` does;
- numbers compare with numbers, strings with strings, timestamps with dates; booleans, arrays, records and events have
  no order and only compare with `=`, `!=`, `is`, `is not`; null compares with everything;
- conditions, and the operands of `and`, `or`, `not`, are boolean;
- branches of a `case` have a common type, and a missing `else` is null;
- `cast` goes between strings and all others, between numbers, between timestamps and dates or longs;
- `sum`, `min`, `max`, `first`, `last` have the type of their argument (a sum of decimals has all 18
  digits), `count` is long, `avg`, `median` and `stddev` are double.

A value whose schema is not known has type ANY: nothing is held against it before the run, in which
it is null, since events of a type without a schema are never taken. A node with an error gets type
ANY too, so that one mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import singledispatch
from typing import cast

from cepheid.core.event import Scalar
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DATE,
    DOUBLE,
    MOST_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    EventRef,
    RecordType,
    fits,
    is_calendar,
    is_integral,
    is_numeric,
    is_open,
    is_ordered,
    wider,
)
from cepheid.core.values import coerce
from cepheid.errors import Diagnostic, ProgramError, Span, error, suggest
from cepheid.expr.arithmetic import decimal_type
from cepheid.expr.elsewhere import INSTEAD
from cepheid.expr.functions import AGGREGATES, FUNCTIONS, Function, Result, common_type, misfit
from cepheid.expr.printing import print_expr
from cepheid.expr.python import PythonFunction
from cepheid.expr.regular import regular_expression
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

    def alike(self, expressions: Sequence[Expr]) -> tuple[Expr, ...]:
        """Resolved expressions whose values meet: what is written beside others is of their kind."""
        return _literals_beside(self.all(expressions), self)

    def compared(self, expressions: Sequence[Expr]) -> tuple[Expr, ...]:
        """The same, where values are only compared."""
        return _comparable_as(self.alike(expressions))

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
        if not is_ordered(expr.type):
            message = f"{what} needs numbers, strings or times, not {expr.type}"
            self.report("type-mismatch", message, expr.span or span)


# -- what is written beside times and decimals ---------------------------------------------------


def _literals_beside(expressions: tuple[Expr, ...], place: _Place) -> tuple[Expr, ...]:
    """Literals as values of the kind of what stands beside them."""
    types = {e.type for e in expressions}
    if any(map(is_calendar, types)):
        return tuple(_time_literal(e, DATE in types, place) for e in expressions)
    if any(isinstance(t, DecimalType) for t in types):
        return tuple(map(_decimal_literal, expressions))
    return expressions


def _time_literal(expr: Expr, is_day: bool, place: _Place) -> Expr:
    """A text is a day where that is what it says and there are days, else a timestamp."""
    if not (isinstance(expr, Literal) and isinstance(expr.value, str)):
        return expr
    for type in (DATE, TIMESTAMP) if is_day else (TIMESTAMP,):
        try:
            return _literal_of(expr, type)
        except ValueError as problem:
            fact = str(problem)
    hint = "write a time as '2026-01-31T12:00:00Z' or '2026-01-31'"
    place.report("type-mismatch", fact, expr.span, hint)
    return replace(expr, type=ANY, value=None)


def _decimal_literal(expr: Expr) -> Expr:
    """A number with as many digits as it is written with; a double where these are too many."""
    if not (isinstance(expr, Literal) and (is_integral(expr.type) or expr.type == DOUBLE)):
        return expr
    number = Decimal(repr(expr.value))
    if not number.is_finite():
        return expr
    exponent = int(number.normalize().as_tuple().exponent)
    scale = max(-exponent, 0)
    digits = max(len(f"{abs(number):f}".partition(".")[0].lstrip("0")) + scale, 1)
    if digits > MOST_DIGITS:
        return expr
    type = DecimalType(digits, scale)
    return _literal_of(expr, type)


def _literal_of(expr: Literal, type: DataType) -> Literal:
    value = coerce(expr.value, type, {})
    return replace(expr, value=cast("Scalar", value), type=type)


def _comparable_as(expressions: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Days beside timestamps, and decimals beside floating-point numbers, are converted."""
    common = common_type([e.type for e in expressions])
    if common not in (TIMESTAMP, DOUBLE):
        return expressions
    return tuple(
        Cast(e, common, type=common, span=e.span)
        if e.type == DATE or isinstance(e.type, DecimalType)
        else e
        for e in expressions
    )


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
    if expr.operator == "||":
        left, right = place.all((expr.left, expr.right))
        resolved = replace(expr, left=left, right=right)
        return replace(resolved, type=_joined_type(resolved, place))
    if expr.operator in ARITHMETIC:
        left, right = place.alike((expr.left, expr.right))
        resolved = replace(expr, left=left, right=right)
        return replace(resolved, type=_arithmetic_type(resolved, place))
    left, right = place.compared((expr.left, expr.right))
    resolved = replace(expr, left=left, right=right)
    place.check_comparison(f"'{expr.operator}'", left, right, expr.span)
    if expr.operator in ("<", "<=", ">", ">="):
        _check_ordered(resolved, place)
    return replace(resolved, type=BOOLEAN)


def _arithmetic_type(expr: Binary, place: _Place) -> DataType:
    left, right = expr.left.type, expr.right.type
    if not (is_numeric(left) and is_numeric(right)):
        wrong = left if not is_numeric(left) else right
        hint = "join strings with ||" if expr.operator == "+" and STRING in (left, right) else None
        if is_calendar(wrong):
            hint = "times have functions: date_add('hour', 1, at), date_diff('day', a, b)"
        message = f"'{expr.operator}' takes numbers, not {wrong}"
        place.report("type-mismatch", message, expr.span or expr.left.span, hint)
        return ANY
    if expr.operator == "/":
        return DOUBLE
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        return _decimal_result(expr, place)
    # Null, or a mistake that was reported already.
    return ANY if ANY in (left, right) else common_type((left, right)) or ANY


def _decimal_result(expr: Binary, place: _Place) -> DataType:
    common = common_type((expr.left.type, expr.right.type))
    if common == DOUBLE or is_open(expr.left.type) or is_open(expr.right.type):
        return common or ANY
    found = decimal_type(expr.operator, expr.left.type, expr.right.type)
    if found is None:
        fact = f"the product has more than {MOST_DIGITS} digits after the point"
        hint = "cast one side to fewer digits, or to double"
        place.report("type-mismatch", fact, expr.span or expr.left.span, hint)
    return found or ANY


def _joined_type(expr: Binary, place: _Place) -> DataType:
    for side in (expr.left, expr.right):
        if not can_convert(side.type, STRING):
            message = f"'||' joins strings, numbers, times and booleans, not {side.type}"
            place.report("type-mismatch", message, side.span or expr.span)
    return STRING


def _check_ordered(expr: Binary, place: _Place) -> None:
    """One report per comparison: sides of different kinds were reported already."""
    common = wider(expr.left.type, expr.right.type)
    if common is not None:
        place.check_order(f"'{expr.operator}'", replace(expr.left, type=common), expr.span)


@_resolve.register
def _in_list(expr: InList, place: _Place) -> Expr:
    operand, *items = place.compared((expr.operand, *expr.items))
    for item in items:
        place.check_comparison("'in'", operand, item, item.span or expr.span)
    return replace(expr, operand=operand, items=tuple(items), type=BOOLEAN)


@_resolve.register
def _in_range(expr: InRange, place: _Place) -> Expr:
    operand, low, high = place.compared((expr.operand, expr.low, expr.high))
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
    operand, tests = _case_tests(expr, place)
    results = place.alike(
        [*(value for _, value in expr.branches), *([expr.otherwise] if expr.otherwise else [])]
    )
    values = results[: len(expr.branches)]
    otherwise = None if expr.otherwise is None else results[-1]
    return replace(
        expr,
        operand=operand,
        branches=tuple(zip(tests, values, strict=True)),
        otherwise=otherwise,
        type=_case_type(expr, [value.type for value in results], place),
    )


def _case_tests(expr: Case, place: _Place) -> tuple[Expr | None, tuple[Expr, ...]]:
    given = [test for test, _ in expr.branches]
    if expr.operand is None:
        return None, tuple(place.condition(test, "what follows 'when'") for test in given)
    operand, *tests = place.compared((expr.operand, *given))
    for test in tests:
        place.check_comparison("'case'", operand, test, test.span)
    return operand, tuple(tests)


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
    if expr.python is not None:
        called = replace(expr, arguments=place.all(expr.arguments))
        return replace(called, type=_python_type(called, expr.python, place))
    function = FUNCTIONS.get(expr.function)
    is_common = function is not None and function.result is Result.COMMON
    arguments = place.alike(expr.arguments) if is_common else place.all(expr.arguments)
    resolved = replace(expr, arguments=arguments)
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


def _python_type(expr: Call, function: PythonFunction, place: _Place) -> DataType:
    hint = f"usage: {function.usage}"
    if len(expr.arguments) != len(function.arguments):
        message = f"{expr.function} does not take {_count(len(expr.arguments), 'argument')}"
        place.report("wrong-arguments", message, expr.span, hint)
        return ANY
    for position, (given, wanted) in enumerate(
        zip(expr.arguments, function.arguments, strict=True)
    ):
        if not fits(given.type, wanted):
            what = f"argument {position + 1} of {expr.function}"
            message = f"{what} must be {wanted}, not {given.type}"
            place.report("wrong-arguments", message, given.span or expr.span, hint)
    return function.returns


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
        elif isinstance(argument, Literal) and (fact := misfit(kind, expr, argument)):
            place.report("wrong-arguments", fact[0], argument.span or expr.span, fact[1])
            fine = False
    return fine


@_resolve.register
def _aggregate(expr: Aggregate, place: _Place) -> Expr:
    if place.inside_aggregate:
        message = f"{expr.function} stands inside another aggregate"
        place.report("nested-aggregate", message, expr.span)
    elif place.scope.no_aggregates is not None:
        message = f"{expr.function} is an aggregate and not allowed {place.scope.no_aggregates}"
        clause = place.scope.aggregates_in
        hint = clause and f"conditions on it stand in `{clause}`: `{clause} {print_expr(expr)} ...`"
        place.report("misplaced-aggregate", message, expr.span, hint)
    inside = _Place(place.scope, place.problems, inside_aggregate=True)
    argument = None if expr.argument is None else _resolve(expr.argument, inside)
    function = AGGREGATES.get(expr.function)
    of_doubles = function is not None and function.result == DOUBLE
    if of_doubles and argument is not None and isinstance(argument.type, DecimalType):
        argument = Cast(argument, DOUBLE, type=DOUBLE, span=argument.span)
    resolved = replace(expr, argument=argument)
    return replace(resolved, type=_aggregate_type(resolved, place))


_INDEXED = "nth takes a value and a whole number from 0, and no other aggregate does"


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
    if (expr.index is not None and expr.index >= 0) != (expr.function == "nth"):
        place.report("wrong-arguments", _INDEXED, expr.span, "write for example nth(x, 1)")
        return ANY
    argument = NULL if expr.argument is None else expr.argument.type
    if not function.parameter.accepts(argument):
        message = f"{expr.function} takes {function.parameter.value}, not {argument}"
        span = expr.argument.span if expr.argument else None
        place.report("wrong-arguments", message, span or expr.span)
        return ANY
    if expr.function == "sum" and isinstance(argument, DecimalType):
        return DecimalType(MOST_DIGITS, argument.scale)
    return argument if isinstance(function.result, Result) else function.result


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
