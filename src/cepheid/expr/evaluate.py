"""Evaluating resolved expressions: a tree becomes a closure over a frame.

Logic is SQL's: null is unknown, so `false and null` is false, `true and null` is null, and a
comparison, operator or function with a null operand is null (`is`, `is not`, `coalesce`, `nullif`
and `case` excepted). A condition holds only where it is true. `x in (...)` is true if one item
equals x, else null if x or an item is null. A range whose ends are swapped is the range between
them. What depends on types alone is decided when the closure is made.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from types import MappingProxyType
from typing import TypeAlias, cast

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    NULL,
    STRING,
    DataType,
    DecimalType,
    is_open,
)
from cepheid.expr.arithmetic import arithmetic, like_pattern
from cepheid.expr.compare import Comparison, comparison, identity
from cepheid.expr.functions import FUNCTIONS, Function, Kind, Result, common_type, joined
from cepheid.expr.python import PythonFunction
from cepheid.expr.regular import regular_expression
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
    Part,
    Regexp,
)
from cepheid.expr.values import conversion, group_key, rounding, sort_key, widening

__all__ = ["Evaluator", "Frame", "compile_condition", "compile_expr", "group_key", "sort_key"]

Bound: TypeAlias = Event | Sequence[Event] | None
_NO_TAGS: Mapping[str, Bound] = MappingProxyType({})


class Frame:
    """What an expression is evaluated against."""

    __slots__ = ("aggregates", "event", "is_new", "now", "tags")

    def __init__(
        self,
        event: Event | None = None,  # the event at hand
        tags: Mapping[str, Bound] = _NO_TAGS,
        now: Instant = 0,
        is_new: bool = True,  # false for a row that leaves its window
        aggregates: Sequence[Value] = (),
    ) -> None:
        self.event = event
        self.tags = tags
        self.now = now
        self.is_new = is_new
        self.aggregates = aggregates


Evaluator: TypeAlias = Callable[[Frame], Value]
Slots: TypeAlias = Mapping[Aggregate, int]


def compile_expr(expr: Expr, slots: Slots | None = None) -> Evaluator:
    """The value of a resolved expression; aggregates are read from their slots in the frame."""
    return _compile(expr, slots or {})


def compile_condition(expr: Expr | None, slots: Slots | None = None) -> Callable[[Frame], bool]:
    """Whether a condition is true, neither false nor null; no condition always holds."""
    if expr is None:
        return lambda _: True
    evaluate = compile_expr(expr, slots)
    return lambda frame: evaluate(frame) is True


@singledispatch
def _compile(expr: Expr, _: Slots) -> Evaluator:
    raise TypeError(f"{type(expr).__name__} cannot be evaluated; resolve the expression first")


# -- building blocks ---------------------------------------------------------------------------


def _constant(value: Value) -> Evaluator:
    return lambda _: value


def _after(operand: Evaluator, function: Callable[..., Value]) -> Evaluator:
    """The function of a value, null where the value is null."""

    def evaluate(frame: Frame) -> Value:
        value = operand(frame)
        return None if value is None else function(value)

    return evaluate


def _join(left: Evaluator, right: Evaluator, function: Callable[..., Value]) -> Evaluator:
    """The function of two values, null where one of them is null."""

    def evaluate(frame: Frame) -> Value:
        first = left(frame)
        if first is None:
            return None
        second = right(frame)
        if second is None:
            return None
        return function(first, second)

    return evaluate


def _join_constant(left: Evaluator, second: Value, function: Callable[..., Value]) -> Evaluator:
    def evaluate(frame: Frame) -> Value:
        first = left(frame)
        return None if first is None else function(first, second)

    return evaluate


def _widened(evaluate: Evaluator, expr: Expr, target: DataType) -> Evaluator:
    """The value of an expression as a number of a wider type."""
    widen = widening(expr.type, target)
    if widen is None:
        return evaluate
    if isinstance(expr, Literal):
        return _constant(widen(expr.value))
    return _after(evaluate, widen)


def _of_kind(expr: Expr, kind: Kind, slots: Slots) -> Evaluator:
    """The expression, with null for what its static type lets through and the kind does not."""
    evaluate = _compile(expr, slots)
    if not is_open(expr.type):
        return evaluate
    return _after(evaluate, lambda value: value if kind.admits(value) else None)


# -- names -------------------------------------------------------------------------------------


@_compile.register
def _literal(expr: Literal, _: Slots) -> Evaluator:
    return _constant(expr.value)


@_compile.register
def _column(expr: Column, _: Slots) -> Evaluator:
    if len(expr.path) == 1 and expr.path[0].index is None and expr.index is None:
        return _attribute(expr.tag, expr.path[0].name)
    start = _bound(expr.tag, expr.index)
    path = expr.path
    if not path:
        return start

    def evaluate(frame: Frame) -> Value:
        value = start(frame)
        for part in path:
            value = _step(value, part)
        return value

    return evaluate


def _attribute(tag: str | None, name: str) -> Evaluator:
    """The most frequent kind of column: an attribute of one event."""
    if tag is None:

        def of_current(frame: Frame) -> Value:
            event = frame.event
            return None if event is None else event.values_.get(name)

        return of_current

    def of_tag(frame: Frame) -> Value:
        event = frame.tags.get(tag)
        return event.values_.get(name) if isinstance(event, Event) else None

    return of_tag


def _bound(tag: str | None, index: int | None) -> Evaluator:
    """The event at hand, or the event or events that a tag is bound to."""
    if tag is None:
        return lambda frame: frame.event
    if index is None:
        return lambda frame: _whole(frame.tags.get(tag))
    return lambda frame: _element(frame.tags.get(tag), index)


def _whole(bound: Bound) -> Value:
    """One event or several, or the value that a parameter stands for."""
    return list(bound) if isinstance(bound, list | tuple) else cast("Value", bound)


def _element(bound: Bound, index: int) -> Value:
    if bound is None or isinstance(bound, Event) or not 0 <= index < len(bound):
        return None
    return bound[index]


def _step(value: Value, part: Part) -> Value:
    """One step of a path; null where there is nothing to step into."""
    if isinstance(value, Event):
        value = value.values_.get(part.name)
    else:
        value = value.get(part.name) if isinstance(value, dict) else None
    if part.index is None:
        return value
    if isinstance(value, list | tuple) and 0 <= part.index < len(value):
        item: Value = value[part.index]
        return item
    return None


# -- logic -------------------------------------------------------------------------------------


def _truth(expr: Expr, slots: Slots) -> Evaluator:
    """A condition as true, false or null, whatever its static type."""
    evaluate = _compile(expr, slots)
    if expr.type == BOOLEAN:
        return evaluate
    return _after(evaluate, lambda value: value if isinstance(value, bool) else None)


@_compile.register
def _not(expr: Not, slots: Slots) -> Evaluator:
    return _after(_truth(expr.operand, slots), operator.not_)


@_compile.register
def _and(expr: And, slots: Slots) -> Evaluator:
    return _connective([_truth(part, slots) for part in expr.operands], decisive=False)


@_compile.register
def _or(expr: Or, slots: Slots) -> Evaluator:
    return _connective([_truth(part, slots) for part in expr.operands], decisive=True)


def _connective(operands: Sequence[Evaluator], decisive: bool) -> Evaluator:
    """`or` is decided by a true operand, `and` by a false one; else a null leaves it open."""

    def evaluate(frame: Frame) -> Value:
        undecided: Value = not decisive
        for operand in operands:
            value = operand(frame)
            if value is decisive:
                return decisive
            if value is None:
                undecided = None
        return undecided

    return evaluate


def _negated_if(negated: bool, evaluate: Evaluator) -> Evaluator:
    return _after(evaluate, operator.not_) if negated else evaluate


# -- operators ---------------------------------------------------------------------------------


@_compile.register
def _negate(expr: Negate, slots: Slots) -> Evaluator:
    operand = _of_kind(expr.operand, Kind.NUMBER, slots)
    if expr.type in (FLOAT, DOUBLE):
        return _after(operand, operator.neg)
    fit = rounding(expr.type)
    return _after(operand, lambda value: fit(-value))


@_compile.register
def _binary(expr: Binary, slots: Slots) -> Evaluator:
    if expr.operator in ARITHMETIC:
        return _arithmetic(expr, slots)
    if expr.operator == "||":
        return _join(_text(expr.left, slots), _text(expr.right, slots), joined)
    if expr.operator in ("is", "is not"):
        return _identity(expr, slots)
    compare = comparison(expr.operator, expr.left.type, expr.right.type)
    left = _compile(expr.left, slots)
    if isinstance(expr.right, Literal) and expr.right.value is not None:
        return _join_constant(left, expr.right.value, compare)
    return _join(left, _compile(expr.right, slots), compare)


def _arithmetic(expr: Binary, slots: Slots) -> Evaluator:
    common = common_type((expr.left.type, expr.right.type)) or ANY
    if expr.operator == "/" and not is_open(common):
        common = DOUBLE
    if isinstance(expr.type, DecimalType):
        operands = _compile(expr.left, slots), _compile(expr.right, slots)
        return _join(*operands, arithmetic(expr.operator, expr.type))
    function = arithmetic(expr.operator, common)
    left = _widened(_compile(expr.left, slots), expr.left, common)
    right = _widened(_compile(expr.right, slots), expr.right, common)
    return _join(left, right, function)


def _text(expr: Expr, slots: Slots) -> Evaluator:
    evaluate = _compile(expr, slots)
    return evaluate if expr.type == STRING else _after(evaluate, conversion(expr.type, STRING))


def _identity(expr: Binary, slots: Slots) -> Evaluator:
    left, right = _compile(expr.left, slots), _compile(expr.right, slots)
    wanted = expr.operator == "is"
    if isinstance(expr.right, Literal) and expr.right.value is None:
        return lambda frame: (left(frame) is None) is wanted
    equal = identity(expr.left.type, expr.right.type)
    return lambda frame: equal(left(frame), right(frame)) is wanted


@_compile.register
def _in_list(expr: InList, slots: Slots) -> Evaluator:
    operand = _compile(expr.operand, slots)
    constants = _constant_items(expr)
    if constants is not None:
        return _negated_if(expr.negated, _after(operand, constants.__contains__))
    items = [
        (_compile(item, slots), comparison("=", expr.operand.type, item.type))
        for item in expr.items
    ]
    return _negated_if(expr.negated, _after_items(operand, items))


def _constant_items(expr: InList) -> frozenset[Value] | None:
    """The items, if all are constants that hash as they compare."""
    values = [item.value for item in expr.items if isinstance(item, Literal)]
    if len(values) < len(expr.items) or None in values or is_open(expr.operand.type):
        return None
    return frozenset(values)


def _after_items(operand: Evaluator, items: Sequence[tuple[Evaluator, Comparison]]) -> Evaluator:
    def evaluate(frame: Frame) -> Value:
        value = operand(frame)
        if value is None:
            return None
        result: Value = False
        for item, equals in items:
            other = item(frame)
            equal = None if other is None else equals(value, other)
            if equal:
                return True
            if equal is None:
                result = None
        return result

    return evaluate


@_compile.register
def _in_range(expr: InRange, slots: Slots) -> Evaluator:
    operand, low, high = (_compile(part, slots) for part in (expr.operand, expr.low, expr.high))
    type = common_type((expr.operand.type, expr.low.type, expr.high.type)) or ANY
    above = comparison(">=" if expr.include_low else ">", type, type)
    below = comparison("<=" if expr.include_high else "<", type, type)
    swapped = comparison(">", type, type)

    def evaluate(frame: Frame) -> Value:
        value, first, last = operand(frame), low(frame), high(frame)
        if value is None or first is None or last is None:
            return None
        if swapped(first, last):
            first, last = last, first
        over, under = above(value, first), below(value, last)
        return None if over is None or under is None else over and under

    return _negated_if(expr.negated, evaluate)


@_compile.register
def _like(expr: Like, slots: Slots) -> Evaluator:
    operand = _of_kind(expr.operand, Kind.STRING, slots)
    escape = expr.escape
    if isinstance(expr.pattern, Literal) and isinstance(expr.pattern.value, str):
        match = like_pattern(expr.pattern.value, escape).fullmatch
        matches = _after(operand, lambda text: match(text) is not None)
    else:
        pattern = _of_kind(expr.pattern, Kind.STRING, slots)
        matches = _join(
            operand,
            pattern,
            lambda text, like: like_pattern(like, escape).fullmatch(text) is not None,
        )
    return _negated_if(expr.negated, matches)


@_compile.register
def _regexp(expr: Regexp, slots: Slots) -> Evaluator:
    operand = _of_kind(expr.operand, Kind.STRING, slots)
    if isinstance(expr.pattern, Literal) and isinstance(expr.pattern.value, str):
        matches = _after(operand, regular_expression(expr.pattern.value))
    else:
        matches = _join(operand, _of_kind(expr.pattern, Kind.STRING, slots), _matches)
    return _negated_if(expr.negated, matches)


def _matches(text: str, pattern: str) -> bool | None:
    """Whether a text matches a pattern that only the run knows; null where it is none."""
    try:
        return regular_expression(pattern)(text)
    except ValueError:
        return None


# -- choices, conversions, functions -----------------------------------------------------------


@_compile.register
def _case(expr: Case, slots: Slots) -> Evaluator:
    branches = [
        (_case_test(test, expr.operand, slots), _widened(_compile(value, slots), value, expr.type))
        for test, value in expr.branches
    ]
    final = expr.otherwise or Literal(None, type=NULL)
    otherwise = _widened(_compile(final, slots), final, expr.type)

    def evaluate(frame: Frame) -> Value:
        for holds, value in branches:
            if holds(frame) is True:
                return value(frame)
        return otherwise(frame)

    return evaluate


def _case_test(test: Expr, operand: Expr | None, slots: Slots) -> Evaluator:
    if operand is None:
        return _compile(test, slots)
    equals = comparison("=", operand.type, test.type)
    return _join(_compile(operand, slots), _compile(test, slots), equals)


@_compile.register
def _cast(expr: Cast, slots: Slots) -> Evaluator:
    return _after(_compile(expr.operand, slots), conversion(expr.operand.type, expr.target))


@_compile.register
def _call(expr: Call, slots: Slots) -> Evaluator:
    if expr.python is not None:
        return _python_call(expr, expr.python, slots)
    function = FUNCTIONS[expr.function]
    if function.of_frame:
        return function.apply
    arguments = [
        _argument(argument, function, function.kind(position), expr.type, slots)
        for position, argument in enumerate(expr.arguments)
    ]
    if function.sees_nulls:
        apply = function.apply
        return lambda frame: apply(*[argument(frame) for argument in arguments])
    result = _strict_call(function.apply, arguments)
    if function.result is Result.FIRST:
        return _after(result, rounding(expr.type))
    return result


def _python_call(expr: Call, function: PythonFunction, slots: Slots) -> Evaluator:
    arguments = [
        _widened(_compile(argument, slots), argument, type)
        for argument, type in zip(expr.arguments, function.arguments, strict=True)
    ]
    return _strict_call(lambda *values: function.value(values, expr.span), arguments)


def _argument(
    argument: Expr, function: Function, kind: Kind, result: DataType, slots: Slots
) -> Evaluator:
    if function.result is Result.COMMON and not is_open(argument.type):
        return _widened(_compile(argument, slots), argument, result)
    if kind is Kind.TEXT:
        return _text(argument, slots)
    return _of_kind(argument, kind, slots)


def _strict_call(apply: Callable[..., Value], arguments: Sequence[Evaluator]) -> Evaluator:
    if len(arguments) == 1:
        return _after(arguments[0], apply)
    if len(arguments) == 2:
        return _join(arguments[0], arguments[1], apply)

    def evaluate(frame: Frame) -> Value:
        values = []
        for argument in arguments:
            value = argument(frame)
            if value is None:
                return None
            values.append(value)
        return apply(*values)

    return evaluate


@_compile.register
def _aggregate(expr: Aggregate, slots: Slots) -> Evaluator:
    slot = slots[expr]
    return lambda frame: frame.aggregates[slot]
