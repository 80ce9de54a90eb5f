"""What is to do for the events of a graph: which jobs, how often, how long, in which order of importance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from heapq import nlargest
from types import MappingProxyType

from cepheid.realtime.calibration import Cost, Times
from cepheid.realtime.graph import (
    Graph,
    Level,
    Operator,
    Supplier,
    Time,
    in_order,
    runs_for_one,
)

_ENDLESS = 2_000  # pushes before all work is done; a graph that busy has no bound


def pushes_in(supplier: Supplier, length: Time) -> int:
    """At most so many in a time of this length, without its end."""
    return -(-(length + supplier.jitter) // supplier.period) if length > 0 else 0


def made_by(operator: Operator, runs: int) -> int:
    return -(-runs // runs_for_one(operator))


# The order in which jobs go: workers of a priority, its movers, workers of the next one.
def worker(level: Level) -> int:
    return 2 * level


def mover(level: Level) -> int:
    return 2 * level + 1


@dataclass(frozen=True, slots=True)
class _Job:
    """A Take or a run."""

    level: Level
    steps: int
    step: Cost

    @property
    def worst(self) -> Time:
        return self.steps * self.step.worst


def _some(cost: Cost) -> Cost:
    """At least a nanosecond at worst: what is pushed at the instant when a job would begin goes first."""
    return replace(cost, worst=max(1, cost.worst))


class Demand:
    """What is to do for the events of each source that anybody wants."""

    def __init__(self, graph: Graph, times: Times) -> None:
        self.graph = graph
        self.move = _some(times.move)
        levels = graph.levels
        self.suppliers = [each for each in graph.suppliers if each.name in levels]
        self.operators = [each for each in in_order(graph) if each.name in levels]
        take = _some(times.take)
        self.jobs = {each.name: _Job(levels[each.name], 1, take) for each in self.suppliers}
        self.jobs |= {
            each.name: _Job(levels[each.name], each.steps, _some(times.step(each)))
            for each in self.operators
        }
        self.readers = {
            name: [each for each, _ in graph.readers[name] if each.name in levels]
            for name in self.jobs
        }
        self.blocking = cache(self._blocking_of)
        # How often each event is moved.
        self.moves = {
            name: sum(levels[each.name] > levels[name] for each in readers)
            for name, readers in self.readers.items()
        }

    def _blocking_of(self, rank: int, processors: int) -> Time:
        """The longest less important jobs that can be at work on so many processors, together."""
        found: list[Time] = []
        for name, job in self.jobs.items():
            is_supplier = isinstance(self.graph.sources[name], Supplier)
            if worker(job.level) > rank:
                found += [job.step.worst] * (processors if is_supplier else 1)
            if mover(job.level) > rank and self.moves[name]:
                found += [self.move.worst] * processors
        return sum(nlargest(processors, found))

    def shares(self, of: Callable[[Cost], Time]) -> dict[Level, float]:
        """How much of one processor's time each priority takes in the long run."""
        made = {each.name: 1 / each.period for each in self.suppliers}
        runs = dict(made)
        for each in self.operators:
            rates = [made[name] for name in each.inputs]
            runs[each.name] = sum(rates) if each.ready_on == "any" else min(rates)
            made[each.name] = runs[each.name] / runs_for_one(each)
        found = dict.fromkeys(sorted({job.level for job in self.jobs.values()}), 0.0)
        for name, job in self.jobs.items():
            found[job.level] += runs[name] * job.steps * of(job.step)
            found[job.level] += made[name] * self.moves[name] * of(self.move)
        return found

    def work(
        self,
        rank: int,
        pushes: Callable[[Supplier], int],
        *,
        waiting: Callable[[str], float],
        begun: Mapping[str, int] = MappingProxyType({}),
        delivered: str | None = None,
    ) -> Time:
        """How long all takes that so many pushes bring and that is at least this important.

        An operator that is not ready at first lacks an input, and has events of others `waiting`; one that
        is has `begun` with so many runs. What follows from the event that is delivered comes later.
        """
        made, work = dict[str, int](), 0
        for name, job in self.jobs.items():
            if worker(job.level) > rank:
                continue
            source, runs = self.graph.sources[name], begun.get(name, 0)
            if isinstance(source, Supplier):
                runs += pushes(source)
                made[name] = runs - (name == delivered)
            else:
                runs += _runs(source, made, waiting)
                made[name] = made_by(source, runs - (name == delivered))
            work += runs * job.worst
            if mover(job.level) <= rank:
                work += made[name] * self.moves[name] * self.move.worst
        return work

    def is_endless(self, length: Time) -> bool:
        return sum(pushes_in(each, length) for each in self.suppliers) > _ENDLESS


def _runs(operator: Operator, made: Mapping[str, int], waiting: Callable[[str], float]) -> int:
    """At most, when its inputs make so many events and it is not ready at first."""
    if operator.ready_on == "any":
        return sum(made[name] for name in operator.inputs)
    most = max(made[name] for name in operator.inputs)
    return int(min(most, *(made[name] + waiting(name) for name in operator.inputs)))
