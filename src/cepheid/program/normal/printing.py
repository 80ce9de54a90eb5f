"""The normal form for people."""

from __future__ import annotations

from cepheid.expr.printing import print_expr
from cepheid.pattern import algebra
from cepheid.pattern.tree import Pattern
from cepheid.program.normal import nodes
from cepheid.program.normal.nodes import Awaited, Node


def headline(node: Node) -> str:
    """What a node does, in a line; its parts do the rest."""
    match node:
        case nodes.Wait():
            return _headline_of_wait(node)
        case nodes.EveryDistinct(keys, _, expiry):
            kept = "" if expiry is None else f", for {expiry}"
            return f"every distinct {', '.join(map(print_expr, keys))}{kept}"
        case nodes.Repeat(_, low, high):
            count = "" if low is None and high is None else f" {_bounds(low, high)} times"
            return f"repeat{count}{'' if node.until is None else ', until the last part'}"
        case nodes.Within(_, period, most):
            return f"within {period}{'' if most is None else f', at most {most} matches'}"
        case nodes.While(_, condition):
            return f"while {print_expr(condition)}"
    if isinstance(node, nodes.Unknown):
        return _OF_FORMS.get(type(node.written), _HEADLINES[nodes.Unknown])
    return _HEADLINES[type(node)]


_HEADLINES: dict[type[Node], str] = {
    nodes.WaitForInstant: "wait for the next instant of a schedule",
    nodes.Line: "one after the other",
    nodes.Sequence: "each match begins the next",
    nodes.Every: "every",
    nodes.AllOf: "all of",
    nodes.AnyOf: "any of",
    nodes.Absent: "not",
    nodes.Unknown: "an operator without a normal form",
}


# Complex events have no normal form; their automata say more.
_OF_FORMS: dict[type[Pattern], str] = {
    algebra.Occurrence: "choose among occurrences, by a context; then all events that count",
    algebra.Follows: "one after the other",
    algebra.Either: "any of",
    algebra.Both: "all of, on events of their own",
    algebra.Never: "absent",
    algebra.Times: "several times",
    algebra.Timed: "in a window",
    algebra.Taken: "an event",
}


def _headline_of_wait(wait: nodes.Wait) -> str:
    if wait.time is None:
        assert wait.event is not None
        return f"wait for {_name(wait.event)}"
    if wait.event is None:
        return f"wait {wait.time.period}"
    if wait.true_by == "event":
        return f"wait for {_name(wait.event)}, fail after {wait.time.period}"
    return f"wait {wait.time.period}, fail with {_name(wait.event)}"


def _name(event: Awaited) -> str:
    return event.event_type if event.tag is None else f"{event.tag}={event.event_type}"


def _bounds(low: int | None, high: int | None) -> str:
    if low == high:
        return str(low)
    return f"{'' if low is None else low}:{'' if high is None else high}"


def conditions(event: Awaited) -> dict[str, list[str]]:
    """What must be true of an event, by what it looks at."""
    equal = [f"{print_expr(e.event)} = {print_expr(e.bound)}" for e in event.equal]
    parts = {
        "about the event": list(map(print_expr, event.own)),
        "equal": equal,
        "about others too": list(map(print_expr, event.rest)),
    }
    return {name: texts for name, texts in parts.items() if texts}
