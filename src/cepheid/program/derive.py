"""The event types of a program: those that are known, and those that its statements derive."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.core.types import Attribute, EventType, wider
from cepheid.errors import Diagnostic, error, is_slip, note, suggest
from cepheid.program.statements import StatementResolver, source_types, span_of_type, target_of
from cepheid.program.tree import Statement

Named = tuple[str, Statement]


def derive_types(
    named: Sequence[Named], known: dict[str, EventType], problems: list[Diagnostic]
) -> dict[str, EventType]:
    """The known types and those of all statements.

    Types only ever widen, so deriving them again until nothing changes ends soon, also in cycles.
    """
    types = dict(known)
    _open_undeclared(named, types, problems)
    ordered = _producers_first(named, types)
    before = None
    while before != types:
        before = dict(types)
        for name, statement in ordered:
            if target_of(name, statement) not in known:
                _derive(name, statement, types)
    return types


def _producers_first(named: Sequence[Named], types: dict[str, EventType]) -> list[Named]:
    """The statements, each after those that derive what it consumes.

    A cycle is entered where a type is known already; one that has no such place leaves its types
    open: nothing is ever derived there.
    """
    ordered: list[Named] = []
    pending = list(named)
    known = set(types)
    while pending:
        awaited = {target_of(*p) for p in pending}
        ready = [p for p in pending if not awaited.intersection(source_types(p[1]))]
        entry = [p for p in pending if known.issuperset(source_types(p[1]))]
        chosen = ready or entry[:1]
        if not chosen:
            chosen = pending
            for name in (target_of(*p) for p in pending):
                if name not in known:
                    types[name] = EventType(name, (), is_open=True)
        ordered += chosen
        known |= {target_of(*p) for p in chosen}
        pending = [p for p in pending if p not in chosen]
    return ordered


def _open_undeclared(
    named: Sequence[Named], types: dict[str, EventType], problems: list[Diagnostic]
) -> None:
    """A type that nothing declares takes its schema from its events, unless it is a slip."""
    names = {*types, *(target_of(*p) for p in named)}
    for _, statement in named:
        for name in source_types(statement):
            if name in names or name in types:
                continue
            hint = suggest(name, names, "known types")
            span = span_of_type(statement, name)
            unknown = error("unknown-type", f"no event type '{name}'", span, hint)
            if is_slip(unknown):
                problems.append(unknown)
            else:
                fact = f"type '{name}' has no schema; its attributes are checked with its events"
                problems.append(note("no-schema", fact, span, f"create schema {name} (...)"))
            types[name] = EventType(name, (), is_open=True)


def _derive(name: str, statement: Statement, types: dict[str, EventType]) -> None:
    """Adds what a statement selects to the type that it derives."""
    target = target_of(name, statement)
    existing = types.get(target)
    attributes = {a.name: a.type for a in existing.attributes} if existing else {}
    for column in StatementResolver(types, {}, []).columns_only(statement):
        before = attributes.get(column.name, column.expr.type)
        attributes[column.name] = wider(before, column.expr.type, types) or before
    types[target] = EventType(target, tuple(Attribute(n, t) for n, t in attributes.items()))
