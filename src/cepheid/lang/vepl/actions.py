"""Parses the bodies of rules: steps that change a model, tell events or call functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cepheid.expr.tree import Expr, Part, Ref
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import expression, name_text
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.names import Role
from cepheid.program.actions import (
    Action,
    Assignment,
    CallFunction,
    Choice,
    CreateObject,
    DeleteObject,
    EmitEvent,
    FeatureValue,
    MoveObject,
    SetFeature,
)


def body(cursor: Cursor, what: str) -> tuple[Action, ...]:
    """`{ step step ... }`, with semicolons where people like them."""
    opened = cursor.expect_symbol("{", f" and the body of the {what}")
    cursor.enter(opened, "a rule")
    found: list[Action] = []
    while not cursor.token.is_symbol("}"):
        if not cursor.take_symbol(";"):
            found.append(_step(cursor, what))
    cursor.advance()
    cursor.leave()
    return tuple(found)


def _step(cursor: Cursor, what: str) -> Action:
    start = cursor.token
    word = start.text if start.kind is Kind.WORD else ""
    if word not in _STEPS:
        listed = ", ".join(_STEPS)
        cursor.unexpected(f"a step of the {what} ({listed}) or its closing '}}'", tuple(_STEPS))
    cursor.advance()
    return _STEPS[word](cursor, start)


def _set(cursor: Cursor, start: Token) -> Action:
    target = _feature(cursor, "what is set, such as host.cpu")
    sign = cursor.take_symbol("+", "-")
    cursor.expect_symbol("=", " and a value")
    how: Assignment = "=" if sign is None else "+=" if sign.text == "+" else "-="
    return SetFeature(target, expression(cursor), how, span=cursor.span_from(start))


def _create(cursor: Cursor, start: Token) -> Action:
    type = _dotted(cursor, "the class of the object")
    name = (
        name_text(cursor.name("a name for the object", Role.ARGUMENT))
        if _take(cursor, "as")
        else None
    )
    container = (
        _feature(cursor, "what contains it, such as system.hosts") if _take(cursor, "in") else None
    )
    values: list[FeatureValue] = []
    opened = cursor.take_symbol("{")
    if opened:
        while not cursor.token.is_symbol("}"):
            if values:
                cursor.expect_symbol(",", " between values")
            feature = cursor.name("a feature of the object")
            cursor.expect_symbol("=", " and a value")
            value = expression(cursor)
            values.append(FeatureValue(name_text(feature), value, span=cursor.span_from(feature)))
        cursor.close("}", opened, "values of the object", ())
    return CreateObject(type, name, container, tuple(values), span=cursor.span_from(start))


def _delete(cursor: Cursor, start: Token) -> Action:
    return DeleteObject(_path(cursor, "the object to delete"), span=cursor.span_from(start))


def _move(cursor: Cursor, start: Token) -> Action:
    moved = _path(cursor, "the object to move")
    if not _take(cursor, "to"):
        cursor.unexpected("'to' and where it moves", ("to",))
    container = _feature(cursor, "what contains it then, such as system.hosts")
    return MoveObject(moved, container, span=cursor.span_from(start))


def _emit(cursor: Cursor, start: Token) -> Action:
    name = name_text(cursor.name("the event that happens", Role.EMITTED))
    return EmitEvent(name, _arguments(cursor), span=cursor.span_from(start))


def _call(cursor: Cursor, start: Token) -> Action:
    name = name_text(cursor.name("the function to call", Role.FUNCTION))
    return CallFunction(name, _arguments(cursor), span=cursor.span_from(start))


def _if(cursor: Cursor, start: Token) -> Action:
    condition = expression(cursor)
    then = body(cursor, "'if'")
    otherwise: tuple[Action, ...] = ()
    if _take(cursor, "else"):
        again = cursor.token
        if _take(cursor, "if"):
            cursor.enter(again, "a rule")
            otherwise = (_if(cursor, again),)
            cursor.leave()
        else:
            otherwise = body(cursor, "'else'")
    return Choice(condition, then, otherwise, span=cursor.span_from(start))


_STEPS: Mapping[str, Callable[[Cursor, Token], Action]] = {
    "set": _set,
    "create": _create,
    "delete": _delete,
    "move": _move,
    "emit": _emit,
    "call": _call,
    "if": _if,
}


def _take(cursor: Cursor, word: str) -> Token | None:
    is_there = cursor.token.kind is Kind.WORD and cursor.token.text == word
    return cursor.advance() if is_there else None


def _arguments(cursor: Cursor) -> tuple[Expr, ...]:
    opened = cursor.take_symbol("(")
    found: list[Expr] = []
    if opened:
        while not cursor.token.is_symbol(")"):
            if found:
                cursor.expect_symbol(",", " between arguments")
            found.append(expression(cursor))
        cursor.close(")", opened, "list of arguments", ())
    return tuple(found)


def _path(cursor: Cursor, what: str) -> Ref:
    """`x`, `x.feature`, `x.feature.feature`."""
    start = cursor.name(what, Role.START)
    parts = [Part(name_text(start))]
    while cursor.take_symbol("."):
        parts.append(Part(name_text(cursor.name("a feature", Role.MEMBER))))
    return Ref(tuple(parts), span=cursor.span_from(start))


def _feature(cursor: Cursor, what: str) -> Ref:
    """A path that ends with a feature."""
    found = _path(cursor, what)
    if len(found.parts) < 2:
        cursor.unexpected("'.' and a feature", ())
    return found


def _dotted(cursor: Cursor, what: str) -> str:
    parts = [name_text(cursor.name(what))]
    while cursor.take_symbol("."):
        parts.append(name_text(cursor.name(what)))
    return ".".join(parts)
