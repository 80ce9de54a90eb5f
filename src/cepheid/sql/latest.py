"""Queries that also say the latest detection time, or another hidden time, of the rows behind a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from cepheid.core.types import TIMESTAMP
from cepheid.sql.names import branches, has_aggregate
from cepheid.sql.nodes import column, name, projected, type_of, typed

_ROWS = "@rows"


def latest(query: exp.Query, columns: Sequence[str]) -> exp.Query:
    """The query, changed, with these columns added: of each the latest over the rows of FROM."""
    return _add(query, {label: label for label in columns})


def _hidden(label: str) -> str:
    """Inside of derived tables: a name that no column of a user has."""
    return f"@{label}"


def _add(query: exp.Query, labels: Mapping[str, str]) -> exp.Query:
    """`labels` are what the columns are called on top, by what classes call them."""
    if isinstance(query, exp.Union):
        parts = {part: _add(query.args[part].unnest(), labels) for part in ("this", "expression")}
        both = exp.Union(**parts, distinct=False)
        return _merged(both, labels) if query.args.get("distinct") else both
    assert isinstance(query, exp.Select)
    if query.args.get("distinct"):
        query.set("distinct", None)
        return _merged(_add(query, labels), labels)
    joins = query.args.get("joins") or []
    sources = [query.args["from_"].this, *(join.this for join in joins)]
    for source in sources:
        if isinstance(source, exp.Subquery):
            source.set("this", _add(source.this, {c: _hidden(c) for c in labels}))
    may_miss = [False, *(join.args.get("side") == "LEFT" for join in joins)]
    may_miss = [
        missing or may_be_of_no_rows(s) for missing, s in zip(may_miss, sources, strict=True)
    ]
    is_group = _is_group(query)
    for wanted, label in labels.items():
        found = _greatest(wanted, sources, may_miss)
        found = typed(exp.Max(this=found), TIMESTAMP) if is_group else found
        query.append("expressions", projected(found, label, TIMESTAMP))
    return query


def _is_group(query: exp.Select) -> bool:
    has_clause = bool(query.args.get("group") or query.args.get("having"))
    return has_clause or any(map(has_aggregate, query.selects))


def may_be_of_no_rows(source: exp.Expr) -> bool:
    """Whether it is an aggregate without GROUP BY, which has a row in any case."""
    if not isinstance(source, exp.Subquery):
        return False
    return any(_is_group(s) and not s.args.get("group") for s in branches(source.this))


def _greatest(wanted: str, sources: list[exp.Expr], may_miss: list[bool]) -> exp.Expr:
    """A row that an outer join does not find has no time, nor has an aggregate of no rows."""
    labels = [_hidden(wanted) if isinstance(s, exp.Subquery) else wanted for s in sources]
    named = [column(n, TIMESTAMP, s.alias) for n, s in zip(labels, sources, strict=True)]
    if len(named) == 1:
        return named[0]
    # One that is always there stands in for one that is not; else any of the others may.
    sure = [time for time, may in zip(named, may_miss, strict=True) if not may][:1]
    times: list[exp.Expr] = [
        typed(exp.Coalesce(this=time, expressions=[t.copy() for t in sure or named]), TIMESTAMP)
        if may
        else time
        for time, may in zip(named, may_miss, strict=True)
    ]
    found = exp.Greatest(this=times[0], expressions=times[1:], ignore_nulls=True)
    found.meta["never_null"] = True
    return typed(found, TIMESTAMP)


def _merged(query: exp.Query, labels: Mapping[str, str]) -> exp.Query:
    """Rows that are equal but for the added columns become one, with the latest of these."""
    keys, projections = [], []
    for projection in query.selects:
        label, type_ = projection.alias, type_of(projection)
        found = column(label, type_, _ROWS)
        if label in labels.values():
            projections.append(projected(typed(exp.Max(this=found), type_), label, type_))
        else:
            keys.append(found.copy())
            projections.append(projected(found, label, type_))
    rows = exp.Subquery(this=query, alias=exp.TableAlias(this=name(_ROWS)))
    group = exp.Group(expressions=keys)
    return exp.Select(expressions=projections, from_=exp.From(this=rows), group=group)
