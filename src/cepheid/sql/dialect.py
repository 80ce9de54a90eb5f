"""BiCEPL's SQL as a dialect of sqlglot.

It is the SELECT of standard SQL with the meaning of Spark's ANSI mode, and with

- time literals: a whole number and one of `s`, `m`, `h`, `d`, as in `30m`;
- texts in single or double quotes, with the escapes of all Cepheid texts; a doubled quote is one, too;
- names in backquotes; the case of names does not matter;
- comments after `--` and `//` and between `/*` and `*/`.

What a text means is decided later: queries.py and conditions.py resolve the trees that are read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias, TypeVar

from sqlglot import exp, generator, parser, tokens
from sqlglot.dialects.dialect import Dialect, DialectType
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from cepheid.core.time import MICROSECONDS
from cepheid.errors import Diagnostic, ProgramError, error
from cepheid.sql.places import Places
from cepheid.sql.text import Sql

Kind: TypeAlias = Literal["select", "condition", "value", "time"]
Node = TypeVar("Node", bound=exp.Expr)

# Conditions know these without arguments; LATE may have two.
PRIMITIVES = (
    "ANNOUNCEMENT",
    "CANCELLATION",
    "CHANGE",
    "ONTIME",
    "LATE",
    "FUTURE",
    "FUTURECANCEL",
    "RETROACTIVECHANGE",
    "POSTPONE",
    "REVOCATION",
)
SIDES = ("NEW", "OLD")

_UNITS = {
    "s": MICROSECONDS["seconds"],
    "m": MICROSECONDS["minutes"],
    "h": MICROSECONDS["hours"],
    "d": MICROSECONDS["days"],
}
LONGEST = 10_000 * 366 * MICROSECONDS["days"]  # so that no sum of times leaves 64 bits

# sqlglot's kinds of tokens are fixed. This one has no other use here: there are no bit strings.
_TIME_LITERAL = TokenType.BIT_STRING

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)|(['\"])\2", re.DOTALL)


class TimeLiteral(exp.Expression, exp.Condition):
    """`30m`: a length of time."""

    arg_types = {"this": True}

    @property
    def microseconds(self) -> int:
        return int(self.name[:-1]) * _UNITS[self.name[-1]]


class _Misread(ParseError):
    """What sqlglot says of a text that it cannot read; `at` is None at the end of the text."""

    def __init__(self, message: str, at: Token | None) -> None:
        super().__init__(message, [{}])
        self.at = at


class ClassSql(Dialect):
    """The dialect; `Sql` texts are read and printed with it."""

    class Tokenizer(tokens.Tokenizer):
        QUOTES = ["'", '"']
        IDENTIFIERS = ["`"]
        STRING_ESCAPES = ["'", '"', "\\"]
        COMMENTS = ["--", "//", ("/*", "*/")]
        KEYWORDS = {
            **{k: t for k, t in tokens.Tokenizer.KEYWORDS.items() if k not in ("/*+", "//")},
            "NUMBER": TokenType.DOUBLE,
            "FLOAT": TokenType.DOUBLE,
            "REAL": TokenType.DOUBLE,
            "INT": TokenType.BIGINT,
            "INTEGER": TokenType.BIGINT,
            "LONG": TokenType.BIGINT,
            "STRING": TokenType.TEXT,
        }

    class Parser(parser.Parser):
        PRIMARY_PARSERS = {
            **parser.Parser.PRIMARY_PARSERS,
            _TIME_LITERAL: lambda self, token: self.expression(TimeLiteral(this=token.text), token),
        }

        def raise_error(self, message: str, token: Token | None = None) -> None:
            """At once, with the token at which the text goes wrong."""
            raise _Misread(message, token or self._curr or None)

        def parse_into(
            self, expression_types: Any, raw_tokens: list[Token], sql: str | None = None
        ) -> list[exp.Expr | None]:
            """One type is asked for, and what is wrong with the text is raised as it is."""
            return self._parse(self.EXPRESSION_PARSERS[expression_types], raw_tokens, sql)

        def expression(
            self, instance: Node, token: Token | None = None, comments: list[str] | None = None
        ) -> Node:
            """Leaves that sqlglot gives no place lie where the last token does."""
            found = super().expression(instance, token, comments)
            if "start" not in found.meta and self._prev and not any(found.iter_expressions()):
                found.update_positions(self._prev)
            return found

        def _parse_function_call(self, *arguments: Any, **options: Any) -> exp.Expr | None:
            """Functions with a grammar of their own, such as CAST, begin with their names, too."""
            token = self._curr
            found = super()._parse_function_call(*arguments, **options)
            if found is not None and token and "start" not in found.meta:
                found.update_positions(token)
            return found

    class Generator(generator.Generator):
        TRANSFORMS = {
            **generator.Generator.TRANSFORMS,
            TimeLiteral: lambda _, node: node.name,
        }
        TYPE_MAPPING = {
            **generator.Generator.TYPE_MAPPING,
            exp.DataType.Type.BIGINT: "INTEGER",
            exp.DataType.Type.DOUBLE: "NUMBER",
        }

        def literal_sql(self, expression: exp.Literal) -> str:
            return _quoted(expression.name) if expression.is_string else expression.name

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """sqlglot's tokens, with time literals and texts as they are here."""
        return list(_joined(super().tokenize(sql, dialect), sql))


