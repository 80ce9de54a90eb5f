"""The experiments that priorities, sharing and shedding are known by, in virtual time.

Times of operators are fixed. They are an eighth of what kept three processors 45 percent busy with three
copies of everything, and there are eight times as many streams: finer work of the same load. Sensors of
one stream push in step, streams begin by chance, and operators take up to ten percent more or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from cepheid.realtime import reading
from cepheid.realtime.bench import as_wanted, copied, copies_for, latencies_of, load_of
from cepheid.realtime.calibration import Cost, Times
from cepheid.realtime.checking import Checked, checked
from cepheid.realtime.graph import Graph
from cepheid.realtime.histogram import Histogram
from cepheid.realtime.metrics import Metrics
from cepheid.realtime.running import simulate

EXAMPLES = Path(__file__).parents[1] / "examples" / "fusion"
LOADS = (0.6, 0.75, 0.95)
OVERLOADS = (1.0, 1.2, 1.35, 1.5, 1.75, 2.0)


def _cost(microseconds: float) -> Cost:
    return Cost(round(microseconds * 1_100), round(microseconds * 1_000))


def _times(**operators: float) -> Times:
    costs = {name: _cost(time) for name, time in operators.items()}
    return Times(costs, _cost(1), _cost(1), Cost(0, 0))


_PRIORITIES = _times(
    ekf1=37.5,
    aes1=2.5,
    ekf2=76,
    fft2=19,
    ekf3=76,
    fft3=19,
    cat=3.4,
    aes2=35,
    ekf4=152,
    fft4=41,
    aes3=35,
)
_SHARING = _times(
    **{f"ekf{n}": 76 for n in (1, 2, 3, 4)},
    **{f"fft{n}": 19 for n in (1, 2, 3, 4)},
    **{f"{name}_cat": 3.4 for name in ("high", "middle", "low")},
    **{f"{name}_aes": 35 for name in ("high", "middle", "low")},
)


class Experiment:
    """Runs of a graph at loads, with its features or without some; a run for each seed."""

    def __init__(
        self, file: str, times: Times, *, base: int, processors: int, seconds: float, seeds: int
    ) -> None:
        self._file = reading.load(EXAMPLES / file)
        assert self._file.bench is not None
        self._bench = replace(self._file.bench, base=base)
        self._times = times
        self._processors = processors
        self._seconds = seconds
        self._seeds = range(seeds)
        self.metrics = cache(self._metrics)
        self.with_copies = cache(self._with_copies)

    def copies(self, load: float, without: Sequence[str]) -> int:
        """How many copies bring a load, where work is shared or not as is wanted."""
        own = [each for each in without if each == "sharing"]

        def load_with(graph: Graph) -> float:
            return load_of(as_wanted(graph, own), self._times, self._processors)

        return copies_for(self._file.graph, self._bench, load, load_with)

    def _metrics(self, load: float, *without: str) -> tuple[Metrics, ...]:
        return self.with_copies(self.copies(load, without), *without)

    def _with_copies(self, copies: int, *without: str) -> tuple[Metrics, ...]:
        graph = checked(as_wanted(copied(self._file.graph, self._bench, copies), without))
        return tuple(self._simulated(graph, seed) for seed in self._seeds)

    def _simulated(self, graph: Checked, seed: int) -> Metrics:
        return simulate(
            graph,
            self._times,
            seconds=self._seconds,
            processors=self._processors,
            seed=seed,
            with_values=False,
        )

    def quantile(self, load: float, consumer: str, share: float, *without: str) -> int:
        return quantile(self.metrics(load, *without), consumer, share)

    def throughput(self, load: float, *without: str) -> float:
        runs = self.metrics(load, *without)
        return sum(each.timely_throughput for each in runs) / len(runs)

    def utilisation(self, load: float, *without: str) -> float:
        runs = self.metrics(load, *without)
        return sum(each.utilisation for each in runs) / len(runs)


def quantile(runs: Sequence[Metrics], consumer: str, share: float) -> int:
    """Of a consumer's latencies in all runs."""
    return sum((latencies_of(each, consumer) for each in runs), Histogram()).quantile(share)


def of_priorities(seeds: int) -> Experiment:
    return Experiment(
        "priorities.toml", _PRIORITIES, base=24, processors=3, seconds=0.06, seeds=seeds
    )


def of_sharing(seeds: int) -> Experiment:
    return Experiment("sharing.toml", _SHARING, base=1, processors=1, seconds=0.1, seeds=seeds)
