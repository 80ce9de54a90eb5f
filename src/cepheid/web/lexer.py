"""Cuts the text of a wrapper into tokens: the names of XPath have hyphens, its comments smileys.

Names have no dots, which begin classes here (`tr.late`), and no prefixes: pages have no namespaces.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from cepheid.errors import Diagnostic, Edit, Fix, Span, error
from cepheid.lang.common.lexer import Comment, Kind, Token, Tokens

_TOKEN = re.compile(
    r"""
      (?P<space>[\s\ufeff]+)
    | (?P<comment>\(:.*?:\))
    | (?P<open_comment>\(:)
    | (?P<number>\d+(?:\.\d+)?|\.\d+)
    | (?P<word>[^\W\d][\w-]*)
    | (?P<string>"[^"]*"|'[^']*')
    | (?P<open_string>["'][^\n]*)
    | (?P<symbol>::|:<|//|\.\.|!=|<=|>=|[-+*/=<>()\[\]{},|@$\#.?])
    | (?P<unknown>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = {"word": Kind.WORD, "symbol": Kind.SYMBOL}


def tokenize(text: str, file: str | None = None) -> Tokens:
    """All tokens; what is no token is reported and left out. The last one is always the end."""
    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(offset: int) -> tuple[int, int]:
        line = bisect_right(line_starts, offset)
        return line, offset - line_starts[line - 1] + 1

    tokens: list[Token] = []
    comments: list[Comment] = []
    problems: list[Diagnostic] = []
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup, match[0]
        span = Span(*place(match.start()), *place(match.end()), file)
        match kind:
            case "space":
                pass
            case "comment":
                comments.append(Comment(found.replace("\r\n", "\n"), span))
            case "number":
                tokens.append(Token(Kind.NUMBER, found, float(found), span))
            case "string":
                tokens.append(Token(Kind.STRING, found, found[1:-1], span))
            case "word" | "symbol":
                tokens.append(Token(_KINDS[kind], found, found, span))
            case "open_string":
                problems.append(_unclosed(found.rstrip(), span))
                tokens.append(Token(Kind.STRING, found, found[1:].rstrip(), span))
            case "open_comment":
                hint = "close it with ':)'"
                problems.append(error("syntax", "this comment is never closed", span, hint))
                break
            case _:
                problems.append(_unknown(found, span))
    end = place(len(text))
    tokens.append(Token(Kind.END, "", "", Span(*end, *end, file)))
    return Tokens(tuple(tokens), tuple(comments), tuple(problems))


def _unclosed(text: str, span: Span) -> Diagnostic:
    at = Span(span.line, span.column + len(text), span.line, span.column + len(text), span.file)
    fix = Fix(f"close it with {text[0]}", (Edit(at, text[0]),))
    return error("syntax", "this string is not closed on its line", span, fix.title, (fix,))


def _unknown(character: str, span: Span) -> Diagnostic:
    hint = "names have no prefixes: pages have no namespaces" if character == ":" else None
    return error("syntax", f"unexpected character {character!r}", span, hint)
