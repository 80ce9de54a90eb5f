"""Parses the constraints of a body."""

from __future__ import annotations

from dataclasses import replace

from cepheid.core.types import BOOLEAN, STRING
from cepheid.errors import ProgramError, error
from cepheid.expr.tree import Expr, Literal
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import expression, name_text, signed_number
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.names import Role
from cepheid.query.tree import (
    Check,
    Constraint,
    Count,
    Edge,
    Equality,
    Eval,
    Find,
    IsA,
    Negation,
    Term,
    Variable,
)


def constraint(cursor: Cursor) -> Constraint:
    start = cursor.token
    return replace(_constraint(cursor), span=cursor.span_from(start))


def _constraint(cursor: Cursor) -> Constraint:
    if _at(cursor, "find"):
        return _find(cursor)
    if _at(cursor, "neg"):
        cursor.advance()
        return Negation(_find(cursor))
    if _at(cursor, "check"):
        return Check(_in_brackets(cursor))
    if cursor.at_name() and cursor.next.is_symbol("(", "."):
        return _about_class(cursor)
    return _comparison(cursor)


def _at(cursor: Cursor, word: str) -> bool:
    """Keywords are written small, and not in backquotes; `Check(x)` is about a class."""
    return cursor.token.kind is Kind.WORD and cursor.token.text == word


def _in_brackets(cursor: Cursor) -> Expr:
    word = cursor.advance()
    opened = cursor.expect_symbol("(")
    found = expression(cursor)
    cursor.close(")", opened, str(word.text))
    return found


def _find(cursor: Cursor) -> Find:
    start = cursor.token
    if not _at(cursor, "find"):
        cursor.unexpected("'find'", ("find",))
    cursor.advance()
    name = cursor.name("the name of a pattern after 'find'", Role.QUERY)
    plus = cursor.take_symbol("+")
    opened = cursor.expect_symbol("(", " and the arguments of the pattern")
    found = _arguments(cursor, opened)
    span = cursor.span_from(start)
    return Find(name_text(name), found, plus is not None, span=span)


def _arguments(cursor: Cursor, opened: Token) -> tuple[Term, ...]:
    found: list[Term] = []
    if not cursor.token.is_symbol(")"):
        found.append(term(cursor))
        while cursor.take_symbol(","):
            found.append(term(cursor))
    cursor.close(")", opened, "list of arguments")
    return tuple(found)


def _about_class(cursor: Cursor) -> Constraint:
    start = cursor.token
    type = name_text(cursor.advance())
    features = []
    while cursor.take_symbol("."):
        features.append(name_text(cursor.name("the name of a feature")))
    opened = cursor.expect_symbol("(", " and the variables of the constraint")
    found = _arguments(cursor, opened)
    wanted = 2 if features else 1
    if len(found) != wanted:
        written = ".".join((type, *features))
        usage = f"{written}(source, target)" if features else f"{written}(object)"
        fact = f"'{written}' takes {wanted} argument{'s' * bool(features)}, not {len(found)}"
        raise ProgramError(
            error("wrong-arguments", fact, cursor.span_from(start), f"usage: {usage}")
        )
    return Edge(type, tuple(features), *found) if features else IsA(type, *found)


def _comparison(cursor: Cursor) -> Constraint:
    left = term(cursor)
    operator = cursor.take_symbol("==", "!=")
    if operator is None:
        hint = "write '==' to compare" if cursor.token.is_symbol("=") else None
        cursor.unexpected("'==' or '!='", hint=hint)
    if operator.text == "==":
        if _at(cursor, "count"):
            cursor.advance()
            return Count(left, _find(cursor))
        if _at(cursor, "eval"):
            return Eval(left, _in_brackets(cursor))
    return Equality(left, term(cursor), operator.text == "!=")


def term(cursor: Cursor) -> Term:
    """A variable or a constant."""
    token = cursor.token
    if token.is_word("true", "false"):
        return Literal(token.value == "true", type=BOOLEAN, span=cursor.advance().span)
    if token.kind is Kind.STRING:
        return Literal(token.value, type=STRING, span=cursor.advance().span)
    if token.kind is Kind.NUMBER or (token.is_symbol("-") and cursor.next.kind is Kind.NUMBER):
        return signed_number(cursor)
    name = cursor.name("a variable or a constant", Role.ARGUMENT)
    return Variable(name_text(name), span=name.span)
