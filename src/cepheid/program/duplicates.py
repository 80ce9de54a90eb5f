"""What a statement says, without the names that it gives: equal for statements that say the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from cepheid.expr.tree import Column, Expr, mapped
from cepheid.pattern.tree import Atom, Pattern, atoms
from cepheid.program.resolved import ResolvedStatement

_NAMES = ("name", "priority", "description", "icon", "allow")  # annotations that change no row


def essence(statement: ResolvedStatement) -> tuple[object, ...]:
    """All that its rows depend on; tags are numbered in the order of the text."""
    tree = statement.tree
    tagged = atoms(statement.pattern) if statement.pattern is not None else ()
    tags = {tag: str(n) for n, tag in enumerate(dict.fromkeys(a.tag for a in tagged if a.tag))}

    def of(expr: Expr | None) -> Expr | None:
        return _renamed(expr, tags) if expr is not None else None

    return (
        _renamed_pattern(statement.pattern, tags) if statement.pattern is not None else None,
        statement.event_type,
        of(statement.condition),
        tuple((column.name, of(column.expr)) for column in statement.columns),
        of(statement.where),
        tuple(map(of, statement.group_by)),
        of(statement.having),
        tuple((of(item.expr), item.descending) for item in statement.order_by),
        (tree.stream, tree.insert_stream, tree.distinct, tree.window, tree.output, tree.limit),
        statement.context,
        statement.policy,
        tree.insert_into,
        tuple(a for a in tree.annotations if a.name.lower() not in _NAMES),
    )


def _renamed(expr: Expr, tags: Mapping[str, str]) -> Expr:
    if isinstance(expr, Column):
        return replace(expr, tag=tags.get(expr.tag, expr.tag)) if expr.tag is not None else expr
    return mapped(expr, lambda part: _renamed(part, tags))


def _renamed_pattern(pattern: Pattern, tags: Mapping[str, str]) -> Pattern:
    def of(value: Any) -> Any:
        if isinstance(value, Pattern):
            return _renamed_pattern(value, tags)
        if isinstance(value, Expr):
            return _renamed(value, tags)
        return tuple(map(of, value)) if isinstance(value, tuple) else value

    kind: Any = pattern
    changed = {f.name: of(getattr(pattern, f.name)) for f in fields(kind) if f.name != "span"}
    if isinstance(pattern, Atom) and pattern.tag is not None:
        changed["tag"] = tags[pattern.tag]
    return replace(pattern, **changed)
