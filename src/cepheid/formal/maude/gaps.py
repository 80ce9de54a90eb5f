"""What cannot be said in Maude, as findings."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.core.types import ANY, FLOAT, DataType, EventRef, RecordType
from cepheid.errors import Diagnostic, Span, error
from cepheid.expr.tree import Aggregate
from cepheid.expr.typing import aggregates_in
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

_ORDERED = frozenset({"min", "max"})
_NUMERIC = frozenset({"sum", "avg", "median", "stddev"})


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


def _is_record(type: DataType) -> bool:
    return isinstance(getattr(type, "element", type), RecordType | EventRef)


def _gaps_of_clauses(statement: ResolvedStatement) -> Iterator[tuple[str, Span | None]]:
    exprs = [c.expr for c in statement.columns] + [i.expr for i in statement.order_by]
    exprs += [statement.having] if statement.having is not None else []
    for aggregate in dict.fromkeys(a for e in exprs for a in aggregates_in(e)):
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
