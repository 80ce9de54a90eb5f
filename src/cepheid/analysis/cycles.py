"""Cycles: statements that depend on what they derive themselves.

A cycle is *endless* if each of its statements derives an event from every event of the one before
it, at once and whatever its values: no filter and no time can end it, and a run will stop with
`runaway`. Any other cycle is worth a warning: it ends if some condition comes to be false, if time
has to pass, or if other events are needed.

What is seen: dependence through types and their ancestors, one finding for all statements that
depend on each other, with the shortest path. What is not seen: conditions that always hold, or
come to be false for certain; events that can never enter the cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator

from cepheid.analysis.retention import speaks_with_time
from cepheid.core.types import lineage
from cepheid.errors import Diagnostic, error, warning
from cepheid.pattern.tree import AnyOf, Atom, Every, Pattern, While, walk
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.tree import KeepAll, LengthBatch, LengthWindow, TimeBatch, TimeWindow

_SHOWS_NEW_ROWS_AT_ONCE = TimeWindow | LengthWindow | KeepAll | None


def find(graph: Graph) -> Iterator[Diagnostic]:
    for members in graph.cycles:
        passing = {(p, q) for p, q in graph.pairs if q in members and _passes_on(graph, p, q)}
        path = _shortest(members, passing)
        if path is not None:
            yield _endless(graph, path)
        else:
            path = _shortest(members, set(graph.pairs))
            assert path is not None
            yield _ending(graph, path)


def _endless(graph: Graph, path: tuple[int, ...]) -> Diagnostic:
    fact = f"endless cycle: {_shown(graph, path)}; each event leads to another one at once"
    hint = "a filter, or a timer, in one of these statements would end it"
    return error("endless-cycle", fact, graph.statements[path[0]].tree.span, hint)


def _ending(graph: Graph, path: tuple[int, ...]) -> Diagnostic:
    ends = [f"{what} '{s.name}'" for s in _on(graph, path) if (what := _what_ends(s))]
    hint = f"it ends only by {' or '.join(ends)}" if ends else "it ends only for want of events"
    fact = f"cycle: {_shown(graph, path)}"
    return warning("cycle", fact, graph.statements[path[0]].tree.span, hint)


def _on(graph: Graph, path: tuple[int, ...]) -> list[ResolvedStatement]:
    return [graph.statements[n] for n in path]


def _shown(graph: Graph, path: tuple[int, ...]) -> str:
    names = [s.name for s in _on(graph, path)]
    return " -> ".join([*names, names[0]])


def _shortest(
    members: Collection[int], pairs: Collection[tuple[int, int]]
) -> tuple[int, ...] | None:
    """The shortest way from a member back to itself, of several the first in the text."""
    ways = (way for n in sorted(members) if (way := _way_back(n, members, pairs)))
    return min(ways, key=len, default=None)


def _way_back(
    start: int, members: Collection[int], pairs: Collection[tuple[int, int]]
) -> tuple[int, ...] | None:
    waiting: deque[tuple[int, ...]] = deque([(start,)])
    seen: set[int] = set()
    while waiting:
        way = waiting.popleft()
        for _, following in sorted(pair for pair in pairs if pair[0] == way[-1]):
            if following == start:
                return way
            if following in members and following not in seen:
                seen.add(following)
                waiting.append((*way, following))
    return None


# What ends a cycle.


def _passes_on(graph: Graph, maker: int, number: int) -> bool:
    """Whether a statement derives an event from every event of another one, at once."""
    statement = graph.statements[number]
    tree = statement.tree
    is_held = tree.output or tree.limit or not isinstance(tree.window, _SHOWS_NEW_ROWS_AT_ONCE)
    if is_held or _conditions(statement) or tree.insert_stream == "rstream":
        return False
    if statement.pattern is None:
        return statement.condition is None
    taken = lineage(graph.statements[maker].target, graph.program.types)
    return any(a.event_type in taken and a.condition is None for a in _choices(statement.pattern))


def _conditions(statement: ResolvedStatement) -> bool:
    return statement.where is not None or statement.having is not None


def _choices(pattern: Pattern) -> Iterator[Atom]:
    """The events of `every (a=A or b=B)`, each of which is a match; none for other patterns."""
    if isinstance(pattern, Every):
        child = pattern.child
        choices = child.parts if isinstance(child, AnyOf) else (child,)
        yield from (choice for choice in choices if isinstance(choice, Atom))


def _what_ends(statement: ResolvedStatement) -> str | None:
    """What in a statement can end a cycle, in words before its name; None where only other events can."""
    parts = list(walk(statement.pattern)) if statement.pattern is not None else []
    filters = [p.condition for p in parts if isinstance(p, Atom)]
    guards = any(isinstance(p, While) for p in parts)
    if guards or _conditions(statement) or statement.condition or any(filters):
        return "a condition of"
    if not isinstance(statement.tree.window, _SHOWS_NEW_ROWS_AT_ONCE | TimeBatch | LengthBatch):
        return "the window of"
    if speaks_with_time(statement):
        return "the time that passes in"
    return None
