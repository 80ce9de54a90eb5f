"""Graphs under more and more load, as they are and without a feature, in real or in virtual time.

Load comes from copies of streams. In real runs the variants alternate, so that what else the machine does
meets all of them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from cepheid.errors import UsageError, error
from cepheid.realtime.calibration import Times
from cepheid.realtime.graph import Graph, Operator, original, variant, with_copies
from cepheid.realtime.histogram import Histogram
from cepheid.realtime.metrics import Metrics
from cepheid.realtime.reading import Bench, GraphFile

Measure: TypeAlias = Callable[[Graph, int], Metrics]  # of a graph, by a seed


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured of one graph: a run for each seed."""

    load: float  # that was asked for
    copies: int
    without: tuple[str, ...]
    runs: tuple[Metrics, ...]

    @property
    def name(self) -> str:
        return ", ".join(f"no {each}" for each in self.without) or "as it is"

    @property
    def utilisation(self) -> float:
        return sum(each.utilisation for each in self.runs) / len(self.runs)

    @property
    def throughput(self) -> float:
        return sum(each.timely_throughput for each in self.runs) / len(self.runs)

    def timely(self, consumer: str) -> int:
        """How many events a consumer and its copies got in time, in all runs."""
        return sum(
            each.timely
            for metrics in self.runs
            for name, each in metrics.consumers.items()
            if original(name) == consumer
        )

    def latencies(self, consumer: str) -> Histogram:
        """Of a consumer and its copies, in all runs."""
        return sum((latencies_of(each, consumer) for each in self.runs), Histogram())


def latencies_of(metrics: Metrics, consumer: str) -> Histogram:
    """Of a consumer and its copies."""
    found = (each for name, each in metrics.consumers.items() if original(name) == consumer)
    return sum((each.latencies for each in found), Histogram())


def measure_all(
    file: GraphFile,
    bench: Bench,
    load_of: Callable[[Graph], float],
    measure: Measure,
    seeds: Sequence[int],
) -> Iterator[Point]:
    """A point for each load and variant; `load_of` says how much of the processors a graph needs."""
    for load in bench.loads:
        copies = copies_for(file.graph, bench, load, load_of)
        graph = copied(file.graph, bench, copies)
        runs: dict[tuple[str, ...], list[Metrics]] = {each: [] for each in variants(bench)}
        for seed in seeds:
            for without, found in runs.items():
                found.append(measure(as_wanted(graph, without), seed))
        for without, found in runs.items():
            yield Point(load, copies, without, tuple(found))


def variants(bench: Bench) -> list[tuple[str, ...]]:
    """The graph as it is, and without each of its features and all combinations of them."""
    features = bench.without
    return [each for size in range(len(features) + 1) for each in combinations(features, size)]


def as_wanted(graph: Graph, without: Sequence[str]) -> Graph:
    return variant(
        graph,
        priorities="priorities" not in without,
        sharing="sharing" not in without,
        shedding=False if "shedding" in without else None,
    )


def copied(graph: Graph, bench: Bench, copies: int) -> Graph:
    """The whole graph as often as it is there at first, and the streams of some consumers more often."""
    more = bench.copies or tuple(each.name for each in graph.consumers)
    counts = {each.name: bench.base for each in graph.consumers}
    return with_copies(graph, counts | {name: max(bench.base, copies) for name in more})


def copies_for(graph: Graph, bench: Bench, load: float, load_of: Callable[[Graph], float]) -> int:
    """How many copies bring a load, or the fewest that there are."""
    first = load_of(variant(copied(graph, bench, bench.base)))
    second = load_of(variant(copied(graph, bench, bench.base + 1)))
    if second <= first:
        fact = "nothing takes any time, so that no number of copies brings a load"
        raise UsageError(error("usage", fact, hint="measure the times again"))
    return max(bench.base, bench.base + round((load - first) / (second - first)))


def load_of(graph: Graph, times: Times, processors: int) -> float:
    """The share of the processors' time that a graph needs."""
    total = 0.0
    for name, level in graph.levels.items():
        source, period = graph.sources[name], graph.rhythms[name].period
        if isinstance(source, Operator):
            total += times.step(source).mean * source.steps / period
        else:
            total += times.take.mean / period
        readers = (graph.levels.get(each.name, level) for each, _ in graph.readers[name])
        total += sum(there != level for there in readers) * times.move.mean / period
    return total / processors
