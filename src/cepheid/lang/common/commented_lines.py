"""The lines that a formatted text has, with the comments of the text that was read.

Each comment hangs on one of the lines: behind it, if it stood behind its last token, else before it. Both
stay true of the text that comes out, so formatting it changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.lang.common.lexer import Comment, Token

INDENT = "    "
_TO_THE_END = ("//", "--")  # begin comments behind which nothing can stand


@dataclass(slots=True)
class Line:
    """A line that the text should have; `shown` may break it, and lacks the first indent."""

    tokens: list[Token]
    shown: str = ""
    indent: str = ""
    is_apart: bool = False  # whether a blank line precedes it
    last_line: int = 0  # of the text that was read
    comment_indent: str | None = None  # of comments before it, where it is not its own
    before: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)

    def text(self) -> str:
        indent = self.indent if self.comment_indent is None else self.comment_indent
        leading = "".join(f"{indent}{note}\n" if note else "\n" for note in self.before)
        trailing = "".join(f"  {note}" for note in self.behind)
        return f"{leading}{self.indent}{self.shown}{trailing}\n"


def join_lines(lines: Sequence[Line], comments: Sequence[Comment]) -> str:
    """The whole text."""
    tail = _place(comments, lines)
    paragraphs = "".join("\n" * line.is_apart + line.text() for line in lines)
    return (paragraphs + "\n" * bool(tail) + "".join(tail)).strip("\n") + "\n" * bool(lines or tail)


def _place(comments: Sequence[Comment], lines: Sequence[Line]) -> list[str]:
    """Hangs comments on lines; those that follow all of them are given back."""
    tail: list[str] = []
    starts = [_start(line.tokens[0]) for line in lines]
    for number, comment in enumerate(comments):
        place = (comment.span.line, comment.span.column)
        begun = bisect_left(starts, place)  # as many lines begin before it
        line = lines[begun - 1] if begun else None
        if line is not None and place < _start(line.tokens[-1]):
            line.before.append(comment.text)  # in the midst of a line
        elif line is not None and _is_behind(comment, line) and _is_open(line):
            line.behind.append(comment.text)
            line.last_line = max(line.last_line, comment.span.end_line)
        else:
            following = lines[begun] if begun < len(lines) else None
            leading = following.before if following else tail
            blank = _is_followed_by_blank(number, comments, following)
            leading.append(comment.text if following else f"{comment.text}\n")
            if blank and (following is None or following.is_apart):
                leading.append("" if following else "\n")
    return tail


def _is_behind(comment: Comment, line: Line) -> bool:
    """Whether it stands behind the last token, at the latest behind what ends the line."""
    return line.tokens[-1].span.end_line <= comment.span.line <= line.last_line


def _is_open(line: Line) -> bool:
    """Whether another comment can stand behind it."""
    return not line.behind or not line.behind[-1].startswith(_TO_THE_END)


def _is_followed_by_blank(number: int, comments: Sequence[Comment], following: Line | None) -> bool:
    upcoming = [following.tokens[0].span.line] if following else []
    upcoming += [comments[number + 1].span.line] if number + 1 < len(comments) else []
    return bool(upcoming) and min(upcoming) > comments[number].span.end_line + 1


def _start(token: Token) -> tuple[int, int]:
    return token.span.line, token.span.column
