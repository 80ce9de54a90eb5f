"""Parses expressions: operators by precedence with an explicit stack, primaries by recursion."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from cepheid.core.numbers import fits_int, fits_long, round_float
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    ArrayType,
    DataType,
    DecimalType,
    EventRef,
    is_integral,
)
from cepheid.core.values import TYPE_NAMES
from cepheid.errors import ProgramError, Span, error
from cepheid.expr.functions import AGGREGATES
from cepheid.expr.notation import (
    AND,
    COMPARISON,
    CONCAT,
    NOT,
    OR,
    PRECEDENCE,
    RESERVED,
    SIGN,
)
from cepheid.expr.printing import excess
from cepheid.expr.tree import (
    Aggregate,
    And,
    Binary,
    BinaryOperator,
    Call,
    Case,
    Cast,
    Expr,
    InList,
    InRange,
    Like,
    Literal,
    Not,
    Or,
    Part,
    Ref,
    Regexp,
    negate,
)
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.habits import INSTEAD_OF
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.names import Role

_PREDICATES = ("in", "between", "like", "regexp")
_OPERATOR_WORDS = ("and", "or", "is", "not", *_PREDICATES)
_PREVIOUS_ROWS = frozenset({"prev", "prevtail", "prevcount", "prevwindow", "prior"})
_SYNONYMS = {"<>": "!=", "==": "="}  # as far as a language has such a token
_FLAT: dict[str, type[And | Or]] = {"and": And, "or": Or}


def expression(cursor: Cursor) -> Expr:
    """A whole expression, refused if its tree is too high to work with."""
    return _checked(_Operators(cursor).parse(OR))


def expressions(cursor: Cursor) -> tuple[Expr, ...]:
    """One or more, separated by commas."""
    found = [expression(cursor)]
    while cursor.take_symbol(","):
        found.append(expression(cursor))
    return tuple(found)


def condition(cursor: Cursor, opened: Token) -> Expr | None:
    """The rest of a filter, `v > 1, k = a.k)`; a comma means `and`."""
    if cursor.take_symbol(")"):
        return None
    found = expressions(cursor)
    cursor.close(")", opened, "condition")
    if len(found) == 1:
        return found[0]
    operands = [o for e in found for o in (e.operands if isinstance(e, And) else (e,))]
    return _checked(And(tuple(operands), span=_between(found[0], found[-1])))


def filter_of(cursor: Cursor, event_type: Token, opened: Token) -> Expr | None:
    """The condition in the brackets behind an event type, where its attributes need no tag."""
    around, cursor.event_type = cursor.event_type, name_text(event_type)
    found = condition(cursor, opened)
    cursor.event_type = around
    return found


def data_type(cursor: Cursor) -> DataType:
    token = cursor.name("a type", Role.DATA_TYPE)
    found: DataType = EventRef(str(token.value) if token.kind is Kind.QUOTED else token.text)
    if token.kind is Kind.WORD:
        found = TYPE_NAMES.get(str(token.value), found)
    if token.is_word("decimal") and cursor.token.is_symbol("("):
        found = decimal_type(cursor, token)
    while cursor.take_symbol("["):
        cursor.expect_symbol("]")
        found = ArrayType(found)
    return found


def decimal_type(cursor: Cursor, start: Token) -> DataType:
    """The digits of `decimal(12, 2)`."""
    opened = cursor.advance()
    precision = cursor.whole_number("how many digits it has")
    scale = cursor.whole_number("how many follow the point") if cursor.take_symbol(",") else 0
    cursor.close(")", opened, "type")
    try:
        return DecimalType(precision, scale)
    except ValueError as problem:
        hint = "as a double it is rounded, as a string it keeps its digits"
        if scale > precision:
            hint = f"digits in all, then those after the point: decimal({scale}, {precision})"
        cursor.report("unsupported", str(problem), cursor.span_from(start), hint)
        return ANY


def name_text(token: Token) -> str:
    return str(token.value) if token.kind is Kind.QUOTED else token.text


def _checked(root: Expr) -> Expr:
    """Operators need no brackets to be deep, and the canonical text may need more than this one."""
    fact = excess(root)
    if fact:
        raise ProgramError(error("too-deep", fact, root.span))
    return root


def _between(first: Expr, last: Expr) -> Span | None:
    return first.span.to(last.span) if first.span and last.span else None


# Operators.


@dataclass(frozen=True, slots=True)
class _Pending:
    """An operator whose right side is not complete yet."""

    operator: str
    precedence: int
    prefix: Token | None = None


class _Operators:
    """Operands and operators not yet joined.

    The stack is explicit so that a nesting level costs few frames, whatever operators it has.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.operands: list[Expr] = []
        self.pending: list[_Pending] = []
        self.predicate: Expr | None = None  # the last `in`, `between`, `like` or `regexp`

    def parse(self, floor: int) -> Expr:
        """Operators that bind at least as tightly as the floor, and what they join."""
        while True:
            self.take_prefixes()
            self.operands.append(_primary(self.cursor))
            operator = self.take_infix(floor)
            if not operator:
                self.reduce(0)
                return self.operands[0]
            self.pending.append(_Pending(operator, PRECEDENCE[operator]))

    def take_prefixes(self) -> None:
        cursor = self.cursor
        while True:
            if cursor.token.is_symbol("-") and cursor.next.kind is not Kind.NUMBER:
                self.pending.append(_Pending("-", SIGN, cursor.advance()))
            elif cursor.token.is_word("not"):
                self.pending.append(_Pending("not", NOT, cursor.advance()))
            else:
                return

    def take_infix(self, floor: int) -> str:
        """The next operator that joins two operands; predicates before it are completed."""
        while True:
            operator = _infix(self.cursor)
            precedence = COMPARISON if operator in _PREDICATES else PRECEDENCE.get(operator, 0)
            if precedence < floor:
                return ""
            # A flat chain stays pending as a whole; a chain of comparisons is to be seen.
            waits = precedence in (OR, AND, COMPARISON)
            self.reduce(precedence + waits)
            if precedence == COMPARISON:
                self.refuse_chain()
            if operator not in _PREDICATES:
                return _take_operator(self.cursor, operator)
            self.predicate = _predicate(self.cursor, self.operands.pop())
            self.operands.append(self.predicate)

    def refuse_chain(self) -> None:
        compared = self.pending and self.pending[-1].precedence == COMPARISON
        if compared or self.operands[-1] is self.predicate:
            message = f"{self.cursor.token} follows another comparison"
            hint = "join comparisons with 'and', or put one in parentheses"
            right = self.operands[-1]
            if isinstance(right, Binary) and right.operator == "||":
                hint = "`||` joins strings; write `or`"
            self.cursor.refuse(message, self.cursor.token.span, hint)

    def reduce(self, floor: int) -> None:
        """Join what the pending operators that bind at least as tightly stand for."""
        while self.pending and self.pending[-1].precedence >= floor:
            done = self.pending.pop()
            if done.prefix:
                self.operands.append(_prefixed(self.cursor, done.prefix, self.operands.pop()))
            elif done.operator in _FLAT:
                self.join_flat(done.operator)
            else:
                right, left = self.operands.pop(), self.operands.pop()
                operator = cast("BinaryOperator", done.operator)
                self.operands.append(Binary(operator, left, right, span=_between(left, right)))

    def join_flat(self, operator: str) -> None:
        count = 2
        while self.pending and self.pending[-1].operator == operator:
            self.pending.pop()
            count += 1
        parts = tuple(self.operands[-count:])
        self.operands[-count:] = [_FLAT[operator](parts, span=_between(parts[0], parts[-1]))]


