"""The cursor of EPL: it knows EPL's keywords, and data windows that stand in the wrong place."""

from __future__ import annotations

from cepheid.errors import ProgramError, error
from cepheid.expr.notation import RESERVED
from cepheid.lang.common.cursor import Cursor as CommonCursor
from cepheid.lang.common.lexer import Kind

_OTHER_KEYWORDS = (
    "by context desc escape group inherits into limit offset order output partition pattern schema"
)


class Cursor(CommonCursor):
    keywords = sorted({*RESERVED, *_OTHER_KEYWORDS.split()})

    def refuse_misplaced(self) -> None:
        """Where no data window can stand, one that does."""
        if self._at_window():
            hint = "it follows the source: from A#length(5), from pattern [...]#length(5)"
            fact = "a data window cannot stand here"
            raise ProgramError(error("misplaced-window", fact, self.token.span, hint))

    def _at_window(self) -> bool:
        """`#time(`, `.win:time(`; or, where a name took the first half for its own, `:time(`."""
        if self.token.is_symbol("."):
            return self.next.kind is Kind.WORD and self.after_next.is_symbol(":", "(")
        after_namespace = self.previous is not None and self.previous.is_word("win")
        return self.token.is_symbol("#") or (after_namespace and self.token.is_symbol(":"))
