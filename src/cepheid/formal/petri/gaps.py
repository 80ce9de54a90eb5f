"""What nets do not have yet, as findings."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.errors import Diagnostic, Span, error
from cepheid.expr.typing import aggregates_in
from cepheid.pattern import tree as patterns
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import KeepAll, LengthWindow, TimeWindow

PATTERNS = (patterns.Atom, patterns.Every, patterns.FollowedBy, patterns.Within)
WINDOWS = (TimeWindow, LengthWindow, KeepAll)
_NAMES = {
    patterns.EveryDistinct: "every-distinct",
    patterns.AllOf: "and",
    patterns.AnyOf: "or",
    patterns.Absent: "not",
    patterns.Repeat: "a repeat",
    patterns.While: "while",
    patterns.Interval: "timer:interval",
    patterns.At: "timer:at",
}


def gaps(program: ResolvedProgram) -> list[Diagnostic]:
    """Everything in a program that is not translated."""
    return [
        error(
            "not-in-net",
            f"{what} of '{statement.name}' is not translated into a net yet",
            span or statement.tree.span,
            "the other engines run it",
        )
        for statement in program.statements
        for what, span in _gaps(statement)
    ]


def _gaps(statement: ResolvedStatement) -> Iterator[tuple[str, Span | None]]:
    if statement.pattern is not None:
        for node in patterns.walk(statement.pattern):
            if not isinstance(node, PATTERNS):
                yield f"'{_NAMES[type(node)]}'", node.span
        yield from _gaps_of_within(statement.pattern, is_repeated=False)
    yield from _gaps_of_window(statement)
    yield from _gaps_of_select(statement)
    tree = statement.tree
    clauses = {
        "the output rate": tree.output,
        "'limit'": tree.limit,
        "'having'": statement.having,
        "the context": statement.context,
    }
    yield from ((what, None) for what, clause in clauses.items() if clause)
    if {tree.stream, tree.insert_stream} != {"istream"}:
        yield "the remove stream", None


def _gaps_of_within(
    pattern: patterns.Pattern, *, is_repeated: bool
) -> Iterator[tuple[str, Span | None]]:
    """Under `every`, the end of many partial matches is one failure, which tokens do not know."""
    if isinstance(pattern, patterns.Within):
        if pattern.period.is_zero or pattern.period.months:
            yield "'timer:within' of no time or of calendar months", pattern.span
        if pattern.most is not None:
            yield "'timer:withinmax'", pattern.span
        if is_repeated and any(isinstance(p, patterns.Every) for p in patterns.walk(pattern)):
            yield "'timer:within' around 'every' inside 'every'", pattern.span
    is_repeated = is_repeated or isinstance(pattern, patterns.Every)
    for child in patterns.children(pattern):
        yield from _gaps_of_within(child, is_repeated=is_repeated)


def _gaps_of_window(statement: ResolvedStatement) -> Iterator[tuple[str, Span | None]]:
    window = statement.tree.window
    if window is None:
        return
    if not isinstance(window, WINDOWS):
        yield "the batch window", window.span
    elif isinstance(window, TimeWindow) and window.period.months:
        yield "a window of calendar months", window.span
    elif isinstance(window, LengthWindow) and statement.where is not None:
        yield "'where' with a length window", window.span


def _gaps_of_select(statement: ResolvedStatement) -> Iterator[tuple[str, Span | None]]:
    if statement.shape.is_grouped:
        yield "'group by'", None
    if any(any(aggregates_in(item.expr)) for item in statement.order_by):
        yield "'order by' with an aggregate", None