def _infix(cursor: Cursor) -> str:
    """The operator that stands here, or an empty text."""
    token = cursor.token
    if token.kind is Kind.SYMBOL:
        return _SYNONYMS.get(token.text, token.text)
    if token.is_word("not") and cursor.next.is_word(*_PREDICATES):
        return str(cursor.next.value)
    return str(token.value) if token.is_word("and", "or", "is", *_PREDICATES) else ""


def _take_operator(cursor: Cursor, operator: str) -> str:
    cursor.advance()
    return "is not" if operator == "is" and cursor.take_word("not") else operator


def _prefixed(cursor: Cursor, prefix: Token, operand: Expr) -> Expr:
    span = prefix.span.to(operand.span) if operand.span else prefix.span
    if prefix.is_word("not"):
        return Not(operand, span=span)
    negated = replace(negate(operand), span=span)
    if isinstance(negated, Literal) and not fits(negated):
        cursor.report("bad-number", f"{negated.value} does not fit {negated.type}", span)
    return negated


def _operand(cursor: Cursor, floor: int = OR) -> Expr:
    """An expression inside another one."""
    cursor.enter(cursor.token, "expressions")
    found = _Operators(cursor).parse(floor)
    cursor.leave()
    return found


# What follows an operand: in, between, like, regexp.


