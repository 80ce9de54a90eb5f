"""The entry: text into queries and everything that is wrong with the text."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from cepheid.errors import Diagnostic, ProgramError, Span, declared_twice
from cepheid.expr.notation import RESERVED
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import name_text
from cepheid.lang.common.lexer import Comment, Kind, Spelling, Token, Tokens, tokenize
from cepheid.lang.common.names import Name, Role
from cepheid.lang.queries.constraints import constraint
from cepheid.lang.queries.rules import rule_of
from cepheid.query.tree import Body, Constraint, Parameter, Query, QueryTree, Rule

_KEYWORDS = ("pattern", "private", "find", "neg", "count", "check", "eval", "or")


# Words of the grammar, with what tells them from names.
PHRASES = (
    "pattern",
    "private pattern",
    "find",
    "neg find",
    "count find",
    "check(",
    "eval(",
    "or {",
)
_SPELLING = Spelling(symbols=("==",))


class QueryCursor(Cursor):
    keywords: Collection[str] = sorted({*RESERVED, *_KEYWORDS})
    has_sql_habits = False

    def refuse_window(self) -> None:
        """There are none; a dot that stands wrong is no more than that."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The queries as far as the text gives them."""

    tree: QueryTree
    problems: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]
    broken: frozenset[str] = frozenset()  # names of queries of which parts are missing
    tokens: tuple[Token, ...] = ()
    names: tuple[Name, ...] = ()
    begun: tuple[Span, ...] = ()
    extents: tuple[Span, ...] = ()  # of the queries, from their annotations to their last bracket


def parse(text: str, file: str | None = None) -> Parsed:
    """All queries of a text and all its problems; one broken constraint hides no other."""
    tokens = tokens_of(text, file)
    cursor = QueryCursor(tokens.tokens)
    queries: list[Query] = []
    broken: set[str] = set()
    extents: list[Span] = []

    def one() -> None:
        known, start = len(cursor.problems), cursor.token
        queries.append(_query(cursor))
        extents.append(cursor.span_from(start))
        cursor.take_symbol(";")
        if len(cursor.problems) > known:
            broken.add(queries[-1].name)

    while cursor.token.kind is not Kind.END:
        begun = cursor.index
        cursor.begin()
        _recovering(cursor, tokens.problems, one, _at_query)
        if cursor.index == begun:
            cursor.advance()
    _refuse_twins(cursor, queries)
    problems = sorted([*tokens.problems, *cursor.problems], key=_place)
    tree = QueryTree(tuple(queries))
    return Parsed(
        tree,
        tuple(problems),
        tokens.comments,
        frozenset(broken),
        tokens.tokens,
        tuple(cursor.names),
        tuple(cursor.begun),
        tuple(extents),
    )


def tokens_of(text: str, file: str | None = None) -> Tokens:
    return tokenize(text, file, _SPELLING)


def _refuse_twins(cursor: Cursor, queries: list[Query]) -> None:
    first: dict[str, Span | None] = {}
    for query in queries:
        if query.name in first:
            found = declared_twice(f"pattern '{query.name}'", query.span, first[query.name])
            cursor.problems.append(found)
        first.setdefault(query.name, query.span)


# Queries.


def _query(cursor: Cursor) -> Query:
    rule = _annotations(cursor)
    is_private = cursor.take_word("private") is not None
    start = cursor.expect_word("pattern", " at the start of a query")
    name = cursor.name("the name of the pattern", Role.NEW_QUERY)
    parameters = _parameters(cursor)
    bodies = [_body(cursor)]
    while cursor.take_word("or"):
        bodies.append(_body(cursor))
    span = start.span.to(name.span)
    return Query(name_text(name), parameters, tuple(bodies), is_private, rule, span=span)


def _annotations(cursor: Cursor) -> Rule | None:
    found: Rule | None = None
    while cursor.token.is_symbol("@"):
        start = cursor.token
        rule = rule_of(cursor)
        if found and rule:
            cursor.problems.append(declared_twice("@Constraint", start.span, found.span))
        found = found or rule
    return found


def _parameters(cursor: Cursor) -> tuple[Parameter, ...]:
    opened = cursor.expect_symbol("(", " and the parameters of the pattern")
    found: list[Parameter] = []
    if not cursor.token.is_symbol(")"):
        found.append(_parameter(cursor))
        while cursor.take_symbol(","):
            found.append(_parameter(cursor))
    cursor.close(")", opened, "list of parameters")
    first: dict[str, Span | None] = {}
    for parameter in found:
        if parameter.name in first:
            twice = declared_twice(
                f"parameter '{parameter.name}'", parameter.span, first[parameter.name]
            )
            cursor.problems.append(twice)
        first.setdefault(parameter.name, parameter.span)
    return tuple(found)


def _parameter(cursor: Cursor) -> Parameter:
    name = cursor.name("the name of a parameter", Role.ARGUMENT)
    type = None
    if cursor.take_symbol(":"):
        type = name_text(cursor.name("the class or the type of the parameter"))
    return Parameter(name_text(name), type, span=cursor.span_from(name))


def _body(cursor: Cursor) -> Body:
    opened = cursor.expect_symbol("{", " and the constraints of the pattern")
    found: list[Constraint] = []

    def one() -> None:
        found.append(constraint(cursor))
        if not cursor.take_symbol(";") and not cursor.token.is_symbol("}"):
            cursor.unexpected("';' after a constraint")

    while not cursor.token.is_symbol("}"):
        if cursor.token.kind is Kind.END or _at_query(cursor):
            cursor.close("}", opened, "body")
        if not cursor.take_symbol(";"):
            _recovering(cursor, (), one, _at_end_of_body)
    cursor.advance()
    return Body(tuple(found), span=cursor.span_from(opened))


# After a mistake.


def _recovering(
    cursor: Cursor,
    known: Collection[Diagnostic],
    parse_one: Callable[[], None],
    is_next: Callable[[Cursor], bool],
) -> None:
    """One thing; after a mistake in it, on to where another one plainly starts."""
    begun = cursor.token
    try:
        parse_one()
    except ProgramError as refused:
        if not _is_consequence(begun, cursor.token, known):
            cursor.problems.extend(refused.diagnostics)
        _skip(cursor, is_next)


def _is_consequence(begun: Token, reached: Token, known: Collection[Diagnostic]) -> bool:
    """Whether there is text between that is no token: reason enough to fail."""
    start = (begun.span.line, begun.span.column)
    end = (reached.span.line, reached.span.column)
    return any(start <= _place(problem) <= end for problem in known)


def _skip(cursor: Cursor, is_next: Callable[[Cursor], bool]) -> None:
    while cursor.token.kind is not Kind.END and not is_next(cursor) and not _at_query(cursor):
        cursor.advance()


def _at_query(cursor: Cursor) -> bool:
    """Words that stand nowhere else, at the start of a line."""
    token, previous = cursor.token, cursor.previous
    if previous and previous.span.end_line == token.span.line and not previous.is_symbol("}"):
        return False
    is_pattern = token.is_word("pattern") and cursor.next.kind in (Kind.WORD, Kind.QUOTED)
    is_private = token.is_word("private") and cursor.next.is_word("pattern")
    return is_pattern or is_private or token.is_symbol("@")


def _at_end_of_body(cursor: Cursor) -> bool:
    return cursor.token.is_symbol(";", "}")


def _place(problem: Diagnostic) -> tuple[int, int]:
    return (problem.span.line, problem.span.column) if problem.span else (0, 0)
