"""Operator graphs: what priorities, sharing and shedding bring, whether predictions hold, what it costs.

Simulations have fixed times and seeds, and say the same on every machine. Real runs go on one processor, as
many copies of streams as bring the load on this machine; each repetition measures all variants in turn. A
millisecond that the host of a virtual machine takes away is in every latency of that time: real runs in which
it took more than a little are done again, a few times at most, and the figures say how many were.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graph_experiments import (
    EXAMPLES,
    LOADS,
    OVERLOADS,
    of_priorities,
    of_sharing,
    quantile,
)
from benchmarks.measure import Sizes, quietest
from benchmarks.pairs import median_interval
from benchmarks.report import Figure, Goal
from cepheid import realtime
from cepheid.realtime import reading
from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.bench import as_wanted, copied, latencies_of
from cepheid.realtime.dispatcher import Dispatcher
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier
from cepheid.realtime.metrics import Metrics
from cepheid.realtime.prediction.forecast import Prediction

SEEDS = 20
REPETITIONS = 7
SECONDS = 3.0  # of a real run
SOON = 20.0  # microseconds
SOAK = 600.0  # seconds
DISTURBED = 0.01  # the share of a real run's time that the host may take, of all processors
TRIES = 4


def run(sizes: Sizes) -> Iterator[Figure]:
    yield from simulated_priorities()
    yield from simulated_sharing()
    yield from overhead(sizes.events(20_000))
    yield from real_priorities(SECONDS * min(sizes.scale, 1))
    yield from real_bounds(SECONDS * min(sizes.scale, 1))
    yield from real_sharing(SECONDS * min(sizes.scale, 1))
    if sizes.full:
        yield soak(SOAK)


# -- simulations --


def simulated_priorities() -> Iterator[Figure]:
    found = of_priorities(SEEDS)
    for without, goal in (((), Goal("at most", 1.5)), (("priorities",), Goal("at least", 5))):
        few, many = (found.quantile(load, "high", 0.99, *without) for load in (0.45, 0.95))
        name = "without priorities" if without else "with priorities"
        yield Figure(
            name=f"simulated: high, p99 at 95 beside 45 percent, {name}",
            ratio=many / few,
            goal=goal,
            of={"ms at 95": many / 1e6, "ms at 45": few / 1e6},
        )
    for consumer, goal in (("middle", Goal("at most", 1)), ("low", Goal("at least", 1))):
        ratios = {
            load: found.quantile(load, consumer, 0.5)
            / found.quantile(load, consumer, 0.5, "priorities")
            for load in LOADS
        }
        worst = max(ratios.values()) if goal.bound == "at most" else min(ratios.values())
        yield Figure(
            name=f"simulated: {consumer}, median with priorities beside without, from 60 percent on",
            ratio=worst,
            goal=goal,
            note=", ".join(f"{load:.0%}: {ratio:.2f}" for load, ratio in ratios.items()),
        )


def simulated_sharing() -> Iterator[Figure]:
    found = of_sharing(SEEDS)
    kept = [found.throughput(load, "sharing") for load in OVERLOADS]
    yield Figure(
        name="simulated: timely throughput with shedding, least beside peak, 1 to 2 times saturation",
        ratio=min(kept) / max(kept),
        goal=Goal("at least", 0.9),
        of={"Mbit/s": min(kept), "at its peak": max(kept)},
        note="without sharing",
    )
    for others in ((), ("sharing",)):
        name = "without sharing" if others else "with sharing"
        beside = {
            load: found.throughput(load, *others) / found.throughput(load, *others, "shedding")
            for load in (0.5, 0.8, *OVERLOADS)
        }
        yield Figure(
            name=f"simulated: timely throughput with shedding beside without, any load, {name}",
            ratio=min(beside.values()),
            goal=Goal("at least", 1),
        )
        yield Figure(
            name=f"simulated: the same at 1.5 times saturation, {name}",
            ratio=beside[1.5],
            goal=Goal("at least", 1.2),
        )
    copies = found.copies(0.8, ["sharing"])
    shared, apart = found.with_copies(copies), found.with_copies(copies, "sharing")
    for consumer, goal in (("high", Goal("at most", 1.05)), ("low", Goal("at most", 1))):
        yield Figure(
            name=f"simulated: {consumer}, median with sharing beside without",
            ratio=quantile(shared, consumer, 0.5) / quantile(apart, consumer, 0.5),
            goal=goal,
        )


# -- what the scheduler costs --


def same(x: Any) -> Any:
    return x


class Endless:
    """An event whenever one is asked for."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._value = np.zeros(1)

    def due(self) -> int | None:
        return 0 if self._left else None

    def poll(self, now: int) -> Sequence[Arrival]:
        self._left -= 1
        return [Arrival(now, "s", self._value)]


