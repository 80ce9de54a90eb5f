"""Rewrites the text of queries in canonical form: tokens and comments stay, the space between them does not.

A text is cut into the lines that it should have, and each comment hangs on one of them: behind it,
if it stood behind its last token, else before it. Both stay true of the text that comes out, so
formatting it changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cepheid.errors import ProgramError, Severity
from cepheid.expr.notation import RESERVED
from cepheid.lang.common.lexer import Comment, Kind, Token
from cepheid.lang.queries.parser import parse, tokens_of

_VALUES = frozenset({"true", "false", "null"})  # words that stand for values, not between them
_INDENT = "    "


def format_text(text: str, file: str | None = None) -> str:
    """The canonical form of a text; ProgramError if the text has errors."""
    errors = [p for p in parse(text, file).problems if p.severity is Severity.ERROR]
    if errors:
        raise ProgramError(*errors)
    found = tokens_of(text, file)
    lines = list(_lines(found.tokens[:-1]))
    tail = _place(found.comments, lines)
    paragraphs = "".join("\n" * line.is_apart + line.text() for line in lines)
    return (paragraphs + "\n" * bool(tail) + "".join(tail)).strip("\n") + "\n" * bool(lines or tail)


@dataclass(slots=True)
class _Line:
    """A line that the text should have; semicolons are not among its tokens."""

    tokens: list[Token]
    depth: int = 0
    end: str = ""
    is_apart: bool = False  # whether a blank line precedes it
    last_line: int = 0  # of the text that was read
    before: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)

    def text(self) -> str:
        shown = _spaced(self.tokens)
        depth = self.depth or shown.startswith("}")  # a comment before `}` belongs to the body
        leading = "".join(
            f"{_INDENT * depth}{comment}\n" if comment else "\n" for comment in self.before
        )
        trailing = "".join(f"  {comment}" for comment in self.behind)
        return f"{leading}{_INDENT * self.depth}{shown}{self.end}{trailing}\n"


# Lines.


def _lines(tokens: Sequence[Token]) -> Iterator[_Line]:
    """Annotations, the heads of queries, constraints, and the ends of bodies."""
    index, is_annotated, in_body = 0, False, False
    while index < len(tokens):
        token = tokens[index]
        if token.is_symbol(";"):
            index += 1
            continue
        if in_body and not token.is_symbol("}"):
            stop = _end_of_constraint(tokens, index)
            line = _Line(list(tokens[index:stop]), depth=1, end=";")
        elif in_body:
            in_body = index + 1 < len(tokens) and tokens[index + 1].is_word("or")
            stop = index + (3 if in_body else 1)  # `} or {`, or `}`
            line = _Line(list(tokens[index:stop]))
        elif token.is_symbol("@"):
            stop = _end_of_annotation(tokens, index)
            line = _Line(list(tokens[index:stop]), is_apart=not is_annotated)
            is_annotated = True
        else:
            stop = next(n for n in range(index, len(tokens)) if tokens[n].is_symbol("{")) + 1
            line = _Line(list(tokens[index:stop]), is_apart=not is_annotated)
            is_annotated, in_body = False, True
        index = stop
        while index < len(tokens) and tokens[index].is_symbol(";"):
            index += 1
        line.last_line = tokens[index - 1].span.end_line
        yield line


def _end_of_constraint(tokens: Sequence[Token], index: int) -> int:
    while not tokens[index].is_symbol(";", "}"):
        index += 1
    return index


def _end_of_annotation(tokens: Sequence[Token], index: int) -> int:
    index += 2  # `@` and its name
    if index == len(tokens) or not tokens[index].is_symbol("("):
        return index
    depth = 0
    while True:
        depth += tokens[index].is_symbol("(") - tokens[index].is_symbol(")")
        index += 1
        if not depth:
            return index


# Comments.


def _place(comments: Sequence[Comment], lines: Sequence[_Line]) -> list[str]:
    """Hangs comments on lines; those that follow all of them are given back."""
    tail: list[str] = []
    starts = [_start(line.tokens[0]) for line in lines]
    for number, comment in enumerate(comments):
        place = (comment.span.line, comment.span.column)
        begun = bisect_left(starts, place)  # as many lines begin before it
        line = lines[begun - 1] if begun else None
        if line is not None and place < _start(line.tokens[-1]):
            line.before.append(comment.text)  # in the midst of a line
        elif line is not None and comment.span.line == line.last_line and _is_open(line):
            line.behind.append(comment.text)
            line.last_line = comment.span.end_line
        else:
            following = lines[begun] if begun < len(lines) else None
            leading = following.before if following else tail
            blank = _is_followed_by_blank(number, comments, following)
            leading.append(comment.text if following else f"{comment.text}\n")
            if blank and (following is None or following.is_apart):
                leading.append("" if following else "\n")
    return tail


def _is_open(line: _Line) -> bool:
    """Whether another comment can stand behind it."""
    return not line.behind or not line.behind[-1].startswith("//")


def _is_followed_by_blank(
    number: int, comments: Sequence[Comment], following: _Line | None
) -> bool:
    upcoming = [following.tokens[0].span.line] if following else []
    upcoming += [comments[number + 1].span.line] if number + 1 < len(comments) else []
    return bool(upcoming) and min(upcoming) > comments[number].span.end_line + 1


def _start(token: Token) -> tuple[int, int]:
    return token.span.line, token.span.column


# Spaces.


def _spaced(tokens: Sequence[Token]) -> str:
    written = ""
    for index, token in enumerate(tokens):
        written += token.text if _is_tight(tokens, index) else f" {token.text}"
    return written


def _is_tight(tokens: Sequence[Token], index: int) -> bool:
    """Whether no space stands before a token."""
    if index == 0:
        return True
    before, token = tokens[index - 1], tokens[index]
    if token.is_symbol(",", ")", "]", ".") or before.is_symbol("(", "[", ".", "@"):
        return True
    if tokens[0].is_symbol("@"):  # where braces are lists
        return token.is_symbol("}") or before.is_symbol("{") or token.is_symbol("(")
    if token.is_symbol(":") or before.is_symbol(":"):
        return not _is_head(tokens)  # `host : Host`, but `[1:5)`
    if token.is_symbol("(", "[") and (_is_name(before) or _is_closure(tokens, index - 1)):
        return True
    return _is_closure(tokens, index) or _is_sign(tokens, index - 1)


def _is_head(tokens: Sequence[Token]) -> bool:
    return tokens[-1].is_symbol("{")


def _is_name(token: Token) -> bool:
    is_plain = token.kind is Kind.WORD and token.value not in RESERVED
    return is_plain or token.kind is Kind.QUOTED


def _is_closure(tokens: Sequence[Token], index: int) -> bool:
    """The plus of `find q+(a, b)`."""
    is_plus = index > 1 and tokens[index].is_symbol("+")
    return is_plus and tokens[index - 2].kind is Kind.WORD and tokens[index - 2].text == "find"


def _is_sign(tokens: Sequence[Token], index: int) -> bool:
    """The minus of `-3`, not that of `x - 3`."""
    if not tokens[index].is_symbol("-"):
        return False
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.kind is Kind.SYMBOL:
        return not before.is_symbol(")", "]")
    return before.kind is Kind.WORD and before.value in RESERVED - _VALUES
