"""A graph in virtual time: the machine of real runs, with execution times instead of a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Protocol, TypeAlias

from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.graph import Time
from cepheid.realtime.machine import Delivery, Job, Machine, Run

_NOTHING = (0,)  # the value of an event where only times matter


class Durations(Protocol):
    """How long a job takes, or a step of it."""

    def __call__(self, job: Job[Any], rng: Random, /) -> Time: ...


@dataclass(frozen=True, slots=True)
class Step:
    """A job as it was done."""

    job: Job[Any]
    processor: int
    begin: Time
    end: Time


@dataclass(slots=True)
class Course:
    """What happened."""

    deliveries: list[Delivery[Any]] = field(default_factory=list)
    released: dict[tuple[str, str], int] = field(default_factory=dict)
    busy: Time = 0  # of all processors together
    end: Time = 0

    def latencies(self, consumer: str) -> list[Time]:
        return [each.latency for each in self.deliveries if each.consumer.name == consumer]


Watch: TypeAlias = Callable[[Machine[Any], Step], None]
Deliver: TypeAlias = Callable[[Delivery[Any]], None]
Execute: TypeAlias = Callable[[Run[Any]], Sequence[Any]]


def no_time(_: Job[Any], __: Random) -> Time:
    return 0


def simulate(
    machine: Machine[Any],
    arrivals: Iterable[Arrival],
    durations: Durations,
    *,
    processors: int | None,
    seed: int = 0,
    execute: Execute = lambda _: _NOTHING,
    deliver: Deliver | None = None,
    watch: Watch | None = None,
) -> Course:
    """What becomes of arrivals, on so many processors or as many as it takes.

    Without `deliver`, deliveries are kept. The same arrivals and seed give the same course.
    """
    return _Simulation(machine, durations, processors, seed, execute, deliver, watch).run(arrivals)


class _Simulation:
    def __init__(
        self,
        machine: Machine[Any],
        durations: Durations,
        processors: int | None,
        seed: int,
        execute: Execute,
        deliver: Deliver | None,
        watch: Watch | None,
    ) -> None:
        self.course = Course()
        self._machine = machine
        self._durations = durations
        self._rng = Random(seed)
        self._execute = execute
        self._deliver = deliver or self.course.deliveries.append
        self._watch = watch
        self._free: list[int] = list(range(processors or 0))
        self._more = count() if processors is None else None
        self._order = count()
        self._agenda: list[tuple[Time, int, Step]] = []  # jobs, by their ends

    def run(self, arrivals: Iterable[Arrival]) -> Course:
        pushes = iter(arrivals)
        upcoming = next(pushes, None)
        while upcoming is not None or self._agenda:
            now = self._agenda[0][0] if self._agenda else None
            if upcoming is not None and (now is None or upcoming.time <= now):
                now = upcoming.time
            assert now is not None
            while upcoming is not None and upcoming.time == now:
                self._machine.push(upcoming.supplier, now, upcoming.value)
                upcoming = next(pushes, None)
            ending = []
            while self._agenda and self._agenda[0][0] == now:
                ending.append(heappop(self._agenda)[2])
            for step in ending:
                self._end(step, now)
            self._begin(now)
            self.course.end = now
        self.course.released = dict(self._machine.released)
        return self.course

    def _begin(self, now: Time) -> None:
        """Gives free processors something to do."""
        while self._free or self._more is not None:
            job = self._machine.next(now)
            if job is None:
                return
            taken = self._durations(job, self._rng)
            if self._more is not None and not self._free:
                self._free.append(next(self._more))
            step = Step(job, heappop(self._free), now, now + taken)
            self.course.busy += taken
            heappush(self._agenda, (step.end, next(self._order), step))

    def _end(self, step: Step, now: Time) -> None:
        job = step.job
        if isinstance(job, Run) and job.step + 1 < job.operator.steps:
            self._machine.pause(job)
        else:
            values = self._execute(job) if isinstance(job, Run) else ()
            for delivery in self._machine.finish(job, now, values):
                self._deliver(delivery)
        heappush(self._free, step.processor)
        if self._watch is not None:
            self._watch(self._machine, step)
