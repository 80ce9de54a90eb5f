"""What editors tell of what stands at a place: types, attributes, functions, what a statement derives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from cepheid.core.types import EventType
from cepheid.editing.symbols import Kind, Occurrence
from cepheid.editing.workspace import Workspace
from cepheid.errors import Span
from cepheid.expr.functions import AGGREGATES, FUNCTIONS
from cepheid.expr.printing import print_name, print_type
from cepheid.expr.tree import Expr, walk
from cepheid.lang.common.annotations import KNOWN
from cepheid.lang.common.lexer import Kind as TokenKind
from cepheid.program.resolved import ResolvedStatement


@dataclass(frozen=True, slots=True)
class Description:
    """A line of code that says what it is, and a sentence about it."""

    code: str
    text: str
    span: Span


def describe(workspace: Workspace, file: str, offset: int) -> Description | None:
    """What stands at a place; a word of the grammar tells of its statement."""
    found = workspace.at(file, offset)
    if found is not None:
        return Description(*_told(workspace, found), found.span)
    expr = _expression_at(workspace, file, offset)
    if expr is not None and expr.span is not None:
        return Description(f"{expr.type}", "the type of this expression", expr.span)
    return _statement_at(workspace, file, offset)


def _told(workspace: Workspace, found: Occurrence) -> tuple[str, str]:
    symbol = found.symbol
    types = workspace.program.types
    match symbol.kind:
        case Kind.TYPE:
            known = types.get(symbol.name)
            return (shown_type(known) if known else symbol.name), _origin(workspace, symbol.name)
        case Kind.ATTRIBUTE:
            owner = types.get(symbol.owner)
            type = owner.find(symbol.name) if owner else None
            shown = f"{symbol.owner}.{symbol.name}"
            return (f"{shown}: {type}" if type is not None else shown), "an attribute"
        case Kind.TAG:
            type_name = next((o.symbol.name for o in _behind(workspace, found)), None)
            return (f"{symbol.name}: {type_name}" if type_name else symbol.name), "a tag"
        case Kind.FUNCTION:
            return _function(workspace, symbol.name)
        case Kind.ANNOTATION:
            known_as = {name.lower(): name for name in KNOWN}
            name = known_as.get(symbol.name.lower(), symbol.name)
            return f"@{name}", KNOWN.get(name, "means nothing here")
    return symbol.name, f"a {symbol.kind}"


def _behind(workspace: Workspace, tag: Occurrence) -> Iterator[Occurrence]:
    """The types that follow the declarations of a tag."""
    found = workspace.occurrences
    for one, following in pairwise(found):
        if one.symbol == tag.symbol and one.declares and following.symbol.kind is Kind.TYPE:
            yield following


def shown_type(type: EventType) -> str:
    """`Reading (id string, temp double)`."""
    attributes = ", ".join(f"{print_name(a.name)} {print_type(a.type)}" for a in type.attributes)
    return f"{print_name(type.name)} ({attributes}{', ...' if type.is_open else ''})"


def _origin(workspace: Workspace, name: str) -> str:
    makers = [s.name for s in workspace.program.statements if s.target == name]
    declared = any(schema.name == name for schema in workspace.tree.schemas)
    if makers:
        shown = ", ".join(dict.fromkeys(makers))
        return f"an event type, {'declared and ' if declared else ''}derived by {shown}"
    return "an event type" if declared else "an event type that no text declares"


def _function(workspace: Workspace, name: str) -> tuple[str, str]:
    for own in workspace.tree.functions:
        if own.name == name:
            return own.usage, f"gives {own.returns}"
    aggregate = AGGREGATES.get(name.lower())
    if aggregate is not None:
        return f"{name.lower()}({aggregate.parameter.name.lower()})", aggregate.doc
    known = FUNCTIONS.get(name.lower())
    return (known.usage, known.doc) if known else (name, "no function that is known here")


def _expression_at(workspace: Workspace, file: str, offset: int) -> Expr | None:
    """The smallest one around a place."""
    document = workspace.documents[file]
    around = []
    for statement in workspace.program.statements:
        for _, whole in statement.expressions:
            for expr in walk(whole):
                if expr.span is not None and expr.span.file == file:
                    start, end = document.range(expr.span)
                    if start <= offset < end:
                        around.append((end - start, expr))
    return min(around, key=lambda each: each[0])[1] if around else None


def _statement_at(workspace: Workspace, file: str, offset: int) -> Description | None:
    document = workspace.documents[file]
    for token in document.read.tokens if document.read else ():
        start, end = document.range(token.span)
        if start <= offset <= end and token.kind is TokenKind.WORD:
            for statement in workspace.program.statements:
                if _is_in(statement, token.span):
                    return _derived(workspace, statement, token.span)
    return None


def _is_in(statement: ResolvedStatement, place: Span) -> bool:
    around = statement.tree.span
    if around is None or around.file != place.file:
        return False
    start, end = (around.line, around.column), (around.end_line, around.end_column)
    return start <= (place.line, place.column) < end


def _derived(workspace: Workspace, statement: ResolvedStatement, span: Span) -> Description:
    columns = ", ".join(f"{print_name(c.name)} {c.expr.type}" for c in statement.columns)
    known = workspace.program.types.get(statement.target)
    code = shown_type(known) if known else f"{statement.target} ({columns})"
    return Description(code, f"what statement {statement.name} derives", span)
