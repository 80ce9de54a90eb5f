"""A place in the tokens of a BiCEPL text."""

from __future__ import annotations

from collections.abc import Collection

from cepheid.lang.bicepl.notation import KEYWORDS, RESERVED
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.lexer import Kind

_QUERY_STARTS = ("select", "with")


class BiceplCursor(Cursor):
    keywords: Collection[str] = sorted(KEYWORDS)
    has_sql_habits = False

    def shown(self, word: str) -> str:
        return word.upper()

    def at_name(self) -> bool:
        token = self.token
        is_plain = token.kind is Kind.WORD and token.value not in RESERVED and "-" not in token.text
        return is_plain or token.kind is Kind.QUOTED

    def refuse_window(self) -> None:
        """There are none; a dot that stands wrong is no more than that."""

    def at_end(self) -> bool:
        """Whether the class at hand ends here, for whatever reason."""
        token = self.token
        return token.kind is Kind.END or token.is_symbol(";") or token.is_word("create")

    def at_clause(self) -> bool:
        """Whether a clause plainly begins here."""
        token, following = self.token, self.next
        if token.is_word("id"):
            return following.is_symbol("(")
        if token.is_word("as"):
            return following.is_word(*_QUERY_STARTS)
        return token.is_word("freezing", "observation", "occurring", "on")
