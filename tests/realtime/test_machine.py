"""Schedules of generated graphs keep the order of priorities, the order of events, and validity."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from random import Random
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from cepheid.realtime.arrivals import arrivals
from cepheid.realtime.graph import Consumer, Graph, Late, Operator, Supplier
from cepheid.realtime.machine import (
    Delivery,
    Job,
    Machine,
    Move,
    Run,
    Sample,
    Take,
    _Processor,
    _Work,
)
from cepheid.realtime.remaining import remaining
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
            phase=rng.randrange(50) * US,
        )
        for n in range(rng.randint(1, 4))
    ]
    names = [each.name for each in suppliers]
    operators = []
    for n in range(rng.randint(1, 6)):
        inputs = tuple(rng.sample(names, min(len(names), rng.choice((1, 1, 2, 3)))))
        operators.append(
            Operator(
                name=f"o{n}",
                kind=rng.choice("ab"),
                inputs=inputs,
                ready_on=rng.choice(("all", "all", "any")),
                within=rng.choice((None, None, 30 * US)),
                steps=rng.choice((1, 1, 3)),
            )
        )
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
        work = {each.level: self._has_work(each, now) for each in self._processors}
        moves = {
            each.level: any(
                not self._would_shed(move.sample, now) for q in each.moving.values() for move in q
            )
            for each in self._processors
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

    def _has_work(self, processor: _Processor[int], now: int) -> bool:
        if processor.paused or any(not self._would_shed(s, now) for s in processor.input):
            return True
        return any(self._can_run(work, now) for work in processor.pending)

    @staticmethod
    def _can_run(work: _Work[int], now: int) -> bool:
        operator = work.operator
        queues = [[s for s in q if not (work.is_shed and s.end <= now)] for q in work.unused]
        if operator.ready_on == "any":
            return not work.is_busy and any(queues)
        return not work.is_busy and any(
            operator.within is None
            or max(s.begin for s in chosen) - min(s.begin for s in chosen) <= operator.within
            for chosen in product(*queues)
        )

    def _would_shed(self, sample: Sample[int], now: int) -> bool:
        return sample.source in self.graph.sheds and sample.end <= now


def course_of(seed: int, load: float, processors: int) -> tuple[Graph, Course, list[Step]]:
    machine, steps = Watched(graph_of(Random(seed))), list[Step]()

    def watch(_: Machine[int], step: Step) -> None:
        steps.append(step)

    until = 3_000 * US
    pushes = arrivals(machine.graph, until=until, seed=seed, with_values=False)
    course = simulate(machine, pushes, _taken(load), processors=processors, seed=seed, watch=watch)
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
            if step.job.step:
                continue  # the same events again
            for place, sample in zip(step.job.places, step.job.inputs, strict=True):
                assert sample.number > numbers[name, place], "events are used in their order, once"
                numbers[name, place] = sample.number
                assert name not in graph.sheds or sample.end > step.begin
    for delivery in course.deliveries:
        if delivery.consumer.late == "shed":
            assert delivery.time < delivery.sample.end
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
    pushes = arrivals(machine.graph, until=until, seed=seed, with_values=False)
    simulate(machine, pushes, _taken(load), processors=processors, seed=seed, watch=watch)
    for name, size in machine.graph.rings.items():
        in_hand = len(machine.graph.readers[name])  # what a run has is not overwritten
        assert longest[name] <= size + in_hand
        if name not in machine.graph.sheds and name in {s.name for s in machine.graph.suppliers}:
            assert longest[name] <= size


@examples(30)
@given(SEEDS)
def test_without_load_nothing_waits(seed: int) -> None:
    machine = Machine[int](graph_of(Random(seed)))
    pushes = arrivals(machine.graph, until=3_000 * US, seed=seed, with_values=False)
    course = simulate(machine, pushes, _taken(0.0), processors=2, seed=seed)
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
        assert len(machine.finish(run, end, [2])) == delivered
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


def drained(machine: Machine[int], now: int, *, runs: int = 1) -> list[str]:
    """The operators that run, one after the other, each of which makes so many events."""
    found = []
    while (job := machine.next(now)) is not None:
        if isinstance(job, Run):
            found.append(job.operator.name)
        machine.finish(job, now, [0] * runs if isinstance(job, Run) else ())
    return found


def one_operator(**settings: Any) -> Graph:
    return Graph(
        (Supplier(name="s", period=10, validity=10),),
        (Operator(name="o", kind="a", inputs=("s",)),),
        (Consumer(name="c", input="o", priority=1, **settings),),
    )


def test_what_nobody_took_before_its_end_holds_no_place() -> None:
    """All processors are at work on something else."""
    machine = Machine[int](one_operator(late="shed"))
    for time in range(0, 1_000, 10):
        assert machine.push("s", time, 1)
    assert machine.live["s"] == 1
    assert machine.waiting() == {1: (1, 0, 0)}
    assert machine.released == {("s", "expired"): 99}


def test_what_no_mover_carried_before_its_end_holds_no_place() -> None:
    graph = Graph(
        (Supplier(name="s", period=10, validity=10),),
        (Operator(name="o", kind="a", inputs=("s",)),),
        (
            Consumer(name="c", input="s", priority=1, late="shed"),
            Consumer(name="d", input="o", priority=2, late="shed"),
        ),
    )
    machine = Machine[int](graph)
    for time in range(0, 1_000, 10):
        assert machine.push("s", time, 1)
        take = machine.next(time)
        assert isinstance(take, Take)
        machine.finish(take, time)
    assert machine.live["s"] == 1
    assert machine.waiting() == {1: (0, 0, 1), 2: (0, 0, 0)}
    assert machine.released == {("s", "expired"): 99}


def test_a_ring_has_room_from_the_end_of_an_event_on() -> None:
    """Where late events are shed, also while a run has one in hand."""
    graph = Graph(
        (Supplier(name="s", period=20, validity=20),),
        (Operator(name="o", kind="a", inputs=("s",)),),
        (Consumer(name="c", input="o", priority=1, late="shed"),),
    )
    machine = Machine[int](graph)
    assert machine.push("s", 0, 1)
    machine.finish(cast("Job[int]", machine.next(0)), 0)
    assert isinstance(machine.next(0), Run)
    assert not machine.push("s", 19, 1)
    assert machine.push("s", 20, 1)
    assert machine.released == {("s", "overflow"): 1}


def test_what_cannot_be_in_time_any_more_is_not_begun() -> None:
    """`o` takes 4 and `p` 3, of an event that is valid for 10."""
    graph = Graph(
        (Supplier(name="s", period=10, validity=10),),
        (
            Operator(name="o", kind="a", inputs=("s",)),
            Operator(name="p", kind="a", inputs=("o",)),
        ),
        (Consumer(name="c", input="p", priority=1, late="shed"),),
    )
    rest = remaining(graph, {"o": 4, "p": 3})
    assert rest == {"s": 7, "o": 3, "p": 0}
    for taken, begun, ran, causes in (
        (2, 2, ["o", "p"], {}),
        (3, 3, [], {("s", "hopeless"): 1}),
        (10, 10, [], {("s", "expired"): 1}),
        (2, 3, [], {("s", "hopeless"): 1}),
        (2, 10, [], {("s", "expired"): 1}),
    ):
        machine = Machine[int](graph, rest)
        machine.push("s", 0, 1)
        take = machine.next(taken)
        assert (take is None) == (taken > 2)
        if take is not None:
            machine.finish(take, taken)
        assert drained(machine, begun) == ran
        assert machine.released == causes
    machine = Machine[int](graph, rest)
    machine.push("s", 0, 1)
    machine.finish(cast("Job[int]", machine.next(0)), 0)
    machine.finish(cast("Job[int]", machine.next(0)), 7, [1])
    assert drained(machine, 7) == []
    assert machine.released == {("o", "hopeless"): 1}


def test_an_operator_with_several_inputs_has_the_rest_of_the_shortest_way() -> None:
    graph = Graph(
        (Supplier(name="s", period=10, validity=10), Supplier(name="t", period=10, validity=10)),
        (
            Operator(name="long", kind="a", inputs=("s",)),
            Operator(name="o", kind="a", inputs=("long", "t")),
        ),
        (Consumer(name="c", input="o", priority=1, late="shed"),),
    )
    machine = Machine[int](graph, {"s": 0, "t": 8, "long": 3, "o": 0})
    for name in ("s", "t"):
        machine.push(name, 0, 1)
    assert [drained(machine, 1), machine.released] == [["long", "o"], {}]
    machine = Machine[int](graph, {"s": 0, "t": 0, "long": 3, "o": 0})
    for name in ("s", "t"):
        machine.push(name, 0, 1)
    machine.finish(cast("Job[int]", machine.next(0)), 0)
    run = machine.next(0)
    assert isinstance(run, Run)
    machine.finish(run, 6, [1])
    assert drained(machine, 9) == ["o"]


def test_movers_carry_first_what_is_most_important() -> None:
    graph = Graph(
        (Supplier(name="s", period=10, validity=10),),
        tuple(Operator(name=f"o{n}", kind="a", inputs=("s",)) for n in (3, 2)),
        (
            Consumer(name="c", input="s", priority=1),
            *(Consumer(name=f"c{n}", input=f"o{n}", priority=n) for n in (2, 3)),
        ),
    )
    machine = Machine[int](graph)
    machine.push("s", 0, 1)
    machine.finish(cast("Job[int]", machine.next(0)), 0)
    moves = [machine.next(0), machine.next(0)]
    assert [isinstance(move, Move) and move.operator.name for move in moves] == ["o2", "o3"]


def test_an_operator_is_pending_as_often_as_it_could_run() -> None:
    """Each event of any input is a run; what became ready last goes first."""
    graph = Graph(
        tuple(Supplier(name=name, period=10, validity=10) for name in "stu"),
        (
            Operator(name="any", kind="a", inputs=("s", "t"), ready_on="any"),
            Operator(name="o", kind="a", inputs=("u",)),
        ),
        (
            Consumer(name="c", input="any", priority=1),
            Consumer(name="d", input="o", priority=1),
        ),
    )
    machine = Machine[int](graph)
    for name in "stu":
        machine.push(name, 0, 1)
    takes = [cast("Job[int]", machine.next(0)) for _ in range(3)]
    for take in takes:
        machine.finish(take, 0)
    assert machine.waiting() == {1: (0, 3, 0)}
    assert drained(machine, 0) == ["o", "any", "any"]


def test_what_is_between_two_steps_waits() -> None:
    machine = Machine[int](one_operator())
    machine.push("s", 0, 1)
    machine.finish(cast("Job[int]", machine.next(0)), 0)
    run = machine.next(0)
    assert isinstance(run, Run)
    machine.pause(run)
    assert machine.waiting() == {1: (0, 1, 0)}
    assert not machine.is_idle
    assert machine.next(0) == run._replace(step=1)


def test_an_event_is_late_from_its_end_on_and_after_the_deadline() -> None:
    sample = Sample("s", 1, 0, 100, 20, 0)
    plain = Consumer(name="c", input="s", priority=1)
    assert [Delivery(plain, sample, time).is_late for time in (99, 100)] == [False, True]
    strict = Consumer(name="c", input="s", priority=1, deadline=50)
    assert [Delivery(strict, sample, time).is_late for time in (70, 71)] == [False, True]


def chain(*, late: Late = "mark", apart: bool = False, kept: int = 1) -> Graph:
    """`o` makes events for `p`, which may have another priority; so many of them are valid at once."""
    return Graph(
        (Supplier(name="s", period=10, validity=10 * kept),),
        (
            Operator(name="o", kind="a", inputs=("s",)),
            Operator(name="p", kind="a", inputs=("o",)),
        ),
        (
            Consumer(name="c", input="o", priority=1, late=late),
            Consumer(name="d", input="p", priority=2 if apart else 1, late=late),
        ),
    )


def make_by_o(machine: Machine[int], now: int, count: int) -> None:
    """So many events of `o`, of which `p` uses none."""
    machine.push("s", now, 1)
    machine.finish(cast("Job[int]", machine.next(now)), now)
    run = machine.next(now)
    assert isinstance(run, Run)
    assert run.operator.name == "o"
    machine.finish(run, now, list(range(count)))


def test_an_event_that_an_operator_makes_takes_the_place_of_the_oldest() -> None:
    machine = Machine[int](chain(kept=2))
    make_by_o(machine, 0, 5)
    assert machine.live == {"s": 0, "o": 2, "p": 0}
    assert machine.released == {("o", "overwritten"): 3}
    run = machine.next(0)
    assert isinstance(run, Run)
    assert [each.value for each in run.inputs] == [3]


def test_an_event_that_waits_for_a_mover_is_overwritten_too() -> None:
    machine = Machine[int](chain(apart=True))
    make_by_o(machine, 0, 3)
    assert machine.waiting() == {1: (0, 0, 1), 2: (0, 0, 0)}
    assert machine.live == {"s": 0, "o": 1, "p": 0}
    assert not machine.is_idle
    assert machine.released == {("o", "overwritten"): 2}
    move = machine.next(0)
    assert isinstance(move, Move)
    assert move.sample.value == 2


def test_late_events_that_are_wanted_make_no_more_room_than_is_needed() -> None:
    """Of two that are late, the older one is overwritten."""
    machine = Machine[int](chain(kept=2))
    machine.push("s", 0, 1)
    machine.finish(cast("Job[int]", machine.next(0)), 0)
    run = machine.next(0)
    assert isinstance(run, Run)
    machine.finish(run, 100, [0, 1, 2])
    assert machine.live["o"] == 2
    assert machine.released == {("o", "overwritten"): 1}


def test_runs_between_two_steps_go_on_in_their_order() -> None:
    graph = Graph(
        tuple(Supplier(name=name, period=10, validity=10) for name in "st"),
        tuple(Operator(name=f"o{n}", kind="a", inputs=(n,), steps=2) for n in "st"),
        tuple(Consumer(name=f"c{n}", input=f"o{n}", priority=1) for n in "st"),
    )
    machine = Machine[int](graph)
    for name in "st":
        machine.push(name, 0, 1)
    runs = []
    while (job := machine.next(0)) is not None:
        if isinstance(job, Run):
            runs.append(job)
        else:
            machine.finish(job, 0)
    for run in runs:
        machine.pause(run)
    assert [machine.next(0), machine.next(0)] == [run._replace(step=1) for run in runs]


def test_events_as_far_apart_as_they_may_be_meet() -> None:
    graph = Graph(
        tuple(Supplier(name=name, period=10, validity=100) for name in "st"),
        (Operator(name="o", kind="a", inputs=("s", "t"), within=30),),
        (Consumer(name="c", input="o", priority=1),),
    )
    for apart, ran, causes in ((30, ["o"], {}), (31, [], {("s", "unmatched"): 1})):
        machine = Machine[int](graph)
        machine.push("s", 0, 1)
        machine.push("t", apart, 1)
        assert drained(machine, apart) == ran
        assert machine.released == causes


def test_an_operator_that_takes_any_event_takes_the_oldest_first() -> None:
    graph = Graph(
        tuple(Supplier(name=name, period=10, validity=100) for name in "st"),
        (Operator(name="o", kind="a", inputs=("s", "t"), ready_on="any"),),
        (Consumer(name="c", input="o", priority=1),),
    )
    machine = Machine[int](graph)
    for time, name in enumerate("tsst"):
        machine.push(name, time, 1)
    for take in [cast("Job[int]", machine.next(3)) for _ in range(4)]:
        machine.finish(take, 3)
    found = []
    while (run := machine.next(3)) is not None:
        assert isinstance(run, Run)
        found += [each.source for each in run.inputs]
        machine.finish(run, 3)
    assert found == ["t", "s", "s", "t"]


def test_late_events_that_nobody_wants_are_not_overwritten_but_expired() -> None:
    """From their end on: `o` begins in time, and ends then."""
    for end, causes in ((19, {("o", "overwritten"): 1}), (20, {("o", "expired"): 2})):
        machine = Machine[int](chain(late="shed", kept=2))
        machine.push("s", 0, 1)
        machine.finish(cast("Job[int]", machine.next(0)), 0)
        run = machine.next(0)
        assert isinstance(run, Run)
        machine.finish(run, end, [0, 1, 2])
        assert {k: n for k, n in machine.released.items() if k[0] == "o"} == causes
