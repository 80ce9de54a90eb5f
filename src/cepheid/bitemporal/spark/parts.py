"""Parts of queries over versions: sources, ties, intervals and groups, as intervals.py puts them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard, cast

from sqlglot import exp

from cepheid.core.types import BOOLEAN, LONG
from cepheid.sql.nodes import all_of, column, is_time, name, not_, typed, whole
from cepheid.sql.selects import is_aggregate

FROM, TO = "@from", "@to"
DONE = "cepheid_intervals"  # marks a table or query whose rows have intervals of their own


class Unrewritable(Exception):
    """Why a query cannot be worked out for all rounds at once, and the part of it that it is about."""

    def __init__(self, reason: str, node: exp.Expr) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node


def sources_of(select: exp.Select) -> list[exp.Expr]:
    begin = select.args.get("from_")
    joins = select.args.get("joins") or ()
    return [*([begin.this] if begin else []), *(join.this for join in joins)]


def set_apart(query: exp.Query) -> exp.Query:
    """The query, in which no two sources have the same alias, however deep they stand."""
    found = query.copy()
    _set_apart(found, {}, Counter())
    return found


def _set_apart(node: exp.Expr, known: Mapping[str, str], taken: Counter[str]) -> None:
    if isinstance(node, exp.Column):
        node.set("table", name(known[node.table]))
        return
    read: list[exp.Expr] = sources_of(node) if isinstance(node, exp.Select) else []
    for source in read:
        if isinstance(source, exp.Subquery):
            _set_apart(source.this, known, taken)
    inside = {**known, **{source.alias_or_name: _taken(source, taken) for source in read}}
    for source in read:
        source.set("alias", exp.TableAlias(this=name(inside[source.alias_or_name])))
    for part in node.iter_expressions():
        for inner in part.iter_expressions() if isinstance(part, (exp.From, exp.Join)) else [part]:
            if not any(inner is source for source in read):
                _set_apart(inner, inside, taken)


def _taken(source: exp.Expr, taken: Counter[str]) -> str:
    alias = source.alias_or_name
    taken[alias] += 1
    return alias if taken[alias] == 1 else f"{alias}@{taken[alias]}"


def has_query(node: exp.Expr) -> bool:
    return node.find(exp.Query) is not None


def is_in(node: exp.Expr) -> TypeGuard[exp.In]:
    """Whether it is IN with a subquery."""
    return isinstance(node, exp.In) and bool(node.args.get("query"))


def queries_in(node: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost subqueries in an expression."""
    if is_in(node) or isinstance(node, (exp.Exists, exp.Query)):
        yield node
    else:
        for part in node.iter_expressions():
            yield from queries_in(part)


def free_columns(node: exp.Expr, own: set[str]) -> list[exp.Column]:
    """Columns of queries around the one whose sources are given."""
    if isinstance(node, exp.Column):
        return [node] if node.table not in own else []
    known = own
    if isinstance(node, exp.Select):
        known = own | {source.alias_or_name for source in sources_of(node)}
    return [c for part in node.iter_expressions() for c in free_columns(part, known)]


