"""Graphs at work by the public verbs."""

from __future__ import annotations

import socket
import sys
from collections import deque
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from cepheid import realtime
from cepheid.errors import RunError, UsageError
from cepheid.realtime.arrivals import arrivals
from cepheid.realtime.bench import as_wanted, copied, copies_for, latencies_of, load_of
from cepheid.realtime.calibration import Cost, Times
from cepheid.realtime.dispatcher import SteadyClock
from cepheid.realtime.graph import Late
from cepheid.realtime.machine import Delivery, Job, Machine, Run
from cepheid.realtime.reading import Bench
from cepheid.realtime.remaining import remaining
from cepheid.realtime.running import arrivals_of
from cepheid.realtime.simulation import Step
from cepheid.realtime.simulation import simulate as simulate_machine
from tests.realtime.test_dispatcher import three_levels

MS = 1_000_000
SECOND = 1_000_000_000


def overloaded(late: Late) -> realtime.Graph:
    """Twice as much work as there is time, and two sources of which one is faster."""
    return realtime.Graph(
        (
            realtime.Supplier(name="fast", period=200 * MS, validity=600 * MS),
            realtime.Supplier(name="slow", period=340 * MS, validity=1_000 * MS),
        ),
        (
            realtime.Operator(name="a", kind="average", inputs=("fast",), parameters={"window": 3}),
            realtime.Operator(name="b", kind="cat", inputs=("a", "slow")),
            realtime.Operator(name="c", kind="fft", inputs=("a",)),
        ),
        (
            realtime.Consumer(name="high", input="b", priority=1, late=late),
            realtime.Consumer(name="low", input="c", priority=2, late=late),
        ),
    )


@pytest.mark.parametrize("late", ["mark", "shed"])
def test_memory_is_constant_over_an_hour(late: Late) -> None:
    machine: Machine[Any] = Machine(overloaded(late))
    blocks: list[int] = []
    delivered: deque[Delivery[Any]] = deque(maxlen=1)
    taken = {"a": 100 * MS, "b": 60 * MS, "c": 180 * MS}
    hours = iter([600 * SECOND, 3_590 * SECOND])
    upcoming = next(hours)

    def watch(_: Machine[Any], step: Step) -> None:
        nonlocal upcoming
        if step.end >= upcoming:
            blocks.append(sys.getallocatedblocks())
            upcoming = next(hours, 10**18)

    def durations(job: Job[Any], _: Random) -> int:
        return taken[job.operator.name] if isinstance(job, Run) else 1_000

    pushes = arrivals(machine.graph, until=3_600 * SECOND, with_values=False)
    simulate_machine(
        machine, pushes, durations, processors=1, deliver=delivered.append, watch=watch
    )
    assert machine.released
    assert delivered
    early, last = blocks
    assert last - early < 500


def test_a_real_run_delivers_and_measures() -> None:
    seen: list[str] = []
    ran = realtime.run(
        three_levels(), seconds=0.3, deliver=lambda each: seen.append(each.consumer.name)
    )
    counts = {name: each.count for name, each in ran.metrics.consumers.items()}
    assert {name: seen.count(name) for name in counts} == counts
    assert min(counts.values()) >= 10
    assert 0 < ran.metrics.utilisation <= 1
    assert ran.scheduling == "other"
    assert not ran.troubles


def test_a_simulation_says_the_same_every_time() -> None:
    cost = Cost(2 * MS, MS)
    times = Times(dict.fromkeys("abcd", cost), cost, cost, cost)
    one, other = (
        realtime.simulate(three_levels(), times, seconds=2, seed=3, processors=2) for _ in range(2)
    )
    assert one == other
    assert one != realtime.simulate(three_levels(), times, seconds=2, seed=4, processors=2)


