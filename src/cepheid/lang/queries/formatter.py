"""Rewrites the text of queries in canonical form: tokens and comments stay, the space between them does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.errors import ProgramError, Severity
from cepheid.expr.notation import RESERVED
from cepheid.lang.common.commented_lines import INDENT, Line, join_lines
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.queries.parser import parse, tokens_of

_VALUES = frozenset({"true", "false", "null"})  # words that stand for values, not between them


def format_text(text: str, file: str | None = None) -> str:
    """The canonical form of a text; ProgramError if the text has errors."""
    errors = [p for p in parse(text, file).problems if p.severity is Severity.ERROR]
    if errors:
        raise ProgramError(*errors)
    found = tokens_of(text, file)
    return join_lines(list(_lines(found.tokens[:-1])), found.comments)


# Lines.


def _lines(tokens: Sequence[Token]) -> Iterator[Line]:
    """Annotations, the heads of queries, constraints, and the ends of bodies."""
    index, is_annotated, in_body = 0, False, False
    while index < len(tokens):
        token = tokens[index]
        if token.is_symbol(";"):
            index += 1
            continue
        if in_body and not token.is_symbol("}"):
            stop = _end_of_constraint(tokens, index)
            line = _line(tokens[index:stop], indent=INDENT, end=";")
        elif in_body:
            in_body = index + 1 < len(tokens) and tokens[index + 1].is_word("or")
            stop = index + (3 if in_body else 1)  # `} or {`, or `}`
            line = _line(tokens[index:stop], comment_indent=INDENT)
        elif token.is_symbol("@"):
            stop = _end_of_annotation(tokens, index)
            line = _line(tokens[index:stop], is_apart=not is_annotated)
            is_annotated = True
        else:
            stop = next(n for n in range(index, len(tokens)) if tokens[n].is_symbol("{")) + 1
            line = _line(tokens[index:stop], is_apart=not is_annotated)
            is_annotated, in_body = False, True
        index = stop
        while index < len(tokens) and tokens[index].is_symbol(";"):
            index += 1
        line.last_line = tokens[index - 1].span.end_line
        yield line


def _line(
    tokens: Sequence[Token],
    *,
    indent: str = "",
    end: str = "",
    is_apart: bool = False,
    comment_indent: str | None = None,
) -> Line:
    """Semicolons are not among its tokens. A comment before `}` belongs to the body."""
    shown = _spaced(tokens) + end
    return Line(list(tokens), shown, indent, is_apart, comment_indent=comment_indent)


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
