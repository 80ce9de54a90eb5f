"""Cuts the SQL out of the text of a class, piece by piece.

A piece ends with a word or a comma that belongs to the class. Brackets are checked here, so that one that is
missing swallows no more than its piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from cepheid.errors import Diagnostic, ProgramError, Span
from cepheid.lang.bicepl.cursor import BiceplCursor
from cepheid.lang.bicepl.normal import Kind, normal
from cepheid.lang.common import lexer
from cepheid.lang.common.lexer import Comment, Token, Tokens
from cepheid.sql.text import Sql

_PAIRS = {"(": ")", "[": "]", "{": "}"}


class Pieces:
    """The pieces of one text, of which all tokens are known."""

    def __init__(self, cursor: BiceplCursor, text: str, tokens: Tokens) -> None:
        self.cursor = cursor
        self.lines = _without_comments(text.split("\n"), tokens.comments)
        self.known = tokens.problems

    def query(self) -> Sql:
        """All before `OCCURRING AT`; where that is missing, all before the first statement."""
        if not self.cursor.token.is_word("select", "with"):
            self.cursor.unexpected("'SELECT' after 'AS'", ("select",))
        end = self._end_of_query()
        return self._sql("select", self._cut("a query", lambda: self.cursor.token is end))

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
        return self._sql("time", self._cut("a time", lambda: self.cursor.token.is_word("on")))

    def condition(self) -> Sql:
        """All before `DO`, which must be there."""
        found = self._cut("a condition after 'ON'", self._at_word, (",",))
        if not self.cursor.token.is_word("do"):
            self.cursor.unexpected("'DO' and an action after the condition", ("do",))
        return self._sql("condition", found)

    def arguments(self, opened: Token) -> tuple[Sql, ...]:
        """Those of an action, the closing bracket included."""
        found: list[Span] = []
        if not self.cursor.token.is_symbol(")"):
            found.append(self._argument())
            while self.cursor.take_symbol(","):
                found.append(self._argument())
        self.cursor.close(")", opened, "list of arguments", ())
        return tuple(self._sql("value", span) for span in found)

    def _argument(self) -> Span:
        return self._cut("an argument", self._at_word, (",", ")"))

    def _at_word(self) -> bool:
        return self.cursor.token.is_word("on", "do")

    def _cut(self, what: str, is_end: Callable[[], bool], ends: tuple[str, ...] = ()) -> Span:
        """The place of all up to another one; the symbols end it only outside of brackets."""
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
        if any(lies_in(problem, start.span.to(cursor.token.span)) for problem in self.known):
            raise ProgramError  # some of it is no token, which is reported already
        if opened:
            cursor.close(_PAIRS[opened[-1].text], opened[-1], "bracket", ())
        if cursor.token is start:
            cursor.unexpected(what, ())
        return cursor.span_from(start)

    def _close(self, opened: list[Token], token: Token) -> None:
        if not opened:
            self.cursor.refuse(f"no bracket is open that '{token.text}' could close", token.span)
        if _PAIRS[opened[-1].text] != token.text:
            self.cursor.close(_PAIRS[opened[-1].text], opened[-1], "bracket", ())
        opened.pop()

    def _sql(self, kind: Kind, span: Span) -> Sql:
        """What SQL refuses is kept as it is written, so that the class is there all the same."""
        written = "\n".join(_between(self.lines, span))
        found = self.cursor.lowered(normal, kind, written, span)
        return found or Sql(written, written, span=span)


def _without_comments(lines: Sequence[str], comments: Iterable[Comment]) -> list[str]:
    """With spaces instead: not everyone who reads SQL expects comments between any two words."""
    found = list(lines)
    for comment in comments:
        place = comment.span
        for number, part in enumerate(_between(found, place), start=place.line - 1):
            start = place.column - 1 if number == place.line - 1 else 0
            line = found[number]
            found[number] = line[:start] + " " * len(part) + line[start + len(part) :]
    return found


def _between(lines: Sequence[str], span: Span) -> list[str]:
    """The lines of a part of the text."""
    found = list(lines[span.line - 1 : span.end_line])
    found[-1] = found[-1][: span.end_column - 1]
    found[0] = found[0][span.column - 1 :]
    return found


def lies_in(problem: Diagnostic, span: Span) -> bool:
    place = problem.span
    if place is None:
        return False
    start, end = (span.line, span.column), (span.end_line, span.end_column)
    return start <= (place.line, place.column) <= end