def overhead(count: int) -> Iterator[Figure]:
    """A chain of five operators that do nothing."""
    functions = [same] * 5
    operators, source = [], "s"
    for number, function in enumerate(functions):
        name = f"o{number}"
        operators.append(
            Operator(name=name, kind="python", inputs=(source,), parameters={"function": function})
        )
        source = name
    graph = realtime.checked(
        Graph(
            (Supplier(name="s", period=1_000, validity=10**12),),
            tuple(operators),
            (Consumer(name="c", input=source, priority=1),),
        )
    )

    def ours() -> float:
        dispatcher = Dispatcher(graph, [Endless(count)])
        begin = time.process_time()
        dispatcher.run()
        return (time.process_time() - begin) / count / len(functions) * 1e6

    def by_hand() -> float:
        value = np.zeros(1)
        begin = time.process_time()
        for _ in range(count):
            x = value
            for function in functions:
                x = function(x)
        return (time.process_time() - begin) / count / len(functions) * 1e6

    tried = [quietest(lambda: (ours(), by_hand()), DISTURBED, TRIES) for _ in range(REPETITIONS)]
    pairs = [pair for pair, _ in tried]
    each = statistics.median(one for one, _ in pairs)
    yield Figure(
        name="an execution of an empty operator, beside 20 microseconds",
        ratio=each / SOON,
        goal=Goal("at most", 1),
        of={"microseconds": each},
        note=_again(sum(again for _, again in tried)),
    )
    ratios = [one / other for one, other in pairs]
    yield Figure(
        name="the same, beside a loop over the functions",
        ratio=statistics.median(ratios),
        interval=median_interval(ratios),
    )


# -- real runs --


def _again(count: int) -> str:
    return f"{count} disturbed runs done again"


class Real:
    """Real runs of a graph, with as many copies as bring a load on this machine."""

    def __init__(self, file: str, seconds: float) -> None:
        self.file = reading.load(EXAMPLES / file)
        assert self.file.bench is not None
        self.bench = self.file.bench
        self.seconds = seconds
        self.again = 0  # runs that were done again
        self.times = realtime.calibrate(realtime.checked(as_wanted(self.file.graph, ())))

    def graph(self, copies: int, *without: str) -> Graph:
        return as_wanted(copied(self.file.graph, self.bench, copies), without)

    def measured(self, copies: int, seed: int, *without: str) -> Metrics:
        graph = self.graph(copies, *without)

        def run() -> Metrics:
            gc.collect()
            return realtime.run(graph, seconds=self.seconds, seed=seed, times=self.times).metrics

        metrics, again = quietest(run, DISTURBED, TRIES)
        self.again += again
        return metrics

    def copies_for(self, *loads: float) -> list[int]:
        """From two short runs: what a copy adds to the load."""
        few, many = self.bench.base, self.bench.base + 6
        first, second = (self.measured(each, seed=99).utilisation for each in (few, many))
        each = (second - first) / (many - few)
        return [max(few, few + round((load - first) / each)) for load in loads]


