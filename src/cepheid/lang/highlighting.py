"""Texts in any of the languages, cut into what is shown in different colours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from cepheid.expr.notation import RESERVED
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.lexer import Comment, Kind, Token, tokenize

_KINDS = {Kind.STRING: "string", Kind.NUMBER: "number"}
# Words that begin or join declarations of other languages than EPL.
_OTHERS = """
    action atomicevent check class complexevent fix holdsfor on pattern queryevent rule within
"""
KEYWORDS = frozenset({*RESERVED, *Cursor.keywords, *_OTHERS.split()})


def highlighted(text: str) -> Iterator[tuple[str, str]]:
    """The parts of a text, each with its kind, which is empty for what has no colour."""
    tokens = tokenize(text)
    marked: list[Token | Comment] = sorted((*tokens.tokens, *tokens.comments), key=_place)
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    done, is_annotation = 0, False
    for part in marked:
        kind, is_annotation = _kind(part, is_annotation)
        begin = starts[part.span.line - 1] + part.span.column - 1
        end = min(starts[part.span.end_line - 1] + part.span.end_column - 1, len(text))
        if end > begin >= done:
            yield from [("", text[done:begin])] if begin > done else []
            yield kind, text[begin:end]
            done = end
    if done < len(text):
        yield "", text[done:]


def _place(part: Token | Comment) -> tuple[int, int]:
    return part.span.line, part.span.column


def _kind(part: Token | Comment, is_annotation: bool) -> tuple[str, bool]:
    """The kind of a part, and whether the next one is the name of an annotation."""
    if isinstance(part, Comment):
        return "comment", False
    if part.is_symbol("@"):
        return "annotation", True
    if part.kind is Kind.WORD and is_annotation:
        return "annotation", False
    if part.kind is Kind.WORD and part.value in KEYWORDS:
        return "keyword", False
    return _KINDS.get(part.kind, ""), False
