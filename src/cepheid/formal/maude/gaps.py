"""What cannot be said in Maude, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cepheid.core.types import ANY, FLOAT, DataType, EventRef, RecordType, is_counted
from cepheid.errors import Diagnostic, Span, error
from cepheid.expr.tree import Aggregate
from cepheid.expr.typing import aggregates_in
from cepheid.pattern import tree as patterns
from cepheid.pattern.algebra import Occurrence
from cepheid.pattern.schedule import Schedule
from cepheid.program import tree
from cepheid.program.functions import python_calls
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

# What the specification has terms for.
OPERATORS = (
    patterns.Absent,
    patterns.AllOf,
    patterns.AnyOf,
    patterns.At,
    patterns.Atom,
    patterns.Every,
    patterns.EveryDistinct,
    patterns.FollowedBy,
    patterns.Interval,
    patterns.Repeat,
    patterns.While,
    patterns.Within,
)
WINDOWS = (tree.KeepAll, tree.LengthBatch, tree.LengthWindow, tree.TimeBatch, tree.TimeWindow)
AGGREGATES = (
    *("avedev", "avg", "count", "first", "last", "max", "median", "min", "nth", "stddev", "sum"),
)
_ORDERED = frozenset({"min", "max"})
_NUMERIC = frozenset({"sum", "avg", "avedev", "median", "stddev"})


def gap(statement: ResolvedStatement, what: str, span: Span | None = None) -> Diagnostic:
    fact = f"{what} of '{statement.name}' has no counterpart in Maude"
    return error("not-in-maude", fact, span or statement.tree.span, "the other engines run it")


def gaps(program: ResolvedProgram) -> list[Diagnostic]:
    """What is not translated, expressions apart: those the translator finds."""
    return [
        gap(statement, what, span)
        for statement in program.statements
        for what, span in (*_gaps_of_types(program, statement), *_gaps_of_clauses(statement))
    ]


def unknown_kinds(program: ResolvedProgram) -> list[Diagnostic]:
    """Operators, windows and aggregates for which there is no term at all."""
    return [
        gap(statement, what, span)
        for statement in program.statements
        for what, span in _unknown_kinds(statement)
    ]


def _unknown_kinds(statement: ResolvedStatement) -> Iterator[tuple[str, Span | None]]:
    if isinstance(statement.pattern, Occurrence):
        yield "the complex event", statement.pattern.span
        return
    for part in patterns.walk(statement.pattern) if statement.pattern is not None else ():
        if type(part) not in OPERATORS:
            yield f"the operator {type(part).__name__}", part.span
        elif isinstance(part, patterns.At) and not part.schedule.is_plain:
            yield "a schedule with days by rules, parts of seconds or a zone", part.span
    for call in python_calls(statement):
        yield f"the Python function '{call.function}'", call.span
    window = statement.tree.window
    if window is not None and type(window) not in WINDOWS:
        yield f"the window {type(window).__name__}", window.span
    output = statement.tree.output
    if output is not None and isinstance(output.every, Schedule):
        yield "'output at'", output.span
    for aggregate in _aggregates(statement):
        if aggregate.function not in AGGREGATES:
            yield f"the aggregate '{aggregate.function}'", aggregate.span


def _aggregates(statement: ResolvedStatement) -> Iterable[Aggregate]:
    """Each once."""
    return dict.fromkeys(a for _, e in statement.expressions for a in aggregates_in(e))


def _gaps_of_types(
    program: ResolvedProgram, statement: ResolvedStatement
) -> Iterator[tuple[str, Span | None]]:
    """Records have no terms; an event that a statement derives may hold other events."""
    derived = {s.target for s in program.statements}
    for name in statement.inputs:
        if program.types[name].is_open:
            yield f"type '{name}', which has no schema,", None
        for attribute in program.types[name].attributes:
            if name not in derived and _is_record(attribute.type):
                yield f"the record '{name}.{attribute.name}'", None
            if is_counted(_element(attribute.type)):
                yield f"the {attribute.type} '{name}.{attribute.name}'", None


def _element(type: DataType) -> DataType:
    found: DataType = getattr(type, "element", type)
    return found


def _is_record(type: DataType) -> bool:
    return isinstance(_element(type), RecordType | EventRef)


def _gaps_of_clauses(statement: ResolvedStatement) -> Iterator[tuple[str, Span | None]]:
    for aggregate in _aggregates(statement):
        yield from _gaps_of_aggregate(aggregate)
    for item in statement.order_by:
        if _is_record(item.expr.type):
            yield "'order by' an event", item.span


def _gaps_of_aggregate(aggregate: Aggregate) -> Iterator[tuple[str, Span | None]]:
    function, argument = aggregate.function, aggregate.argument
    if argument is None:
        return
    if function == "sum" and argument.type == FLOAT:
        yield "a sum of 32-bit floats", aggregate.span
    elif function in _NUMERIC and argument.type == ANY:
        yield f"'{function}' of values without a type", aggregate.span
    elif function in _ORDERED and _is_record(argument.type):
        yield f"'{function}' of events", aggregate.span
