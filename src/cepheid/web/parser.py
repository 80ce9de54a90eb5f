"""Text into a wrapper, and everything that is wrong with the text.

Three places where OXPath and XPath could be taken for each other, and what decides:

- `*` is a star of Kleene only behind a group that stands where a step could (`/(...)*`): XPath has no
  groups there. Behind any other bracket it multiplies.
- `.` begins a class only if a name follows without a blank (`tr.late`, `.late`); names have no dots.
- `>` ends a marker, so that its value holds comparisons in brackets only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cepheid.core.time import MICROSECONDS, PERIOD_UNITS, Period, no_unit, period_of
from cepheid.errors import Diagnostic, ProgramError, error, suggest
from cepheid.expr.notation import MAX_HEIGHT
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.lexer import Comment, Kind, Token
from cepheid.web.lexer import tokenize
from cepheid.web.notation import KEYS
from cepheid.web.tree import (
    ANY_NODE,
    AXES,
    DESCENDANTS,
    OPERATORS,
    UNION,
    Action,
    ActionKind,
    AttributeMarker,
    Binary,
    Call,
    Expr,
    Filtered,
    Literal,
    Negate,
    Number,
    Part,
    Path,
    Predicate,
    Qualifier,
    RecordMarker,
    Star,
    Step,
    Test,
    TestKind,
    Variable,
    Wrapper,
    height,
)

_LONGEST_WAIT = MICROSECONDS["hours"]
_LARGEST_COUNT = 1_000_000
_LEVELS = {operator: level for level, own in enumerate(OPERATORS) for operator in own}
_ADDITIVE = _LEVELS["+"]
_NODE_KINDS = {
    str(kind): kind
    for kind in (
        TestKind.NODE,
        TestKind.TEXT,
        TestKind.COMMENT,
        TestKind.INSTRUCTION,
        TestKind.FIELD,
    )
}
_PLAIN = {str(kind): kind for kind in (ActionKind.CLICK, ActionKind.CHECK, ActionKind.UNCHECK)} | {
    str(ActionKind.HOVER): ActionKind.HOVER
}
_ACTION_WORDS = sorted({*map(str, ActionKind)} - {str(ActionKind.FILL)})


class WrapperCursor(Cursor):
    keywords: Collection[str] = ()
    has_sql_habits = False

    def refuse_window(self) -> None:
        """There are none; a # that stands wrong is no more than that."""

    def is_adjacent(self) -> bool:
        """Whether the next token follows this one without a blank."""
        here, after = self.token.span, self.next.span
        return (here.end_line, here.end_column) == (after.line, after.column)

    @property
    def follows_closely(self) -> bool:
        """Whether this token follows the one before it without a blank."""
        before = self.previous
        end = before.span.end if before else None
        return end is not None and (end.line, end.column) == (
            self.token.span.line,
            self.token.span.column,
        )


@dataclass(frozen=True, slots=True)
class Parsed:
    tree: Wrapper | None  # None: the text has none
    problems: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]
    tokens: tuple[Token, ...]


def parse(text: str, file: str | None = None) -> Parsed:
    """The wrapper of a text, and its problems."""
    tokens = tokenize(text, file)
    cursor = WrapperCursor(tokens.tokens)
    problems = list(tokens.problems)
    tree: Wrapper | None = None
    try:
        tree = _wrapper(cursor)
        if cursor.token.kind is not Kind.END:
            cursor.unexpected("'/', '[' or the end of the wrapper")
        if height(tree) > MAX_HEIGHT:
            fact = f"an expression with more than {MAX_HEIGHT} operators inside one another"
            raise ProgramError(error("too-deep", fact, tree.span))
    except ProgramError as refused:
        tree = None
        if not tokens.problems:  # else what is no token is the cause
            problems.extend(refused.diagnostics)
    return Parsed(None if problems else tree, tuple(problems), tokens.comments, tokens.tokens)


def _wrapper(cursor: WrapperCursor) -> Wrapper:
    start, address = cursor.token, None
    if cursor.token.is_word("doc") and cursor.next.is_symbol("("):
        cursor.advance()
        opened = cursor.advance()
        address = _text(cursor, "the address of a page, as a string or a variable")
        cursor.close(")", opened, "address")
        if cursor.token.kind is Kind.END:
            return Wrapper(Path(is_absolute=True, parts=()), address, span=cursor.span_from(start))
        if not cursor.token.is_symbol("/", "//"):
            cursor.unexpected("'/' or '//' after the address")
    if not cursor.token.is_symbol("/", "//"):
        cursor.unexpected("doc(...), '/' or '//' at the start of a wrapper")
    path = _path(cursor, is_main=True)
    assert isinstance(path, Path)
    return Wrapper(path, address, span=cursor.span_from(start))