@pytest.mark.parametrize(
    ("settings", "fact"),
    [
        ({"seconds": 0}, "more than no time"),
        ({"seconds": 1, "processors": 0}, "at least one processor"),
        ({}, "nothing says how long"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, Any], fact: str) -> None:
    for verb in (realtime.run, realtime.simulate):
        with pytest.raises(UsageError, match=fact):
            verb(three_levels(), **settings)


def test_a_run_that_is_stopped_before_it_begins_took_no_time() -> None:
    ran = realtime.run(three_levels(), seconds=60, watch=lambda dispatcher: dispatcher.stop())
    assert ran.metrics.seconds == 0
    assert ran.metrics.utilisation == 0


def test_an_operator_that_fails_ends_a_simulation_with_its_name() -> None:
    graph = three_levels()
    a, b, *others = graph.operators
    wrong = replace(b, parameters={"function": lambda x: x[9]})
    with pytest.raises(RunError, match=r"operator 'b' fails at .*: IndexError"):
        realtime.simulate(replace(graph, operators=(a, wrong, *others)), seconds=1)


# When suppliers push


def simple(*names: str, **settings: Any) -> tuple[realtime.Supplier, ...]:
    return tuple(realtime.Supplier(name=name, period=MS, validity=MS, **settings) for name in names)


def read_by(*pairs: str) -> realtime.Graph:
    """Operators that each read two suppliers, and a supplier of which nobody reads another one."""
    operators = tuple(
        realtime.Operator(name=pair, kind="cat", inputs=tuple(pair)) for pair in pairs
    )
    consumers = tuple(
        realtime.Consumer(name=f"of {name}", input=name, priority=1) for name in (*pairs, "e")
    )
    return realtime.Graph(simple(*"abcde"), operators, consumers)


def test_suppliers_whose_events_meet_are_in_step() -> None:
    """However they are connected."""
    found = arrivals(read_by("ab", "cd", "bd"), until=MS, with_values=False)
    times = {each.supplier: each.time for each in found}
    assert len({times[name] for name in "abcd"}) == 1
    assert times["e"] != times["a"]


def test_suppliers_push_up_to_their_jitter_later() -> None:
    consumer = realtime.Consumer(name="c", input="s", priority=1)
    graph = realtime.Graph(simple("s", jitter=1, phase=0), (), (consumer,))
    found = [each.time for each in arrivals(graph, until=40 * MS, with_values=False)]
    assert {time % MS for time in found} == {0, 1}
    assert [time // MS for time in found] == list(range(40))


def test_suppliers_with_an_address_push_nothing_by_themselves() -> None:
    graph = realtime.Graph((*simple("a"), *simple("b", source="udp://127.0.0.1:9")), (), ())
    assert {each.supplier for each in arrivals(graph, until=3 * MS)} == {"a"}


def test_recorded_events_begin_at_the_start_and_end_with_the_last() -> None:
    graph = realtime.Graph((*simple("a", "b"), *simple("c", phase=0)), (), ())
    traces = {"a": [(110, 1)], "b": [(100, 2), (130, 3)]}
    found = arrivals_of(graph, traces, start=1_000, until=None, seed=0, with_values=False)
    assert [(each.time, each.supplier) for each in found] == [
        *((1_000, "b"), (1_000, "c")),
        *((1_010, "a"), (1_030, "b")),
    ]
    some = arrivals_of(graph, traces, start=1_000, until=1_030, seed=0, with_values=False)
    assert [each.time for each in some] == [1_000, 1_000, 1_010]


# What is measured


def test_steps_take_their_time_and_all_of_it_counts() -> None:
    graph = realtime.Graph(
        simple("s", phase=0),
        (realtime.Operator(name="o", kind="ekf", inputs=("s",), steps=3),),
        (realtime.Consumer(name="c", input="o", priority=1),),
    )
    pushes = arrivals(graph, until=2 * MS, with_values=False)
    machine: Machine[Any] = Machine(graph)
    course = simulate_machine(
        machine, pushes, lambda job, _: 10 if isinstance(job, Run) else 1, processors=1
    )
    assert course.latencies("c") == [31, 31]
    assert course.busy == 62
    assert course.end == MS + 31


def test_a_simulation_lasts_as_long_as_it_should_and_counts_bytes() -> None:
    metrics = realtime.simulate(three_levels(), seconds=2)
    assert metrics.end == 2 * SECOND
    found = metrics.consumers["low"]
    assert found.timely_bytes == found.timely * 4 * 8  # four numbers of eight bytes


def test_a_real_run_begins_when_suppliers_may_and_sends_what_it_delivers() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.bind(("127.0.0.1", 0))
        target = f"udp://127.0.0.1:{out.getsockname()[1]}"
        graph = realtime.Graph(
            simple("s", phase=0),
            (),
            (realtime.Consumer(name="c", input="s", priority=1, target=target),),
        )
        clock, prepared = SteadyClock(), list[int]()
        ran = realtime.run(graph, seconds=0.05, watch=lambda _: prepared.append(clock()))
    count = ran.metrics.consumers["c"].count
    assert count > 0
    assert ran.traffic["c"].sent == count
    assert ran.metrics.begin - prepared[0] >= 40 * MS


# How long ways still take


def diamond() -> realtime.Graph:
    """`z` reads `s` at once, and by `long` and `wide`."""
    return realtime.Graph(
        simple("s"),
        (
            realtime.Operator(name="long", kind="cat", inputs=("s",)),
            realtime.Operator(name="wide", kind="cat", inputs=("s",)),
            realtime.Operator(name="z", kind="cat", inputs=("long", "wide", "s")),
        ),
        (realtime.Consumer(name="c", input="z", priority=1),),
    )


def test_the_rest_of_a_way_is_the_shortest_one() -> None:
    """What else a run needs may have been done before."""
    graph, times = diamond(), {"long": 10, "wide": 8, "z": 2}
    assert remaining(graph, times) == {"s": 2, "long": 2, "wide": 2, "z": 0}
    far = replace(graph.operators[2], inputs=("long", "wide"))
    chained = replace(graph, operators=(*graph.operators[:2], far))
    assert remaining(chained, times) == {"s": 10, "long": 2, "wide": 2, "z": 0}


# Load


def test_copies_bring_a_load() -> None:
    bench = Bench(base=2, copies=("low",), without=("shedding",), loads=(), seconds=1)

    def load(graph: realtime.Graph) -> float:
        return 0.1 * len(graph.consumers)  # six of them at first, and another with each copy

    graph = three_levels()
    assert [copies_for(graph, bench, wanted, load) for wanted in (0.1, 0.6, 1.0)] == [2, 2, 6]
    names = [each.name for each in copied(graph, bench, 3).consumers]
    assert names == ["high", "middle", "low", "high~2", "middle~2", "low~2", "low~3"]
    assert {each.late for each in as_wanted(overloaded("shed"), ["shedding"]).consumers} == {"mark"}
    assert {each.late for each in as_wanted(overloaded("shed"), []).consumers} == {"shed"}


def test_a_load_is_made_of_runs_and_of_what_the_scheduler_does() -> None:
    """`a` runs and is moved to `c`, every 10 ms; `d` runs three steps every 20 ms."""
    nothing = Cost(0, 0)
    moves = Times(dict.fromkeys("abcd", nothing), nothing, Cost(MS, MS), nothing)
    assert load_of(three_levels(), moves, 2) == pytest.approx(0.1 / 2)
    takes = replace(moves, take=Cost(MS, MS), move=nothing)
    assert load_of(three_levels(), takes, 1) == pytest.approx(0.1 + 0.05)
    runs = replace(moves, operators=dict.fromkeys("abcd", Cost(3 * MS, 3 * MS)), move=nothing)
    assert load_of(three_levels(), runs, 1) == pytest.approx(3 * 0.3 + 0.15)


def test_latencies_of_copies_are_those_of_a_consumer() -> None:
    graph = copied(three_levels(), Bench(2, (), (), (), 1), 2)
    metrics = realtime.simulate(graph, seconds=1)
    both = metrics.consumers["low"].count + metrics.consumers["low~2"].count
    assert latencies_of(metrics, "low").count == both > metrics.consumers["low"].count


def test_how_long_a_run_is_is_a_number() -> None:
    seconds: Any = "1s"
    with pytest.raises(UsageError, match="seconds are a number, not '1s'"):
        realtime.simulate(three_levels(), seconds=seconds)
