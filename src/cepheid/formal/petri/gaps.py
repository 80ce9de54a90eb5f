"""What nets do not have, as findings."""

from __future__ import annotations

from cepheid.errors import Diagnostic, error
from cepheid.pattern.tree import At, Interval, Within, walk
from cepheid.program.graph import graph_of
from cepheid.program.resolved import ResolvedProgram


def gaps(program: ResolvedProgram) -> list[Diagnostic]:
    """Everything in a program that is not translated.

    Where a pattern takes events that it has led to, the order of its timers depends on the whole way
    to them, which tokens do not carry.
    """
    found = []
    for number in sorted(n for cycle in graph_of(program).cycles for n in cycle):
        statement = program.statements[number]
        parts = walk(statement.pattern) if statement.pattern is not None else ()
        for part in parts:
            if isinstance(part, Within | Interval | At):
                fact = f"'{statement.name}' has a timer and takes events that it leads to"
                hint = "a net does not know the order of such timers; the other engines run it"
                found.append(error("not-in-net", fact, part.span or statement.tree.span, hint))
    return found