def _text(cursor: WrapperCursor, what: str) -> Literal | Variable:
    token = cursor.token
    if token.kind is Kind.STRING:
        cursor.advance()
        return _literal(token)
    if token.is_symbol("$"):
        return _variable(cursor)
    return cursor.unexpected(what)


def _literal(token: Token) -> Literal:
    return Literal(str(token.value), span=token.span)


def _variable(cursor: WrapperCursor) -> Variable:
    start = cursor.expect_symbol("$")
    if cursor.token.kind is not Kind.WORD:
        cursor.unexpected("the name of a variable after '$'")
    return Variable(cursor.advance().text, span=cursor.span_from(start))


# Expressions.


def expression(cursor: WrapperCursor, loosest: int = 0) -> Expr:
    """Operators of this level and tighter ones; each level binds from left to right."""
    start = cursor.token
    cursor.enter(start, "expressions")
    found = _operators(cursor, loosest)
    cursor.leave()
    return found


def _operators(cursor: WrapperCursor, loosest: int) -> Expr:
    start = cursor.token
    found = _unary(cursor)
    while (level := _level(cursor.token)) is not None and level >= loosest:
        operator = cursor.advance().text
        right = _operators(cursor, level + 1)
        found = Binary(operator, found, right, span=cursor.span_from(start))
    return found


def _level(token: Token) -> int | None:
    """How tightly an operator binds; None: it is none."""
    is_operator = token.kind in (Kind.WORD, Kind.SYMBOL)
    return _LEVELS.get(token.text) if is_operator else None


def _unary(cursor: WrapperCursor) -> Expr:
    start = cursor.take_symbol("-")
    if start is None:
        return _union(cursor)
    cursor.enter(start, "signs")
    operand = _unary(cursor)
    cursor.leave()
    return Negate(operand, span=cursor.span_from(start))


def _union(cursor: WrapperCursor) -> Expr:
    start = cursor.token
    found = _path(cursor, is_main=False)
    while cursor.take_symbol(UNION):
        right = _path(cursor, is_main=False)
        found = Binary(UNION, found, right, span=cursor.span_from(start))
    return found


def _path(cursor: WrapperCursor, *, is_main: bool) -> Expr:
    """A path, or the expression that is not followed by one."""
    start = cursor.token
    if not is_main and _at_primary(cursor):
        subject = _filtered(cursor)
        parts = _parts(cursor, is_main=False)
        if not parts:
            return subject
        return Path(
            is_absolute=False, parts=tuple(parts), start=subject, span=cursor.span_from(start)
        )
    is_absolute = cursor.token.is_symbol("/", "//")
    parts = [] if is_absolute else [_part(cursor, is_main)]
    if is_absolute and cursor.token.is_symbol("/") and not _begins_part(cursor.next):
        cursor.advance()
        return Path(is_absolute=True, parts=(), span=cursor.span_from(start))
    parts += _parts(cursor, is_main)
    return Path(is_absolute, tuple(parts), span=cursor.span_from(start))


def _begins_part(token: Token) -> bool:
    is_name = token.kind is Kind.WORD
    return is_name or token.is_symbol("*", "@", ".", "..", "#", "{", "(")


def _parts(cursor: WrapperCursor, is_main: bool) -> list[Part]:
    found: list[Part] = []
    while token := cursor.take_symbol("/", "//"):
        if token.text == "//":
            found.append(Step(DESCENDANTS.axis, ANY_NODE, span=token.span))
        found.append(_part(cursor, is_main))
    if cursor.token.is_symbol("{"):
        hint = "an action is a step: write '/' in front of it"
        cursor.refuse("expected '/' before an action", cursor.token.span, hint)
    return found


def _at_primary(cursor: WrapperCursor) -> bool:
    token = cursor.token
    if token.kind in (Kind.NUMBER, Kind.STRING) or token.is_symbol("$", "("):
        return True
    is_call = token.kind is Kind.WORD and cursor.next.is_symbol("(")
    return is_call and token.text not in (*_NODE_KINDS, "self")


def _filtered(cursor: WrapperCursor) -> Expr:
    start = cursor.token
    subject = _primary(cursor)
    predicates: list[Predicate] = []
    while cursor.token.is_symbol("["):
        predicate = _predicate(cursor)
        if predicate.is_optional:
            cursor.refuse("an optional predicate belongs to a step", cursor.span_from(start))
        predicates.append(predicate)
    if not predicates:
        return subject
    return Filtered(subject, tuple(predicates), span=cursor.span_from(start))


