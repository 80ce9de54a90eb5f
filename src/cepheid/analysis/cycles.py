"""Cycles: statements that depend on what they derive themselves.

A cycle is *endless* if each of its statements derives an event from every event of the one before
it, at once and whatever its values: no filter and no time can end it, and a run will stop with
`runaway`. Any other cycle is worth a warning: it ends if some condition comes to be false, if time
has to pass, or if other events are needed.

What is told: for each statement that depends on itself a shortest way back to it, unless one that is
as short and leads through it is told already. So each statement of any cycle lies on one that is told,
no statement has two, and what is allowed at one of them hides no other.

What is seen: dependence through types and their ancestors. What is not seen: conditions that always hold,
or come to be false for certain; events that can never enter the cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence

from cepheid.analysis.retention import speaks_with_time
from cepheid.core.types import lineage
from cepheid.errors import Diagnostic, error, warning
from cepheid.pattern.tree import AnyOf, Atom, Every, Pattern, While, walk
from cepheid.program.graph import Graph, strong_components
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.tree import KeepAll, LengthBatch, LengthWindow, TimeBatch, TimeWindow

_SHOWS_NEW_ROWS_AT_ONCE = TimeWindow | LengthWindow | KeepAll | None


def find(graph: Graph) -> Iterator[Diagnostic]:
    makers = _makers_in_cycles(graph)
    passing = [[p for p in makers[q] if _passes_on(graph, p, q)] for q in range(len(makers))]
    endless = list(_shortest_cycles(passing))
    yield from (_endless(graph, path) for path in endless)
    others = _shortest_cycles(makers, besides={n for path in endless for n in path})
    yield from (_ending(graph, path) for path in others)


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


def _makers_in_cycles(graph: Graph) -> list[list[int]]:
    """Per statement those whose events it takes, if they depend on it, too."""
    makers: list[list[int]] = [[] for _ in graph.statements]
    for members in map(frozenset, graph.cycles):
        for number in members:
            makers[number] = [m for m in graph.producers[number] if m in members]
    return makers


def _shortest_cycles(
    makers: Sequence[Sequence[int]], besides: Collection[int] = ()
) -> Iterator[tuple[int, ...]]:
    """The shortest way of each statement back to itself, but for those that others have told."""
    for members in strong_components(makers):
        takers: dict[int, list[int]] = {n: [] for n in members}
        for taker in members:
            for maker in takers.keys() & makers[taker]:
                takers[maker].append(taker)
        told: dict[int, int] = {}  # the length of the shortest that leads through a statement
        for start in (n for n in members if n not in besides):
            path = _way_back(start, takers)
            if path and len(path) < told.get(start, len(path) + 1):
                told |= {n: min(len(path), told.get(n, len(path))) for n in path}
                yield path


def _way_back(start: int, takers: Mapping[int, Sequence[int]]) -> tuple[int, ...]:
    """The shortest way from a statement to itself, of several the first in the text; empty without one."""
    origins: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        number = waiting.popleft()
        for taker in takers[number]:
            if taker == start:
                return (start, *_traced(number, origins))
            if taker not in origins:
                origins[taker] = number
                waiting.append(taker)
    return ()


def _traced(number: int, origins: Mapping[int, int]) -> list[int]:
    """The way on which a statement was reached, without its start."""
    path: list[int] = []
    while number in origins:
        path.append(number)
        number = origins[number]
    return path[::-1]


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
