"""The order of the tables of a join: each after one that an equation ties it to, where there is one.

Spark joins in the order of the text, and takes any condition for a reason to join two tables, a comparison
of their times included: from a poor order it makes a loop over all pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp


def tied_in_order(sources: Sequence[exp.Expr], conditions: Iterable[exp.Expr]) -> list[exp.Expr]:
    """The sources, from the first one on along equations, as far as they reach."""
    ties = [tie for condition in conditions for tie in _ties(condition)]
    ordered, waiting = [sources[0]], list(sources[1:])
    while waiting:
        joined = {source.alias_or_name for source in ordered}
        tied = (s for s in waiting if any(_joins(tie, s.alias_or_name, joined) for tie in ties))
        following = next(tied, waiting[0])
        waiting.remove(following)
        ordered.append(following)
    return ordered


_Tie = tuple[frozenset[str], frozenset[str]]  # the tables on both sides of an equation


def _ties(condition: exp.Expr) -> list[_Tie]:
    if not isinstance(condition, exp.EQ) or condition.find(exp.Query):
        return []
    one, other = _tables(condition.this), _tables(condition.expression)
    return [(one, other), (other, one)] if one and other else []


def _joins(tie: _Tie, name: str, joined: set[str]) -> bool:
    return tie[0] == {name} and tie[1] <= joined


def _tables(node: exp.Expr) -> frozenset[str]:
    return frozenset(column.table for column in node.find_all(exp.Column))