def _primary(cursor: WrapperCursor) -> Expr:
    token = cursor.token
    if token.kind is Kind.STRING:
        return _literal(cursor.advance())
    if token.kind is Kind.NUMBER:
        cursor.advance()
        return Number(float(token.value), span=token.span)
    if token.is_symbol("$"):
        return _variable(cursor)
    if opened := cursor.take_symbol("("):
        found = expression(cursor)
        cursor.close(")", opened, "bracket")
        return found
    return _call(cursor)


def _call(cursor: WrapperCursor) -> Call:
    name, opened = cursor.advance(), cursor.advance()
    arguments: list[Expr] = []
    if not cursor.token.is_symbol(")"):
        arguments.append(expression(cursor))
        while cursor.take_symbol(","):
            arguments.append(expression(cursor))
    cursor.close(")", opened, "list of arguments")
    return Call(name.text, tuple(arguments), span=cursor.span_from(name))


# Steps.


def _part(cursor: WrapperCursor, is_main: bool) -> Part:
    token = cursor.token
    if token.is_symbol("{", "("):
        what = "an action" if token.text == "{" else "a group"
        if not is_main:
            hint = "records go along: //tr:<R>[...]/td/a/{click /}//h1:<title=string(.)>"
            cursor.refuse(f"{what} stands in the path of the wrapper only", token.span, hint)
        return _action(cursor) if token.text == "{" else _star(cursor)
    return _step(cursor)


def _step(cursor: WrapperCursor) -> Step:
    start = cursor.token
    axis, test = _axis_and_test(cursor)
    qualifiers: list[Qualifier] = []
    while cursor.token.is_symbol("[", ":<"):
        is_marker = cursor.token.text == ":<"
        qualifiers.append(_marker(cursor) if is_marker else _predicate(cursor))
    return Step(axis, test, tuple(qualifiers), span=cursor.span_from(start))


def _axis_and_test(cursor: WrapperCursor) -> tuple[str, Test]:
    token = cursor.token
    if token.is_symbol(".") and not (cursor.next.kind is Kind.WORD and cursor.is_adjacent()):
        return "self", Test(TestKind.NODE, span=cursor.advance().span)
    if token.is_symbol(".."):
        return "parent", Test(TestKind.NODE, span=cursor.advance().span)
    if token.is_word("self") and cursor.next.is_symbol("("):
        cursor.advance()
        cursor.close(")", cursor.advance(), "bracket")
        return "self", Test(TestKind.NODE, span=cursor.span_from(token))
    if cursor.take_symbol("@"):
        return "attribute", _test(cursor)
    if token.kind is Kind.WORD and cursor.next.is_symbol("::"):
        if token.text not in AXES:
            fact = f"there is no axis '{token.text}'"
            raise ProgramError(error("syntax", fact, token.span, suggest(token.text, AXES)))
        cursor.advance()
        cursor.advance()
        return token.text, _test(cursor)
    return "child", _test(cursor)


def _test(cursor: WrapperCursor) -> Test:
    start = cursor.token
    kind, name = TestKind.NAME, None
    if start.kind is Kind.WORD and cursor.next.is_symbol("(") and start.text in _NODE_KINDS:
        kind = _NODE_KINDS[start.text]
        cursor.advance()
        opened = cursor.advance()
        if kind is TestKind.INSTRUCTION and cursor.token.kind is Kind.STRING:
            name = str(cursor.advance().value)
        cursor.close(")", opened, "bracket")
        if kind is not TestKind.FIELD:
            return Test(kind, name, span=cursor.span_from(start))
    elif start.kind is Kind.WORD:
        if cursor.next.is_symbol("("):
            hint = suggest(start.text, _NODE_KINDS, "tests of nodes")
            cursor.refuse(f"no step is written '{start.text}(...)'", start.span, hint)
        name = cursor.advance().text
    elif not cursor.take_symbol("*") and not start.is_symbol("#", "."):
        cursor.unexpected("a step: a name, '*', '@', '.', '..', '{' or '('")
    id, classes = None, list[str]()
    while cursor.token.is_symbol("#", ".") and (cursor.token is start or cursor.follows_closely):
        mark = cursor.advance()
        if cursor.token.kind is not Kind.WORD or not cursor.follows_closely:
            cursor.unexpected("a class after '.'" if mark.text == "." else "an id after '#'")
        word = cursor.advance()
        if mark.text == ".":
            classes.append(word.text)
        elif id is None:
            id = word.text
        else:
            cursor.refuse("an element has one id", word.span)
    return Test(kind, name, id, tuple(classes), span=cursor.span_from(start))


def _predicate(cursor: WrapperCursor) -> Predicate:
    opened = cursor.expect_symbol("[")
    is_optional = cursor.take_symbol("?") is not None
    condition = expression(cursor)
    cursor.close("]", opened, "predicate")
    return Predicate(condition, is_optional, span=cursor.span_from(opened))