def real_priorities(seconds: float) -> Iterator[Figure]:
    real = Real("priorities.toml", seconds)
    few, many = real.copies_for(0.45, 0.9)
    runs = [
        {
            (copies, without): real.measured(copies, seed, *without)
            for copies in (few, many)
            for without in ((), ("priorities",))
        }
        for seed in range(REPETITIONS)
    ]

    def tail(metrics: Metrics) -> float:
        return latencies_of(metrics, "high").quantile(0.95) / 1e6

    rows = [{key: tail(metrics) for key, metrics in each.items()} for each in runs]
    loads = [
        statistics.mean(each[key].utilisation for each in runs) for key in ((few, ()), (many, ()))
    ]
    note = f"{few} and {many} copies, {loads[0]:.0%} and {loads[1]:.0%} busy; {_again(real.again)}"
    kept = [each[many, ()] / each[few, ()] for each in rows]
    yield Figure(
        name="real: high, p95 at 90 beside 45 percent, with priorities",
        ratio=statistics.median(kept),
        interval=median_interval(kept),
        goal=Goal("at most", 2),
        of={"ms": statistics.median(each[many, ()] for each in rows)},
        note=note,
    )
    gained = [each[many, ("priorities",)] / each[many, ()] for each in rows]
    yield Figure(
        name="real: high, p95 at 90 percent, without priorities beside with them",
        ratio=statistics.median(gained),
        interval=median_interval(gained),
        goal=Goal("at least", 2),
        note=note,
    )


def real_bounds(seconds: float) -> Iterator[Figure]:
    """Of each priority, what was measured beside what was predicted from times measured before."""
    real = Real("priorities.toml", seconds)
    copies, prediction = _most_with_bounds(real)
    runs = [real.measured(copies, seed) for seed in range(REPETITIONS)]
    busy = statistics.mean(each.utilisation for each in runs)
    for consumer in real.file.graph.consumers:
        bound = prediction.consumers[consumer.name].bound
        assert bound is not None
        found = [latencies_of(each, consumer.name).quantile(0.99) / bound for each in runs]
        yield Figure(
            name=f"real: {consumer.name}, p99 beside its bound",
            ratio=statistics.median(found),
            interval=median_interval(found),
            goal=Goal("at most", 1.25),
            of={"bound, ms": bound / 1e6},
            note=f"{copies} copies of everything, {busy:.0%} busy; {_again(real.again)}",
        )


def _most_with_bounds(real: Real) -> tuple[int, Prediction]:
    """As many copies of everything as there are bounds for, for all consumers."""
    copies, found = 0, None
    while True:
        more = replace(real.bench, base=copies + 1)
        graph = as_wanted(copied(real.file.graph, more, copies + 1), ())
        prediction = realtime.predict(graph, real.times)
        if any(each.bound is None for each in prediction.consumers.values()):
            break
        copies, found, real.bench = copies + 1, prediction, more
    if found is None:
        raise ValueError("operators take so long here that nothing has a bound")
    return copies, found


def real_sharing(seconds: float) -> Iterator[Figure]:
    real = Real("sharing.toml", seconds)
    half, over = real.copies_for(0.6, 1.5)
    shed = [
        real.measured(over, seed).timely_throughput
        / real.measured(over, seed, "shedding").timely_throughput
        for seed in range(REPETITIONS)
    ]
    yield Figure(
        name="real: timely throughput at 1.5 times saturation, with shedding beside without",
        ratio=statistics.median(shed),
        interval=median_interval(shed),
        goal=Goal("at least", 1),
        note=f"{over} copies; {_again(real.again)}",
    )
    pairs = [
        (real.measured(half, seed), real.measured(half, seed, "sharing"))
        for seed in range(REPETITIONS)
    ]
    for consumer in ("high", "low"):
        found = [
            latencies_of(one, consumer).quantile(0.5) / latencies_of(other, consumer).quantile(0.5)
            for one, other in pairs
        ]
        yield Figure(
            name=f"real: {consumer}, median with sharing beside without",
            ratio=statistics.median(found),
            interval=median_interval(found),
            goal=Goal("at most", 1) if consumer == "low" else None,
            note=f"{half} copies",
        )


def soak(seconds: float) -> Figure:
    """Resident memory after a long real run, beside that after a tenth of it; too much load, shed."""
    real = Real("sharing.toml", 2.0)
    (over,) = real.copies_for(1.2)
    begin, early = time.monotonic(), 0.0

    def deliver(_: object) -> None:
        nonlocal early
        if not early and time.monotonic() - begin > seconds / 10:
            early = _resident()

    realtime.run(real.graph(over), seconds=seconds, times=real.times, deliver=deliver)
    last = _resident()
    return Figure(
        name=f"real: memory after {seconds / 60:g} minutes beside that after a tenth of them",
        ratio=last / early,
        goal=Goal("at most", 1.05),
        of={"MiB": last},
    )


def _resident() -> float:
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0
