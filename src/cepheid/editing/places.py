"""Places in a text, as lines with columns and as offsets, and edits that are applied to it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from cepheid.errors import Edit, Span


class Lines:
    """Where the lines of a text begin."""

    def __init__(self, text: str, file: str | None = None) -> None:
        self.text = text
        self.file = file
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def offset(self, line: int, column: int) -> int:
        """Of a line and a column, both from one; what lies outside becomes the nearest place inside."""
        if line < 1:
            return 0
        if line > len(self.starts):
            return len(self.text)
        return min(self.starts[line - 1] + max(column, 1) - 1, self._end_of(line))

    def _end_of(self, line: int) -> int:
        return self.starts[line] - 1 if line < len(self.starts) else len(self.text)

    def range(self, span: Span) -> tuple[int, int]:
        return self.offset(span.line, span.column), self.offset(span.end_line, span.end_column)

    def place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        return Span(*self.place(start), *self.place(end), self.file)

    def edit(self, start: int, end: int, replacement: str) -> Edit:
        return Edit(self.span(start, end), replacement)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits of it that do not overlap; those at one place stay in their order."""
    lines = Lines(text)
    parts: list[str] = []
    done = 0
    for (start, end), replacement in sorted(
        ((lines.range(edit.span), edit.replacement) for edit in edits), key=lambda each: each[0]
    ):
        if start < done:
            raise ValueError("edits overlap")
        parts += [text[done:start], replacement]
        done = end
    return "".join([*parts, text[done:]])
