"""Rewrites EPL text in canonical form and keeps its comments where they were meant."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from cepheid.errors import ProgramError, Severity
from cepheid.lang.common.lexer import Comment, Kind, Token, tokenize
from cepheid.lang.epl.layout import Clause, Notes, render
from cepheid.lang.epl.parser import Parsed, parse
from cepheid.lang.epl.printer import layout


def format_text(text: str, file: str | None = None) -> str:
    """The canonical form of a text; ProgramError if the text has errors."""
    parsed = parse(text, file)
    errors = [p for p in parsed.problems if p.severity is Severity.ERROR]
    if errors:
        raise ProgramError(*errors)
    tokens = tokenize(text, file).tokens
    return _Formatter(parsed, tokens).run()


@dataclass(frozen=True, slots=True)
class _Anchor:
    """The first token of a piece of the new text."""

    token: int
    piece: int


class _Formatter:
    """Hangs each comment on the piece of a declaration that it belongs to.

    A comment at the end of a line belongs to what stands before it, any other comment to what
    follows it. Both stay true of the text that comes out, so formatting it changes nothing.
    """

    def __init__(self, parsed: Parsed, tokens: tuple[Token, ...]) -> None:
        self.comments = parsed.comments
        self.tokens = tokens
        self.places = [_start(token) for token in tokens]
        self.declarations: list[list[Clause]] = [
            layout(declaration, starts)
            for declaration, starts in zip(parsed.tree.declarations, parsed.starts, strict=True)
        ]
        index_of = {place: index for index, place in enumerate(self.places)}
        pieces = [p for clauses in self.declarations for clause in clauses for p in clause]
        self.notes = [Notes() for _ in pieces]
        self.anchors = [
            _Anchor(index_of[p.start.line, p.start.column] - p.led, position)
            for position, p in enumerate(pieces)
            if p.start
        ]
        self.anchor_tokens = [anchor.token for anchor in self.anchors]
        self.first_pieces = self._first_pieces()
        self.tail: list[str] = []

    def run(self) -> str:
        self._place_comments()
        texts = []
        used = 0
        for clauses in self.declarations:
            count = sum(map(len, clauses))
            texts.append(render(clauses, self.notes[used : used + count]))
            used += count
        if self.tail:
            texts.append("\n".join(self.tail).rstrip("\n"))
        return "\n\n".join(texts) + "\n" * bool(texts)

    def _first_pieces(self) -> frozenset[int]:
        firsts, used = [], 0
        for clauses in self.declarations:
            firsts.append(used)
            used += sum(map(len, clauses))
        return frozenset(firsts)

    def _place_comments(self) -> None:
        trailing_line = 0  # on which the last comment at the end of a line itself ends
        for position, comment in enumerate(self.comments):
            following = bisect_right(self.places, (comment.span.line, comment.span.column))
            if self._is_trailing(comment, following, trailing_line):
                trailing_line = comment.span.end_line
                self._hang_after(comment, following - 1)
            else:
                self._hang_before(position, following)

    def _is_trailing(self, comment: Comment, following: int, trailing_line: int) -> bool:
        """Whether it stands behind a token, or another such comment, and ends the line."""
        if following == 0 or not self.anchors:
            return False
        last_lines = (self.tokens[following - 1].span.end_line, trailing_line)
        upcoming = self.tokens[following]
        ends_line = upcoming.kind is Kind.END or upcoming.span.line > comment.span.end_line
        return comment.span.line in last_lines and ends_line

    def _hang_after(self, comment: Comment, token: int) -> None:
        anchor = self._anchor_of(token)
        note = self.notes[self.anchors[anchor].piece]
        is_free = not note.after or not note.after[-1].startswith("//")
        if self._is_last_token(anchor, token) and is_free:
            note.after.append(comment.text)
        else:
            note.before.append(comment.text)

    def _hang_before(self, position: int, following: int) -> None:
        comment = self.comments[position]
        if not self.anchors or self.tokens[following].kind is Kind.END:
            lines = self.tail
        else:
            piece = self.anchors[self._anchor_of(following)].piece
            lines = self.notes[piece].before
            if piece not in self.first_pieces:
                lines.append(comment.text)
                return
        lines.append(comment.text)
        if self._next_line(position, following) > comment.span.end_line + 1:
            lines.append("")

    def _next_line(self, position: int, following: int) -> int:
        """Where the next token or comment starts."""
        line = self.tokens[following].span.line
        if position + 1 < len(self.comments):
            line = min(line, self.comments[position + 1].span.line)
        return line

    def _anchor_of(self, token: int) -> int:
        return max(bisect_right(self.anchor_tokens, token) - 1, 0)

    def _is_last_token(self, anchor: int, token: int) -> bool:
        """Whether only semicolons stand between the token and the next piece."""
        end = len(self.tokens) - 1
        if anchor + 1 < len(self.anchors):
            end = self.anchors[anchor + 1].token
        return all(t.is_symbol(";") for t in self.tokens[token + 1 : end])


def _start(token: Token) -> tuple[int, int]:
    return token.span.line, token.span.column
