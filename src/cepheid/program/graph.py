"""The pattern dependency graph: which statement needs the events of which, in levels.

An edge leads from P to Q if Q takes events that P derives. Level 0 are the types that come from
outside; a statement stands one level above the highest it depends on. Statements that depend on
each other, a cycle, share a level.

A class of events stands between statements like one: above those that tell it of events and above
the classes that it reads; what takes its events stands above it. As it tells of them only at its
rounds, no statement that inserts into it derives them for another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from cepheid.core.types import EventType, lineage
from cepheid.program.resolved import ResolvedClass, ResolvedProgram, ResolvedStatement


@dataclass(frozen=True, slots=True)
class Graph:
    """Statements are known by their numbers, in the order of the text."""

    program: ResolvedProgram
    producers: tuple[tuple[int, ...], ...]  # per statement, those whose events it takes
    components: tuple[tuple[int, ...], ...]  # those of a cycle together, each after its producers
    levels: tuple[int, ...]  # per statement
    class_levels: tuple[int, ...] = ()  # per class

    @property
    def statements(self) -> tuple[ResolvedStatement, ...]:
        return self.program.statements

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """P and Q for every Q that depends on P."""
        for number, makers in enumerate(self.producers):
            yield from ((maker, number) for maker in makers)

    @property
    def cycles(self) -> tuple[tuple[int, ...], ...]:
        """The statements that depend on themselves, those that do so together in one tuple."""
        return tuple(c for c in self.components if len(c) > 1 or c[0] in self.producers[c[0]])

    def inputs_of(self, number: int) -> tuple[str, ...]:
        """The types from outside that a statement takes, also as events of an ancestor."""
        taken = set(self.statements[number].inputs)
        types = self.program.types
        return tuple(n for n in self.program.input_types if taken & lineage(n, types))

    def upstream(self, number: int) -> set[int]:
        """All that a statement depends on, directly or not; itself only in a cycle."""
        return reachable(number, self.producers)

    def level_of_type(self, name: str) -> int:
        """That of the class, or of the highest statement that derives it; 0 where none does."""
        for declared, level in zip(self.program.classes, self.class_levels, strict=True):
            if declared.name == name:
                return level
        makers = (n for n, s in enumerate(self.statements) if s.target == name)
        return max((self.levels[n] for n in makers), default=0)

    def to_json(self) -> dict[str, object]:
        """Types and statements as nodes; what reads, derives and inherits what as edges."""
        types = [
            {"id": self._id(n), "kind": self._kind(n), "name": n, "level": self.level_of_type(n)}
            for n in self.program.types
        ]
        statements = [
            {"id": f"statement:{s.name}", "kind": "statement", "name": s.name, "level": level}
            for s, level in zip(self.statements, self.levels, strict=True)
        ]
        edges = [{"from": start, "to": end, "kind": kind} for start, end, kind in self._edges()]
        return {"nodes": [*types, *statements], "edges": edges}

    def _id(self, type: str) -> str:
        return f"{self._kind(type)}:{type}"

    def _kind(self, type: str) -> str:
        is_class = any(declared.name == type for declared in self.program.classes)
        return "class" if is_class else "type"

    def _edges(self) -> Iterator[tuple[str, str, str]]:
        for statement in self.statements:
            for name in statement.inputs:
                yield self._id(name), f"statement:{statement.name}", "reads"
            yield f"statement:{statement.name}", self._id(statement.target), "derives"
        for declared in self.program.classes:
            for name in declared.reads:
                yield self._id(name), self._id(declared.name), "reads"
        for type in self.program.types.values():
            for ancestor in sorted(type.ancestors):
                yield f"type:{type.name}", f"type:{ancestor}", "inherits"


def graph_of(program: ResolvedProgram) -> Graph:
    count = len(program.statements)
    sources = flow_of(program.statements, program.classes, program.types)
    producers = tuple(tuple(n for n in makers if n < count) for makers in sources[:count])
    levels = [0] * len(sources)
    for component in strong_components(sources):
        below = {maker for n in component for maker in sources[n]}.difference(component)
        # A class that nothing in the program tells of events is told from outside.
        is_outside = not below and component[0] >= count
        level = 0 if is_outside else 1 + max((levels[maker] for maker in below), default=0)
        for n in component:
            levels[n] = level
    components = tuple(map(tuple, strong_components(producers)))
    return Graph(program, producers, components, tuple(levels[:count]), tuple(levels[count:]))


def connected(graph: Graph) -> list[list[int]]:
    """The statements in parts, none of which takes what another derives; each in the order of the text."""
    homes = {number: [number] for number in range(len(graph.statements))}
    for maker, taker in graph.pairs:
        if homes[maker] is not homes[taker]:
            homes[maker].extend(homes[taker])
            homes.update(dict.fromkeys(homes[taker], homes[maker]))
    return [sorted(part) for part in {id(part): part for part in homes.values()}.values()]


def part_behind(type: str, program: ResolvedProgram) -> ResolvedProgram:
    """The statements without which the events of a type would be others."""
    wanted = {type}
    names: set[str] = set()
    while found := {s.name for s in program.statements if s.target in wanted} - names:
        names |= found
        inputs = {name for s in program.statements if s.name in names for name in s.inputs}
        wanted |= {n for n, t in program.types.items() if inputs & {n, *t.ancestors}}
    return program.part(names)


def flow_of(
    statements: Sequence[ResolvedStatement],
    classes: Sequence[ResolvedClass],
    types: Mapping[str, EventType],
) -> tuple[tuple[int, ...], ...]:
    """What each statement, and then each class, takes its events from; classes count after statements."""
    places = {declared.name: n for n, declared in enumerate(classes, start=len(statements))}
    told: dict[str, list[int]] = {name: [] for name in places}
    for number, statement in enumerate(statements):
        if statement.target in places:
            told[statement.target].append(number)

    makers: dict[str, list[int]] = {}  # of events that are of a type
    for number, statement in enumerate(statements):
        for name in lineage(statement.target, types) if statement.target not in places else ():
            makers.setdefault(name, []).append(number)

    def of_statement(statement: ResolvedStatement) -> tuple[int, ...]:
        taken = {maker for name in statement.inputs for maker in makers.get(name, ())}
        return (*sorted(taken), *(places[name] for name in statement.inputs if name in places))

    def of_class(declared: ResolvedClass) -> tuple[int, ...]:
        return (*told[declared.name], *(places[n] for n in declared.reads if n in places))

    return (*map(of_statement, statements), *map(of_class, classes))


def strong_components(producers: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The statements, those of a cycle together, each after its producers; else in text order."""
    components = _components(producers)
    home = {n: place for place, component in enumerate(components) for n in component}
    missing = [{home[m] for n in c for m in producers[n]} - {p} for p, c in enumerate(components)]
    takers: list[list[int]] = [[] for _ in components]
    for place, before in enumerate(missing):
        for maker in before:
            takers[maker].append(place)
    ready = [(components[place][0], place) for place, before in enumerate(missing) if not before]
    heapify(ready)
    while ready:
        _, place = heappop(ready)
        yield components[place]
        for taker in takers[place]:
            missing[taker].discard(place)
            if not missing[taker]:
                heappush(ready, (components[taker][0], taker))


def _components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components by Tarjan's way, on a stack of our own: chains are long."""
    found: list[list[int]] = []
    order: dict[int, int] = {}  # when a node was seen first
    lowest: dict[int, int] = {}  # the first seen of those that it leads back to
    open_nodes: list[int] = []
    is_open: set[int] = set()
    for root in range(len(edges)):
        walks = [(root, iter(edges[root]))] if root not in order else []
        while walks:
            node, following = walks[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                open_nodes.append(node)
                is_open.add(node)
            for other in following:
                if other not in order:
                    walks.append((other, iter(edges[other])))
                    break
                if other in is_open:
                    lowest[node] = min(lowest[node], order[other])
            else:
                walks.pop()
                if walks:
                    above = walks[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == order[node]:
                    component = [open_nodes.pop()]
                    while component[-1] != node:
                        component.append(open_nodes.pop())
                    is_open.difference_update(component)
                    found.append(sorted(component))
    return found


def reachable(start: int, edges: Sequence[Sequence[int]]) -> set[int]:
    """Where the edges lead from a start; back to itself only in a cycle."""
    found: set[int] = set()
    waiting = list(edges[start])
    while waiting:
        n = waiting.pop()
        if n not in found:
            found.add(n)
            waiting += edges[n]
    return found
