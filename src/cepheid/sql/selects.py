"""The parts of resolved queries: what they put together, what they read, what holds for their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What a query reads under an alias: a class, or another query."""

    alias: str
    node: exp.Expr
    join: exp.Join | None

    @property
    def table(self) -> str | None:
        return self.node.name if isinstance(self.node, exp.Table) else None

    @property
    def is_outer(self) -> bool:
        return self.join is not None and bool(self.join.side)


def branches(tree: exp.Expr) -> Iterator[exp.Select]:
    """The queries whose rows a query puts together."""
    bare = tree.unnest()
    if isinstance(bare, exp.SetOperation):
        yield from branches(bare.this)
        yield from branches(bare.expression)
    elif isinstance(bare, exp.Select):
        yield bare


def sources(select: exp.Select) -> list[Source]:
    begin = select.args.get("from_")
    found = [Source(begin.this.alias_or_name, begin.this, None)] if begin is not None else []
    joins = [
        *((begin.this.args.get("joins") or ()) if begin else ()),
        *(select.args.get("joins") or ()),
    ]
    return [*found, *(Source(join.this.alias_or_name, join.this, join) for join in joins)]


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.Paren):
        yield from conjuncts(condition.this)
    elif isinstance(condition, exp.And):
        yield from conjuncts(condition.this)
        yield from conjuncts(condition.expression)
    elif condition is not None:
        yield condition


def conditions(select: exp.Select) -> list[exp.Expr]:
    """What every row satisfies: WHERE, and ON of inner joins."""
    where = select.args.get("where")
    found = list(conjuncts(where.this if where else None))
    for source in sources(select):
        if source.join is not None and not source.is_outer:
            found += conjuncts(source.join.args.get("on"))
    return found


def is_aggregate(node: exp.Expr) -> bool:
    """MAX and MIN of several values are none."""
    is_scalar = isinstance(node, exp.Max | exp.Min) and bool(node.expressions)
    return isinstance(node, exp.AggFunc) and not is_scalar


def is_grouped(select: exp.Select) -> bool:
    """Whether a row of it stands for several rows of FROM."""
    parts = (*select.selects, *(p for p in (select.args.get("having"),) if p is not None))
    return bool(select.args.get("group")) or any(
        is_aggregate(node)
        for part in parts
        for node in part.walk(prune=lambda inner: isinstance(inner, exp.Query))
    )


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A query inside of a condition or a value, and the smallest part of that which asks for it.

    Where it is not negated more rows of it make more conditions true.
    """

    query: exp.Expr
    node: exp.Expr
    is_negated: bool


def subqueries(select: exp.Select) -> Iterator[Asked]:
    """The queries in conditions and values of a query, not those that it reads from."""
    for source in sources(select):
        if source.join is not None:
            yield from _asked(source.join.args.get("on"))
    where, having = select.args.get("where"), select.args.get("having")
    yield from _asked(where.this if where else None)
    for part in select.expressions:
        yield from _asked(part)
    yield from _asked(having.this if having else None)


def _asked(node: exp.Expr | None) -> Iterator[Asked]:
    bare = node.unnest() if node is not None else None
    if isinstance(bare, exp.And | exp.Or):
        yield from _asked(bare.this)
        yield from _asked(bare.expression)
    elif isinstance(bare, exp.Exists):
        yield Asked(bare.this, bare, is_negated=False)
    elif isinstance(bare, exp.In) and bare.args.get("query"):
        yield Asked(bare.args["query"], bare, is_negated=False)
    elif bare is not None:
        for inner in bare.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(inner, exp.Query):
                yield Asked(inner.unnest(), bare, is_negated=True)
