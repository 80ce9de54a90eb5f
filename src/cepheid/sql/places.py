"""Where in a file a part of its SQL stands."""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import Span
from cepheid.sql.text import Sql


class Places:
    """The text of some SQL, and the places of offsets and nodes in the file that holds it."""

    def __init__(self, sql: Sql) -> None:
        self.text = sql.text if sql.written is None else sql.written
        # Where the file spells it in an unknown way only the whole has a place.
        self._is_known = sql.written is not None or sql.span is None
        self._origin = sql.span or Span(1, 1, 1, 1)
        self.whole = sql.span or self.span(0, len(self.text))

    def span(self, start: int, end: int) -> Span:
        """Of a part of the text; the end is exclusive."""
        if not self._is_known:
            return self.whole
        return Span(*self._place(start), *self._place(end), self._origin.file)

    def at(self, offset: int) -> Span:
        return self.span(offset, min(offset + 1, len(self.text)))

    def of(self, node: exp.Expr) -> Span:
        """Of a node, from its first token to its last one, closing parentheses aside."""
        metas = [m for n in node.walk() if (m := n.meta).get("start") is not None]
        if not metas:
            return self.of(node.parent) if node.parent else self.whole
        return self.span(min(m["start"] for m in metas), max(m["end"] for m in metas) + 1)

    def word(self, node: exp.Expr) -> str:
        """The word that a node begins with, as written: the name of a function."""
        start, end = node.meta.get("start"), node.meta.get("end")
        return "" if start is None or end is None else self.text[start : end + 1]

    def offset(self, line: int, column: int) -> int:
        """Of a line and column of the text, both from one."""
        before = self.text.splitlines(keepends=True)[: line - 1]
        return sum(map(len, before)) + column

    def _place(self, offset: int) -> tuple[int, int]:
        before = self.text[:offset]
        lines = before.count("\n")
        column = offset - before.rfind("\n")
        if lines == 0:
            return self._origin.line, self._origin.column + column - 1
        return self._origin.line + lines, column
