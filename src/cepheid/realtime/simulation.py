"""A graph in virtual time: the machine of real runs, with execution times instead of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import Protocol, TypeAlias

from cepheid.realtime.graph import Supplier
from cepheid.realtime.machine import Delivery, Job, Machine, Time


class Durations(Protocol):
    """How long a job takes."""

    def __call__(self, job: Job[int], rng: Random) -> Time: ...


@dataclass(frozen=True, slots=True)
class Step:
    """A job as it was done."""

    job: Job[int]
    processor: int
    begin: Time
    end: Time


@dataclass(slots=True)
class Course:
    """What happened."""

    deliveries: list[Delivery[int]] = field(default_factory=list)
    released: dict[tuple[str, str], int] = field(default_factory=dict)

    def latencies(self, consumer: str) -> list[Time]:
        return [each.latency for each in self.deliveries if each.consumer.name == consumer]


Watch: TypeAlias = Callable[[Machine[int], Step], None]


def simulate(
    machine: Machine[int],
    durations: Durations,
    *,
    until: Time,
    processors: int,
    seed: int = 0,
    watch: Watch | None = None,
) -> Course:
    """Runs a graph up to a time; the same seed gives the same course."""
    rng, course = Random(seed), Course()
    # What happens, in the order of times: pushes go before ends of jobs, which free a processor.
    agenda: list[tuple[Time, int, int, Iterator[Time] | tuple[Step, int]]] = []
    order = 0
    names: dict[int, str] = {}
    for supplier in machine.graph.suppliers:
        pushes = _pushes(supplier, rng, until)
        first = next(pushes, None)
        if first is not None:
            names[id(pushes)] = supplier.name
            heappush(agenda, (first, 0, order := order + 1, pushes))
    free = list(range(processors))
    while agenda:
        now = agenda[0][0]
        while agenda and agenda[0][0] == now:
            _, _, _, what = heappop(agenda)
            if isinstance(what, tuple):
                step, value = what
                course.deliveries += machine.finish(step.job, now, value)
                heappush(free, step.processor)
                if watch is not None:
                    watch(machine, step)
            else:
                machine.push(names[id(what)], now, 0)
                following = next(what, None)
                if following is not None:
                    heappush(agenda, (following, 0, order := order + 1, what))
        while free and (job := machine.next(now)) is not None:
            taken = durations(job, rng)
            step = Step(job, heappop(free), now, now + taken)
            heappush(agenda, (step.end, 1, order := order + 1, (step, 0)))
    course.released = dict(machine.released)
    return course


def _pushes(supplier: Supplier, rng: Random, until: Time) -> Iterator[Time]:
    """From a random phase on, every period, and up to the jitter later."""
    own = Random(rng.random())
    time = own.randrange(supplier.period)
    while time < until:
        yield time + (own.randrange(supplier.jitter + 1) if supplier.jitter else 0)
        time += supplier.period