def _predicate(cursor: Cursor, operand: Expr) -> Expr:
    negated = cursor.take_word("not") is not None
    word = cursor.advance()
    found = _PREDICATE_PARSERS[str(word.value)](cursor, operand, negated)
    return replace(found, span=cursor.span_from(operand.span or word))


def _in(cursor: Cursor, operand: Expr, negated: bool) -> Expr:
    opened = cursor.take_symbol("(", "[") or cursor.unexpected("'(' or '[' after 'in'")
    if opened.text == "(" and cursor.token.is_word("select"):
        _refuse_subquery(cursor)
    first = _operand(cursor)
    if cursor.take_symbol(":"):
        high = _operand(cursor)
        closed = cursor.take_symbol(")", "]") or cursor.close(")", opened, "range")
        return InRange(operand, first, high, opened.text == "[", closed.text == "]", negated)
    if opened.text == "[":
        cursor.unexpected("':' in the range after 'in'")
    items = [first]
    while cursor.take_symbol(","):
        items.append(_operand(cursor))
    cursor.close(")", opened, "list")
    return InList(operand, tuple(items), negated)


def _range_between(cursor: Cursor, operand: Expr, negated: bool) -> Expr:
    low = _operand(cursor, CONCAT)
    cursor.expect_word("and", " between the ends of 'between'")
    return InRange(operand, low, _operand(cursor, CONCAT), negated=negated)


def _like(cursor: Cursor, operand: Expr, negated: bool) -> Expr:
    pattern = _operand(cursor, CONCAT)
    if not cursor.take_word("escape"):
        return Like(operand, pattern, None, negated)
    token = cursor.token
    if token.kind is not Kind.STRING or len(str(token.value)) != 1:
        cursor.unexpected("a string of one character after 'escape'")
    return Like(operand, pattern, str(cursor.advance().value), negated)


def _regexp(cursor: Cursor, operand: Expr, negated: bool) -> Expr:
    return Regexp(operand, _operand(cursor, CONCAT), negated)


_PREDICATE_PARSERS: dict[str, Callable[[Cursor, Expr, bool], Expr]] = {
    "in": _in,
    "between": _range_between,
    "like": _like,
    "regexp": _regexp,
}


# Primaries.


def _primary(cursor: Cursor) -> Expr:
    token = cursor.token
    if token.kind is Kind.WORD:
        return _word(cursor)
    if token.kind is Kind.QUOTED:
        return _reference(cursor)
    if token.kind is Kind.NUMBER or token.is_symbol("-"):
        return signed_number(cursor)
    if token.kind is Kind.STRING:
        return Literal(token.value, type=STRING, span=cursor.advance().span)
    if token.is_symbol("("):
        return _parenthesised(cursor)
    return cursor.unexpected("an expression")


