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
from typing import Literal, TypeAlias, TypeVar

from sqlglot import exp, generator, parser, tokens
from sqlglot.dialects.dialect import Dialect, DialectType
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

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


class BiCEPL(Dialect):
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

        def expression(
            self, instance: Node, token: Token | None = None, comments: list[str] | None = None
        ) -> Node:
            """Leaves that sqlglot gives no place lie where the last token does."""
            found = super().expression(instance, token, comments)
            if "start" not in found.meta and self._prev and not any(found.iter_expressions()):
                found.update_positions(self._prev)
            return found

    class Generator(generator.Generator):
        TRANSFORMS = {
            **generator.Generator.TRANSFORMS,
            TimeLiteral: lambda self, node: node.name,
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
    return Dialect.get_or_raise(BiCEPL)


def too_deep(places: Places) -> Diagnostic:
    hint = "split it with derived classes, or with lists after IN"
    return error("too-deep", "this SQL is nested too deep", places.whole, hint)


def _parse(places: Places, read: Callable[[], list[exp.Expr | None]]) -> exp.Expr:
    try:
        found = read()
    except ParseError as problem:
        raise ProgramError(_syntax(problem, places)) from None
    except TokenError as problem:
        raise ProgramError(_broken_token(problem, places)) from None
    except RecursionError:
        raise ProgramError(too_deep(places)) from None
    if len(found) != 1 or found[0] is None:
        fact = "nothing is written here" if not any(found) else "';' ends a query too early"
        raise ProgramError(error("syntax", fact, places.whole))
    return found[0]


def _syntax(problem: ParseError, places: Places) -> Diagnostic:
    """sqlglot says what it read up to the place, which gives the offset."""
    details = problem.errors[0]
    text = (details.get("highlight") or "").strip()
    line, column = details.get("line") or 1, details.get("col") or 1
    end = places.offset(line, column)
    fact = _fact(str(details.get("description") or problem), text)
    return error("syntax", fact, places.span(max(end - len(text), 0), end))


def _fact(description: str, text: str) -> str:
    if "Unexpected token" in description or not text:
        return f"'{text}' is not expected here" if text else "the SQL ends too early"
    return f"{description[0].lower()}{description[1:]}, at '{text}'"


def _broken_token(problem: TokenError, places: Places) -> Diagnostic:
    """The only tokens that break are those that are not closed."""
    opened = re.match(r"Missing (\S+) from (\d+):(\d+)", str(problem))
    if opened:
        place = int(opened[3])
        return error("syntax", f"a text or name is not closed with {opened[1]}", places.at(place))
    return error("syntax", "a text, a name or a comment is not closed", places.whole)
