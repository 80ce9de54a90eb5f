"""Parses what complex events consist of.

`->`, `OR` and `AND` have no precedence: a chain of them is read from left to right, and each run of one
operator becomes the first operand of the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cepheid.core.time import MICROSECONDS, Period
from cepheid.errors import Edit, Fix, ProgramError, Span, error, warning
from cepheid.expr.notation import MAX_NESTING
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import name_text
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.names import Role
from cepheid.lang.common.periods import exact_period, period
from cepheid.lang.vepl.printer import excess, print_form
from cepheid.pattern.algebra import (
    Both,
    Either,
    EventCall,
    Follows,
    Form,
    Never,
    Timed,
    Times,
    WindowKind,
)
from cepheid.pattern.tree import Atom

_OPERATORS: dict[str, type[Follows | Either | Both]] = {"->": Follows, "OR": Either, "AND": Both}


def form(cursor: Cursor) -> Form:
    """A whole form, refused if its tree is too high to work with."""
    found = _form(cursor)
    fact = excess(found)
    if fact:
        raise ProgramError(error("too-deep", fact, found.span))
    return found


def _form(cursor: Cursor) -> Form:
    start = cursor.token
    found = _operand(cursor)
    ends: list[Span] = []  # of the runs
    while (operator := _operator(cursor.token)) is not None:
        parts = [found]
        while _operator(cursor.token) == operator:
            cursor.advance()
            parts.append(_operand(cursor))
        found = _OPERATORS[operator](tuple(parts), span=cursor.span_from(start))
        ends.append(cursor.span_from(start))
        if len(ends) > MAX_NESTING:
            fact = f"a chain of mixed operators nested deeper than {MAX_NESTING} levels"
            raise ProgramError(error("too-deep", fact, start.span))
    if len(ends) > 1:
        fact = "`->`, OR and AND have no precedence: they are read from left to right"
        hint = f"write {print_form(found)}"
        fixes = (_bracketed(ends[:-1]),)
        cursor.problems.append(warning("mixed-operators", fact, found.span, hint, fixes))
    return found


def _bracketed(runs: Sequence[Span]) -> Fix:
    """Each run in brackets, together with those before it; nothing else changes."""
    begin = Edit(runs[0].start, "(" * len(runs))
    return Fix("write the brackets", (begin, *(Edit(run.end, ")") for run in runs)))


def _operator(token: Token) -> str | None:
    is_one = token.is_symbol("->") or (token.kind is Kind.WORD and token.text in _OPERATORS)
    return token.text if is_one else None


def _operand(cursor: Cursor) -> Form:
    start = cursor.token
    if start.kind is Kind.WORD and start.text == "NOT":
        cursor.advance()
        return Never(_unit(cursor), span=cursor.span_from(start))
    return _unit(cursor)


def _unit(cursor: Cursor) -> Form:
    """A call or a group, with its multiplicity and its window."""
    start = cursor.token
    opened = cursor.take_symbol("(")
    if opened:
        cursor.enter(opened, "a complex event")
        found = _form(cursor)
        cursor.close(")", opened, "group", ("OR", "AND", "NOT"))
        cursor.leave()
        found = replace(found, span=cursor.span_from(start))
    else:
        found = _call(cursor)
    is_counted = cursor.token.is_symbol("{")
    if is_counted:
        low, high = _multiplicity(cursor, is_event=isinstance(found, EventCall))
        found = Times(found, low, high, span=cursor.span_from(start))
    if cursor.token.is_symbol("["):
        if isinstance(found, EventCall):
            hint = "a single event takes no time: give it a multiplicity, `a{3}[1000]`"
            cursor.report("bad-window", "a window on one event", cursor.token.span, hint)
        found = _window(cursor, found, start)
    return found


def _call(cursor: Cursor) -> EventCall:
    if cursor.token.is_word("not", "or", "and"):
        written = cursor.token.text.upper()
        fixes = (Fix.writing(written, cursor.token.span),)
        expected = "an event, or '(' and a group of them"
        cursor.unexpected(expected, hint=f"did you mean {written}?", fixes=fixes)
    start = cursor.name("an event, or '(' and a group of them", Role.TYPE)
    arguments = argument_names(cursor)
    return EventCall(
        Atom(name_text(start), span=start.span), arguments, span=cursor.span_from(start)
    )


def argument_names(cursor: Cursor) -> tuple[str | None, ...] | None:
    """`(x, _)`: what values are called, None for those that are not; None where there is no list."""
    opened = cursor.take_symbol("(")
    if not opened:
        return None
    given: list[str | None] = []
    while not cursor.token.is_symbol(")"):
        if given:
            cursor.expect_symbol(",", " between arguments")
        argument = cursor.name("a parameter, or '_' for any value", Role.ARGUMENT)
        given.append(None if argument.text == "_" else name_text(argument))
    cursor.close(")", opened, "list of arguments", ())
    return tuple(given)


def _multiplicity(cursor: Cursor, *, is_event: bool) -> tuple[int, int | None]:
    """`{3}`, `{2:5}`, `{2:*}`, `{+}`, `{*}`."""
    opened = cursor.expect_symbol("{")
    if cursor.take_symbol("+"):
        low, high = 1, None
    elif cursor.take_symbol("*"):
        low, high = 0, None
    else:
        low = cursor.whole_number("a number, '+' or '*'")
        high = _highest(cursor) if cursor.take_symbol(":") else low
    cursor.close("}", opened, "multiplicity", ())
    span = cursor.span_from(opened)
    if low < 0 or (high is not None and high < max(low, 1)):
        fact = "the second number of a multiplicity is not below the first, and not zero"
        cursor.report("impossible-repeat", fact, span)
        return 1, None
    if is_event and low == high == 1:
        hint = "leave it out"
        cursor.report("impossible-repeat", "an event occurs once anyway", span, hint)
    return low, high


def _highest(cursor: Cursor) -> int | None:
    return None if cursor.take_symbol("*") else cursor.whole_number("a number or '*'")


def _window(cursor: Cursor, part: Form, start: Token) -> Form:
    """`[1000]` in milliseconds, `[within 2 seconds]`, `[holdsFor 1 minute]`."""
    opened = cursor.expect_symbol("[")
    holds_for = cursor.token.kind is Kind.WORD and cursor.token.text == "holdsFor"
    if holds_for or cursor.token.is_word("within"):
        cursor.advance()
        length = period(cursor)
    else:
        count = cursor.whole_number("milliseconds, 'within' or 'holdsFor' and a period")
        parts = [(count, "milliseconds")]
        length = cursor.lowered(exact_period, parts, cursor.span_from(opened)) or Period()
    cursor.close("]", opened, "window", ())
    if length.is_zero:
        cursor.report("bad-period", "a window needs a period", cursor.span_from(opened))
        length = Period(MICROSECONDS["milliseconds"])
    kind: WindowKind = "holdsFor" if holds_for else "within"
    return Timed(part, length, kind, span=cursor.span_from(start))
