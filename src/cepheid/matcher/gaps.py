"""What the compiled matcher has not, and leaves to the reference semantics."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.errors import Diagnostic, Span, note
from cepheid.pattern.tree import At, Interval, Within, walk
from cepheid.program.graph import graph_of
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

COMPLEX_EVENT = "the complex event"


def gaps(program: ResolvedProgram) -> list[Diagnostic]:
    """Everything that the matcher does not compile, with its place in the text."""
    hint = "the reference semantics runs the program, with the same rows, slowly"
    return [
        note("not-compiled", f"{what} in '{statement.name}'", span or statement.tree.span, hint)
        for statement, what, span in _gaps(program)
    ]


def left_to_reference(program: ResolvedProgram) -> dict[str, list[str]]:
    """Of each statement that the matcher cannot run, what it has that the matcher has not."""
    found: dict[str, list[str]] = {}
    for statement, what, _ in _gaps(program):
        reasons = found.setdefault(statement.name, [])
        if what not in reasons:
            reasons.append(what)
    return found


def _gaps(program: ResolvedProgram) -> Iterator[tuple[ResolvedStatement, str, Span | None]]:
    from cepheid.matcher.compiling.lowering import gaps_of  # loads the machine's tables

    cyclic = {n for cycle in graph_of(program).cycles for n in cycle}
    for number, statement in enumerate(program.statements):
        yield from ((statement, what, span) for what, span in gaps_of(statement))
        if number in cyclic:
            for span in _timers(statement):
                yield statement, "timers in a pattern that its own rows reach", span


def _timers(statement: ResolvedStatement) -> list[Span | None]:
    nodes = walk(statement.pattern) if statement.pattern is not None else ()
    return [node.span for node in nodes if isinstance(node, Interval | At | Within)]
