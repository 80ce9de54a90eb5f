"""Arranges the tokens of classes in lines: a clause begins one, and what is too long is broken where it is least deep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from cepheid.lang.bicepl.spacing import gap, spaced
from cepheid.lang.common.commented_lines import INDENT, Line
from cepheid.lang.common.lexer import Token

_WIDTH = 100
_INNER = INDENT + " " * len("AS ")  # the clauses of a query stand below `SELECT`
_CLAUSES = ("from", "where", "group", "having", "order", "limit", "union", "except", "intersect")
_JOINS = ("join", "left", "right", "full", "inner", "cross", "natural", "outer", "semi", "anti")


class _Place(Enum):
    """Where in a class a token stands."""

    HEAD = auto()
    KEY = auto()
    TIME = auto()
    QUERY = auto()
    OCCURRING = auto()
    STATEMENT = auto()


@dataclass(slots=True)
class _Clause:
    place: _Place
    tokens: list[Token]
    end: str = ""
    last_line: int = 0  # of the text that was read


def lines_of(tokens: Sequence[Token]) -> Iterator[Line]:
    """The lines of all classes; the end of the text is not among the tokens."""
    found: list[Token] = []
    for token in tokens:
        found.append(token)
        if token.is_symbol(";"):
            yield from _class(found)
            found = []
    yield from _class(found)


def _class(tokens: Sequence[Token]) -> Iterator[Line]:
    clauses = list(_clauses(tokens))
    statements = [c for c in clauses if c.place is _Place.STATEMENT]
    aligned = _aligned(statements)
    for clause in clauses:
        indent = _indent(clause)
        if clause.place is _Place.STATEMENT:
            shown = aligned.pop(0) if aligned else _broken(clause)
        else:
            hanging = INDENT * 2 if clause.place is _Place.HEAD else _INNER + INDENT
            shown = _wrapped(clause.tokens, indent, clause.end, hanging)
        yield Line(clause.tokens, shown, indent, clause.place is _Place.HEAD, clause.last_line)


def _indent(clause: _Clause) -> str:
    if clause.place is _Place.HEAD:
        return ""
    is_inner = clause.place in (_Place.QUERY, _Place.OCCURRING)
    return _INNER if is_inner and not clause.tokens[0].is_word("as") else INDENT


# Clauses.


def _clauses(tokens: Sequence[Token]) -> Iterator[_Clause]:
    clause: _Clause | None = None
    depth = 0
    for index, token in enumerate(tokens):
        place = _begun(tokens, index, clause.place) if clause and not depth else None
        if clause is None or place is not None:
            yield from _whole(clause)
            clause = _Clause(place or _Place.HEAD, [])
        depth += token.is_symbol("(", "[", "{") - token.is_symbol(")", "]", "}")
        clause.tokens.append(token)
    yield from _whole(clause)


def _whole(clause: _Clause | None) -> Iterator[_Clause]:
    """With what ends it apart, so that a comment may stand behind it; nothing ends nothing."""
    if clause is None:
        return
    clause.last_line = clause.tokens[-1].span.end_line
    while clause.tokens and clause.tokens[-1].is_symbol(";", ","):
        clause.end = clause.tokens.pop().text
    if clause.tokens:
        yield clause


def _begun(tokens: Sequence[Token], index: int, place: _Place) -> _Place | None:
    """The place of a clause that begins with a token outside of brackets."""
    token = tokens[index]
    following = tokens[index + 1] if index + 1 < len(tokens) else token
    if place is _Place.HEAD and token.is_word("id"):
        return _Place.KEY
    if place is _Place.KEY and token.is_word("freezing", "observation"):
        return _Place.TIME
    if place is _Place.TIME and token.is_word("as"):
        return _Place.QUERY
    if place is _Place.QUERY:
        if token.is_word("occurring"):
            return _Place.OCCURRING
        return place if _begins_clause(tokens[index - 1], token, following) else None
    is_statement = token.is_word("on") and place is not _Place.HEAD
    return _Place.STATEMENT if is_statement else None


def _begins_clause(before: Token, token: Token, following: Token) -> bool:
    """Whether a clause of a query begins; `IS DISTINCT FROM` and `left(x, 3)` are none."""
    if token.is_word("select"):
        return not before.is_word("as")
    if token.is_word(*_JOINS):
        return not before.is_word(*_JOINS) and not following.is_symbol("(")
    return token.is_word(*_CLAUSES) and not before.is_word("distinct")


# Texts.


def _aligned(statements: Sequence[_Clause]) -> list[str]:
    """One line for each statement, their `DO` below each other; none where one is too long."""
    halves = [_halves(clause.tokens) for clause in statements]
    width = max((len(spaced(condition)) for condition, _ in halves), default=0)
    shown = [
        f"{spaced(condition):{width}} {spaced(action)}{clause.end}"
        for clause, (condition, action) in zip(statements, halves, strict=True)
    ]
    return shown if all(len(INDENT + line) <= _WIDTH for line in shown) else []


def _broken(clause: _Clause) -> str:
    """`DO` begins a line of its own."""
    condition, action = _halves(clause.tokens)
    first = _wrapped(condition, INDENT, "", INDENT * 2)
    return f"{first}\n{INDENT * 2}{_wrapped(action, INDENT * 2, clause.end, INDENT * 3)}"


def _halves(tokens: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]]:
    """Before `DO`, and from there on."""
    at = next((n for n, token in enumerate(tokens) if token.is_word("do")), len(tokens))
    return tokens[:at], tokens[at:]


def _wrapped(tokens: Sequence[Token], indent: str, end: str, hanging: str) -> str:
    """The text without its first indent; other lines have the hanging one."""
    breaks, start, column = set[int](), 0, len(indent)
    index = 0
    while index < len(tokens):
        is_last = index == len(tokens) - 1
        column += len(gap(tokens, index)) * (index > start) + len(tokens[index].text)
        if column + len(end) * is_last > _WIDTH:
            best = _break(tokens, start, index)
            if best is not None:
                breaks.add(best)
                start = index = best
                column = len(hanging)
                continue
        index += 1
    return (
        "".join(
            (f"\n{hanging}" if n in breaks else gap(tokens, n)) + token.text
            for n, token in enumerate(tokens)
        )
        + end
    )


def _break(tokens: Sequence[Token], start: int, end: int) -> int | None:
    """The token before which a line is best broken: the least deep one, between parts of a list."""
    best: tuple[int, int, int] | None = None
    depth = 0
    for index in range(start, end + 1):
        token = tokens[index]
        depth -= token.is_symbol(")", "]", "}")
        if index > start and gap(tokens, index):
            found = (_reluctance(tokens[index - 1], token), depth, -index)
            best = min(best, found) if best else found
        depth += token.is_symbol("(", "[", "{")
    return None if best is None else -best[2]


def _reluctance(before: Token, token: Token) -> int:
    if before.is_symbol(",") or token.is_word("and", "or"):
        return 0
    if token.is_word(*_CLAUSES):
        return 1
    return 3 if token.is_symbol("(") else 2
