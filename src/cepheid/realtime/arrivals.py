"""When suppliers push events: by their rates, or as a file has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from random import Random
from typing import NamedTuple

from cepheid.realtime.graph import Graph, Supplier, Time, behind
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.signals import Signal


class Arrival(NamedTuple):
    time: Time
    supplier: str
    value: Array


def arrivals(
    graph: Graph,
    *,
    until: Time,
    start: Time = 0,
    seed: int = 0,
    traces: Mapping[str, Iterable[tuple[Time, Array]]] | None = None,
    with_values: bool = True,
) -> Iterator[Arrival]:
    """What all suppliers push from a start up to a time, in the order of time; the same for a seed.

    Suppliers whose events meet are in step, from a time by chance on, unless they have a phase.
    """
    rng = Random(seed)
    phases = _phases(graph, rng)
    traces = traces or {}

    def of(supplier: Supplier, chance: float) -> Iterator[Arrival]:
        if supplier.name in traces:
            for time, value in traces[supplier.name]:
                if start <= time < until:
                    yield Arrival(time, supplier.name, value)
            return
        signal = Signal(supplier) if with_values else None
        first = start + phases[supplier.name]
        for number, time in enumerate(_times(supplier, first, until, Random(chance))):
            yield Arrival(time, supplier.name, 0 if signal is None else signal[number])

    found = [of(each, rng.random()) for each in graph.suppliers if each.source is None]
    return merge(*found, key=lambda each: each.time)


def _times(supplier: Supplier, first: Time, until: Time, rng: Random) -> Iterator[Time]:
    time = first
    while time < until:
        yield time + (rng.randrange(supplier.jitter + 1) if supplier.jitter else 0)
        time += supplier.period


def _phases(graph: Graph, rng: Random) -> dict[str, Time]:
    """One chance for all suppliers that are connected."""
    group = {each.name: each.name for each in graph.suppliers}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for consumer in graph.consumers:
        first, *others = (e.name for e in behind(graph, [consumer]) if isinstance(e, Supplier))
        for other in others:
            group[root(other)] = root(first)
    chances = {each.name: rng.random() for each in graph.suppliers}
    return {
        each.name: int(chances[root(each.name)] * each.period) if each.phase is None else each.phase
        for each in graph.suppliers
    }
