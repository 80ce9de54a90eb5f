"""A condition is split into what is about the event alone, equalities, and the rest.

Why no row changes: an event is taken if its condition is true, neither false nor unknown. `x and y`
is true exactly where both are true: if one of them is unknown, the whole is unknown or false, and
the event is not taken either way. So the operands of `and`, however deep, may be asked one by one
and in any order. Evaluating an expression has no effect and cannot fail, and the operands see the
same event, binding and clock. Below `or` and `not` nothing is split.

An operand is about the event alone if every name in it is one of the event, and no function reads
the clock: then it has one value, whenever it is asked. An equality has one side of that kind, and
another that names only events that are bound already; it is true of no null on either side.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.expr.functions import reads_clock
from cepheid.expr.tree import Aggregate, Binary, Column, Expr, Ref, conjuncts, walk
from cepheid.program.normal.nodes import Awaited, Equality, Node, Wait
from cepheid.program.normal.rewrites.rewrite import Rewrite


def _change(node: Wait) -> Node:
    if node.event is None or not node.event.conditions:
        return node
    return replace(node, event=split(node.event))


def split(event: Awaited) -> Awaited:
    """The event with each of its conditions where it belongs."""
    own: list[Expr] = []
    equal: list[Equality] = []
    rest: list[Expr] = []
    for part in (part for condition in event.conditions for part in conjuncts(condition)):
        names = _names_in(part)
        equality = _equality(part) if names == _BOTH else None
        if names is not None and not names & _BOUND:
            own.append(part)
        elif equality is not None:
            equal.append(equality)
        else:
            rest.append(part)
    return replace(event, own=tuple(own), equal=tuple(equal), rest=tuple(rest))


_NONE, _EVENT, _BOUND, _BOTH = 0, 1, 2, 3


def _names_in(expr: Expr) -> int | None:
    """Whether it names the event, bound ones, or both; None if it looks at anything else."""
    if reads_clock(expr):
        return None
    found = _NONE
    for node in walk(expr):
        if isinstance(node, Column):
            found |= _EVENT if node.tag is None else _BOUND
        elif isinstance(node, Aggregate | Ref):
            return None
    return found


def is_own(expr: Expr) -> bool:
    """Whether an expression is about the event alone."""
    return _names_in(expr) in (_NONE, _EVENT)


def _equality(expr: Expr) -> Equality | None:
    if not isinstance(expr, Binary) or expr.operator != "=":
        return None
    for event, bound in ((expr.left, expr.right), (expr.right, expr.left)):
        if _names_in(event) == _EVENT and _names_in(bound) == _BOUND:
            return Equality(event, bound, expr)
    return None


SPLIT_CONDITIONS = Rewrite("split-conditions", 1, Wait, _change)
