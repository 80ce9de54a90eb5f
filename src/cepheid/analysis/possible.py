"""Which statements can have rows if only some events can happen.

What is seen: attributes that are numbers, texts, Booleans or null; where there are many different
events of a type, the values of each attribute for itself. What is not seen is what `analysis.matches`
does not see, and the times of events. A statement that is left out has no rows; one that is kept may
have none, either.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from cepheid.analysis.matches import Feeds, Match, World
from cepheid.analysis.retention import speaks_with_time
from cepheid.analysis.solver import Formula, SymbolicEvent
from cepheid.core.event import Event, Value
from cepheid.core.types import EventType, Scalar, is_calendar
from cepheid.expr.tree import Literal
from cepheid.program.graph import Graph, graph_of
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

_MANY = 200  # different events of a type, beyond which attributes are looked at one by one


def possible_part(program: ResolvedProgram, events: Collection[Event]) -> ResolvedProgram:
    """The statements that can have rows if nothing but such events comes from outside."""
    while True:
        world = _Bounded(graph_of(program), events)
        names = [s.name for s in program.statements if not _is_dead(s, world)]
        if len(names) == len(program.statements):
            return program
        program = program.part(names)


def _is_dead(statement: ResolvedStatement, world: World) -> bool:
    is_plain = statement.tree.window is None and statement.tree.output is None
    if not is_plain and speaks_with_time(statement):
        return False  # it may speak of no events at all
    solver = world.solver
    match = world.match(statement)
    held = [solver.holds(expr, events) for expr, events in match.conditions]
    return not solver.can_hold([*world.facts(match), *held])


class _Bounded(World):
    """A world in which only some events come from outside."""

    def __init__(self, graph: Graph, events: Collection[Event]) -> None:
        super().__init__(Feeds(graph, {event.type for event in events}))
        self.derived = {statement.target for statement in graph.statements}
        self.given: dict[str, dict[tuple[tuple[str, Value], ...], None]] = {}
        for event in events:
            values = tuple(_plain_values(event, self.types[event.type]))
            self.given.setdefault(event.type, {})[values] = None

    def _event(self, type: str, match: Match, depth: int) -> SymbolicEvent:
        event = super()._event(type, match, depth)
        event.is_open = False
        heirs = self.feeds.heirs.get(type, [])
        if self.derived.isdisjoint(heirs):
            of_each = [self._one_of(event, name) for name in heirs if name in self.given]
            match.facts.append(self.solver.z3.Or(*of_each))
        return event

    def _one_of(self, event: SymbolicEvent, type: str) -> Formula:
        z3, known = self.solver.z3, [dict(values) for values in self.given[type]]
        if len(known) <= _MANY:
            return z3.Or(*(self._all_of(event, type, values) for values in known))
        return z3.And(
            *(
                z3.Or(*(self._all_of(event, type, {name: value}) for value in values))
                for name, values in _by_name(known).items()
            )
        )

    def _all_of(self, event: SymbolicEvent, type: str, values: Mapping[str, Value]) -> Formula:
        return self.solver.z3.And(*(self._has(event, type, *item) for item in values.items()))

    def _has(self, event: SymbolicEvent, type: str, name: str, value: Value) -> Formula:
        kind = self.types[type].find(name)
        assert isinstance(kind, Scalar)
        term = self.solver.attribute(event, name, kind)
        if value is None:
            return term.null
        if isinstance(value, float) and not math.isfinite(value):
            return term.nan if math.isnan(value) else self.solver.z3.BoolVal(val=True)
        assert isinstance(value, str | bool | int | float)
        return self.solver.same(term, self.solver.term(Literal(value, type=kind), {}))


def _plain_values(event: Event, type: EventType) -> Iterator[tuple[str, Value]]:
    """The attributes that a formula can speak of, without the one that holds the time."""
    time = type.time.attribute if type.time else None
    for attribute in type.attributes:
        is_known = isinstance(attribute.type, Scalar) and not is_calendar(attribute.type)
        if attribute.name != time and is_known:
            yield attribute.name, event[attribute.name]


def _by_name(known: Sequence[Mapping[str, Value]]) -> dict[str, dict[Value, None]]:
    found: dict[str, dict[Value, None]] = {}
    for values in known:
        for name, value in values.items():
            found.setdefault(name, {})[value] = None
    return found
