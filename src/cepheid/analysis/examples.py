"""Events that lead to a row of a statement, as Z3 finds them.

What is seen is what `analysis.matches` sees. An example need not give a row: what the solver takes for
unknown may be otherwise. So it is a stream to begin with, where guesses would take long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.analysis.matches import Feeds, Match, World
from cepheid.analysis.solver import Formula, SymbolicEvent
from cepheid.core.event import Value
from cepheid.core.time import Instant
from cepheid.core.types import is_numeric
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedStatement

_READABLE = 10_000_000


@dataclass(frozen=True, slots=True)
class Example:
    """An event from outside."""

    type: str
    instant: Instant
    values: tuple[tuple[str, Value], ...]


def examples_for(graph: Graph, statement: ResolvedStatement) -> Iterator[tuple[Example, ...]]:
    """Few events that satisfy a statement and those before it: first one for all, where it can be."""
    world = _Tracing(graph)
    match = world.match(statement)
    solver = world.solver
    held = [*world.facts(match), *(solver.holds(expr, events) for expr, events in match.conditions)]
    held += [solver.z3.Not(term.null) for _, e in world.leaves for term in e.attributes.values()]
    one = list(_all_one(world))
    for wanted in ([*held, *one], held):
        found = _solved(world, [*wanted, *_plain(world)]) or _solved(world, wanted)
        if found:
            yield found


def _plain(world: _Tracing) -> Iterator[Formula]:
    """Numbers that people can read, if there are such."""
    for _, event in world.leaves:
        for term in event.attributes.values():
            if is_numeric(term.type) and term.value is not None:
                yield world.solver.z3.And(term.value >= 0, term.value <= _READABLE)


def _solved(world: _Tracing, wanted: list[Formula]) -> tuple[Example, ...]:
    names = [(n, name) for n, (_, e) in enumerate(world.leaves) for name in e.attributes]
    terms = [world.leaves[n][1].attributes[name] for n, name in names]
    found = world.solver.example(wanted, terms, [e.instant for _, e in world.leaves])
    if found is None:
        return ()
    values, instants = found
    events = [
        Example(
            type,
            instants[n],
            tuple((name, v) for (m, name), v in zip(names, values, strict=True) if m == n),
        )
        for n, (type, _) in enumerate(world.leaves)
    ]
    return tuple(dict.fromkeys(sorted(events, key=lambda event: event.instant)))


def _all_one(world: _Tracing) -> Iterator[Formula]:
    """That all events of a type are the same one."""
    solver = world.solver
    first: dict[str, SymbolicEvent] = {}
    for type, event in world.leaves:
        other = first.setdefault(type, event)
        for name, term in list(event.attributes.items()):
            if other is not event:
                yield solver.same(solver.attribute(other, name, term.type), term)
                yield other.instant == event.instant


class _Tracing(World):
    """Remembers the events that come from outside."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(Feeds(graph))
        self.inputs = graph.program.input_types
        self.leaves: list[tuple[str, SymbolicEvent]] = []

    def _event(self, type: str, match: Match, depth: int) -> SymbolicEvent:
        event = super()._event(type, match, depth)
        if type in self.inputs:
            self.leaves.append((type, event))
        return event
