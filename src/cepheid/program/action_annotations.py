"""`@Action('mail', to='me@example.org')`: that the rows of a statement are to become actions.

The unnamed argument, or `kind`, names the class of actions, and so their executor; without one it is the
type that the statement derives. Texts of other arguments have places for values: `{cause.room}` is a
column of the row, `{p1}` the first one, and there are `{time}`, `{action}` and `{key}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.core.templates import UnknownPlace, found, template
from cepheid.errors import Diagnostic, error, warning
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.statements import statement_names, target_of
from cepheid.program.tree import Annotation, Context, ProgramTree, Scalar, Schema, Statement

ACTION = "action"
_EXAMPLE = "@Action('mail', to='me@example.org')"
_RESERVED = ("action", "time", "key", "cause")  # templates know them as something else
_Value: TypeAlias = "Scalar | tuple[Scalar, ...]"


@dataclass(frozen=True, slots=True)
class DeclaredAction:
    name: str  # of the class of actions
    arguments: tuple[tuple[str, _Value], ...] = ()


def declared_actions(statements: Sequence[Statement]) -> dict[str, tuple[DeclaredAction, ...]]:
    """The actions of statements, by their names."""
    names = statement_names(statements)
    return {
        name: tuple(_declared(a, target_of(name, statement)) for a in _actions(statement))
        for name, statement in zip(names, statements, strict=True)
    }


def action_problems(
    statements: Iterable[ResolvedStatement], *, are_columns_known: bool
) -> Iterator[Diagnostic]:
    """What is wrong with the actions of statements; columns are known where all types are."""
    for statement in statements:
        for annotation in _actions(statement.tree):
            for fact, hint in _wrong(annotation, statement if are_columns_known else None):
                span = annotation.span or statement.tree.span
                yield error("bad-annotation", fact, span, hint)


def misplaced_actions(tree: ProgramTree) -> Iterator[Diagnostic]:
    nowhere: tuple[Schema | Context, ...] = (*tree.schemas, *tree.contexts)
    for declared in nowhere:
        for annotation in declared.annotations:
            if annotation.name.lower() == ACTION:
                fact = f"@Action has no effect on '{declared.name}', which has no rows"
                hint = "put it before a statement"
                yield warning("bad-annotation", fact, annotation.span or declared.span, hint)


def _actions(statement: Statement) -> tuple[Annotation, ...]:
    return tuple(a for a in statement.annotations if a.name.lower() == ACTION)


def _declared(annotation: Annotation, target: str) -> DeclaredAction:
    name = annotation.value() or annotation.value("kind") or target
    own = tuple((n, value) for n, value in annotation.arguments if n not in (None, "kind"))
    return DeclaredAction(str(name), tuple((str(n), value) for n, value in own))


def _wrong(
    annotation: Annotation, statement: ResolvedStatement | None
) -> Iterator[tuple[str, str | None]]:
    given = [name for name, _ in annotation.arguments]
    said = [value for name, value in annotation.arguments if name in (None, "kind")]
    if len(said) > 1:
        yield "@Action has one name; other arguments have names of their own", _EXAMPLE
    for value in said:
        if not isinstance(value, str) or not value:
            yield "the name of an @Action is a text", _EXAMPLE
    for name in dict.fromkeys(given):
        if name is not None and given.count(name) > 1 and name != "kind":
            yield f"@Action has '{name}' twice", None
        if name in _RESERVED:
            yield f"'{name}' of an @Action has a meaning already", "choose another name"
    for name, value in annotation.arguments:
        if name not in (None, "kind"):
            yield from _wrong_texts(str(name), value, statement)


def _wrong_texts(
    name: str, value: _Value, statement: ResolvedStatement | None
) -> Iterator[tuple[str, str | None]]:
    for text in value if isinstance(value, tuple) else (value,):
        if not isinstance(text, str):
            continue
        try:
            places = template(text).places
            if statement is not None:
                for place in places:
                    found(place, _names(statement))
        except UnknownPlace as problem:
            fact, _, hint = str(problem).partition("; ")
            yield f"'{name}' of @Action: {fact}", hint or None
        except ValueError as problem:
            yield f"'{name}' of @Action: {problem}", None


def _names(statement: ResolvedStatement) -> dict[str, object]:
    """What the texts of an action may name; members of records are not looked into."""
    columns = [column.name for column in statement.columns]
    known: dict[str, object] = {f"p{n}": _Anything() for n in range(1, len(columns) + 1)}
    cause = {name: _Anything() for name in ("@type", *columns)}
    return {**known, "action": "", "time": "", "key": "", "cause": cause}


class _Anything(dict[str, object]):
    """A value of which only a run knows what is in it."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> _Anything:
        return self
