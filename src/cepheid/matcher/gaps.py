"""What the compiled matcher has not, and leaves to the reference semantics."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from cepheid.core.once import once
from cepheid.errors import Diagnostic, Span, note
from cepheid.pattern.tree import At, Interval, IntervalOf, Within, WithinOf, walk
from cepheid.program.graph import graph_of
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

COMPLEX_EVENT = "the complex event"  # event by event; whole batches of it may be compiled


class TokenGap(StrEnum):
    """Why a partial match of a complex event is not one token of compiled code."""

    END_OF_WINDOW = "an absence up to the end of a window"
    LONG_NOT = "NOT of more than one event"
    OPEN_NOT = "NOT with a parameter that is bound later"
    UNKEYED_NOT = "NOT without the common parameter"
    NOT_IN_AND = "NOT in AND that compares an event of the match"
    SEVERAL_WAYS = "an event that may bind different parameters"
    SEVERAL_BEGINS = "a window that may begin at several events"
    SEVERAL_ENDS = "different windows holdsFor that one event may end"
    REPEATED_NAME = "a name that stands twice in one call"
    MONTHS = "a window of months"
    STATES = "too many states of a partial match"
    UNKEYED = "events without the common parameter"
    INHERITANCE = "types that inherit from each other"
    TYPES = "too many types or parameters"
    CHECK = "a check that is more than comparisons with constants"
    VALUES = "a parameter whose type is not compared word by word"
    ROWS = "rows that are not its parameters"


class NotCompiled(Exception):
    """What keeps a complex event from being compiled, what it is about, and where that stands."""

    def __init__(self, gap: TokenGap, span: Span | None = None, subject: str | None = None) -> None:
        super().__init__(gap if subject is None else f"{gap}: {subject}")
        self.gap = gap
        self.span = span


def gaps(program: ResolvedProgram) -> list[Diagnostic]:
    """Everything that the matcher does not compile, with its place in the text."""
    hint = "the reference semantics runs the program, with the same rows, slowly"
    return [
        note("not-compiled", f"{what} in '{statement.name}'", span or statement.tree.span, hint)
        for statement, what, span in _gaps(program)
    ]


@once
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


_TIMERS = (At, Interval, IntervalOf, Within, WithinOf)


def _timers(statement: ResolvedStatement) -> list[Span | None]:
    nodes = walk(statement.pattern) if statement.pattern is not None else ()
    return [node.span for node in nodes if isinstance(node, _TIMERS)]
