"""What nets do not have, as findings."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.errors import Diagnostic, Span, error
from cepheid.formal.petri.translation.operators import DRAWS
from cepheid.pattern.algebra import Occurrence
from cepheid.pattern.schedule import Schedule
from cepheid.pattern.tree import At, Interval, IntervalOf, Within, WithinOf, walk
from cepheid.program.functions import python_calls
from cepheid.program.graph import graph_of
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import KeepAll, LengthBatch, LengthWindow, TimeBatch, TimeWindow

WINDOWS = (KeepAll, LengthBatch, LengthWindow, TimeBatch, TimeWindow)


def gaps(program: ResolvedProgram) -> list[Diagnostic]:
    """Everything in a program that is not translated.

    Where a pattern takes events that it has led to, the order of its timers depends on the whole way
    to them, which tokens do not carry.
    """
    found = [_gap(s, what, span) for s in program.statements for what, span in _unknown_kinds(s)]
    for number in sorted(n for cycle in graph_of(program).cycles for n in cycle):
        statement = program.statements[number]
        parts = walk(statement.pattern) if statement.pattern is not None else ()
        for part in parts:
            if isinstance(part, Within | WithinOf | Interval | IntervalOf | At):
                fact = f"'{statement.name}' has a timer and takes events that it leads to"
                hint = "a net does not know the order of such timers; the other engines run it"
                found.append(error("not-in-net", fact, part.span or statement.tree.span, hint))
    return found


def _unknown_kinds(statement: ResolvedStatement) -> Iterator[tuple[str, Span | None]]:
    """Operators and windows that are not drawn; aggregates are those of the reference."""
    if isinstance(statement.pattern, Occurrence):
        yield "the complex event", statement.pattern.span
        return
    for part in walk(statement.pattern) if statement.pattern is not None else ():
        if type(part) not in DRAWS:
            yield f"the operator {type(part).__name__}", part.span
    for call in python_calls(statement):
        yield f"the Python function '{call.function}'", call.span
    window = statement.tree.window
    if window is not None and type(window) not in WINDOWS:
        yield f"the window {type(window).__name__}", window.span
    output = statement.tree.output
    if output is not None and isinstance(output.every, Schedule):
        yield "'output at'", output.span


def _gap(statement: ResolvedStatement, what: str, span: Span | None) -> Diagnostic:
    fact = f"{what} of '{statement.name}' is not drawn as a net"
    return error("not-in-net", fact, span or statement.tree.span, "the other engines run it")
