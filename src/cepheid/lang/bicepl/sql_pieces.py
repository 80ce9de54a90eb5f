"""Cuts the SQL out of the text of a class, piece by piece.

A piece ends with a word or a comma that belongs to the class. Brackets are checked here, so that one that is
missing swallows no more than its piece.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from cepheid.errors import Span
from cepheid.lang.bicepl.cursor import BiceplCursor
from cepheid.lang.bicepl.normal import Kind, normal
from cepheid.lang.common import lexer
from cepheid.lang.common.lexer import Token
from cepheid.sql.text import Sql

_PAIRS = {"(": ")", "[": "]", "{": "}"}


class Pieces:
    """The pieces of one text."""

    def __init__(self, cursor: BiceplCursor, text: str) -> None:
        self.cursor = cursor
        self.lines = text.split("\n")

    def query(self) -> Sql:
        """All before `OCCURRING AT`; where that is missing, all before the first statement."""
        if not self.cursor.token.is_word("select", "with"):
            self.cursor.unexpected("'SELECT' after 'AS'", ("select",))
        end = self._end_of_query()
        return self._piece("select", "a query", lambda: self.cursor.token is end)

    def _end_of_query(self) -> Token:
        cursor = self.cursor
        begun, statement = cursor.index, None
        try:
            while not (cursor.at_end() or self._at_occurring()):
                if cursor.token.is_word("on"):
                    statement = cursor.token  # or the condition of a join
                elif cursor.token.is_word("do") and statement is not None:
                    return statement
                cursor.advance()
            return cursor.token
        finally:
            cursor.index = begun

    def _at_occurring(self) -> bool:
        """Also where it is misspelled, which the clause then says."""
        token = self.cursor.token
        meant = self.cursor.next.is_word("at") and token.kind is lexer.Kind.WORD
        likely = meant and bool(get_close_matches(str(token.value), ("occurring",)))
        return token.is_word("occurring") or likely

    def time(self) -> Sql:
        return self._piece("time", "a time", lambda: self.cursor.token.is_word("on"))

    def condition(self) -> Sql:
        """All before `DO`."""
        return self._piece("condition", "a condition after 'ON'", self._at_word, (",",))

    def arguments(self, opened: Token) -> tuple[Sql, ...]:
        """Those of an action, the closing bracket included."""
        found: list[Sql] = []
        if not self.cursor.token.is_symbol(")"):
            found.append(self._argument())
            while self.cursor.take_symbol(","):
                found.append(self._argument())
        self.cursor.close(")", opened, "list of arguments", ())
        return tuple(found)

    def _argument(self) -> Sql:
        return self._piece("value", "an argument", self._at_word, (",", ")"))

    def _at_word(self) -> bool:
        return self.cursor.token.is_word("on", "do")

    def _piece(
        self, kind: Kind, what: str, is_end: Callable[[], bool], ends: tuple[str, ...] = ()
    ) -> Sql:
        """All up to a place; the symbols end it only outside of brackets."""
        cursor = self.cursor
        start, opened = cursor.token, list[Token]()
        while not (cursor.at_end() or is_end()):
            token = cursor.token
            if not opened and token.is_symbol(*ends):
                break
            if token.is_symbol(*_PAIRS):
                opened.append(token)
            elif token.is_symbol(*_PAIRS.values()):
                self._close(opened, token)
            cursor.advance()
        if opened:
            cursor.close(_PAIRS[opened[-1].text], opened[-1], "bracket", ())
        if cursor.token is start:
            cursor.unexpected(what, ())
        span = cursor.span_from(start)
        written = self._written(span)
        # One that SQL refuses is kept as it is written: the class is there all the same.
        found = cursor.lowered(normal, kind, written, span)
        return found or Sql(written, written, span=span)

    def _close(self, opened: list[Token], token: Token) -> None:
        if not opened:
            self.cursor.refuse(f"no bracket is open that '{token.text}' could close", token.span)
        if _PAIRS[opened[-1].text] != token.text:
            self.cursor.close(_PAIRS[opened[-1].text], opened[-1], "bracket", ())
        opened.pop()

    def _written(self, span: Span) -> str:
        lines = self.lines[span.line - 1 : span.end_line]
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return "\n".join(lines)
