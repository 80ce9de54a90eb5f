"""How a complex class is kept up to date: which of its keys a change can reach, and these anew.

For each place at which a query reads a class there is a query for its *reach*: the changed rows take
the place of the class there, and what is found are the keys of events that may have changed. It may
find too many, never too few: rows as they were and as they are now stand side by side in the tables
(`@state` tells them apart), and conditions that look into subqueries are left out. The events of these
keys are then derived anew by the class's own query, restricted to them. Where a query cannot be
followed backwards like this, a change makes all of it run.

SQLite takes tables in the order in which they are written here: first what is small, then what is tied
to it by an equality, for which there is an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from sqlglot import exp

from cepheid.bitemporal.tables import HIDDEN
from cepheid.program.resolved import ResolvedClass
from cepheid.sql import selects
from cepheid.sql.queries import with_latest
from cepheid.sql.selects import Source
from cepheid.sql.transpile import ordered_join, to_sql

STATE = "@state"  # 0: known now, 1: known until this round
_AFFECTED = "@affected"


def delta_of(name: str) -> str:
    """The table of the changed rows of a class, as they were and as they are."""
    return f"{name}@delta"


def affected_of(name: str) -> str:
    """The table of the keys of a class that are derived anew."""
    return f"{name}@affected"


@dataclass(frozen=True, slots=True)
class Reach:
    """The keys that a change of a class can reach at one place of a query."""

    table: str
    sql: str


@dataclass(frozen=True, slots=True)
class Maintenance:
    complete: str  # the whole query
    restricted: str | None  # for the affected keys alone
    reaches: tuple[Reach, ...]
    whole: dict[str, str]  # classes whose changes make the whole query run, and why
    indexes: frozenset[tuple[str, tuple[str, ...]]]  # table, columns


def maintenance_of(resolved: ResolvedClass) -> Maintenance:
    assert resolved.query is not None
    tree = with_latest(replace(resolved.query, tree=_plain(resolved.query.tree)), HIDDEN)
    complete = to_sql(_now(tree.copy()), "sqlite")
    key = resolved.declared.key
    indexes: set[tuple[str, tuple[str, ...]]] = set()
    reaches: list[Reach] = []
    whole: dict[str, str] = {}
    parts = list(selects.branches(tree))
    for select in parts:
        for name in _read_inside(select):
            whole.setdefault(name, "it reads from a query")
        for table, reason, found in _reaches(select, key, indexes):
            if found is None:
                whole.setdefault(table, reason)
            else:
                reaches.append(Reach(table, to_sql(found, "sqlite")))
    restricted = None
    if all(_is_restrictable(select, key) for select in parts):
        restricted = to_sql(_restricted(tree, resolved.declared.name, key, indexes), "sqlite")
    else:
        whole = dict.fromkeys(resolved.query.reads, "its key is worked out from many rows")
    kept = tuple(reach for reach in reaches if reach.table not in whole)
    return Maintenance(complete, restricted, kept, whole, frozenset(indexes))


# Parts of queries -----------------------------------------------------------------------------


def _plain(tree: exp.Query) -> exp.Query:
    """The query without DISTINCT: equal rows become one event anyway."""
    found = tree.copy()
    pending: list[exp.Expr] = [found]
    while pending:
        node = pending.pop()
        if isinstance(node, exp.SetOperation):
            node.set("distinct", value=False)
            pending += [node.this.unnest(), node.expression.unnest()]
        else:
            node.set("distinct", None)
    return found


def _tables_in(node: exp.Expr) -> set[str]:
    return {column.table for column in node.find_all(exp.Column)}


def _has_subquery(node: exp.Expr) -> bool:
    return node.find(exp.Query) is not None


def _key_expressions(select: exp.Select, key: Sequence[str]) -> list[exp.Expr]:
    projections = {projection.alias_or_name: projection for projection in select.expressions}
    return [projections[name].unalias() for name in key]


def _is_restrictable(select: exp.Select, key: Sequence[str]) -> bool:
    return not any(
        expression.find(exp.AggFunc) or _has_subquery(expression)
        for expression in _key_expressions(select, key)
    )


# What a change can reach ----------------------------------------------------------------------


def _reaches(
    select: exp.Select, key: Sequence[str], indexes: set[tuple[str, tuple[str, ...]]]
) -> Iterator[tuple[str, str, exp.Select | None]]:
    """For each place at which a class is read: its name, and the query for the keys, or why none."""
    expressions = _key_expressions(select, key)
    needed = set().union(*map(_tables_in, expressions)) if expressions else set[str]()
    for path in _paths(select, ()):
        _, changed = path[-1]
        assert changed.table is not None
        reason = _obstacle(path, needed)
        if reason is not None:
            yield changed.table, reason, None
            continue
        chain = [each for each, _ in path]
        sources = [s for each in chain for s in selects.sources(each) if not s.is_outer]
        sources = [s for s in sources if s.alias != changed.alias]
        conditions = [c for each in chain for c in selects.conditions(each) if not _has_subquery(c)]
        if changed.is_outer and changed.join is not None:
            conditions += selects.conjuncts(changed.join.args.get("on"))
        known = {changed.alias, *(s.alias for s in sources)}
        for memberships in product(*(m for each in chain for m in _memberships(each, chain))):
            holding = [*conditions, *memberships]
            holding = [c for c in holding if _tables_in(c) <= known and not _has_subquery(c)]
            start = _table(delta_of(changed.table), changed.alias)
            found = exp.Select(
                expressions=[each.copy() for each in expressions], distinct=exp.Distinct()
            )
            yield changed.table, "", _joined(found, start, sources, holding, indexes)


_Path = tuple[tuple[exp.Select, Source], ...]


def _paths(select: exp.Select, before: _Path) -> Iterator[_Path]:
    """The ways from a query into its subqueries, to each class that is read there."""
    sources = selects.sources(select)
    for source in sources:
        if source.table is not None:
            yield (*before, (select, source))
    for inner in _subqueries(select):
        if sources:
            yield from _paths(inner, (*before, (select, sources[0])))


def _read_inside(select: exp.Select) -> Iterator[str]:
    """The classes that are read by the queries which a query, or one inside of it, reads from."""
    for inner in select.find_all(exp.Select):
        for source in selects.sources(inner):
            if source.table is None:
                yield from (table.name for table in source.node.find_all(exp.Table))


def _subqueries(select: exp.Select) -> Iterator[exp.Select]:
    """The queries inside of conditions and columns of a query, not those that it reads from."""
    read = {id(source.node) for source in selects.sources(select)}
    pending: list[exp.Expr] = [select]
    while pending:
        node = pending.pop()
        for child in node.iter_expressions():
            if id(child) in read:
                continue
            if isinstance(child, exp.Select):
                yield child
            else:
                pending.append(child)


def _obstacle(path: _Path, needed: set[str]) -> str | None:
    """Why a change at the end of a path cannot be followed back to keys."""
    aliases = [source.alias for select, _ in path for source in selects.sources(select)]
    if len(set(aliases)) != len(aliases):
        return "names inside of a subquery hide names around it"
    if any(source.table is None for select, _ in path for source in selects.sources(select)):
        return "it reads from a query"
    if any(_is_asked_without_rows(outer, inner) for (outer, _), (inner, _) in pairwise(path)):
        return "it is asked for beside an aggregate, which may be of no rows"
    outer = {source.alias for source in selects.sources(path[0][0]) if source.is_outer}
    return "its key comes from an outer join" if needed & outer else None


def _is_asked_without_rows(outer: exp.Select, inner: exp.Select) -> bool:
    """Whether a subquery counts where the query around it finds nothing: only WHERE asks rows."""
    is_whole = selects.is_grouped(outer) and not outer.args.get("group")
    return is_whole and not isinstance(inner.find_ancestor(exp.Where, exp.Select), exp.Where)


def _memberships(select: exp.Select, chain: Sequence[exp.Select]) -> Iterator[tuple[exp.Expr, ...]]:
    """What must hold of a row of a subquery on the way for `x IN (SELECT y ...)`: x = y.

    Unless it counts only that it is true, one of them may be null instead.
    """
    true = selects.conditions(select)
    for inside in select.find_all(exp.In):
        query = inside.args.get("query")
        inner = query.unnest() if query is not None else None
        if inner is None or not any(inner is each for each in chain):
            continue
        sides = (inside.this, inner.expressions[0].unalias())
        if any(side.find(exp.AggFunc) for side in sides):
            continue
        equal = exp.EQ(this=sides[0].copy(), expression=sides[1].copy())
        if any(inside is condition for condition in true):
            yield (equal,)
        else:
            nulls = (exp.Is(this=side.copy(), expression=exp.Null()) for side in sides)
            yield (equal, *nulls)


# Queries with their tables in order -----------------------------------------------------------


def _table(name: str, alias: str) -> exp.Table:
    named = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    return exp.Table(this=exp.to_identifier(name, quoted=True), alias=named)


def _joined(
    select: exp.Select,
    start: exp.Expr,
    sources: Sequence[Source],
    conditions: Sequence[exp.Expr],
    indexes: set[tuple[str, tuple[str, ...]]],
) -> exp.Select:
    """The query over the start and then the sources, in an order in which each is tied to those before."""
    select.set("from_", exp.From(this=start))
    placed = {start.alias_or_name}
    joins = []
    for source, columns in _in_order(placed, sources, conditions):
        if columns and source.table:
            indexes.add((source.table, columns))
        joins.append(ordered_join(source.node.copy()))
    select.set("joins", joins)
    if conditions:
        select.set("where", exp.Where(this=exp.and_(*(c.copy() for c in conditions), copy=False)))
    return select


def _in_order(
    placed: set[str], sources: Sequence[Source], conditions: Sequence[exp.Expr]
) -> Iterator[tuple[Source, tuple[str, ...]]]:
    waiting = list(sources)
    while waiting:
        tied = [(source, _tied_columns(source.alias, placed, conditions)) for source in waiting]
        best = max(range(len(tied)), key=lambda place: (len(tied[place][1]), -place))
        source, columns = tied[best]
        waiting.remove(source)
        placed.add(source.alias)
        yield source, columns


def _tied_columns(alias: str, placed: set[str], conditions: Iterable[exp.Expr]) -> tuple[str, ...]:
    """The columns whose values are known when others are."""
    found = []
    for condition in conditions:
        if isinstance(condition, exp.EQ):
            for one, other in (
                (condition.this, condition.expression),
                (condition.expression, condition.this),
            ):
                is_column = isinstance(one, exp.Column) and one.table == alias
                if is_column and _tables_in(other) and _tables_in(other) <= placed:
                    found.append(one.name)
    return tuple(sorted(set(found)))


def _restricted(
    tree: exp.Expr,
    name: str,
    key: Sequence[str],
    indexes: set[tuple[str, tuple[str, ...]]],
) -> exp.Expr:
    """The query for affected keys alone."""
    found = tree.copy()
    for select in list(selects.branches(found)):
        sources = selects.sources(select)
        conditions = [part for each in selects.conditions(select) for part in _asked_by_row(each)]
        for condition in conditions:
            _index_subqueries(condition, indexes)
        for projection in select.expressions:
            _index_subqueries(projection, indexes)
        ties = [
            exp.EQ(this=exp.column(part, table=_AFFECTED, quoted=True), expression=each.copy())
            for part, each in zip(key, _key_expressions(select, key), strict=True)
        ]
        start = _table(affected_of(name), _AFFECTED)
        outer = [source for source in sources if source.is_outer]
        inner = [source for source in sources if not source.is_outer]
        _joined(select, start, inner, [*conditions, *ties], indexes)
        for source in outer:
            assert source.join is not None
            select.append("joins", source.join.copy())
            ons = list(selects.conjuncts(source.join.args.get("on")))
            columns = _tied_columns(source.alias, {s.alias for s in sources} - {source.alias}, ons)
            if columns and source.table:
                indexes.add((source.table, columns))
    return _now(found)


def _asked_by_row(condition: exp.Expr) -> Iterator[exp.Expr]:
    """A condition that asks a subquery for each row, where it would be worked out as a whole.

    Of `x IN (SELECT y ...)` only that it is true counts here. That it is not in there needs that no y is
    null, and if x is, that there is no y at all.
    """
    is_negated = isinstance(condition, exp.Not)
    inside = condition.this.unnest() if isinstance(condition, exp.Not) else condition
    query = inside.args.get("query") if isinstance(inside, exp.In) else None
    inner = query.unnest() if query is not None else None
    if not isinstance(inner, exp.Select) or _is_summed(inner):
        yield condition
        return
    value, asked = inside.this, inner.expressions[0].unalias()
    equal = _exists(inner, exp.EQ(this=asked.copy(), expression=value.copy()))
    if not is_negated:
        yield equal
        return
    yield exp.Not(this=equal)
    yield exp.Not(this=_exists(inner, exp.Is(this=asked.copy(), expression=exp.Null())))
    is_null = exp.Is(this=value.copy(), expression=exp.Null())
    yield exp.Paren(this=exp.or_(exp.Not(this=is_null), exp.Not(this=_exists(inner)), copy=False))


def _is_summed(select: exp.Select) -> bool:
    """Whether its rows are worked out from many."""
    parts = ("group", "having", "with_", "limit")
    if any(select.args.get(part) for part in parts):
        return True
    return any(projection.find(exp.AggFunc) for projection in select.expressions)


def _exists(select: exp.Select, condition: exp.Expr | None = None) -> exp.Exists:
    found = select.copy()
    if condition is not None:
        found.where(condition, copy=False)
    return exp.Exists(this=found)


def _index_subqueries(node: exp.Expr, indexes: set[tuple[str, tuple[str, ...]]]) -> None:
    """Indexes by which subqueries are asked for each row."""
    for inner in node.find_all(exp.Select):
        own = {source.alias for source in selects.sources(inner)}
        for source in selects.sources(inner):
            conditions = selects.conditions(inner)
            around = set().union(*map(_tables_in, conditions)) - own if conditions else set[str]()
            columns = _tied_columns(source.alias, around, conditions)
            if columns and source.table:
                indexes.add((source.table, columns))


def _now(tree: exp.Expr) -> exp.Expr:
    """The query over rows that are known now, not over those that were."""
    for select in list(tree.find_all(exp.Select)):
        for source in selects.sources(select):
            if source.table is None or source.alias == _AFFECTED:
                continue
            column = exp.column(STATE, table=source.alias, quoted=True)
            condition = exp.EQ(this=column, expression=exp.Literal.number(0))
            if source.is_outer and source.join is not None:
                on = source.join.args.get("on")
                source.join.set("on", exp.and_(on, condition, copy=False) if on else condition)
            else:
                select.where(condition, copy=False)
    return tree
