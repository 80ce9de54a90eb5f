"""The scheduler as a step machine: what is pushed, what a free processor does next, what follows from that.

Each priority has an event processor with three queues. Workers take supplier events from the *InputQ*
and run operators of the *PendingQ*, which goes first; movers carry events for operators of other
priorities from the *MovingQ* to the PendingQ there. A free processor works for the highest priority that
has anything to do, and there first as a worker, then as a mover. So any processing of a priority goes
before sharing from the same or a lower one, and any sharing from a priority before processing of a lower
one. An operator that runs is not interrupted, and runs once at a time, so that its events stay in order.

Nothing here reads a clock or calls an operator: time is passed in, and what a job gives comes back with
`finish`. Real threads and simulations in virtual time drive the same machine.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Generic, TypeAlias, TypeVar

from cepheid.realtime.graph import Consumer, Graph, Level, Operator

T = TypeVar("T")
Time: TypeAlias = int  # nanoseconds


@dataclass(frozen=True, slots=True, eq=False)
class Sample(Generic[T]):
    """An event of a source: valid from its begin up to its end, which it leaves out."""

    source: str
    number: int  # among those of its source
    begin: Time
    end: Time
    pushed: Time  # when the last of the supplier events behind it was
    value: T

    def is_expired(self, now: Time) -> bool:
        return now >= self.end


@dataclass(frozen=True, slots=True)
class Take(Generic[T]):
    """A worker takes an event of a supplier."""

    level: Level
    sample: Sample[T]


@dataclass(frozen=True, slots=True)
class Run(Generic[T]):
    """A worker runs an operator."""

    level: Level
    operator: Operator
    inputs: tuple[Sample[T], ...]


@dataclass(frozen=True, slots=True)
class Move(Generic[T]):
    """A mover carries an event to an operator of another priority."""

    level: Level
    operator: Operator
    place: int  # which of its inputs
    sample: Sample[T]


Job: TypeAlias = Take[T] | Run[T] | Move[T]


@dataclass(frozen=True, slots=True)
class Delivery(Generic[T]):
    consumer: Consumer
    sample: Sample[T]
    time: Time

    @property
    def latency(self) -> Time:
        return self.time - self.sample.pushed

    @property
    def is_late(self) -> bool:
        """Its validity is over, or its consumer's deadline."""
        deadline = self.consumer.deadline
        return self.sample.is_expired(self.time) or (
            deadline is not None and self.latency > deadline
        )


@dataclass(slots=True)
class _Processor(Generic[T]):
    """The queues of one priority."""

    input: deque[Sample[T]] = field(default_factory=deque)
    pending: deque[Operator] = field(default_factory=deque)
    moving: list[tuple[Level, int, Operator, int, Sample[T]]] = field(default_factory=list)


