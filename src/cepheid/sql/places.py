"""Where in a file a part of its SQL stands."""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import Span
from cepheid.sql.text import Sql


def offsets(node: exp.Expr) -> tuple[int, int] | None:
    """Where the first token of a node begins and where its last one ends."""
    metas = [m for n in node.walk() if (m := n.meta).get("start") is not None]
    if not metas:
        return None
    return min(m["start"] for m in metas), max(m["end"] for m in metas)


def at_place_of(node: exp.Expr, written: exp.Expr) -> None:
    """What was made of some written SQL lies where that does."""
    if ends := offsets(written):
        node.meta.update(start=ends[0], end=ends[1])


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
        """Of a node, from its first token to its last one, parentheses around it aside."""
        ends = offsets(node)
        if ends:
            return self.span(ends[0], ends[1] + 1)
        return self.of(node.parent) if node.parent else self.whole

    def word(self, node: exp.Expr) -> str:
        """The word that a node begins with, as written: the name of a function."""
        start, end = node.meta.get("start"), node.meta.get("end")
        return "" if start is None or end is None else self.text[start : end + 1]

    def between(self, left: exp.Expr, right: exp.Expr) -> str:
        """What stands between two nodes: the operator, as written."""
        before, after = offsets(left), offsets(right)
        return self.text[before[1] + 1 : after[0]].strip("() \n\t") if before and after else ""

    def _place(self, offset: int) -> tuple[int, int]:
        before = self.text[:offset]
        lines = before.count("\n")
        column = offset - before.rfind("\n")
        if lines == 0:
            return self._origin.line, self._origin.column + column - 1
        return self._origin.line + lines, column