def _word(cursor: Cursor) -> Expr:
    token, calls = cursor.token, cursor.next.is_symbol("(")
    special = _SPECIAL_WORDS.get(str(token.value))
    if special and (calls or token.value in RESERVED):
        return special(cursor)
    if calls and (token.value not in RESERVED or token.value in ("istream", "rstream")):
        return _call(cursor)
    if token.value == "current_timestamp":
        return Call("current_timestamp", (), span=cursor.advance().span)
    if token.value in RESERVED:
        starts_clause = token.is_word("select", "from", "where", "having")
        hint = None if starts_clause else f"as a name it needs backquotes: `{token.text}`"
        cursor.unexpected("an expression", hint=hint)
    return _reference(cursor)


def _parenthesised(cursor: Cursor) -> Expr:
    opened = cursor.advance()
    if cursor.token.is_word("select"):
        _refuse_subquery(cursor)
    inner = _operand(cursor)
    cursor.close(")", opened, "parenthesis")
    return replace(inner, span=cursor.span_from(opened))


def _refuse_subquery(cursor: Cursor) -> None:
    cursor.unsupported("subqueries are", cursor.token.span, INSTEAD_OF["subquery"])


def signed_number(cursor: Cursor) -> Literal:
    """A number and its sign, reported where no type holds it."""
    minus = cursor.take_symbol("-")
    token = cursor.advance()
    literal = _number(token, negative=minus is not None)
    if minus:
        literal = replace(literal, span=cursor.span_from(minus))
    if not fits(literal):
        message = f"{'-' if minus else ''}{token.text} does not fit {literal.type}"
        cursor.report("bad-number", message, token.span)
    return literal


def _number(token: Token, *, negative: bool = False) -> Literal:
    """The literal of a number token, of the smallest type that its suffix allows."""
    value = token.value if isinstance(token.value, int | float) else math.nan
    suffix = token.text[-1].lower()
    if suffix == "f":
        value = round_float(float(value))
    elif suffix == "d":
        value = float(value)
    value = -value if negative else value  # last, so that zero keeps its sign where it has one
    return Literal(value, type=_number_type(token.text, value), span=token.span)


def _number_type(text: str, value: float) -> DataType:
    if text[-1] in "fF":
        return FLOAT
    if text[-1] in "lL":
        return LONG
    if text.isdecimal():
        return INT if fits_int(value) else LONG
    return DOUBLE


def fits(literal: Literal) -> bool:
    """Whether the type of a number holds it."""
    value = literal.value
    if isinstance(value, int):
        return fits_int(value) if literal.type == INT else fits_long(value)
    return isinstance(value, float) and math.isfinite(value) and not is_integral(literal.type)


def _constant(kind: DataType, value: bool | None) -> Callable[[Cursor], Expr]:
    return lambda cursor: Literal(value, type=kind, span=cursor.advance().span)


def _reference(cursor: Cursor) -> Expr:
    start = cursor.token
    parts = [_part(cursor, cursor.name("a name", Role.START))]
    while cursor.token.is_symbol(".") and cursor.next.kind in (Kind.WORD, Kind.QUOTED):
        cursor.advance()
        parts.append(_part(cursor, cursor.note(cursor.advance(), Role.MEMBER)))
    if cursor.token.is_symbol("("):
        if start.kind is Kind.QUOTED or len(parts) > 1:
            cursor.unsupported("methods of attributes are", cursor.span_from(start))
        cursor.unexpected("an operator")
    return Ref(tuple(parts), span=cursor.span_from(start))


def _part(cursor: Cursor, token: Token) -> Part:
    if not cursor.take_symbol("["):
        return Part(name_text(token))
    index = cursor.whole_number("a whole number as an index")
    if index < 0:
        cursor.refuse(f"the index {index} is negative", cursor.span_from(token))
    cursor.expect_symbol("]", " after the index")
    return Part(name_text(token), index)


