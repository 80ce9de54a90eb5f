"""Which attributes of its input a program uses, and where: by name in an expression, or as a context's key.

`select *` names nothing, and so uses nothing. What goes through it into a derived type is used where
that type's attribute is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from cepheid.core.once import once
from cepheid.core.types import lineage
from cepheid.errors import Span
from cepheid.expr.tree import Cast, Column, Expr
from cepheid.pattern.tree import atoms
from cepheid.program.resolved import ResolvedClass, ResolvedProgram, ResolvedStatement


@dataclass(frozen=True, slots=True)
class Use:
    """The first place where an attribute is asked for."""

    statement: str
    span: Span | None
    is_key: bool = False


Path = tuple[str, ...]


@once
def uses_of(program: ResolvedProgram) -> dict[str, dict[str, Use]]:
    """For each type, the attributes that statements use of its events, with the first use of each.

    What holds for a type holds for those that inherit from it. The attribute that holds the time is none:
    every event has one.
    """
    found: dict[tuple[str, Path], Use] = {}
    producers = _producers(program)
    pending = [use for statement in program.statements for use in _direct(statement)]
    while pending:
        type, path, use = pending.pop(0)
        if (type, path) in found:
            continue
        found[type, path] = use
        pending += ((*origin, use) for s in producers.get(type, ()) for origin in _origins(s, path))
    named: dict[str, dict[str, Use]] = {}
    for (type, path), use in found.items():
        named.setdefault(type, {}).setdefault(path[0], use)
    return {name: _inherited(name, program, named) for name in program.types}


@once
def class_uses_of(program: ResolvedProgram) -> dict[str, dict[str, Use]]:
    """For each class, the attributes that SQL and statements use of its events, with the first use of each.

    Those of its key are none: no event is without them.
    """
    classes = {each.name: each for each in program.classes}
    found: dict[tuple[str, str], Use] = {}
    pending = [use for each in program.classes for use in _of_class(each)]
    for statement in program.statements:
        pending += ((type, path[0], use) for type, path, use in _direct(statement))
    while pending:
        name, attribute, use = pending.pop(0)
        if name not in classes or (name, attribute) in found:
            continue
        found[name, attribute] = use
        query = classes[name].query
        handed_on = () if query is None else query.handed_on.get(attribute, ())
        pending += ((*origin, use) for origin in handed_on)
    named: dict[str, dict[str, Use]] = {name: {} for name in classes}
    for (name, attribute), use in found.items():
        if attribute not in classes[name].declared.key:
            named[name][attribute] = use
    return named


def _of_class(declaring: ResolvedClass) -> Iterator[tuple[str, str, Use]]:
    """What the SQL of a class names."""
    if declaring.query is not None:
        for (name, attribute), span in declaring.query.named.items():
            yield name, attribute, Use(declaring.name, span)
    for reaction in declaring.reactions:
        named = [reaction.condition.named, *(part.named for part in reaction.arguments)]
        for attribute, span in chain.from_iterable(each.items() for each in named):
            yield declaring.name, attribute, Use(declaring.name, span)


@once
def keys_of(program: ResolvedProgram) -> dict[str, dict[str, Use]]:
    """For each type, the attributes that make a key of its events in some context."""
    named: dict[str, dict[str, Use]] = {}
    for statement in program.statements:
        for type, (name,), use in _keys(statement):
            named.setdefault(type, {}).setdefault(name, use)
    return {name: _inherited(name, program, named) for name in program.types if named}


def _inherited(
    name: str, program: ResolvedProgram, named: Mapping[str, Mapping[str, Use]]
) -> dict[str, Use]:
    type = program.types[name]
    own = {
        a: use
        for each in sorted(lineage(name, program.types))
        for a, use in named.get(each, {}).items()
    }
    time = type.time.attribute if type.time else None
    return {a.name: own[a.name] for a in type.attributes if a.name in own and a.name != time}


def _producers(program: ResolvedProgram) -> dict[str, list[ResolvedStatement]]:
    """The statements that derive events of each type."""
    found: dict[str, list[ResolvedStatement]] = {}
    for statement in program.statements:
        for name in lineage(statement.target, program.types):
            found.setdefault(name, []).append(statement)
    return found


def _direct(statement: ResolvedStatement) -> Iterator[tuple[str, Path, Use]]:
    yield from _keys(statement)
    for owner, column in statement.columns_named:
        if column.path:
            span = column.span or statement.tree.span
            yield owner, _names(column), Use(statement.name, span)


def _keys(statement: ResolvedStatement) -> Iterator[tuple[str, Path, Use]]:
    for name in statement.inputs:
        for key in statement.context.keys if statement.context else ():
            if key.event_type == name:
                use = Use(statement.name, key.span or statement.tree.span, is_key=True)
                yield from ((name, (attribute,), use) for attribute in key.attributes)


def _origins(statement: ResolvedStatement, path: Path) -> Iterator[tuple[str, Path]]:
    """Where what a statement derives comes from, if it hands it on as it is."""
    owners = {a.tag: a.event_type for a in atoms(statement.pattern)} if statement.pattern else {}
    for column in statement.columns:
        expr = _plain(column.expr)
        if column.name == path[0] and isinstance(expr, Column):
            owner = statement.event_type if expr.tag is None else owners.get(expr.tag)
            rest = (*_names(expr), *path[1:])
            if owner is not None and rest:
                yield owner, rest


def _plain(expr: Expr) -> Expr:
    return _plain(expr.operand) if isinstance(expr, Cast) else expr


def _names(column: Column) -> Path:
    return tuple(part.name for part in column.path)