def _marker(cursor: WrapperCursor) -> RecordMarker | AttributeMarker:
    opened = cursor.expect_symbol(":<")
    if cursor.token.kind is not Kind.WORD:
        cursor.unexpected("the name of a record or an attribute")
    name = cursor.advance().text
    value = None
    if cursor.take_symbol("="):
        value = expression(cursor, _ADDITIVE)
    if cursor.token.is_symbol(">="):
        cursor.refuse("'>=' stands where a marker ends", cursor.token.span, "write '> ='")
    comparing = "a comparison in a marker stands in brackets: :<late=(. > 5)>"
    if not cursor.take_symbol(">"):
        is_operator = cursor.token.is_symbol("<", "<=", "=", "!=")
        cursor.unexpected("'>' to close the marker", hint=comparing if is_operator else None)
    span = cursor.span_from(opened)
    return (
        RecordMarker(name, span=span) if value is None else AttributeMarker(name, value, span=span)
    )


# What is done on pages.


def _star(cursor: WrapperCursor) -> Star:
    opened = cursor.expect_symbol("(")
    cursor.enter(opened, "groups")
    path = _path(cursor, is_main=True)
    cursor.leave()
    assert isinstance(path, Path)
    cursor.close(")", opened, "group")
    if not cursor.take_symbol("*"):
        hint = "write (...)* to repeat it, or leave the brackets out"
        cursor.unexpected("'*' after a group", hint=hint)
    least, most = 0, None
    if bracket := cursor.take_symbol("{"):
        least = _count(cursor)
        cursor.expect_symbol(",", " between the bounds of a star")
        most = None if cursor.token.is_symbol("}") else _count(cursor)
        cursor.close("}", bracket, "bounds")
    span = cursor.span_from(opened)
    if most is not None and most < max(least, 1):
        fact = f"a star from {least} to {most} never repeats"
        raise ProgramError(error("impossible-repeat", fact, span))
    return Star(path, least, most, span=span)


def _count(cursor: WrapperCursor) -> int:
    token = cursor.token
    if not token.text.isdecimal():
        cursor.unexpected("a whole number")
    if len(token.text) > 9 or int(token.text) > _LARGEST_COUNT:
        fact = f"a star repeats at most {_LARGEST_COUNT:,} times"
        raise ProgramError(error("bad-number", fact, token.span))
    return int(cursor.advance().text)


def _action(cursor: WrapperCursor) -> Action:
    opened = cursor.expect_symbol("{")
    token = cursor.token
    text, key, period = None, None, None
    if token.kind is Kind.STRING or token.is_symbol("$"):
        kind = ActionKind.FILL
        text = _text(cursor, "a text")
    elif token.text in _PLAIN:
        kind = _PLAIN[cursor.advance().text]
    elif cursor.take_word("select"):
        kind = ActionKind.SELECT
        if not cursor.token.is_symbol("/", "}"):
            text = _text(cursor, "the text of an option, a variable, or '}'")
    elif cursor.take_word("press"):
        kind, key = ActionKind.PRESS, _key(cursor)
    elif cursor.take_word("wait"):
        kind, period = ActionKind.WAIT, _period(cursor)
    else:
        hint = suggest(token.text, _ACTION_WORDS, "actions") if token.kind is Kind.WORD else None
        cursor.unexpected(f'an action: {", ".join(_ACTION_WORDS)}, "text" or $variable', hint=hint)
    is_absolute = cursor.take_symbol("/") is not None
    cursor.close("}", opened, "action")
    return Action(kind, is_absolute, text, key, period, span=cursor.span_from(opened))


def _key(cursor: WrapperCursor) -> str:
    token = cursor.token
    found = KEYS.get(token.text.lower())
    if found is None:
        hint = suggest(token.text.lower(), KEYS, "keys")
        cursor.unexpected("the name of a key", hint=hint)
    cursor.advance()
    return found


def _period(cursor: WrapperCursor) -> Period:
    start = cursor.token
    parts: list[tuple[int | float, str]] = []
    while cursor.token.kind is Kind.NUMBER:
        number = float(cursor.advance().value)
        unit = cursor.token.text.lower()
        if unit not in PERIOD_UNITS:
            fact, hint = no_unit(unit)
            raise ProgramError(error("bad-period", fact, cursor.token.span, hint))
        cursor.advance()
        parts.append((number, unit))
    if not parts:
        cursor.unexpected("how long to wait: 2s, 500 ms")
    try:
        found = period_of(parts)
    except ValueError as problem:
        raise ProgramError(error("bad-period", str(problem), cursor.span_from(start))) from None
    if found.months or found.microseconds > _LONGEST_WAIT:
        raise ProgramError(
            error("bad-period", "a wait lasts at most an hour", cursor.span_from(start))
        )
    return found