def _call(cursor: Cursor) -> Expr:
    start = cursor.note(cursor.advance(), Role.FUNCTION)
    name = str(start.value)
    if name in _PREVIOUS_ROWS:
        cursor.unsupported(f"{name}() is", start.span, INSTEAD_OF["prev"])
    opened = cursor.advance()
    distinct = name in AGGREGATES and _takes_each_once(cursor)
    counts_rows = name == "count" and not distinct and cursor.take_symbol("*") is not None
    arguments = () if counts_rows else _part_of(cursor, name) + _arguments(cursor)
    cursor.close(")", opened, f"argument list of {name}")
    span = cursor.span_from(start)
    if name not in AGGREGATES or (name in ("min", "max") and len(arguments) > 1 and not distinct):
        return Call(name, arguments, span=span)
    if name == "nth" and len(arguments) == 2:
        return Aggregate(name, arguments[0], distinct, _index(arguments[1]), span=span)
    if len(arguments) != 1 and not counts_rows:
        message = f"{name} takes one argument, not {len(arguments)}"
        cursor.report("wrong-arguments", message, span)
    return Aggregate(name, arguments[0] if arguments else None, distinct, span=span)


def _index(argument: Expr) -> int:
    """The second argument of `nth`; below zero if it is none, which is refused later."""
    value = argument.value if isinstance(argument, Literal) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _takes_each_once(cursor: Cursor) -> bool:
    """`distinct`; `all`, its opposite, is what holds without it, and may also be an attribute."""
    following = cursor.next
    begins = following.kind in (Kind.WORD, Kind.QUOTED, Kind.NUMBER, Kind.STRING)
    if (begins or following.is_symbol("(")) and not following.is_word(*_OPERATOR_WORDS):
        cursor.take_word("all")
    return cursor.take_word("distinct") is not None


def _part_of(cursor: Cursor, name: str) -> tuple[Expr, ...]:
    """The part that SQL's `extract(hour from at)` names."""
    if name != "extract" or cursor.token.kind is not Kind.WORD or not cursor.next.is_word("from"):
        return ()
    token = cursor.advance()
    cursor.advance()
    return (Literal(str(token.value), type=STRING, span=token.span),)


def _arguments(cursor: Cursor) -> tuple[Expr, ...]:
    if cursor.token.is_symbol(")"):
        return ()
    if cursor.token.is_word("select"):
        _refuse_subquery(cursor)  # `exists (select ...)`, `= any (select ...)`
    found = [_operand(cursor)]
    while cursor.take_symbol(","):
        found.append(_operand(cursor))
    return tuple(found)


def _case(cursor: Cursor) -> Expr:
    start = cursor.advance()
    operand = None if cursor.token.is_word("when") else _operand(cursor)
    branches = []
    while cursor.take_word("when"):
        when = _operand(cursor)
        cursor.expect_word("then", " after the condition of 'when'")
        branches.append((when, _operand(cursor)))
    if not branches:
        cursor.unexpected("'when'", ("when",))
    otherwise = _operand(cursor) if cursor.take_word("else") else None
    cursor.expect_word("end", f" to close the case that starts at line {start.span.line}")
    return Case(operand, tuple(branches), otherwise, span=cursor.span_from(start))


def _cast(cursor: Cursor) -> Expr:
    start = cursor.advance()
    opened = cursor.advance()
    operand = _operand(cursor)
    if not (cursor.take_symbol(",") or cursor.take_word("as")):
        cursor.unexpected("',' or 'as' and a type in cast")
    target = data_type(cursor)
    cursor.close(")", opened, "cast")
    return Cast(operand, target, span=cursor.span_from(start))


_SPECIAL_WORDS: dict[str, Callable[[Cursor], Expr]] = {
    "case": _case,
    "cast": _cast,
    "true": _constant(BOOLEAN, value=True),
    "false": _constant(BOOLEAN, value=False),
    "null": _constant(NULL, value=None),
}
