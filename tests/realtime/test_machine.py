"""Schedules of generated graphs keep the order of priorities, the order of events, and validity."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from cepheid.realtime.graph import Consumer, Graph, Late, Operator, Supplier
from cepheid.realtime.machine import Job, Machine, Move, Run, Take
from cepheid.realtime.simulation import Course, Durations, Step, simulate
from tests.effort import examples

US = 1_000


def graph_of(rng: Random) -> Graph:
    """Up to four suppliers, six operators and four consumers of three priorities."""
    suppliers = [
        Supplier(
            name=f"s{n}",
            period=rng.choice((50, 100, 170)) * US,
            validity=rng.choice((40, 100, 400)) * US,
            jitter=rng.choice((0, 0, 20)) * US,
        )
        for n in range(rng.randint(1, 4))
    ]
    names = [each.name for each in suppliers]
    operators = []
    for n in range(rng.randint(1, 6)):
        inputs = tuple(rng.sample(names, min(len(names), rng.choice((1, 1, 2, 3)))))
        operators.append(Operator(name=f"o{n}", kind=rng.choice("ab"), inputs=inputs))
        names.append(f"o{n}")
    kinds: tuple[list[Late], ...] = (["mark"], ["shed"], ["mark", "shed"])
    late = rng.choice(kinds)
    consumers = [
        Consumer(
            name=f"c{n}", input=rng.choice(names), priority=rng.randint(1, 3), late=rng.choice(late)
        )
        for n in range(rng.randint(1, 4))
    ]
    return Graph(tuple(suppliers), tuple(operators), tuple(consumers))


class Watched(Machine[int]):
    """Says what waited when a job was chosen."""

    def next(self, now: int) -> Job[int] | None:
        work = {level: self._has_work(level, now) for level in self._processors}
        moves = {
            level: any(not self._would_shed(entry[-1], now) for entry in each.moving)
            for level, each in self._processors.items()
        }
        job = super().next(now)
        if job is None:
            assert not any(work.values())
            assert not any(moves.values())
            return None
        higher = [level for level in work if level < job.level]
        assert not any(work[level] or moves[level] for level in higher)
        if isinstance(job, Move):
            assert not work[job.level]
        else:
            assert work[job.level]
        return job

    def _has_work(self, level: int, now: int) -> bool:
        processor = self._processors[level]
        if any(not self._would_shed(sample, now) for sample in processor.input):
            return True
        return any(self._can_run(operator, now) for operator in processor.pending)

    def _can_run(self, operator: Operator, now: int) -> bool:
        sheds = operator.name in self.graph.sheds
        queues = self._unused[operator.name]
        return operator.name not in self._busy and all(
            any(not (sheds and sample.is_expired(now)) for sample in queue) for queue in queues
        )

    def _would_shed(self, sample: object, now: int) -> bool:
        return sample.source in self.graph.sheds and sample.is_expired(now)  # type: ignore[attr-defined]


def course_of(seed: int, load: float, processors: int) -> tuple[Graph, Course, list[Step]]:
    machine, steps = Watched(graph_of(Random(seed))), list[Step]()

    def watch(_: Machine[int], step: Step) -> None:
        steps.append(step)

    until = 3_000 * US
    course = simulate(
        machine, _taken(load), until=until, processors=processors, seed=seed, watch=watch
    )
    return machine.graph, course, steps


def _taken(load: float) -> Durations:
    def taken(job: Job[int], rng: Random) -> int:
        return round((rng.randint(1, 60) if isinstance(job, Run) else 1) * US * load)

    return taken


SEEDS = st.integers(0, 10**6)
LOADS = st.sampled_from((0.0, 0.3, 1.0, 2.5))


@examples(60)
@given(SEEDS, LOADS, st.integers(1, 3))
def test_schedules_keep_their_promises(seed: int, load: float, processors: int) -> None:
    """Priorities are checked by `Watched`, at each choice."""
    graph, course, steps = course_of(seed, load, processors)
    running: dict[str, int] = {}
    numbers: dict[tuple[str, int], int] = defaultdict(int)
    for step in sorted(steps, key=lambda each: (each.begin, each.end)):
        if isinstance(step.job, Run):
            name = step.job.operator.name
            assert running.get(name, 0) <= step.begin, "an operator runs once at a time"
            running[name] = step.end
            for place, sample in enumerate(step.job.inputs):
                assert sample.number > numbers[name, place], "events are used in their order, once"
                numbers[name, place] = sample.number
                assert name not in graph.sheds or not sample.is_expired(step.begin)
    for delivery in course.deliveries:
        if delivery.consumer.late == "shed":
            assert not delivery.sample.is_expired(delivery.time)
        assert delivery.latency >= 0


@examples(40)
@given(SEEDS, LOADS, st.integers(1, 3))
def test_rings_are_never_longer_than_they_are(seed: int, load: float, processors: int) -> None:
    longest: Counter[str] = Counter()

    def watch(machine: Machine[int], _: Step) -> None:
        for name, count in machine.live.items():
            longest[name] = max(longest[name], count)

    machine = Machine[int](graph_of(Random(seed)))
    until = 3_000 * US
    simulate(machine, _taken(load), until=until, processors=processors, seed=seed, watch=watch)
    for each in machine.graph.suppliers:
        assert longest[each.name] <= machine.graph.rings[each.name]


@examples(30)
@given(SEEDS)
def test_without_load_nothing_waits(seed: int) -> None:
    machine = Machine[int](graph_of(Random(seed)))
    course = simulate(machine, _taken(0.0), until=3_000 * US, processors=2, seed=seed)
    assert machine.is_idle
    assert {delivery.latency for delivery in course.deliveries} <= {0}
    for consumer in machine.graph.consumers:
        if consumer.input.startswith("s"):  # it waits for no other supplier
            assert course.latencies(consumer.name)


def test_an_event_is_expired_at_its_end() -> None:
    graph = Graph(
        (Supplier(name="s", period=100, validity=10),),
        (Operator(name="o", kind="a", inputs=("s",)),),
        (Consumer(name="c", input="o", priority=1, late="shed"),),
    )
    for end, delivered in ((9, 1), (10, 0)):
        machine = Machine[int](graph)
        assert machine.push("s", 0, 1)
        take = machine.next(0)
        assert isinstance(take, Take)
        machine.finish(take, 0)
        run = machine.next(0)
        assert isinstance(run, Run)
        assert len(machine.finish(run, end, 2)) == delivered
        assert machine.released == ({} if delivered else {("c", "undelivered"): 1})
        assert machine.is_idle


def test_a_full_ring_is_an_overflow_where_nothing_is_shed() -> None:
    graph = Graph(
        (Supplier(name="s", period=100, validity=100),),
        (Operator(name="o", kind="a", inputs=("s",)),),
        (Consumer(name="c", input="o", priority=1),),
    )
    machine = Machine[int](graph)
    assert machine.push("s", 0, 1)
    assert not machine.push("s", 100, 2)
    assert machine.released == {("s", "overflow"): 1}


def test_an_operator_that_fails_gives_its_events_back() -> None:
    graph = Graph(
        (Supplier(name="s", period=100, validity=100),),
        (Operator(name="o", kind="a", inputs=("s",)),),
        (Consumer(name="c", input="o", priority=1),),
    )
    machine = Machine[int](graph)
    for time in (0, 100):
        assert machine.push("s", time, 1)
        take = machine.next(time)
        assert take is not None
        machine.finish(take, time)
        run = machine.next(time)
        assert isinstance(run, Run)
        machine.fail(run)
    assert machine.released == {("o", "failed"): 2}
