"""`x IN (SELECT y ...)` by other subqueries: whether a row is equal, and whether one is unknown."""

from __future__ import annotations

from sqlglot import exp

from cepheid.bitemporal.spark.parts import Unrewritable, free_columns, is_grouped, named
from cepheid.core.types import BOOLEAN, LONG
from cepheid.sql.nodes import all_of, any_of, column, name, type_of, typed, whole, wrapped
from cepheid.sql.selects import branches

_MEMBERS = "@members"


def is_member(node: exp.In) -> exp.Expr:
    """IN as a condition by itself asks for an equal row; null is as good as false there."""
    return any_of(*(_is_in(node, branch) for branch in branches(node.args["query"])))


def membership(node: exp.In) -> exp.Expr:
    """IN as a value of three: true, false, or null where a null might be equal."""
    return any_of(*(_membership(node, branch) for branch in branches(node.args["query"])))


def _is_in(node: exp.In, branch: exp.Select) -> exp.Expr:
    if _is_one_value(branch):
        return _equal(exp.Subquery(this=branch.copy()), node)
    select = _rows(node, branch)
    value = select.expressions[0].unalias()
    where = select.args.get("where")
    kept = [*([where.this] if where else []), _equal(value.copy(), node)]
    select.set("where", exp.Where(this=all_of(*kept)))
    select.set("expressions", [named(whole(1), "one")])
    return typed(exp.Exists(this=select), BOOLEAN)


def _membership(node: exp.In, branch: exp.Select) -> exp.Expr:
    if _is_one_value(branch):
        return _is_in(node, branch)
    select = _rows(node, branch)
    value = select.expressions[0].unalias()
    count = _counting(select, exp.Star())
    some = _counting(select, value.copy())
    is_null = typed(exp.Is(this=wrapped(node.this.copy()), expression=exp.Null()), BOOLEAN)
    is_empty = typed(exp.EQ(this=count, expression=whole(0)), BOOLEAN)
    has_null = typed(exp.NEQ(this=count.copy(), expression=some), BOOLEAN)
    case = exp.Case(
        ifs=[
            exp.If(this=_is_in(node, branch), true=exp.true()),
            exp.If(this=is_empty, true=exp.false()),
            exp.If(this=any_of(is_null, has_null), true=_unknown()),
        ],
        default=exp.false(),
    )
    return typed(case, BOOLEAN)


def _is_one_value(branch: exp.Select) -> bool:
    """Whether it is an aggregate of all its rows, which is there even if they are not."""
    parts = ("group", "having")
    return is_grouped(branch) and not any(branch.args.get(part) for part in parts)


def _rows(node: exp.In, branch: exp.Select) -> exp.Select:
    """A query for the same values whose rows are not grouped."""
    found = branch.copy()
    found.set("distinct", None)
    if not is_grouped(branch):
        return found
    if free_columns(branch, set()):
        raise Unrewritable("IN asks groups that are tied to the query around them", node)
    [value] = found.expressions
    source = exp.Subquery(this=found, alias=exp.TableAlias(this=name(_MEMBERS)))
    shown = named(column(value.alias_or_name, type_of(value), _MEMBERS), value.alias_or_name)
    return exp.Select(expressions=[shown], from_=exp.From(this=source))


def _equal(value: exp.Expr, node: exp.In) -> exp.Expr:
    return typed(exp.EQ(this=wrapped(value), expression=wrapped(node.this.copy())), BOOLEAN)


def _unknown() -> exp.Expr:
    found = exp.Cast(this=exp.Null(), to=exp.DataType(this=exp.DataType.Type.BOOLEAN))
    return typed(found, BOOLEAN)


def _counting(rows: exp.Select, what: exp.Expr) -> exp.Expr:
    select = rows.copy()
    select.set("expressions", [named(typed(exp.Count(this=what), LONG), "n")])
    return typed(exp.Subquery(this=select), LONG)
