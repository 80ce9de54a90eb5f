"""Writes priorities into a text; everything else stays as it is, comments and layout included."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import Span
from cepheid.program.tree import Statement


def write_priorities(text: str, statements: Sequence[Statement], priorities: Sequence[int]) -> str:
    """The text with a priority for each of the statements that were read from it, in their order."""
    lines = text.split("\n")
    for statement, priority in reversed(list(zip(statements, priorities, strict=True))):
        assert statement.span is not None
        old = statement.annotation("Priority")
        note = f"@Priority({priority})"
        if old is not None and old.span is not None:
            _replace(lines, old.span, note)
        else:
            _insert(lines, statement.span, note)
    return "\n".join(lines)


def _insert(lines: list[str], place: Span, note: str) -> None:
    """On a line of its own, as the formatter has it, where the statement begins its line."""
    before = lines[place.line - 1][: place.column - 1]
    end = " " if before.strip() else f"\n{before}"
    _replace(lines, Span(place.line, place.column, place.line, place.column), note + end)


def _replace(lines: list[str], place: Span, text: str) -> None:
    first, last = lines[place.line - 1], lines[place.end_line - 1]
    changed = first[: place.column - 1] + text + last[place.end_column - 1 :]
    lines[place.line - 1 : place.end_line] = [changed]
