"""The scheduler as a step machine: what is pushed, what a free processor does next, what follows from that.

Each priority has an event processor with three queues. Workers take supplier events from the *InputQ*
and run operators of the *PendingQ*, which goes first; movers carry events for operators of other
priorities from the *MovingQ* to the PendingQ there. A free processor works for the highest priority that
has anything to do, and there first as a worker, then as a mover. So any processing of a priority goes
before sharing from the same or a lower one, and any sharing from a priority before processing of a lower
one. An operator that runs is not interrupted, except between its steps, and runs once at a time, so that
its events stay in order.

The events of a source that someone still needs are its ring. A supplier's event that finds the ring full
is refused; one that an operator makes takes the place of the oldest, so that a reader that falls behind
holds nobody up but itself.

Nothing here reads a clock or calls an operator: time is passed in, and what a job gives comes back with
`finish`. Real threads and simulations in virtual time drive the same machine.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from cepheid.realtime.graph import Consumer, Graph, Level, Operator, Supplier, Time

T = TypeVar("T")
_ONLY = (0,)  # the places of operators with one input


@dataclass(slots=True, eq=False)
class Sample(Generic[T]):
    """An event of a source: valid from its begin up to its end, which it leaves out."""

    source: str
    number: int  # among those of its source
    begin: Time
    end: Time
    pushed: Time  # when the last of the supplier events behind it was
    value: T
    uses: int = 1  # by those who still need it; at first, by whom hands it on


class Take(NamedTuple, Generic[T]):
    """A worker takes an event of a supplier."""

    level: Level
    sample: Sample[T]


class Run(NamedTuple, Generic[T]):
    """A worker runs an operator, or a step of it."""

    level: Level
    operator: Operator
    inputs: tuple[Sample[T], ...]
    places: tuple[int, ...]  # which of its inputs these are
    step: int = 0


class Move(NamedTuple, Generic[T]):
    """A mover carries an event to an operator of another priority."""

    level: Level
    operator: Operator
    place: int  # which of its inputs
    sample: Sample[T]


Job: TypeAlias = Take[T] | Run[T] | Move[T]


class Delivery(NamedTuple, Generic[T]):
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
        return self.time >= self.sample.end or (deadline is not None and self.latency > deadline)


class Frozen(NamedTuple, Generic[T]):
    """What a machine keeps between two instants: events that wait for others, and what it has counted."""

    released: dict[tuple[str, str], int]
    rings: dict[str, tuple[int, list[Sample[T]]]]  # with how many events there have been
    unused: dict[str, list[list[Sample[T]]]]  # of each input of an operator


@dataclass(slots=True)
class _Processor(Generic[T]):
    """The queues of one priority."""

    level: Level
    input: deque[Sample[T]] = field(default_factory=deque)
    pending: deque[_Work[T]] = field(default_factory=deque)
    paused: deque[Run[T]] = field(default_factory=deque)  # between two steps
    # By the priority that an event is moved to, the highest first.
    moving: dict[Level, deque[Move[T]]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Work(Generic[T]):
    """An operator with the events of each input that it has not used."""

    operator: Operator
    processor: _Processor[T]
    unused: tuple[deque[Sample[T]], ...]
    is_shed: bool
    rest: Time  # how long it takes at least until something is delivered
    queued: int = 0  # how often it stands in the PendingQ
    is_busy: bool = False

    @property
    def ready(self) -> int:
        """How often it could run."""
        if len(self.unused) == 1:
            return len(self.unused[0])
        lengths = map(len, self.unused)
        return sum(lengths) if self.operator.ready_on == "any" else min(lengths)


@dataclass(slots=True)
class _Outlet(Generic[T]):
    """Where the events of a source go."""

    name: str
    size: int
    is_shed: bool
    rest: Time
    processor: _Processor[T]
    takers: tuple[Consumer, ...]
    near: list[tuple[_Work[T], int]] = field(default_factory=list)  # operators of its own priority
    far: list[tuple[_Work[T], int]] = field(default_factory=list)
    ring: deque[Sample[T]] = field(default_factory=deque)
    made: int = 0


class Machine(Generic[T]):
    """The state of a graph at work."""

    def __init__(self, graph: Graph, rest: Mapping[str, Time] | None = None) -> None:
        """`rest` says how long the way of an event of each source takes at least, if nothing waits."""
        self.graph = graph
        rest = rest or {}
        self.released: Counter[tuple[str, str]] = Counter()  # by source and cause
        levels = sorted(set(graph.levels.values()))
        self._processors: list[_Processor[T]] = [_Processor(level) for level in levels]
        processors = {each.level: each for each in self._processors}
        for each in self._processors:
            each.moving = {level: deque() for level in levels if level > each.level}
        self._works: dict[str, _Work[T]] = {
            o.name: _Work(
                o,
                processors[graph.levels[o.name]],
                tuple(deque() for _ in o.inputs),
                o.name in graph.sheds,
                min((rest.get(name, 0) for name in o.inputs), default=0),
            )
            for o in graph.operators
            if o.name in graph.levels
        }
        self._outlets: dict[str, _Outlet[T]] = {
            name: self._outlet(name, processors[level], rest.get(name, 0))
            for name, level in graph.levels.items()
        }

    def _outlet(self, name: str, processor: _Processor[T], rest: Time) -> _Outlet[T]:
        graph = self.graph
        takers = tuple(graph.takers[name])
        found = _Outlet(name, graph.rings[name], name in graph.sheds, rest, processor, takers)
        for operator, place in graph.readers[name]:
            work = self._works.get(operator.name)
            if work is not None:
                (found.near if work.processor is processor else found.far).append((work, place))
        return found

    @property
    def live(self) -> dict[str, int]:
        """How many events of each source someone needs."""
        return {name: len(outlet.ring) for name, outlet in self._outlets.items()}

    def waiting(self) -> dict[Level, tuple[int, int, int]]:
        """Of each priority, how much stands in InputQ, PendingQ and MovingQ."""
        return {
            each.level: (
                len(each.input),
                len(each.pending) + len(each.paused),
                sum(map(len, each.moving.values())),
            )
            for each in self._processors
        }

    # What is kept

    def freeze(self) -> Frozen[T]:
        """What an idle machine keeps, to be pickled at once: its events are those of the machine."""
        assert self.is_idle
        return Frozen(
            dict(self.released),
            {name: (each.made, [*each.ring]) for name, each in self._outlets.items()},
            {name: [[*queue] for queue in each.unused] for name, each in self._works.items()},
        )

    def thaw(self, frozen: Frozen[T]) -> None:
        """Goes on from there; the machine is a new one of the same graph."""
        self.released.update(frozen.released)
        for name, (made, ring) in frozen.rings.items():
            self._outlets[name].made = made
            self._outlets[name].ring.extend(ring)
        for name, queues in frozen.unused.items():
            for queue, samples in zip(self._works[name].unused, queues, strict=True):
                queue.extend(samples)

    # What is pushed

    def push(self, name: str, now: Time, value: T) -> bool:
        """A supplier pushes an event; False where there is no room for it, which is counted."""
        outlet = self._outlets.get(name)
        if outlet is None:
            return True  # nobody wants it
        if len(outlet.ring) >= outlet.size:
            self._release_expired(outlet, now)
            # Where late events are shed, one that a run has in hand is no event any more.
            live = sum(now < e.end for e in outlet.ring) if outlet.is_shed else len(outlet.ring)
            if live >= outlet.size:
                self.released[name, "overflow"] += 1
                return False
        supplier = self.graph.sources[name]
        assert isinstance(supplier, Supplier)
        sample = self._sample(outlet, now, now + supplier.validity, now, value)
        outlet.processor.input.append(sample)
        return True

    @staticmethod
    def _sample(outlet: _Outlet[T], begin: Time, end: Time, pushed: Time, value: T) -> Sample[T]:
        outlet.made += 1
        sample = Sample(outlet.name, outlet.made, begin, end, pushed, value)
        outlet.ring.append(sample)
        return sample

    # What is next

    @property
    def is_idle(self) -> bool:
        return not any(
            p.input or p.pending or p.paused or any(p.moving.values()) for p in self._processors
        )

    def next(self, now: Time) -> Job[T] | None:
        """What a free processor does now."""
        for processor in self._processors:
            if processor.paused:
                return processor.paused.popleft()
            if processor.pending:
                run = self._pending(processor, now)
                if run is not None:
                    return run
            while processor.input:
                sample = processor.input.popleft()
                if not self._is_shed(sample, now):
                    return Take(processor.level, sample)
            for moving in processor.moving.values():
                while moving:
                    move = moving.popleft()
                    if not self._is_shed(move.sample, now):
                        return move
        return None

    def _pending(self, processor: _Processor[T], now: Time) -> Run[T] | None:
        """The first operator that is not at work and finds its events; those at work keep their places.

        So the order of operators that have nothing to do with each other does not matter to either.
        """
        pending = processor.pending
        busy: list[_Work[T]] = []
        run = None
        while pending and run is None:
            work = pending.popleft()
            if work.is_busy:
                busy.append(work)
                continue
            work.queued -= 1
            places = self._places(work, now)
            if places is not None:
                work.is_busy = True
                inputs = tuple(work.unused[place].popleft() for place in places)
                run = Run(processor.level, work.operator, inputs, places)
        pending.extendleft(reversed(busy))
        return run

    def _places(self, work: _Work[T], now: Time) -> tuple[int, ...] | None:
        """The inputs that an operator takes the oldest unused event of; of shed ones, a valid event."""
        unused = work.unused
        if work.is_shed:
            for queue in unused:
                while queue and now + work.rest >= queue[0].end:
                    self._shed(queue.popleft(), now)
        if len(unused) == 1:
            return _ONLY if unused[0] else None
        if work.operator.ready_on == "any":
            some = [place for place, queue in enumerate(unused) if queue]
            oldest = min(some, key=lambda place: unused[place][0].pushed, default=None)
            return None if oldest is None else (oldest,)
        if work.operator.within is not None:
            self._leave_out_unmatched(unused, work.operator.within)
        return tuple(range(len(unused))) if all(unused) else None

    def _leave_out_unmatched(self, unused: Sequence[deque[Sample[T]]], within: Time) -> None:
        """Events that begin too long before the oldest one of another input."""
        while all(unused):
            last = max(queue[0].begin for queue in unused)
            early = [queue for queue in unused if queue[0].begin < last - within]
            if not early:
                return
            for queue in early:
                self._release(queue.popleft(), "unmatched")

    def _is_shed(self, sample: Sample[T], now: Time) -> bool:
        outlet = self._outlets[sample.source]
        if outlet.is_shed and now + outlet.rest >= sample.end:
            self._shed(sample, now)
            return True
        return False

    def _shed(self, sample: Sample[T], now: Time) -> None:
        self._release(sample, "expired" if now >= sample.end else "hopeless")

    # What follows

    def finish(self, job: Job[T], now: Time, values: Sequence[T] = ()) -> list[Delivery[T]]:
        """A job is done; of an operator come the values of the events that it made."""
        if isinstance(job, Run):
            return self._finish_run(job, now, values)
        if isinstance(job, Take):
            return self._hand_on(self._outlets[job.sample.source], job.sample, now)
        self._offer(self._works[job.operator.name], job.place, job.sample)
        self._release(job.sample)
        return []

    def _finish_run(self, job: Run[T], now: Time, values: Sequence[T]) -> list[Delivery[T]]:
        found: list[Delivery[T]] = []
        inputs = job.inputs
        if values:
            begin, end = inputs[0].begin, inputs[0].end
            pushed = inputs[0].pushed
            for each in inputs:
                begin, end = max(begin, each.begin), min(end, each.end)
                pushed = max(pushed, each.pushed)
            outlet = self._outlets[job.operator.name]
            for value in values:
                if len(outlet.ring) >= outlet.size:
                    self._overwrite(outlet, now)
                sample = self._sample(outlet, begin, end, pushed, value)
                found += self._hand_on(outlet, sample, now)
        self._end(job)
        return found

    def pause(self, job: Run[T]) -> None:
        """A step of an operator is done, and others are left."""
        work = self._works[job.operator.name]
        work.processor.paused.append(job._replace(step=job.step + 1))

    def fail(self, job: Run[T]) -> None:
        """An operator made nothing of its inputs, and not on purpose."""
        self._end(job)
        self.released[job.operator.name, "failed"] += 1

    def _end(self, job: Run[T]) -> None:
        work = self._works[job.operator.name]
        work.is_busy = False
        for sample in job.inputs:
            self._release(sample)

    def _hand_on(self, outlet: _Outlet[T], sample: Sample[T], now: Time) -> list[Delivery[T]]:
        """To consumers, to operators of the same priority, and to movers for all others."""
        found = list(self._delivered(outlet, sample, now)) if outlet.takers else []
        for work, place in outlet.near:
            self._offer(work, place, sample, is_next=True)
        if outlet.far:
            processor = outlet.processor
            for work, place in outlet.far:
                sample.uses += 1
                move = Move(processor.level, work.operator, place, sample)
                processor.moving[work.processor.level].append(move)
        self._release(sample)
        return found

    def _delivered(self, outlet: _Outlet[T], sample: Sample[T], now: Time) -> Iterator[Delivery[T]]:
        for consumer in outlet.takers:
            if consumer.late == "shed" and now >= sample.end:
                self.released[consumer.name, "undelivered"] += 1
            else:
                yield Delivery(consumer, sample, now)

    def _offer(
        self, work: _Work[T], place: int, sample: Sample[T], *, is_next: bool = False
    ) -> None:
        sample.uses += 1
        work.unused[place].append(sample)
        self._make_ready(work, is_next=is_next)

    @staticmethod
    def _make_ready(work: _Work[T], *, is_next: bool = False) -> None:
        """An operator is pending as often as it could run; what follows from a run goes first."""
        ready, pending = work.ready, work.processor.pending
        while work.queued < ready:
            work.queued += 1
            (pending.appendleft if is_next else pending.append)(work)

    # Who needs what

    def _release(self, sample: Sample[T], cause: str = "") -> None:
        """Someone does not need an event any more; for a cause, or because it has been used."""
        if cause:
            self.released[sample.source, cause] += 1
        sample.uses -= 1
        if not sample.uses:
            ring = self._outlets[sample.source].ring
            if ring[0] is sample:
                ring.popleft()
            else:
                ring.remove(sample)

    def _release_expired(self, outlet: _Outlet[T], now: Time) -> None:
        """Makes room: everyone lets go of events that are not valid any more, where these are shed."""
        for work, place in (*outlet.near, *outlet.far):
            queue = work.unused[place]
            while work.is_shed and queue and now + work.rest >= queue[0].end:
                self._shed(queue.popleft(), now)
        inputs = outlet.processor.input
        for sample in [each for each in inputs if each.source == outlet.name]:
            if self._is_shed(sample, now):
                inputs.remove(sample)
        for moving in outlet.processor.moving.values():
            for move in [each for each in moving if each.sample.source == outlet.name]:
                if self._is_shed(move.sample, now):
                    moving.remove(move)

    def _overwrite(self, outlet: _Outlet[T], now: Time) -> None:
        """Makes room for an event: who has not used the oldest one yet will not; runs go on."""
        self._release_expired(outlet, now)
        if len(outlet.ring) < outlet.size:
            return
        for sample in list(outlet.ring):
            self._forget(outlet, sample)
            if len(outlet.ring) < outlet.size:
                return

    def _forget(self, outlet: _Outlet[T], sample: Sample[T]) -> None:
        for work, place in (*outlet.near, *outlet.far):
            queue = work.unused[place]
            if queue and queue[0] is sample:
                self._release(queue.popleft(), "overwritten")
        for moving in outlet.processor.moving.values():
            for move in [each for each in moving if each.sample is sample]:
                moving.remove(move)
                self._release(sample, "overwritten")
