"""Graphs of suppliers, operators and consumers, and what follows from their shape.

Times are in nanoseconds, as clocks count them. Of priorities 1 is the highest.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

from cepheid.realtime.payload import SCALAR, Payload

Time: TypeAlias = int  # nanoseconds
Level: TypeAlias = int  # a priority
Late: TypeAlias = Literal["mark", "shed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplier:
    """Pushes an event every period, up to `jitter` later, each valid for a time from then on."""

    name: str
    period: Time
    validity: Time
    jitter: Time = 0
    phase: Time | None = None  # of its first event; None: by chance
    payload: Payload = SCALAR
    signal: str = "noise"  # what its events carry, where they come from nowhere else
    trace: str | None = None  # a file that has its events
    source: str | None = None  # the address that they come from


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Makes events of events: of one of each input, or of any that comes."""

    name: str
    kind: str
    inputs: tuple[str, ...]  # names of suppliers and operators
    parameters: Mapping[str, object] = field(default_factory=dict)
    ready_on: Literal["all", "any"] = "all"
    within: Time | None = None  # how far apart the events of a run may begin
    steps: int = 1  # between which more important work goes first
    isolate: Literal["no", "process"] = "no"
    timeout: Time | None = None  # after which a run hangs
    fields: tuple[str, ...] = ()  # names for the elements of what it makes


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """Takes the events of an operator or supplier; what is late is marked, or left out."""

    name: str
    input: str
    priority: Level
    deadline: Time | None = None
    late: Late = "mark"
    target: str | None = None  # the address that they go to


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

    @cached_property
    def rhythms(self) -> dict[str, Rhythm]:
        """Of each source how often its events come, and for how long they are valid."""
        found = {
            each.name: Rhythm(each.period, each.validity, each.jitter) for each in self.suppliers
        }
        for operator in in_order(self):
            found[operator.name] = _rhythm(operator, [found[each] for each in operator.inputs])
        return found

    @cached_property
    def rings(self) -> dict[str, int]:
        """How many events of each source can be valid at one time."""
        return {
            name: max(1, -(-(each.validity + each.jitter) // each.period))
            for name, each in self.rhythms.items()
        }


@dataclass(frozen=True, slots=True)
class Rhythm:
    """An event every period, up to a jitter later, valid for a time."""

    period: Time
    validity: Time
    jitter: Time


def _rhythm(operator: Operator, inputs: Sequence[Rhythm]) -> Rhythm:
    """An event of all inputs is as frequent as the slowest, and valid as long as the first to expire."""
    jitter = max(each.jitter for each in inputs)
    if operator.ready_on == "any":
        often = sum(1 / each.period for each in inputs)
        return Rhythm(max(1, int(1 / often)), max(each.validity for each in inputs), jitter)
    period = max(each.period for each in inputs) * runs_for_one(operator)
    return Rhythm(period, min(each.validity for each in inputs), jitter)


def runs_for_one(operator: Operator) -> int:
    """How many runs it takes to make an event."""
    every = operator.parameters.get("every") if operator.kind == "resample" else None
    return every if isinstance(every, int) else 1


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
        does = (
            *(operator.kind, inputs, operator.fields, operator.ready_on),
            *(operator.within, operator.isolate),
            *((name, _value(each)) for name, each in sorted(operator.parameters.items())),
        )
        first = kept.setdefault(does, operator.name)
        names[operator.name] = first
        if first == operator.name:
            operators.append(replace(operator, inputs=inputs))
        else:
            others.setdefault(first, []).append(operator.name)
    consumers = tuple(replace(each, input=names[each.input]) for each in graph.consumers)
    found = [Shared(name, tuple(same)) for name, same in others.items()]
    return Graph(graph.suppliers, tuple(operators), consumers), found


def _value(parameter: object) -> object:
    """By which parameters are compared; lists cannot be looked up."""
    return parameter if isinstance(parameter, Hashable) else repr(parameter)


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


def components(graph: Graph) -> list[Graph]:
    """Parts of a graph that share nothing, as far as they have consumers."""
    parts = {each.name: {each.name} for each in graph.suppliers}
    for operator in in_order(graph):
        whole = {operator.name}.union(*(parts[name] for name in operator.inputs))
        parts |= dict.fromkeys(whole, whole)
    found = (
        Graph(
            tuple(each for each in graph.suppliers if each.name in part),
            tuple(each for each in graph.operators if each.name in part),
            tuple(each for each in graph.consumers if each.input in part),
        )
        for part in {id(part): part for part in parts.values()}.values()
    )
    return [each for each in found if each.consumers]


def with_copies(graph: Graph, counts: Mapping[str, int]) -> Graph:
    """The streams of consumers so many times, suppliers and all; `radar` is copied as `radar~2`."""
    suppliers, operators = list(graph.suppliers), list(graph.operators)
    consumers = list(graph.consumers)
    for number in range(2, max(counts.values(), default=1) + 1):
        end = f"~{number}"
        wanted = [each for each in graph.consumers if counts.get(each.name, 1) >= number]
        for source in behind(graph, wanted):
            if isinstance(source, Supplier):
                suppliers.append(replace(source, name=source.name + end))
            else:
                inputs = tuple(each + end for each in source.inputs)
                operators.append(replace(source, name=source.name + end, inputs=inputs))
        consumers += (replace(c, name=c.name + end, input=c.input + end) for c in wanted)
    return Graph(tuple(suppliers), tuple(operators), tuple(consumers))


def original(name: str) -> str:
    """The name of the node that this one is a copy of, or does the work of for one consumer."""
    return name.partition("@")[0].partition("~")[0]


def behind(graph: Graph, consumers: Sequence[Consumer]) -> list[Source]:
    """All that consumers need."""
    found: dict[str, Source] = {}

    def visit(name: str) -> None:
        source = graph.sources[name]
        if name not in found:
            found[name] = source
            for each in source.inputs if isinstance(source, Operator) else ():
                visit(each)

    for consumer in consumers:
        visit(consumer.input)
    return list(found.values())


def variant(
    graph: Graph,
    *,
    priorities: bool = True,
    sharing: bool = True,
    shedding: bool | None = None,
) -> Graph:
    """The graph as it runs: with priorities and shared work unless these are not wanted, and what is late
    shed for all, for none, or as consumers say."""
    graph = shared(graph)[0] if sharing else without_sharing(graph)
    if shedding is not None:
        late: Late = "shed" if shedding else "mark"
        graph = replace(graph, consumers=tuple(replace(c, late=late) for c in graph.consumers))
    return graph if priorities else without_priorities(graph)
