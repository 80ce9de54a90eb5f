"""The literal translation between written patterns and nodes, in both directions.

`embed` takes a pattern over node by node: nothing is recognised yet. `denormalize` writes a node as
a pattern again, so that the reference semantics, which knows patterns only, can run what the
rewrites have made.
"""

from __future__ import annotations

from itertools import count

from cepheid.core.types import BOOLEAN
from cepheid.expr.tree import And, Expr
from cepheid.pattern import tree
from cepheid.program.normal import nodes

EMBEDDING_VERSION = 2  # grows whenever `embed` gives something else than before


def embed(pattern: tree.Pattern) -> nodes.Node:
    return _embed(pattern, count())


def _embed(pattern: tree.Pattern, steps: count[int]) -> nodes.Node:
    span = pattern.span

    def inner(child: tree.Pattern) -> nodes.Node:
        return _embed(child, steps)

    match pattern:
        case tree.Atom() | tree.Interval() | tree.At():
            return _embed_step(pattern, next(steps))
        case tree.FollowedBy(parts):
            return nodes.Sequence(tuple(map(inner, parts)), span=span)
        case tree.AllOf(parts):
            return nodes.AllOf(tuple(map(inner, parts)), span=span)
        case tree.AnyOf(parts):
            return nodes.AnyOf(tuple(map(inner, parts)), span=span)
        case tree.Every(child):
            return nodes.Every(inner(child), span=span)
        case tree.EveryDistinct(keys, child, expiry):
            return nodes.EveryDistinct(keys, inner(child), expiry, span=span)
        case tree.Absent(child):
            return nodes.Absent(inner(child), span=span)
        case tree.Repeat(child, low, high, until):
            body = inner(child)
            end = None if until is None else inner(until)
            return nodes.Repeat(body, low, high, end, span=span)
        case tree.Within(child, period, most):
            return nodes.Within(inner(child), period, most, span=span)
        case tree.While(child, condition):
            return nodes.While(inner(child), condition, span=span)
    return nodes.Unknown(pattern, tuple(map(inner, tree.children(pattern))), span=span)


def _embed_step(pattern: tree.Atom | tree.Interval | tree.At, step: int) -> nodes.Node:
    span = pattern.span
    match pattern:
        case tree.Atom(event_type, tag, condition):
            rest = () if condition is None else (condition,)
            event = nodes.Awaited(event_type, tag, rest=rest, step=step, span=span)
            return nodes.Wait(event, span=span)
        case tree.Interval(period):
            return nodes.Wait(None, nodes.Passing(period, step, span), "time", span=span)
        case tree.At(schedule):
            return nodes.WaitForInstant(schedule, step, span=span)


def denormalize(node: nodes.Node) -> tree.Pattern:
    span = node.span
    match node:
        case nodes.Wait() | nodes.WaitForInstant():
            return _written_wait(node)
        case nodes.Line(parts) | nodes.Sequence(parts):
            return tree.FollowedBy(tuple(map(denormalize, parts)), span=span)
        case nodes.AllOf(parts):
            return tree.AllOf(tuple(map(denormalize, parts)), span=span)
        case nodes.AnyOf(parts):
            return tree.AnyOf(tuple(map(denormalize, parts)), span=span)
        case nodes.Every(child):
            return tree.Every(denormalize(child), span=span)
        case nodes.EveryDistinct(keys, child, expiry):
            return tree.EveryDistinct(keys, denormalize(child), expiry, span=span)
        case nodes.Absent(child):
            return tree.Absent(denormalize(child), span=span)
        case nodes.Repeat(child, low, high, until):
            end = None if until is None else denormalize(until)
            return tree.Repeat(denormalize(child), low, high, end, span=span)
        case nodes.Within(child, period, most):
            return tree.Within(denormalize(child), period, most, span=span)
        case nodes.While(child, condition):
            return tree.While(denormalize(child), condition, span=span)
        case nodes.Unknown(written):
            return written
    raise TypeError(f"no pattern for {type(node).__name__}")


def _written_wait(wait: nodes.Wait | nodes.WaitForInstant) -> tree.Pattern:
    if isinstance(wait, nodes.WaitForInstant):
        return tree.At(wait.schedule, span=wait.span)
    span, event, time = wait.span, wait.event, wait.time
    atom = None
    if event is not None:
        condition = joined(event.conditions)
        atom = tree.Atom(event.event_type, event.tag, condition, span=event.span)
    if time is None:
        assert atom is not None
        return atom
    if atom is not None and wait.true_by == "event":
        return tree.Within(atom, time.period, span=span)
    interval = tree.Interval(time.period, span=time.span)
    if atom is None:
        return interval
    return tree.AllOf((interval, tree.Absent(atom)), span=span)


def joined(conditions: tuple[Expr, ...]) -> Expr | None:
    """What is true if all conditions are."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return And(conditions, type=BOOLEAN)
