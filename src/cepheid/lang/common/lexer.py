"""Cuts text into tokens and comments, each with its place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from cepheid.errors import Diagnostic, Edit, Fix, Span, error


class Kind(Enum):
    WORD = auto()
    QUOTED = auto()  # a name in backquotes: never a keyword
    NUMBER = auto()
    STRING = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is as written; `value` is what it stands for, of a word its lower case."""

    kind: Kind
    text: str
    value: str | int | float
    span: Span

    def is_word(self, *words: str) -> bool:
        return self.kind is Kind.WORD and self.value in words

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is Kind.SYMBOL and self.text in symbols

    def __str__(self) -> str:
        """As error messages name it."""
        if self.kind is Kind.END:
            return "the end of the text"
        if self.kind is Kind.STRING:
            return f"the string {_shorten(self.text)}"
        return f"'{_shorten(self.text)}'"


@dataclass(frozen=True, slots=True)
class Comment:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Tokens:
    """The last token is always the end."""

    tokens: tuple[Token, ...]
    comments: tuple[Comment, ...]
    problems: tuple[Diagnostic, ...]


_TOKEN = r"""
      (?P<space>[\s\ufeff]+)
    | (?P<comment>(?:{comment})[^\n]*|/\*.*?\*/)
    | (?P<open_comment>/\*)
    | (?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?{suffix})
    | (?P<word>every-distinct(?![\w$])|[^\W\d][\w$]*)
    | (?P<quoted>`[^`\n]+`)
    | (?P<string>{string})
    | (?P<open_string>['"`][^\n]*)
    | (?P<curly>[\u201c\u201d][^\u201c\u201d\n]*[\u201c\u201d]|[\u2018\u2019][^\u2018\u2019\n]*[\u2018\u2019])
    | (?P<foreign>(?!\|\|)(?:{foreign}))
    | (?P<symbol>{own}->|<=|>=|!=|<>|\|\||[-+*/%=<>()\[\]{},;:.@\#])
    | (?P<unknown>.)
    """
_STRING = r"""'(?:[^'\\\n]|\\[^\n])*'|"(?:[^"\\\n]|\\[^\n])*\""""


@dataclass(frozen=True, slots=True)
class Spelling:
    """What languages spell differently; patterns are those of regular expressions."""

    symbols: tuple[str, ...] = ()  # besides those that all have
    comment: str = "//"  # begins one that ends with its line
    suffix: str = r"(?:[lLfFdD](?![\w$]))?"  # of numbers
    string: str = _STRING
    escapes: bool = True  # whether strings are read here, not where they are used
    # Symbols of other languages, and the words or symbols that stand for them here.
    foreign: tuple[tuple[str, str], ...] = ()


