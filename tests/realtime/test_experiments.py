"""What priorities, sharing and shedding are for, in virtual time; the benchmark `graphs` has more runs."""

from __future__ import annotations

import pytest
from benchmarks.graph_experiments import (
    LOADS,
    OVERLOADS,
    Experiment,
    of_priorities,
    of_sharing,
    quantile,
)

from tests.effort import IS_QUICK, some

SEEDS = 2 if IS_QUICK else 4


@pytest.fixture(scope="module")
def priorities() -> Experiment:
    return of_priorities(SEEDS)


@pytest.fixture(scope="module")
def sharing() -> Experiment:
    return of_sharing(SEEDS)


def test_loads_are_what_they_should_be(priorities: Experiment, sharing: Experiment) -> None:
    for load in (0.45, 0.95):
        assert priorities.utilisation(load) == pytest.approx(load, abs=0.03)
    assert sharing.utilisation(0.5) == pytest.approx(0.5, abs=0.03)


def test_priorities_keep_the_latency_of_what_is_most_important(priorities: Experiment) -> None:
    few, many = (priorities.quantile(load, "high", 0.99) for load in (0.45, 0.95))
    assert many <= 1.5 * few
    few, many = (priorities.quantile(load, "high", 0.99, "priorities") for load in (0.45, 0.95))
    assert many >= 4 * few  # 5 with more runs


@pytest.mark.parametrize("load", some(LOADS, every=2))
def test_priorities_help_the_middle_and_cost_the_low(priorities: Experiment, load: float) -> None:
    def median(consumer: str, *without: str) -> int:
        return priorities.quantile(load, consumer, 0.5, *without)

    assert median("middle") < median("middle", "priorities")
    assert median("low") > median("low", "priorities")


def test_shedding_keeps_the_throughput_of_what_is_in_time(sharing: Experiment) -> None:
    """Without sharing: where work is shared, streams of high priority cost more than others for each
    byte, and at twice the load there is time for little else."""
    found = [sharing.throughput(load, "sharing") for load in OVERLOADS]
    assert min(found) >= 0.89 * max(found)  # 0.9 with more runs


@pytest.mark.parametrize("others", [(), ("sharing",)], ids=["shared", "not shared"])
def test_shedding_is_never_worse_than_marking(sharing: Experiment, others: tuple[str, ...]) -> None:
    for load in (0.5, *OVERLOADS[::3]):
        shed = sharing.throughput(load, *others)
        marked = sharing.throughput(load, *others, "shedding")
        assert shed >= marked
        if load == 1.5:
            assert shed >= 1.2 * marked


def test_nothing_is_delivered_past_its_validity_where_it_is_shed(sharing: Experiment) -> None:
    for load in OVERLOADS:
        for metrics in sharing.metrics(load, "sharing"):
            assert not any(each.late for each in metrics.consumers.values())


def test_sharing_lowers_latency_most_for_what_is_least_important(sharing: Experiment) -> None:
    """With as many copies as bring a load of 80 percent without it."""
    copies = sharing.copies(0.8, ["sharing"])
    shared, apart = sharing.with_copies(copies), sharing.with_copies(copies, "sharing")
    gained = {
        name: quantile(shared, name, 0.5) / quantile(apart, name, 0.5)
        for name in ("high", "middle", "low")
    }
    assert gained["low"] < min(gained["high"], gained["middle"])
    assert max(gained["high"], gained["middle"]) <= 1.05
