"""No schedule of the machine exceeds what was predicted, and where all is well nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid import realtime
from cepheid.errors import CepheidError, RunError, UsageError
from cepheid.realtime.arrivals import Arrival, arrivals
from cepheid.realtime.calibration import Cost, Times, calibrate, load_times, save_times
from cepheid.realtime.checking import checked
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier
from cepheid.realtime.machine import Job, Machine, Move, Take
from cepheid.realtime.prediction.forecast import predict
from cepheid.realtime.remaining import remaining
from cepheid.realtime.simulation import Durations, simulate
from tests.effort import examples
from tests.realtime.test_dispatcher import three_levels
from tests.realtime.test_machine import SEEDS, US, graph_of

UNTIL = 2_500 * US
LOST = {"overflow", "expired", "hopeless", "overwritten", "undelivered"}


def exactly(time: int) -> Cost:
    return Cost(time, time)


def times_of(graph: Graph, load: float, processors: int, rng: Random) -> Times:
    """By chance, and then scaled to a load."""
    costs = {each.name: rng.randint(1, 40) * US for each in graph.operators}
    small = rng.choice((0, 1, 4)) * US

    def scaled(factor: float) -> Times:
        own = {name: exactly(int(cost * factor)) for name, cost in costs.items()}
        other = exactly(int(small * factor))
        return Times(own, other, other, exactly(0))

    now = predict(graph, scaled(1), processors).load
    return scaled(load / now if now else 1)


def up_to(times: Times, rng: Random) -> Durations:
    """At worst, or whatever is less."""
    is_worst = rng.random() < 0.5

    def taken(job: Job[Any], chance: Random) -> int:
        if isinstance(job, Take):
            cost = times.take
        elif isinstance(job, Move):
            cost = times.move
        else:
            cost = times.step(job.operator)
        return cost.worst if is_worst or chance.random() < 0.6 else chance.randint(0, cost.worst)

    return taken


def hostile(graph: Graph, rng: Random) -> list[Arrival]:
    """Phases and jitter that bring much at once."""

    def of(supplier: Supplier) -> Iterator[Arrival]:
        time, late = rng.choice((0, rng.randrange(supplier.period))), rng.randint(1, 6)
        for number in range((UNTIL - time) // supplier.period):
            jitter = supplier.jitter if number < late else 0
            yield Arrival(time + number * supplier.period + jitter, supplier.name, 0)

    found = [each for supplier in graph.suppliers for each in of(supplier)]
    return sorted(found, key=lambda each: each.time)


LOADS = st.sampled_from((0.1, 0.3, 0.5, 0.7, 0.9, 0.97))


@examples(60)
@given(SEEDS, LOADS, st.integers(1, 3))
def test_no_response_exceeds_its_bound(seed: int, load: float, processors: int) -> None:
    rng = Random(seed)
    graph = graph_of(rng)
    times = times_of(graph, load, processors, rng)
    bounds = {n: each.bound for n, each in predict(graph, times, processors).consumers.items()}
    own = arrivals(graph, until=UNTIL, seed=seed, with_values=False)
    for pushes in (own, hostile(graph, rng)):
        course = simulate(
            Machine[Any](graph), pushes, up_to(times, rng), processors=processors, seed=seed
        )
        for delivery in course.deliveries:
            bound = bounds[delivery.consumer.name]
            assert bound is None or delivery.latency <= bound


@examples(40)
@given(SEEDS, LOADS, st.integers(1, 2))
def test_where_all_is_well_nothing_is_lost_or_late(seed: int, load: float, processors: int) -> None:
    rng = Random(seed)
    graph = _even(graph_of(rng))
    times = times_of(graph, load, processors, rng)
    if not predict(graph, times, processors).holds:
        return
    worst = {each.name: times.step(each).worst * each.steps for each in graph.operators}
    course = simulate(
        Machine[Any](graph, remaining(graph, worst)),
        arrivals(graph, until=UNTIL, seed=seed, with_values=False),
        up_to(times, rng),
        processors=processors,
        seed=seed,
    )
    assert not {cause for _, cause in course.released} & LOST
    assert not any(delivery.is_late for delivery in course.deliveries)


def _even(graph: Graph) -> Graph:
    """Suppliers of one rate, whose events are valid for long enough to be waited for."""
    return replace(
        graph,
        suppliers=tuple(
            replace(each, period=100 * US, validity=max(each.validity, 300 * US), phase=None)
            for each in graph.suppliers
        ),
    )


def test_some_graphs_of_these_tests_have_bounds_and_hold() -> None:
    bounded = held = 0
    for seed in range(20):
        rng = Random(seed)
        graph = _even(graph_of(rng))
        found = predict(graph, times_of(graph, 0.3, 1, rng))
        bounded += all(each.bound is not None for each in found.consumers.values())
        held += found.holds
    assert bounded >= 12
    assert held >= 3


def chain(*, priority: int, name: str = "a", deadline: int | None = None) -> Graph:
    return Graph(
        (Supplier(name=f"s{name}", period=100 * US, validity=200 * US),),
        (Operator(name=name, kind="fft", inputs=(f"s{name}",)),),
        (Consumer(name=f"c{name}", input=name, priority=priority, deadline=deadline),),
    )


def both(one: Graph, other: Graph) -> Graph:
    return Graph(
        one.suppliers + other.suppliers,
        one.operators + other.operators,
        one.consumers + other.consumers,
    )


def test_an_operator_alone_takes_its_time_and_that_of_its_event() -> None:
    times = Times({"a": exactly(10 * US)}, exactly(2 * US), exactly(0), exactly(1 * US))
    found = predict(chain(priority=1, deadline=13 * US), times)
    assert found.consumers["ca"].bound == 13 * US
    assert found.holds
    assert found.load == pytest.approx(0.13)
    assert found.saturation == pytest.approx(1 / 0.13)
    assert not predict(chain(priority=1, deadline=12 * US), times).holds


def test_what_is_less_important_holds_up_once_and_what_is_more_important_always() -> None:
    graph = both(chain(priority=1), chain(priority=2, name="b"))
    costs = {"a": exactly(10 * US), "b": exactly(30 * US)}
    found = predict(graph, Times(costs, exactly(0), exactly(0), exactly(0))).consumers
    assert found["ca"].bound == pytest.approx(40 * US, abs=1)  # b had just begun
    assert found["cb"].bound == pytest.approx(40 * US, abs=2)  # a comes at the same time


def test_steps_hold_up_for_as_long_as_one_of_them() -> None:
    graph = both(chain(priority=1), chain(priority=2, name="b"))
    cut = replace(
        graph, operators=tuple(replace(o, steps=3 if o.name == "b" else 1) for o in graph.operators)
    )
    costs = {"a": exactly(10 * US), "b": exactly(30 * US)}
    found = predict(cut, Times(costs, exactly(0), exactly(0), exactly(0))).consumers
    assert found["ca"].bound == pytest.approx(20 * US, abs=1)


def test_a_graph_with_too_much_work_has_no_bound_where_it_matters() -> None:
    graph = both(chain(priority=1), chain(priority=2, name="b"))
    costs = {"a": exactly(10 * US), "b": exactly(95 * US)}
    found = predict(graph, Times(costs, exactly(0), exactly(0), exactly(0)))
    assert found.consumers["ca"].bound is not None
    assert found.consumers["cb"].bound is None
    assert found.load > 1 > found.saturation


def test_longer_times_have_longer_bounds() -> None:
    rng = Random(5)
    graph = _even(graph_of(rng))
    times = times_of(graph, 0.3, 1, rng)
    more = replace(times, operators={n: exactly(c.worst + US) for n, c in times.operators.items()})
    before, after = predict(graph, times), predict(graph, more)
    for name, forecast in before.consumers.items():
        bound = after.consumers[name].bound
        assert forecast.bound is not None
        assert bound is None or bound >= forecast.bound


def test_times_are_measured_saved_and_read(tmp_path: Path) -> None:
    graph = checked(three_levels())
    times = calibrate(graph, runs=30)
    assert set(times.operators) == {"a", "b", "c", "d"}
    for cost in (*times.operators.values(), times.take, times.move, times.overhead):
        assert 0 <= cost.mean <= cost.worst
    save_times(times, tmp_path / "times.json")
    assert load_times(tmp_path / "times.json") == times


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"operators": {"a": -1}}'])
def test_files_that_are_no_times_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "times.json"
    file.write_text(text)
    with pytest.raises(CepheidError):
        load_times(file)


def test_times_of_another_graph_are_refused() -> None:
    times = Times({}, exactly(0), exactly(0), exactly(0))
    with pytest.raises(UsageError, match="how long 'a' takes"):
        predict(chain(priority=1), times)


def test_an_operator_that_waits_takes_all_of_that_time() -> None:
    arrived = threading.Event()

    def waits(x: Any) -> Any:
        arrived.wait(0.002)  # nobody comes
        return x

    graph = chain(priority=1)
    operator = Operator(name="a", kind="python", inputs=("sa",), parameters={"function": waits})
    times = calibrate(checked(replace(graph, operators=(operator,))), runs=5)
    assert times.operators["a"].mean >= 2_000 * US


def test_an_operator_that_fails_on_an_example_is_named() -> None:
    def fails(_: Any) -> Any:
        raise ValueError("boom")

    operator = Operator(name="a", kind="python", inputs=("sa",), parameters={"function": fails})
    with pytest.raises(RunError, match="'a' fails on an example: ValueError: boom"):
        calibrate(checked(replace(chain(priority=1), operators=(operator,))), runs=5)


def test_no_run_of_a_simulation_takes_longer_than_at_worst() -> None:
    graph = Graph(
        (Supplier(name="s", period=10_000 * US, validity=10_000 * US),),
        (Operator(name="o", kind="average", inputs=("s",), parameters={"window": 2}),),
        (Consumer(name="c", input="o", priority=1),),
    )
    cost, nothing = Cost(1_000 * US, 1_000 * US), Cost(0, 0)
    times = Times({"o": cost}, nothing, nothing, nothing)
    bound = predict(graph, times).consumers["c"].bound
    found = realtime.simulate(graph, times, seconds=1).consumers["c"].latencies
    assert bound is not None
    assert found.count == 100
    assert found.largest <= bound


@pytest.mark.parametrize("with_values", [True, False])
def test_one_event_of_several_is_made_in_simulations_without_values_too(with_values: bool) -> None:
    graph = Graph(
        (Supplier(name="s", period=1_000 * US, validity=10_000 * US),),
        (Operator(name="o", kind="resample", inputs=("s",), parameters={"every": 4}),),
        (Consumer(name="c", input="o", priority=1),),
    )
    found = realtime.simulate(graph, seconds=0.1, with_values=with_values)
    assert found.consumers["c"].count == 25
