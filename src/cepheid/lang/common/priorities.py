"""Priorities as edits of a text; everything else stays as it is, comments and layout included."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import Edit, Span
from cepheid.program.tree import Statement


def priority_edits(
    text: str, statements: Sequence[Statement], priorities: Sequence[int]
) -> tuple[Edit, ...]:
    """A priority for each of the statements that were read from a text, in their order."""
    lines = text.split("\n")
    return tuple(
        _edit(lines, statement, priority)
        for statement, priority in zip(statements, priorities, strict=True)
    )


def _edit(lines: Sequence[str], statement: Statement, priority: int) -> Edit:
    """On a line of its own, as the formatter has it, where the statement begins its line."""
    old, place = statement.annotation("Priority"), statement.span
    note = f"@Priority({priority})"
    if old is not None and old.span is not None:
        return Edit(old.span, note)
    assert place is not None
    before = lines[place.line - 1][: place.column - 1]
    end = " " if before.strip() else f"\n{before}"
    return Edit(Span(place.line, place.column, place.line, place.column, place.file), note + end)
