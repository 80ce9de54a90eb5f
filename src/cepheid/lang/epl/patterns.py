"""Parses patterns. Tightest first: guard, every and not, repeat and until, and, or, followed by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cepheid.core.time import Period
from cepheid.errors import ProgramError, error
from cepheid.expr.tree import Expr
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import expression, filter_of, name_text
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.names import Role
from cepheid.lang.common.periods import at_period, period
from cepheid.lang.epl import lower
from cepheid.lang.epl.lower import Steps
from cepheid.lang.epl.named import named
from cepheid.lang.epl.print_patterns import excess
from cepheid.pattern.schedule import Schedule
from cepheid.pattern.tree import (
    Absent,
    AllOf,
    AnyOf,
    At,
    Atom,
    Every,
    EveryDistinct,
    FollowedBy,
    Interval,
    Pattern,
    While,
)

Bounds = tuple[int | None, int | None]

# The operators of a chain from the loosest on, and what a chain of each makes.
_CHAINS: tuple[tuple[str, Callable[..., Pattern]], ...] = (
    ("->", FollowedBy),
    ("or", AnyOf),
    ("and", AllOf),
)
_QUALIFIERS = ("every", "not", "every-distinct")


def pattern(cursor: Cursor) -> Pattern:
    """A whole pattern, refused if its tree is too high to work with."""
    found = _pattern(cursor)
    fact = excess(found)
    if fact:
        raise ProgramError(error("too-deep", fact, found.span))
    return found


def _pattern(cursor: Cursor) -> Pattern:
    """Chains are joined on a stack of lists, one per operator, to spare stack frames."""
    chains: list[list[Pattern]] = [[], [], []]
    while True:
        chains[2].append(_until(cursor))
        operator = _chain_operator(cursor)
        for tighter in range(2, max(operator, 0), -1):
            chains[tighter - 1].append(_chain(tighter, chains[tighter]))
            chains[tighter] = []
        if operator < 0:
            return _chain(0, chains[0])
        cursor.advance()


def _chain(operator: int, parts: list[Pattern]) -> Pattern:
    if len(parts) == 1:
        return parts[0]
    first, last = parts[0].span, parts[-1].span
    span = first.to(last) if first and last else None
    return _CHAINS[operator][1](tuple(parts), span=span)


def _chain_operator(cursor: Cursor) -> int:
    """Which chain the next token continues; -1 for none."""
    token = cursor.token
    if token.is_symbol("-") and cursor.next.is_symbol("["):
        cursor.unsupported("'-[n]>' is", token.span, "write '->'")
    for index, (operator, _) in enumerate(_CHAINS):
        if token.is_symbol(operator) or token.is_word(operator):
            return index
    return -1


def _until(cursor: Cursor) -> Pattern:
    start = cursor.token
    bounds = _bounds(cursor) if start.is_symbol("[") else None
    child = _qualified(cursor)
    end = _qualified(cursor) if cursor.take_word("until") else None
    if cursor.token.is_word("until"):
        hint = "use parentheses: (A until B) until C"
        cursor.refuse("'until' cannot follow another 'until' directly", cursor.token.span, hint)
    if bounds is None and end is None:
        return child
    return _repeat(cursor, start, child, bounds or (None, None), end)


def _repeat(
    cursor: Cursor, start: Token, child: Pattern, bounds: Bounds, end: Pattern | None
) -> Pattern:
    span = cursor.span_from(start)
    return cursor.lowered(lower.repeat, child, bounds, end, span) or child


def _bounds(cursor: Cursor) -> Bounds:
    """`[n]`, `[m:n]`, `[m:]` or `[:n]`."""
    opened = cursor.advance()
    what = "a whole number in the repeat"
    low = None if cursor.token.is_symbol(":") else cursor.whole_number(what)
    high = low
    if cursor.take_symbol(":"):
        open_end = low is not None and cursor.token.is_symbol("]")
        high = None if open_end else cursor.whole_number(what)
    cursor.close("]", opened, "repeat")
    return low, high


def _qualified(cursor: Cursor) -> Pattern:
    start = cursor.token
    if start.is_symbol("["):
        hint = "put the repeat in parentheses: ([2] A)"
        cursor.refuse("a repeat cannot stand here", start.span, hint)
    if not start.is_word(*_QUALIFIERS):
        return _guarded(cursor)
    cursor.advance()
    keys, expiry = _distinct(cursor) if start.value == "every-distinct" else ((), None)
    child = _under_qualifier(cursor, start)
    span = cursor.span_from(start)
    if start.value == "every":
        return Every(child, span=span)
    if start.value == "not":
        return Absent(child, span=span)
    return EveryDistinct(keys, child, expiry, span=span)


def _under_qualifier(cursor: Cursor, qualifier: Token) -> Pattern:
    start = cursor.token
    bounds = _bounds(cursor) if start.is_symbol("[") else None
    if cursor.token.is_word(*_QUALIFIERS):
        second = cursor.token
        hint = f"use parentheses: {qualifier.text} ({second.text} ...)"
        cursor.refuse(
            f"'{second.text}' cannot follow '{qualifier.text}' directly", second.span, hint
        )
    child = _guarded(cursor)
    return child if bounds is None else _repeat(cursor, start, child, bounds, None)


def _distinct(cursor: Cursor) -> tuple[tuple[Expr, ...], Period | None]:
    """The keys of every-distinct, and the period after which a key counts as new again."""
    opened = cursor.expect_symbol("(", " and the keys of every-distinct")
    keys: list[Expr] = []
    expiry = None
    while expiry is None:
        if keys and at_period(cursor):
            expiry = period(cursor)
        else:
            keys.append(expression(cursor))
            if not cursor.take_symbol(","):
                break
    cursor.close(")", opened, "key list of every-distinct")
    return tuple(keys), expiry


def _guarded(cursor: Cursor) -> Pattern:
    start = cursor.token
    child = _atom(cursor)
    word = cursor.take_word("where", "while")
    if word is None:
        return child
    child = _within(cursor, start, child) if word.value == "where" else _while(cursor, start, child)
    if cursor.token.is_word("where", "while"):
        hint = "put the guarded part in parentheses: (A where ...) where ..."
        cursor.refuse("a pattern takes one guard", cursor.token.span, hint)
    return child


def _within(cursor: Cursor, start: Token, child: Pattern) -> Pattern:
    if not cursor.next.is_symbol(":"):
        cursor.unexpected("a guard such as 'timer:within(3 seconds)' after 'where'")
    timer = cursor.token
    guard = named(cursor, _namespaced(cursor), timer)
    return cursor.lowered(lower.guard, child, guard, cursor.span_from(start)) or child


def _while(cursor: Cursor, start: Token, child: Pattern) -> Pattern:
    opened = cursor.expect_symbol("(", " and a condition after 'while'")
    test = expression(cursor)
    cursor.close(")", opened, "condition")
    return While(child, test, span=cursor.span_from(start))


def _namespaced(cursor: Cursor) -> str:
    """`timer:within`, in lower case."""
    namespace = cursor.name("the name of a timer", Role.TIMER)
    cursor.expect_symbol(":")
    name = cursor.name(f"a name after '{namespace.text}:'", Role.TIMER)
    return f"{namespace.value}:{name.value}".lower()


# Atoms.


def _atom(cursor: Cursor) -> Pattern:
    token = cursor.token
    if token.is_symbol("("):
        return _parenthesised(cursor)
    if token.kind is Kind.WORD and cursor.next.is_symbol(":"):
        return _timer(cursor)
    if not cursor.at_name():
        cursor.name("an event type, 'every', 'not', a timer or '('")
    return _event(cursor)


def _parenthesised(cursor: Cursor) -> Pattern:
    opened = cursor.advance()
    cursor.enter(opened, "patterns")
    inner = _pattern(cursor)
    cursor.leave()
    cursor.close(")", opened, "pattern")
    return replace(inner, span=cursor.span_from(opened))


def _event(cursor: Cursor) -> Pattern:
    is_tagged = cursor.next.is_symbol("=")
    start = cursor.name("an event type", Role.TAG if is_tagged else Role.TYPE)
    tag = None
    event_type = start
    if cursor.take_symbol("="):
        tag, event_type = name_text(start), cursor.name("an event type after '='", Role.TYPE)
    opened = cursor.take_symbol("(")
    test = filter_of(cursor, event_type, opened) if opened else None
    if cursor.token.is_symbol("@"):
        cursor.unsupported(f"'@{cursor.next.text}' is", cursor.token.span)
    return Atom(name_text(event_type), tag, test, span=cursor.span_from(start))


def _timer(cursor: Cursor) -> Pattern:
    start = cursor.token
    name = _namespaced(cursor)
    if name != "timer:at":
        timer = named(cursor, name, start)
        return cursor.lowered(lower.timer, timer) or Interval(Period(), span=timer.span)
    found = schedule(cursor, start, "timer:at")
    return At(found, span=cursor.span_from(start))


def schedule(cursor: Cursor, start: Token, what: str) -> Schedule:
    """The fields in brackets after `timer:at` or `output at`."""
    fields, zone = _schedule_fields(cursor, what)
    return cursor.lowered(lower.schedule, fields, zone, cursor.span_from(start)) or Schedule()


def _schedule_fields(cursor: Cursor, what: str) -> tuple[list[tuple[Steps, ...]], str | None]:
    """The fields of a schedule, and the time zone after them."""
    opened = cursor.expect_symbol("(", f" and the fields of {what}")
    fields, zone = [_schedule_field(cursor)], None
    while zone is None and cursor.take_symbol(","):
        if cursor.token.kind is Kind.STRING:
            zone = str(cursor.advance().value)
        else:
            fields.append(_schedule_field(cursor))
    cursor.close(")", opened, f"field list of {what}")
    return fields, zone


def _schedule_field(cursor: Cursor) -> tuple[Steps, ...]:
    opened = cursor.take_symbol("[")
    if not opened:
        return (_steps(cursor),)
    elements = [_steps(cursor)]
    while cursor.take_symbol(","):
        elements.append(_steps(cursor))
    cursor.close("]", opened, "list")
    return tuple(elements)


def _steps(cursor: Cursor) -> Steps:
    what = "'*', a number, a range or a list in timer:at"
    if cursor.take_symbol("*"):
        return Steps(step=cursor.whole_number(what)) if cursor.take_symbol("/") else Steps()
    if rule := cursor.take_word("last", "lastweekday"):
        return Steps(rule=str(rule.value))
    low = cursor.whole_number(what)
    if rule := cursor.take_word("last", "weekday"):
        return Steps(low, rule=str(rule.value))
    return Steps(low, cursor.whole_number(what) if cursor.take_symbol(":") else low)