def tie_of(condition: exp.Expr, own: set[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """The inner and the outer side of an equality between both."""
    if not isinstance(condition, exp.EQ) or has_query(condition):
        return None
    for inner, outer in (
        (condition.this, condition.expression),
        (condition.expression, condition.this),
    ):
        is_inner = not free_columns(inner, own) and inner.find(exp.Column)
        if is_inner and all(c.table not in own for c in outer.find_all(exp.Column)):
            return inner, outer
    return None


def together(aliases: Sequence[str]) -> exp.Expr:
    """Whether intervals have a round in common; those of lookups that find nothing are null."""
    begin, end = shared_bound(FROM, aliases), shared_bound(TO, aliases)
    return typed(exp.LT(this=begin, expression=end), BOOLEAN)


def shared(aliases: Sequence[str]) -> Iterator[exp.Expr]:
    """The rounds that all intervals share, as columns."""
    for which in (FROM, TO):
        yield named(shared_bound(which, aliases), which)


def shared_bound(which: str, aliases: Sequence[str]) -> exp.Expr:
    """When the last of the intervals begins, or the first one ends."""
    function = exp.Greatest if which == FROM else exp.Least
    first, *others = (bound(which, alias) for alias in aliases)
    if not others:
        return first
    return typed(function(this=first, expressions=others, ignore_nulls=True), LONG)


def bound(which: str, alias: str) -> exp.Expr:
    return column(which, LONG, alias)


def named(node: exp.Expr, label: str) -> exp.Expr:
    found = exp.Alias(this=node.unalias().copy(), alias=name(label))
    found.type = node.type
    return found


def aliased(table: str, alias: str) -> exp.Table:
    found = exp.Table(this=name(table), alias=exp.TableAlias(this=name(alias)))
    found.meta[DONE] = True
    return found


def crossed(select: exp.Select) -> exp.Select:
    """What inner joins ask for stands in WHERE."""
    found = select.copy()
    conditions = []
    for join in found.args.get("joins") or ():
        on = join.args.get("on")
        if on is not None and not join.args.get("side"):
            conditions.append(on.copy())
            join.set("on", None)
            join.set("kind", "CROSS")
    if conditions:
        where = found.args.get("where")
        found.set("where", exp.Where(this=all_of(*([where.this] if where else []), *conditions)))
    return found


def parted(select: exp.Select, outer: exp.Join) -> tuple[exp.Select, exp.Select]:
    """A left join as two queries: of rows that find something, and of those that do not."""
    alias = outer.this.alias_or_name
    place = (select.args.get("joins") or []).index(outer)
    found, missing = select.copy(), select.copy()
    join = found.args["joins"][place]
    condition = join.args["on"]
    join.set("side", None)
    join.set("kind", "INNER")
    del missing.args["joins"][place]

    def without(node: exp.Expr) -> exp.Expr:
        return _null(node) if isinstance(node, exp.Column) and node.table == alias else node

    missing = cast("exp.Select", missing.transform(without))
    inner = exp.Select(
        expressions=[named(whole(1), "one")],
        from_=exp.From(this=outer.this.copy()),
        where=exp.Where(this=condition.copy()),
    )
    absent = not_(typed(exp.Exists(this=inner), BOOLEAN))
    where = missing.args.get("where")
    missing.set("where", exp.Where(this=all_of(*([where.this] if where else []), absent)))
    return crossed(found), missing


def _null(node: exp.Expr) -> exp.Expr:
    if node.type is None:
        return exp.Null()
    to = exp.DataType(this=exp.DataType.Type.BIGINT) if is_time(node) else node.type.copy()
    found = exp.Cast(this=exp.Null(), to=to)
    found.type = node.type
    return found


def with_conditions(select: exp.Select, conditions: Iterable[exp.Expr]) -> exp.Select:
    found = select.copy()
    kept = [c.copy() for c in conditions]
    found.set("where", exp.Where(this=all_of(*kept)) if kept else None)
    return found


def inlined(
    select: exp.Select, values: list[exp.Expr], alias: str
) -> tuple[exp.Select, list[exp.Expr]]:
    """Joins as a table of their own, beside what is asked of its rows."""
    where = select.args.get("where")
    asked = [*([where.this] if where else []), *values]
    own = {source.alias_or_name for source in sources_of(select)}
    read = dict.fromkeys(c for e in asked for c in e.find_all(exp.Column) if c.table in own)
    labels: dict[exp.Expr, str] = {found: f"@j{n}" for n, found in enumerate(read)}
    inner = select.copy()
    inner.set("where", None)
    inner.set("expressions", [named(c, label) for c, label in labels.items()] or [_one()])
    source = exp.Subquery(this=inner, alias=exp.TableAlias(this=name(alias)))
    outer = exp.Select(expressions=[_one()], from_=exp.From(this=source))
    if where is not None:
        outer.set("where", exp.Where(this=put_columns(where.this, labels, alias)))
    return outer, [put_columns(value, labels, alias) for value in values]


def _one() -> exp.Expr:
    return named(whole(1), "@one")


def put_columns(tree: exp.Expr, labels: Mapping[exp.Expr, str], alias: str) -> exp.Expr:
    """An expression in which columns of a table stand for some of its parts."""

    def put(node: exp.Expr) -> exp.Expr:
        label = None if isinstance(node, exp.Alias) else labels.get(node.unnest())
        if label is None or is_of_subquery(node):
            return node
        found = exp.Column(this=name(label), table=name(alias))
        found.type = node.type
        return found

    return tree.copy().transform(put)


def is_of_subquery(node: exp.Expr) -> bool:
    """Whether it is an aggregate of rows of a subquery, though it looks like one around that."""
    return is_aggregate(node) and node.find_ancestor(exp.Query) is not None


# Groups ---------------------------------------------------------------------------------------


def aggregates_of(select: exp.Select) -> list[exp.Expr]:
    """The aggregates of a query, each once."""
    having = select.args.get("having")
    found: dict[exp.Expr, None] = {}
    for part in (*select.expressions, *([having.this] if having else [])):
        for node in part.walk(prune=lambda n: isinstance(n, exp.Query)):
            if is_aggregate(node):
                found[node] = None
    return list(found)


def is_grouped(select: exp.Select) -> bool:
    return bool(select.args.get("group") or select.args.get("having") or aggregates_of(select))


def argument_of(aggregate: exp.Expr) -> exp.Expr | None:
    """What an aggregate is of; None: of rows."""
    inner = cast("exp.Expr", aggregate.this)
    if isinstance(inner, exp.Distinct):
        return cast("exp.Expr", inner.expressions[0])
    return None if isinstance(inner, exp.Star) else inner


def over(aggregate: exp.Expr, label: str, alias: str) -> exp.Expr:
    """The aggregate over a column; one of rows leaves out those of an outer join without any."""
    found = aggregate.copy()
    argument = argument_of(found)
    if argument is None:
        found.set("this", bound(FROM, alias))
        return found
    value = exp.Column(this=name(label), table=name(alias))
    value.type = argument.type
    argument.replace(value)
    return found


def over_groups(
    select: exp.Select, keys: Sequence[exp.Expr], aggregates: Sequence[exp.Expr]
) -> exp.Select:
    """The rest of a grouped query: over its keys and aggregates as columns of `@p`."""
    labels: dict[exp.Expr, str] = {key.unnest(): f"@g{n}" for n, key in enumerate(keys)}
    labels |= {aggregate: f"@v{n}" for n, aggregate in enumerate(aggregates)}

    found = exp.Select(expressions=[put_columns(p, labels, "@p") for p in select.expressions])
    having = select.args.get("having")
    if having is not None:
        found.set("where", exp.Where(this=put_columns(having.this, labels, "@p")))
    return found


def as_groups(query: exp.Query) -> exp.Select:
    """A query whose equal rows are one, as groups."""
    columns = []
    for projection in query.selects:
        found = exp.Column(this=name(projection.alias_or_name), table=name("@d"))
        found.type = projection.type
        columns.append(found)
    source = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=name("@d")))
    return exp.Select(
        expressions=[named(c, c.name) for c in columns],
        from_=exp.From(this=source),
        group=exp.Group(expressions=[c.copy() for c in columns]),
    )
