"""Parses annotations: `@Constraint(key = {host}, message = "...", severity = "error")`."""

from __future__ import annotations

from difflib import get_close_matches

from cepheid.errors import Fix, ProgramError, Severity, Span, error, suggest, warning
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import name_text
from cepheid.lang.common.lexer import Kind
from cepheid.query.tree import Rule

_ARGUMENTS = ("key", "message", "severity")
_SEVERITIES = {"error": Severity.ERROR, "warning": Severity.WARNING, "info": Severity.NOTE}


def rule_of(cursor: Cursor) -> Rule | None:
    """What an annotation says; those that Cepheid does not have are reported and left out."""
    start = cursor.advance()
    if cursor.token.kind is not Kind.WORD:
        cursor.unexpected("the name of an annotation after '@'")
    name = cursor.advance()
    if name.text != "Constraint":
        close = get_close_matches(name.text, ["Constraint"], n=1, cutoff=0.6)
        hint = "did you mean '@Constraint'?" if close else "there is @Constraint"
        fact = f"no annotation '@{name.text}'"
        place = start.span.to(name.span)
        fixes = (Fix.writing("@Constraint", place),) if close else ()
        cursor.problems.append(warning("bad-annotation", fact, place, hint, fixes))
        cursor.skip_group()
        return None
    found = _given(cursor)
    span = cursor.span_from(start)
    try:
        return _rule(found, span)
    except ProgramError as refused:
        cursor.problems.extend(refused.diagnostics)
        return None


def _given(cursor: Cursor) -> dict[str, tuple[tuple[str, ...], Span]]:
    """The arguments by name; all of them are strings, names or lists of these."""
    opened = cursor.expect_symbol("(", " and the arguments of @Constraint")
    found: dict[str, tuple[tuple[str, ...], Span]] = {}
    while not cursor.token.is_symbol(")"):
        name = cursor.name("an argument of @Constraint")
        if name.text not in _ARGUMENTS:
            hint = suggest(name.text, _ARGUMENTS, "arguments")
            cursor.report("bad-annotation", f"@Constraint has no '{name.text}'", name.span, hint)
        cursor.expect_symbol("=", f" after '{name.text}'")
        start = cursor.token
        values = _values(cursor)
        found[name.text] = (values, cursor.span_from(start))
        if not cursor.take_symbol(","):
            break
    cursor.close(")", opened, "argument list of @Constraint")
    return found


def _values(cursor: Cursor) -> tuple[str, ...]:
    opened = cursor.take_symbol("{")
    if not opened:
        return (_value(cursor),)
    values = [_value(cursor)]
    while cursor.take_symbol(","):
        values.append(_value(cursor))
    cursor.close("}", opened, "list")
    return tuple(values)


def _value(cursor: Cursor) -> str:
    if cursor.token.kind is Kind.STRING:
        return str(cursor.advance().value)
    return name_text(cursor.name("a string, a name or a list in braces"))


def _rule(given: dict[str, tuple[tuple[str, ...], Span]], span: Span) -> Rule:
    for name in ("key", "message"):
        if name not in given:
            fact = f"@Constraint needs a {name}"
            usage = '@Constraint(key = {x}, message = "$x.name$ is wrong", severity = "error")'
            raise ProgramError(error("bad-annotation", fact, span, usage))
    (message, *more), place = given["message"]
    severity, level = given.get("severity", (("error",), span))
    if more:
        raise ProgramError(error("bad-annotation", "a message is one string", place))
    if len(severity) != 1 or severity[0] not in _SEVERITIES:
        fact = f"no severity {', '.join(map(repr, severity))}"
        hint = suggest(severity[0], _SEVERITIES, "severities")
        raise ProgramError(error("bad-annotation", fact, level, hint))
    return Rule(given["key"][0], message, _SEVERITIES[severity[0]], span=span)
