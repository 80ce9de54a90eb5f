"""Graphs of suppliers, operators and consumers, and what follows from their shape.

Times are in nanoseconds, as clocks count them. Of priorities 1 is the highest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

Level: TypeAlias = int  # a priority
Late: TypeAlias = Literal["mark", "shed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplier:
    """Pushes an event every period, up to `jitter` later, each valid for a time from then on."""

    name: str
    period: int
    validity: int
    jitter: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Makes an event of one event of each input."""

    name: str
    kind: str
    inputs: tuple[str, ...]  # names of suppliers and operators
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """Takes the events of an operator or supplier; what is late is marked, or left out."""

    name: str
    input: str
    priority: Level
    deadline: int | None = None
    late: Late = "mark"


Source: TypeAlias = Supplier | Operator


@dataclass(frozen=True)
class Graph:
    """Nodes by their names; a graph is checked before anything is asked of it."""

    suppliers: tuple[Supplier, ...]
    operators: tuple[Operator, ...]
    consumers: tuple[Consumer, ...]

    @cached_property
    def sources(self) -> dict[str, Source]:
        nodes: list[Source] = [*self.suppliers, *self.operators]
        return {node.name: node for node in nodes}

    @cached_property
    def readers(self) -> dict[str, list[tuple[Operator, int]]]:
        """Of each source the operators that read it, and as which of their inputs."""
        found: dict[str, list[tuple[Operator, int]]] = {name: [] for name in self.sources}
        for operator in self.operators:
            for place, name in enumerate(operator.inputs):
                found[name].append((operator, place))
        return found

    @cached_property
    def takers(self) -> dict[str, list[Consumer]]:
        """Of each source its consumers, the most important first."""
        found: dict[str, list[Consumer]] = {name: [] for name in self.sources}
        for consumer in sorted(self.consumers, key=lambda each: each.priority):
            found[consumer.input].append(consumer)
        return found

    @cached_property
    def downstream(self) -> dict[str, frozenset[str]]:
        """Of each source the names of all consumers that its events reach."""
        found: dict[str, frozenset[str]] = {}

        def reached(name: str) -> frozenset[str]:
            if name not in found:
                own = frozenset(consumer.name for consumer in self.takers[name])
                found[name] = own.union(*(reached(o.name) for o, _ in self.readers[name]))
            return found[name]

        return {name: reached(name) for name in self.sources}

    @cached_property
    def levels(self) -> dict[str, Level]:
        """Of each source the highest priority that it works for; none where it works for nobody."""
        priorities = {consumer.name: consumer.priority for consumer in self.consumers}
        return {
            name: min(priorities[each] for each in consumers)
            for name, consumers in self.downstream.items()
            if consumers
        }

    @cached_property
    def sheds(self) -> frozenset[str]:
        """Sources whose late events nobody wants."""
        late = {consumer.name: consumer.late for consumer in self.consumers}
        return frozenset(
            name
            for name, consumers in self.downstream.items()
            if all(late[each] == "shed" for each in consumers)
        )

    def upstream(self, name: str) -> Iterator[Supplier]:
        """The suppliers behind a source, each once for every way from it."""
        source = self.sources[name]
        if isinstance(source, Supplier):
            yield source
        else:
            for each in source.inputs:
                yield from self.upstream(each)

    @cached_property
    def rings(self) -> dict[str, int]:
        """How many events of each source can be valid at one time.

        An event that operators make is valid as long as the first of those behind it, and there are as
        many as the slowest of these has.
        """
        found = {}
        for name in self.sources:
            suppliers = list(self.upstream(name))
            period = max(each.period for each in suppliers)
            lasting = min(each.validity for each in suppliers) + max(e.jitter for e in suppliers)
            found[name] = max(1, -(-lasting // period))
        return found


def without_priorities(graph: Graph) -> Graph:
    """All consumers are equally important."""
    return replace(graph, consumers=tuple(replace(each, priority=1) for each in graph.consumers))


def without_sharing(graph: Graph) -> Graph:
    """Each consumer has operators of its own; their names end with its name."""
    made: dict[str, Operator] = {}
    consumers = []
    for consumer in graph.consumers:

        def copy(name: str, owner: str = consumer.name) -> str:
            source = graph.sources[name]
            if isinstance(source, Supplier):
                return name
            own = f"{name}@{owner}"
            if own not in made:
                inputs = tuple(copy(each) for each in source.inputs)
                made[own] = replace(source, name=own, inputs=inputs)
            return own

        consumers.append(replace(consumer, input=copy(consumer.input)))
    return Graph(graph.suppliers, tuple(made.values()), tuple(consumers))


@dataclass(frozen=True, slots=True)
class Shared:
    """Operators that do the same, so that one of them would do."""

    kept: str
    others: tuple[str, ...]


def shared(graph: Graph) -> tuple[Graph, list[Shared]]:
    """The graph with one operator in the place of all that do the same, and what became one."""
    kept: dict[tuple[object, ...], str] = {}
    names = {supplier.name: supplier.name for supplier in graph.suppliers}
    operators: list[Operator] = []
    others: dict[str, list[str]] = {}
    for operator in in_order(graph):
        inputs = tuple(names[each] for each in operator.inputs)
        does = (operator.kind, inputs, *sorted(map(repr, operator.parameters.items())))
        first = kept.setdefault(does, operator.name)
        names[operator.name] = first
        if first == operator.name:
            operators.append(replace(operator, inputs=inputs))
        else:
            others.setdefault(first, []).append(operator.name)
    consumers = tuple(replace(each, input=names[each.input]) for each in graph.consumers)
    found = [Shared(name, tuple(same)) for name, same in others.items()]
    return Graph(graph.suppliers, tuple(operators), consumers), found


def in_order(graph: Graph) -> list[Operator]:
    """Operators, each after those that it reads."""
    found: dict[str, Operator] = {}

    def visit(operator: Operator) -> None:
        for name in operator.inputs:
            source = graph.sources[name]
            if isinstance(source, Operator) and name not in found:
                visit(source)
        found[operator.name] = operator

    for operator in graph.operators:
        visit(operator)
    return list(found.values())