class Machine(Generic[T]):
    """The state of a graph at work."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.released: Counter[tuple[str, str]] = Counter()  # by source and cause
        self._processors: dict[Level, _Processor[T]] = {
            level: _Processor() for level in sorted(set(graph.levels.values()))
        }
        self._unused: dict[str, tuple[deque[Sample[T]], ...]] = {
            each.name: tuple(deque() for _ in each.inputs) for each in graph.operators
        }
        self._queued: Counter[str] = Counter()  # how often an operator stands in a PendingQ
        self._busy: set[str] = set()
        self._uses: dict[Sample[T], int] = {}  # how many still need an event
        self.live: Counter[str] = Counter()  # events of each source that someone needs
        self._made: Counter[str] = Counter()
        self._moved = 0

    # What is pushed

    def push(self, name: str, now: Time, value: T) -> bool:
        """A supplier pushes an event; False where there is no room for it, which is counted."""
        if name not in self.graph.levels:
            return True  # nobody wants it
        if self.live[name] >= self.graph.rings[name]:
            self._release_expired(name, now)
        if self.live[name] >= self.graph.rings[name]:
            self.released[name, "overflow"] += 1
            return False
        supplier = self.graph.sources[name]
        end = now + supplier.validity  # type: ignore[union-attr]
        sample = self._sample(name, now, end, now, value)
        self._processors[self.graph.levels[name]].input.append(sample)
        return True

    def _sample(self, name: str, begin: Time, end: Time, pushed: Time, value: T) -> Sample[T]:
        self._made[name] += 1
        self.live[name] += 1
        sample = Sample(name, self._made[name], begin, end, pushed, value)
        self._uses[sample] = 1  # until it has been handed on
        return sample

    # What is next

    @property
    def is_idle(self) -> bool:
        return not any(p.input or p.pending or p.moving for p in self._processors.values())

    def next(self, now: Time) -> Job[T] | None:
        """What a free processor does now."""
        for level, processor in self._processors.items():
            job = self._work(level, processor, now) or self._share(level, processor, now)
            if job is not None:
                return job
        return None

    def _work(self, level: Level, processor: _Processor[T], now: Time) -> Job[T] | None:
        for _ in range(len(processor.pending)):
            operator = processor.pending.popleft()
            if operator.name in self._busy:
                processor.pending.append(operator)
                continue
            self._queued[operator.name] -= 1
            inputs = self._inputs(operator, now)
            if inputs is not None:
                self._busy.add(operator.name)
                return Run(level, operator, inputs)
        while processor.input:
            sample = processor.input.popleft()
            if not self._is_shed(sample, now):
                return Take(level, sample)
        return None

    def _share(self, level: Level, processor: _Processor[T], now: Time) -> Job[T] | None:
        while processor.moving:
            _, _, operator, place, sample = heappop(processor.moving)
            if not self._is_shed(sample, now):
                return Move(level, operator, place, sample)
        return None

    def _inputs(self, operator: Operator, now: Time) -> tuple[Sample[T], ...] | None:
        """The oldest unused event of each input; where late ones are shed, of those that are valid."""
        queues = self._unused[operator.name]
        if operator.name in self.graph.sheds:
            for queue in queues:
                while queue and queue[0].is_expired(now):
                    self._release(queue.popleft(), "expired")
        if not all(queues):
            return None
        return tuple(queue.popleft() for queue in queues)

    def _is_shed(self, sample: Sample[T], now: Time) -> bool:
        if sample.source in self.graph.sheds and sample.is_expired(now):
            self._release(sample, "expired")
            return True
        return False

    # What follows

    def finish(self, job: Job[T], now: Time, value: T | None = None) -> list[Delivery[T]]:
        """A job is done; of an operator comes the value of the event that it made."""
        if isinstance(job, Take):
            return self._hand_on(job.sample, job.level, now)
        if isinstance(job, Move):
            self._offer(job.operator, job.place, job.sample)
            self._release(job.sample)
            return []
        self._end(job)
        begin, end = max(i.begin for i in job.inputs), min(i.end for i in job.inputs)
        pushed = max(each.pushed for each in job.inputs)
        assert value is not None
        sample = self._sample(job.operator.name, begin, end, pushed, value)
        return self._hand_on(sample, job.level, now)

    def fail(self, job: Run[T]) -> None:
        """An operator made nothing of its inputs."""
        self._end(job)
        self.released[job.operator.name, "failed"] += 1

    def _end(self, job: Run[T]) -> None:
        self._busy.discard(job.operator.name)
        for sample in job.inputs:
            self._release(sample)
        self._make_ready(job.operator)

    def _hand_on(self, sample: Sample[T], level: Level, now: Time) -> list[Delivery[T]]:
        """To consumers, to operators of the same priority, and to movers for all others."""
        found = list(self._delivered(sample, now))
        for operator, place in self.graph.readers[sample.source]:
            there = self.graph.levels.get(operator.name)
            if there is None:
                continue
            if there == level:
                self._offer(operator, place, sample)
            else:
                self._moved += 1
                self._uses[sample] += 1
                entry = (there, self._moved, operator, place, sample)
                heappush(self._processors[level].moving, entry)
        self._release(sample)
        return found

    def _delivered(self, sample: Sample[T], now: Time) -> Iterator[Delivery[T]]:
        for consumer in self.graph.takers[sample.source]:
            if consumer.late == "shed" and sample.is_expired(now):
                self.released[consumer.name, "undelivered"] += 1
            else:
                yield Delivery(consumer, sample, now)

    def _offer(self, operator: Operator, place: int, sample: Sample[T]) -> None:
        self._uses[sample] += 1
        self._unused[operator.name][place].append(sample)
        self._make_ready(operator)

    def _make_ready(self, operator: Operator) -> None:
        """An operator is pending as often as it has an unused event of each input."""
        ready = min(map(len, self._unused[operator.name]))
        while self._queued[operator.name] < ready:
            self._queued[operator.name] += 1
            self._processors[self.graph.levels[operator.name]].pending.append(operator)

    # Who needs what

    def _release(self, sample: Sample[T], cause: str = "") -> None:
        """Someone does not need an event any more; for a cause, or because it has been used."""
        if cause:
            self.released[sample.source, cause] += 1
        self._uses[sample] -= 1
        if not self._uses[sample]:
            del self._uses[sample]
            self.live[sample.source] -= 1

    def _release_expired(self, name: str, now: Time) -> None:
        """Makes room: operators let go of events that are not valid any more, where these are shed."""
        for operator, place in self.graph.readers[name]:
            queue = self._unused[operator.name][place]
            while operator.name in self.graph.sheds and queue and queue[0].is_expired(now):
                self._release(queue.popleft(), "expired")
