"""The timing primitives in a condition: which there are, and whether it holds only when they do."""

from __future__ import annotations

from sqlglot import exp

from cepheid.sql.conditions import ResolvedCondition
from cepheid.sql.nodes import Primitive

Atom = tuple[str, tuple[int, int] | None]  # a name, and the delays of LATE(min, max) in µs


def atoms(condition: ResolvedCondition) -> frozenset[Atom]:
    return frozenset(map(atom_of, condition.tree.find_all(Primitive)))


def atom_of(node: Primitive) -> Atom:
    delays = (node.args["low"], node.args["high"]) if "low" in node.args else None
    return node.name, delays


def is_edged(condition: ResolvedCondition) -> bool:
    """Whether it holds in single rounds only, those in which one of its primitives becomes true.

    All primitives but CHANGE's absence pass: the next round finds what it reacted to known already,
    and LATE dealt with. What is negated or compared may hold in every round.
    """
    return _is_edged(condition.tree)


def _is_edged(node: exp.Expr) -> bool:
    if isinstance(node, exp.Paren):
        return _is_edged(node.this)
    if isinstance(node, exp.And):
        return _is_edged(node.this) or _is_edged(node.expression)
    if isinstance(node, exp.Or):
        return _is_edged(node.this) and _is_edged(node.expression)
    return isinstance(node, Primitive)