def _joined(found: list[Token], sql: str) -> Iterator[Token]:
    place = 0
    while place < len(found):
        token = found[place]
        following = found[place + 1] if place + 1 < len(found) else None
        place += 1
        if token.token_type == TokenType.COMMA and _ends_list(following):
            raise _Misread("a comma too many", token)  # sqlglot would not mind
        if token.token_type == TokenType.STRING:
            yield _copy(token, text=_unescape(sql[token.start + 1 : token.end], sql[token.start]))
        elif following and _is_time(token, following):
            text = f"{int(token.text)}{following.text.lower()}"
            yield _copy(token, _TIME_LITERAL, text, following)
            place += 1
        elif following and (token.text.upper(), following.text.upper()) == ("FUTURE", "CANCEL"):
            yield _copy(token, TokenType.VAR, "FUTURECANCEL", following)
            place += 1
        else:
            yield token


def _ends_list(token: Token | None) -> bool:
    return token is None or token.token_type in (
        TokenType.COMMA,
        TokenType.R_PAREN,
        TokenType.FROM,
        TokenType.WHERE,
    )


def _copy(
    token: Token, type: TokenType | None = None, text: str | None = None, last: Token | None = None
) -> Token:
    return Token(
        type or token.token_type,
        token.text if text is None else text,
        line=token.line,
        col=(last or token).col,
        start=token.start,
        end=(last or token).end,
        comments=token.comments,
    )


def _is_time(token: Token, following: Token) -> bool:
    is_beside = following.start == token.end + 1
    is_whole = token.token_type == TokenType.NUMBER and token.text.isdecimal()
    return is_beside and is_whole and following.text.lower() in _UNITS


def _unescape(body: str, quote: str) -> str:
    def replace(match: re.Match[str]) -> str:
        escape, doubled = match[1], match[2]
        if doubled:
            return doubled if doubled == quote else match[0]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape in "%_":
            return match[0]  # both characters: what LIKE takes for the character itself
        return _ESCAPES.get(escape, escape)

    text = _ESCAPE.sub(replace, body)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _quoted(text: str) -> str:
    """A text as the dialect writes it."""
    text = re.sub(r"\\(?![%_])", r"\\\\", text).replace("'", "''")
    for letter, character in _ESCAPES.items():
        text = text.replace(character, f"\\{letter}")
    return f"'{text}'"


def parse_select(sql: Sql) -> exp.Query:
    """A query as written; ProgramError with the place of what is wrong."""
    places = Places(sql)
    found = _parse(places, lambda: _dialect().parse(places.text))
    if not isinstance(found, exp.Query):
        raise ProgramError(error("syntax", "a query starts with SELECT", places.whole))
    return found


def parse_condition(sql: Sql) -> exp.Expr:
    return _parse_expression(sql)


def parse_value(sql: Sql) -> exp.Expr:
    return _parse_expression(sql)


def parse_time(sql: Sql) -> exp.Expr:
    return _parse_expression(sql)


def _parse_expression(sql: Sql) -> exp.Expr:
    places = Places(sql)
    return _parse(places, lambda: _dialect().parse_into(exp.Condition, places.text))


def normal_text(kind: Kind, written: str) -> str:
    """How a text is spelled by which it is equal to others; ProgramError with a place in it."""
    sql = Sql(written)
    tree = parse_select(sql) if kind == "select" else _parse_expression(sql)
    if kind in ("condition", "value"):
        tree = tree.transform(_upper)
    try:
        return _dialect().generate(tree, comments=False)
    except RecursionError:
        raise ProgramError(too_deep(Places(sql))) from None


def _upper(node: exp.Expr) -> exp.Expr:
    """NEW, OLD, NOW and the primitives are no names: they are spelled in one way."""
    if isinstance(node, exp.Column) and not node.args.get("db"):
        first = node.args.get("table") or node.this
        is_word = node.args.get("table") is None and first.name.upper() in (*PRIMITIVES, "NOW")
        if is_word or first.name.upper() in SIDES:
            first.set("this", first.name.upper())
    if isinstance(node, exp.Anonymous) and node.name.upper() in PRIMITIVES:
        node.set("this", node.name.upper())
    return node


def _dialect() -> Dialect:
    return Dialect.get_or_raise(ClassSql)


def too_deep(places: Places) -> Diagnostic:
    hint = "split it with derived classes, or with lists after IN"
    return error("too-deep", "this SQL is nested too deep", places.whole, hint)


def _parse(places: Places, read: Callable[[], list[exp.Expr | None]]) -> exp.Expr:
    try:
        found = read()
    except ParseError as problem:
        raise ProgramError(_syntax(problem, places)) from None
    except TokenError:
        raise ProgramError(_unclosed(places)) from None
    except RecursionError:
        raise ProgramError(too_deep(places)) from None
    if len(found) != 1 or found[0] is None:
        fact = "nothing is written here" if not any(found) else "';' ends a query too early"
        raise ProgramError(error("syntax", fact, places.whole))
    return found[0]


def _syntax(problem: ParseError, places: Places) -> Diagnostic:
    misread = problem if isinstance(problem, _Misread) else problem.__cause__
    token = misread.at if isinstance(misread, _Misread) else None
    if token is None:
        return error("syntax", "the SQL ends too early", places.at(len(places.text.rstrip())))
    place = places.span(token.start, token.end + 1)
    fact = f"'{places.text[token.start : token.end + 1]}' is not expected here"
    missing = re.match(r"Expecting (\W+)$", str(misread))
    return error("syntax", fact, place, f"'{missing[1]}' is missing" if missing else None)


def _unclosed(places: Places) -> Diagnostic:
    """The only tokens that cannot be read are those that do not end."""
    opened = _OPENED.match(places.text)
    start = opened.end() if opened else 0
    what = {"`": "name", "/": "comment"}.get(places.text[start : start + 1], "text")
    return error("syntax", f"this {what} is not closed", places.at(start))


# Everything up to a quote or a comment that nothing closes.
_OPENED = re.compile(
    r"""(?:[^'"`/-]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|/\*.*?\*/|//[^\n]*|--[^\n]*|/(?![*/])|-(?!-))*""",
    re.DOTALL,
)
