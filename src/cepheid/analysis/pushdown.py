"""What of the input has to travel to a statement: which attributes, and which events.

An attribute travels if an expression reads it, if it belongs to the key, or if it holds the time of
its events; where a whole event is shown or compared, all of them do.

An event need not travel if no part of the statement can take it. What a single event must satisfy
is read off the conditions: the parts of `and` that mention nothing but the event itself, and an
`or` all of whose sides have such a part. The condition of a stream's events includes `where`,
unless the window counts rows or begins its batches with them. In a context whose statement counts
time from its start, every event travels: a key starts with its first event, whether that is taken
or not. So it does under a policy to which noise counts.

Time is another matter: it passes with every event, so that the first and the last instant of the
input must be known from all events, before any is dropped. A condition that asks for the clock is
left to the statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cepheid.analysis.keys import Split, is_known
from cepheid.analysis.retention import needs_start
from cepheid.core.types import BOOLEAN, EventType, lineage
from cepheid.expr.tree import And, Expr, Or, conjuncts
from cepheid.program.normal import NormalStatement, normalize_statement
from cepheid.program.normal.nodes import events
from cepheid.program.normal.rewrites.conditions import is_own
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.tree import KeepAll, TimeWindow

Columns = Mapping[str, tuple[str, ...]]
Filters = Mapping[str, Expr | None]  # None: every event of the type travels


# Attributes.


def columns_of(
    statement: ResolvedStatement, types: Mapping[str, EventType], split: Split
) -> Columns:
    """The attributes of each arriving type that travel, in the order of its schema."""
    read = _read_attributes(statement)
    for name, paths in (split.by or {}).items():
        read.setdefault(name, {}).update({path[0]: None for path in paths})
    return {
        name: _in_order(types[name], [read.get(n, {}) for n in lineage(name, types)])
        for name in statement.arriving(types)
    }


def _in_order(event_type: EventType, read: Iterable[Mapping[str | None, None]]) -> tuple[str, ...]:
    names = [name for attributes in read for name in attributes]
    declared = [attribute.name for attribute in event_type.attributes]
    if event_type.is_open:
        declared += sorted({name for name in names if name is not None} - set(declared))
    if None in names:
        return tuple(declared)
    time = event_type.time.attribute if event_type.time else None
    return tuple(name for name in declared if name in names or name == time)


def _read_attributes(statement: ResolvedStatement) -> dict[str, dict[str | None, None]]:
    """Per declared type, the attributes that expressions read; None is the whole event."""
    read: dict[str, dict[str | None, None]] = {}
    for owner, column in statement.columns_read:
        read.setdefault(owner, {})[column.path[0].name if column.path else None] = None
    return read


# Events.


def early_filters(statement: ResolvedStatement, types: Mapping[str, EventType]) -> Filters:
    """Per arriving type, what an event satisfies if the statement can take it."""
    normal = normalize_statement(statement)
    conditions = list(_conditions(normal))
    starts_with_any = statement.context is not None and needs_start(statement)
    if starts_with_any or statement.policy.noise_counts or not is_known(normal.source):
        conditions = [(name, None) for name in statement.inputs]
    return {
        name: any_of(c for declared, c in conditions if declared in lineage(name, types))
        for name in statement.arriving(types)
    }


def any_of(conditions: Iterable[Expr | None]) -> Expr | None:
    """What an event satisfies if it satisfies one of them; None is satisfied by all."""
    found: dict[Expr, None] = {}
    for condition in conditions:
        if condition is None:
            return None
        found.update(dict.fromkeys(_operands(condition, Or)))
    return _joined(tuple(found), Or)


def _conditions(normal: NormalStatement) -> Iterator[tuple[str, Expr | None]]:
    """Each place where an event can be taken, with what it must satisfy there by itself."""
    where = _where_on_arrival(normal)
    for event in events(normal.source):
        implied = (_implied(part) for part in (*event.rest, *where))
        parts = (*event.own, *(o for p in implied if p is not None for o in _operands(p, And)))
        yield event.event_type, _joined(parts, And)


def _where_on_arrival(normal: NormalStatement) -> tuple[Expr, ...]:
    """What the events of a stream must satisfy later on, where nothing counts them before."""
    statement = normal.resolved
    is_free_to_wait = isinstance(statement.tree.window, KeepAll | TimeWindow | None)
    is_asked = normal.stream is not None and is_free_to_wait and statement.where is not None
    return tuple(conjuncts(statement.where)) if is_asked else ()


def _implied(condition: Expr) -> Expr | None:
    """What follows from a condition for the event alone."""
    if isinstance(condition, And):
        parts = (p for o in condition.operands if (p := _implied(o)) is not None)
        return _joined(tuple(o for part in parts for o in _operands(part, And)), And)
    if isinstance(condition, Or):
        return any_of(map(_implied, condition.operands))
    return condition if is_own(condition) else None


def _operands(expr: Expr, joint: type[And | Or]) -> tuple[Expr, ...]:
    return expr.operands if isinstance(expr, joint) else (expr,)


def _joined(operands: tuple[Expr, ...], joint: type[And | Or]) -> Expr | None:
    if len(operands) < 2:
        return operands[0] if operands else None
    return joint(operands, type=BOOLEAN)