_FOREIGN = (("==", "="), ("&&", "and"), ("&", "and"), ("|", "or"), ("!", "not"), ("~", "regexp"))
_USUAL = Spelling(foreign=_FOREIGN)
_DIGITS = re.compile(r"(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "'": "'", '"': '"', "\\": "\\"}
_LOOKALIKES = {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2192": "->"}


@cache
def _pattern(spelling: Spelling) -> re.Pattern[str]:
    own = {
        "own": "".join(f"{re.escape(symbol)}|" for symbol in spelling.symbols),
        "comment": spelling.comment,
        "suffix": spelling.suffix,
        "string": spelling.string,
        "foreign": "|".join(re.escape(symbol) + "(?!=)" for symbol, _ in spelling.foreign)
        or "(?!)",
    }
    pattern = re.sub(r"\{(\w+)\}", lambda slot: own[slot[1]], _TOKEN)
    return re.compile(pattern, re.VERBOSE | re.DOTALL | re.IGNORECASE)


def tokenize(text: str, file: str | None = None, spelling: Spelling = _USUAL) -> Tokens:
    """All tokens; what is no token is reported and left out."""
    return _Lexer(text, file, spelling).run()


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


class _Lexer:
    def __init__(self, text: str, file: str | None, spelling: Spelling) -> None:
        self.text = text
        self.file = file
        self.spelling = spelling
        self.line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.comments: list[Comment] = []
        self.problems: list[Diagnostic] = []

    def run(self) -> Tokens:
        tokens = tuple(self._tokens())
        return Tokens(tokens, tuple(self.comments), tuple(self.problems))

    def _tokens(self) -> Iterator[Token]:
        for match in _pattern(self.spelling).finditer(self.text):
            group = match.lastgroup or ""
            if group == "space":
                continue
            token = self._token(group, match[0], self._span(match.start(), match.end()))
            if token:
                yield token
            if group == "open_comment":
                break  # the rest of the text lies inside the comment
        end = len(self.text)
        yield Token(Kind.END, "", "", self._span(end, end))

    def _token(self, group: str, text: str, span: Span) -> Token | None:
        match group:
            case "word":
                return Token(Kind.WORD, text, text.lower(), span)
            case "symbol":
                return Token(Kind.SYMBOL, text, text, span)
            case "number":
                return Token(Kind.NUMBER, text, _number(text), span)
            case "quoted":
                return Token(Kind.QUOTED, text, text[1:-1], span)
            case "string":
                return Token(Kind.STRING, text, self._unescape(text[1:-1], span), span)
            case "curly":
                quoted = Fix.writing(f'"{text[1:-1]}"', span)
                fact = f"unexpected character {text[0]!r}"
                self._report(fact, span, _lookalike(text[0]), (quoted,))
                return Token(Kind.STRING, text, text[1:-1], span)
            case "open_string":
                return self._unclosed(text.rstrip(), span)
            case "comment":
                self.comments.append(Comment(text.rstrip().replace("\r\n", "\n"), span))
            case "foreign":
                return self._foreign(text, span)
            case "open_comment":
                place = self._span(len(self.text), len(self.text))
                closing = Fix("close it at the end", (Edit(place, " */"),))
                self._report("this comment is never closed", span, "close it with '*/'", (closing,))
            case _:
                meant = _LOOKALIKES.get(text)
                fixes = (Fix.writing(meant, span),) if meant else ()
                self._report(f"unexpected character {text!r}", span, _lookalike(text), fixes)
        return None

    def _foreign(self, text: str, span: Span) -> Token:
        """What is meant takes its place, so that parsing goes on."""
        meant = dict(self.spelling.foreign)[text]
        fix = Fix.writing(meant, span)
        self._report(f"there is no '{text}' here", span, f"write '{meant}'", (fix,))
        kind = Kind.WORD if meant.isalpha() else Kind.SYMBOL
        return Token(kind, meant, meant, span)

    def _unclosed(self, text: str, span: Span) -> Token:
        """The rest of the line stands for the string, so that parsing goes on."""
        what = "name in backquotes" if text[0] == "`" else "string"
        end = Span(
            span.line, span.column + len(text), span.line, span.column + len(text), span.file
        )
        fix = Fix(f"close it with {text[0]}", (Edit(end, text[0]),))
        self._report(f"this {what} is not closed on its line", span, fix.title, (fix,))
        kind = Kind.QUOTED if text[0] == "`" else Kind.STRING
        return Token(kind, text, text[1:], span)

    def _unescape(self, body: str, span: Span) -> str:
        if not self.spelling.escapes:
            return body

        def replace(match: re.Match[str]) -> str:
            escape = match[1]
            if len(escape) == 5:
                return chr(int(escape[1:], 16))
            if escape not in _ESCAPES:
                hint = f"write '\\\\{escape}' for a backslash and '{escape}'"
                self._report(f"unknown escape '\\{escape}' in a string", span, hint)
            return _ESCAPES.get(escape, escape)

        text = _ESCAPE.sub(replace, body)
        try:  # two escapes may make one character beyond the first plane
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._report("half of a surrogate pair in a string", span)
            return ""

    def _report(
        self, message: str, span: Span, hint: str | None = None, fixes: tuple[Fix, ...] = ()
    ) -> None:
        self.problems.append(error("syntax", message, span, hint, fixes))

    def _span(self, start: int, end: int) -> Span:
        return Span(*self._place(start), *self._place(end), self.file)

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1


def _number(text: str) -> int | float:
    found = _DIGITS.match(text)
    assert found is not None
    digits = found[0]
    # No type holds integers of so many digits; as floats they are refused later, or infinite.
    return int(digits) if digits.isdecimal() and len(digits) < 300 else float(digits)


def _lookalike(character: str) -> str | None:
    if character in _LOOKALIKES:
        return f"write {_LOOKALIKES[character]} instead"
    return None
