"""Any tree again, by nothing but the public builder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import singledispatch
from typing import Any, cast

import cepheid as cep
from cepheid.build.declarations import Declaration
from cepheid.core.time import Period
from cepheid.expr import tree as expr
from cepheid.expr.printing import print_type
from cepheid.pattern import algebra
from cepheid.pattern import tree as pattern
from cepheid.pattern.policy import CONTEXTS
from cepheid.pattern.schedule import Schedule
from cepheid.program import tree as program

_ENDS = {
    (True, True): "both",
    (True, False): "left",
    (False, True): "right",
    (False, False): "neither",
}


# Expressions.


@singledispatch
def expression(node: expr.Expr) -> cep.Expression:
    raise TypeError(type(node).__name__)


def _all(nodes: tuple[expr.Expr, ...]) -> list[cep.Expression]:
    return [expression(node) for node in nodes]


@expression.register
def _(node: expr.Literal) -> cep.Expression:
    return cep.lit(node.value, None if node.value is None else str(node.type))


@expression.register
def _(node: expr.Ref) -> cep.Expression:
    indexes = ["" if part.index is None else f"[{part.index}]" for part in node.parts]
    return cep.col(".".join(f"`{p.name}`{i}" for p, i in zip(node.parts, indexes, strict=True)))


@expression.register
def _(node: expr.Negate) -> cep.Expression:
    return -expression(node.operand)


@expression.register
def _(node: expr.Not) -> cep.Expression:
    return ~expression(node.operand)


@expression.register
def _(node: expr.And) -> cep.Expression:
    return cep.all_of(*_all(node.operands))


@expression.register
def _(node: expr.Or) -> cep.Expression:
    return cep.any_of(*_all(node.operands))


@expression.register
def _(node: expr.Binary) -> cep.Expression:
    left, right = expression(node.left), expression(node.right)
    methods = {
        "+": left.__add__,
        "-": left.__sub__,
        "*": left.__mul__,
        "/": left.__truediv__,
        "%": left.__mod__,
        "||": left.concat,
        "=": left.__eq__,
        "!=": left.__ne__,
        "<": left.__lt__,
        "<=": left.__le__,
        ">": left.__gt__,
        ">=": left.__ge__,
        "is": left.is_,
        "is not": left.is_not,
    }
    return methods[node.operator](right)


@expression.register
def _(node: expr.InList) -> cep.Expression:
    operand = expression(node.operand)
    return (operand.not_in if node.negated else operand.isin)(*_all(node.items))


@expression.register
def _(node: expr.InRange) -> cep.Expression:
    operand = expression(node.operand)
    ends = cast("Any", _ENDS[node.include_low, node.include_high])
    method = operand.not_between if node.negated else operand.between
    return method(expression(node.low), expression(node.high), ends)


@expression.register
def _(node: expr.Like) -> cep.Expression:
    operand = expression(node.operand)
    return (operand.not_like if node.negated else operand.like)(
        expression(node.pattern), node.escape
    )


@expression.register
def _(node: expr.Regexp) -> cep.Expression:
    operand = expression(node.operand)
    return (operand.not_regexp if node.negated else operand.regexp)(expression(node.pattern))


@expression.register
def _(node: expr.Case) -> cep.Expression:
    built: Any = cep.case() if node.operand is None else cep.case(expression(node.operand))
    for when, then in node.branches:
        built = built.when(expression(when), expression(then))
    if node.otherwise is not None:
        built = built.otherwise(expression(node.otherwise))
    return cast("cep.Expression", built)


@expression.register
def _(node: expr.Cast) -> cep.Expression:
    return expression(node.operand).cast(print_type(node.target))


@expression.register
def _(node: expr.Call) -> cep.Expression:
    return cep.call(node.function, *_all(node.arguments))


@expression.register
def _(node: expr.Aggregate) -> cep.Expression:
    arguments = () if node.argument is None else (expression(node.argument),)
    make = cast("Callable[..., cep.Expression]", getattr(cep.agg, node.function))
    return make(*arguments, distinct=node.distinct)


# Patterns.


@singledispatch
def pattern_of(node: pattern.Pattern) -> cep.Pattern:
    raise TypeError(type(node).__name__)


@pattern_of.register
def _(node: pattern.Atom) -> cep.Pattern:
    conditions = () if node.condition is None else (expression(node.condition),)
    return cep.event(node.tag, node.event_type, *conditions)


@pattern_of.register
def _(node: pattern.Every) -> cep.Pattern:
    return cep.every(pattern_of(node.child))


@pattern_of.register
def _(node: pattern.EveryDistinct) -> cep.Pattern:
    expiry = None if node.expiry is None else str(node.expiry)
    return cep.every_distinct(_all(node.keys), pattern_of(node.child), expiry=expiry)


@pattern_of.register
def _(node: pattern.FollowedBy) -> cep.Pattern:
    return cep.sequence(*map(pattern_of, node.parts))


@pattern_of.register
def _(node: pattern.AllOf) -> cep.Pattern:
    return cep.all_of(*map(pattern_of, node.parts))


@pattern_of.register
def _(node: pattern.AnyOf) -> cep.Pattern:
    return cep.any_of(*map(pattern_of, node.parts))


@pattern_of.register
def _(node: pattern.Absent) -> cep.Pattern:
    return cep.not_(pattern_of(node.child))


@pattern_of.register
def _(node: pattern.Repeat) -> cep.Pattern:
    child = pattern_of(node.child)
    end = None if node.until is None else pattern_of(node.until)
    if node.is_exact:
        return child.times(node.low, until=end)
    if end is not None and node.low is None and node.high is None:
        return child.until(end)
    return child.times(node.low, node.high, until=end)


@pattern_of.register
def _(node: pattern.Within) -> cep.Pattern:
    return pattern_of(node.child).within(str(node.period), most=node.most)


@pattern_of.register
def _(node: pattern.While) -> cep.Pattern:
    return pattern_of(node.child).while_(expression(node.condition))


@pattern_of.register
def _(node: pattern.Interval) -> cep.Pattern:
    return cep.interval(str(node.period))


@pattern_of.register
def _(node: pattern.IntervalOf) -> cep.Pattern:
    return cep.interval(**_told(node))


@pattern_of.register
def _(node: pattern.WithinOf) -> cep.Pattern:
    return pattern_of(node.child).within(most=node.most, **_told(node))


def _told(node: pattern.IntervalOf | pattern.WithinOf) -> dict[str, Any]:
    return dict(zip(node.units, map(expression, node.amounts), strict=True))


@pattern_of.register
def _(node: pattern.At) -> cep.Pattern:
    fields: Any = {f.name: getattr(node.schedule, f.name) for f in dataclasses.fields(Schedule)}
    return cep.at(**fields)


# Forms.


@singledispatch
def form_of(node: algebra.Form) -> cep.Form:
    raise TypeError(type(node).__name__)


@form_of.register
def _(node: algebra.EventCall) -> cep.Form:
    given = ("_" if argument is None else argument for argument in node.arguments or ())
    return cep.occurs(node.atom.event_type, *given)


@form_of.register
def _(node: algebra.Follows) -> cep.Form:
    return cep.sequence(*map(form_of, node.parts))


@form_of.register
def _(node: algebra.Both) -> cep.Form:
    return cep.all_of(*map(form_of, node.parts))


@form_of.register
def _(node: algebra.Either) -> cep.Form:
    return cep.any_of(*map(form_of, node.parts))


@form_of.register
def _(node: algebra.Never) -> cep.Form:
    return cep.not_(form_of(node.part))


@form_of.register
def _(node: algebra.Times) -> cep.Form:
    part = form_of(node.part)
    return part.times(node.low) if node.low == node.high else part.times(node.low, node.high)


@form_of.register
def _(node: algebra.Timed) -> cep.Form:
    part = form_of(node.part)
    return (part.within if node.kind == "within" else part.holds_for)(str(node.period))


# Declarations.


def program_of(node: program.ProgramTree) -> cep.Program:
    """With the schemas of complex events where the builder puts them, beside their statements."""
    derived = {s.insert_into for s in node.statements if s.is_occurrence}
    schemas = {schema.name: schema for schema in node.schemas if schema.name in derived}
    return cep.compose(
        *(
            _complex_event(one, schemas[one.insert_into or ""])
            if isinstance(one, program.Statement) and one.is_occurrence
            else declaration(one)
            for one in node.declarations
            if one not in schemas.values()
        ),
        *node.functions,
    )


def _complex_event(node: program.Statement, schema: program.Schema) -> Declaration:
    source = node.source
    assert isinstance(source, program.PatternSource)
    assert isinstance(source.pattern, algebra.Occurrence)
    parameters = {parameter.name: parameter.type for parameter in schema.attributes}
    built = cep.complex_event(schema.name, form_of(source.pattern.form), parameters)
    ((context, is_global),) = (c for c, policy in CONTEXTS.items() if policy == source.policy)
    built = built.in_context(cast("Any", context), is_global=is_global)
    return _annotated(built, node.annotations[:-1])  # the last is its own name


def _atomic_event(node: program.Schema) -> Declaration:
    built = cep.atomic_event(node.name, {a.name: a.type for a in node.attributes})
    if node.check is not None:
        built = built.check(expression(node.check))
    return _annotated(built, node.annotations)


@singledispatch
def declaration(node: program.Declaration) -> Declaration:
    raise TypeError(type(node).__name__)


def _annotated(built: Declaration, annotations: tuple[program.Annotation, ...]) -> Declaration:
    for annotation in annotations:
        unnamed = [value for name, value in annotation.arguments if name is None]
        named = {name: value for name, value in annotation.arguments if name is not None}
        built = built.annotated(annotation.name, *unnamed, **named)
    return built


@declaration.register
def _(node: program.Schema) -> Declaration:
    if node.disturbs:
        return _atomic_event(node)
    attributes = {attribute.name: print_type(attribute.type) for attribute in node.attributes}
    return _annotated(cep.schema(node.name, attributes, inherits=node.inherits), node.annotations)


@declaration.register
def _(node: program.Context) -> Declaration:
    keys = {key.event_type: key.attributes for key in node.keys}
    return _annotated(cep.context(node.name, keys), node.annotations)


@declaration.register
def _(node: program.Statement) -> Declaration:
    return _annotated(_rows(_clauses(_source(node.source), node), node), node.annotations)


def _source(source: program.Source) -> cep.Query:
    if isinstance(source, program.PatternSource):
        return cep.match(pattern_of(source.pattern))
    conditions = () if source.condition is None else (expression(source.condition),)
    return cep.stream(source.event_type, *conditions, alias=source.alias)


def _clauses(query: cep.Query, node: program.Statement) -> cep.Query:
    query = query.select(*map(_item, node.select)).group_by(*_all(node.group_by))
    query = query.order_by(*map(_order, node.order_by))
    if node.window is not None:
        query = query.window(_window(node.window))
    if node.where is not None:
        query = query.where(expression(node.where))
    if node.having is not None:
        query = query.having(expression(node.having))
    if node.output is not None:
        query = _output(query, node.output)
    return query


def _rows(query: cep.Query, node: program.Statement) -> cep.Query:
    if node.distinct:
        query = query.distinct()
    if node.stream != "istream":
        query = query.irstream() if node.stream == "irstream" else query.rstream()
    if node.insert_into is not None:
        query = query.insert_into(node.insert_into, node.insert_stream)
    if node.limit is not None:
        query = query.limit(node.limit.count, node.limit.offset)
    if node.context is not None:
        query = query.in_context(node.context)
    return query


def _item(item: program.SelectItem) -> Any:
    if isinstance(item, program.SelectAll):
        return "*" if item.tag is None else f"`{item.tag}`.*"
    built = expression(item.expr)
    return built if item.alias is None else built.alias(item.alias)


def _order(item: program.OrderItem) -> Any:
    return expression(item.expr).desc() if item.descending else expression(item.expr)


def _output(query: cep.Query, rate: program.OutputRate) -> cep.Query:
    if rate.when is not None:
        return query.output(when=expression(rate.when))
    if isinstance(rate.every, Schedule):
        return query.output(
            rate.mode, at=pattern_of(pattern.At(rate.every)), after=_amount(rate.after)
        )
    return query.output(rate.mode, every=_amount(rate.every), after=_amount(rate.after))


def _amount(amount: int | Period | None) -> int | str | None:
    return str(amount) if isinstance(amount, Period) else amount


def _window(window: program.Window) -> program.Window:
    match window:
        case program.TimeWindow(period):
            return cep.window.time(str(period))
        case program.TimeBatch(period, reference, force, eager):
            return cep.window.time_batch(
                str(period), reference=reference, force_update=force, start_eager=eager
            )
        case program.LengthWindow(size):
            return cep.window.length(size)
        case program.LengthBatch(size):
            return cep.window.length_batch(size)
        case program.KeepAll():
            return cep.window.keepall()
    raise TypeError(type(window).__name__)
