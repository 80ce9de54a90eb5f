"""What is measured: histograms that are close enough, and counts that add up."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.realtime.arrivals import arrivals
from cepheid.realtime.checking import checked
from cepheid.realtime.dispatcher import Dispatcher, Entry
from cepheid.realtime.drawing import shown_time, to_svg
from cepheid.realtime.feeds import Scheduled
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier
from cepheid.realtime.histogram import Histogram
from cepheid.realtime.machine import Delivery, Sample, Take
from cepheid.realtime.metrics import Metrics
from cepheid.realtime.trace import chrome_trace
from tests.effort import examples
from tests.realtime.test_dispatcher import FakeClock, three_levels

TIMES = st.lists(st.integers(0, 10**12), min_size=1, max_size=60)
SHARES = st.sampled_from((0.001, 0.5, 0.9, 0.99, 1.0))


def histogram(values: list[int]) -> Histogram:
    found = Histogram()
    for value in values:
        found.add(value)
    return found


@examples(100)
@given(TIMES, SHARES)
def test_quantiles_are_those_of_the_values_to_one_part_in_128(
    values: list[int], share: float
) -> None:
    exact = sorted(values)[max(1, math.ceil(share * len(values))) - 1]
    found = histogram(values).quantile(share)
    assert exact <= found <= exact * (1 + 1 / 128) + 1
    assert found <= max(values)


@examples(50)
@given(TIMES, TIMES)
def test_the_sum_of_histograms_is_that_of_all_values(one: list[int], other: list[int]) -> None:
    assert histogram(one) + histogram(other) == histogram([*one, *other])


def test_a_histogram_of_a_million_values_stays_small() -> None:
    found = Histogram()
    for value in np.random.default_rng(0).integers(0, 10**9, 100_000).tolist():
        found.add(value)
    assert len(found.counts) < 64 * 40


def test_what_is_late_counts_neither_as_timely_nor_for_throughput() -> None:
    graph = Graph(
        (Supplier(name="s", period=1_000, validity=100),),
        (),
        (Consumer(name="c", input="s", priority=1, deadline=50),),
    )
    metrics = Metrics.of(graph, processors=2)
    consumer = graph.consumers[0]
    for time in (10, 50, 51, 99, 100):  # in time, just so, after the deadline, and after its end
        metrics.deliver(Delivery(consumer, Sample("s", 1, 0, 100, 0, None), time), 125_000)
    found = metrics.consumers["c"]
    assert (found.count, found.late, found.timely) == (5, 3, 2)
    metrics.end, metrics.busy = 2_000_000_000, 1_000_000_000
    assert metrics.timely_throughput == pytest.approx(1.0)
    assert metrics.utilisation == pytest.approx(0.25)


def test_a_trace_has_a_box_for_each_job_and_a_curve_of_what_waits() -> None:
    graph = checked(three_levels())
    dispatcher = Dispatcher(
        graph,
        [Scheduled(arrivals(graph.graph, until=100_000_000))],
        clock=FakeClock(),
        with_trace=True,
    )
    dispatcher.run()
    events = json.loads(chrome_trace(dispatcher.trace))["traceEvents"]
    boxes = [each for each in events if each["ph"] == "X"]
    assert len(boxes) == len(dispatcher.trace)
    assert {"take s", "a", "move to c", "d"} <= {each["name"] for each in boxes}
    assert all(each["dur"] >= 0 and each["ts"] >= 0 for each in boxes)
    curves = [each for each in events if each["ph"] == "C"]
    assert {name for each in curves for name in each["args"]} == {
        f"priority {level}" for level in (1, 2, 3)
    }


def test_a_picture_has_all_nodes_in_the_colours_of_their_priorities() -> None:
    graph = checked(three_levels())
    picture = to_svg(graph.graph, graph.payloads)
    for name in ("s", "t", "a", "b", "c", "d", "high", "middle", "low"):
        assert f">{name}</text>" in picture
    assert [f"priority {level}</text>" in picture for level in (1, 2, 3, 4)] == [True] * 3 + [False]


@pytest.mark.parametrize(
    ("time", "text"),
    [(0, "0 ns"), (999, "999 ns"), (1_500, "1.5 µs"), (10_000_000, "10 ms"), (2 * 10**9, "2 s")],
)
def test_times_are_shown_in_the_largest_unit(time: int, text: str) -> None:
    assert shown_time(time) == text


def test_unused_operators_have_no_colour() -> None:
    graph = Graph(
        (Supplier(name="s", period=1_000, validity=100),),
        (Operator(name="idle", kind="fft", inputs=("s",)),),
        (Consumer(name="c", input="s", priority=1),),
    )
    assert "#eeeeee" in to_svg(graph, checked(graph).payloads)


def test_losses_are_counted_by_their_cause() -> None:
    metrics = Metrics(
        {}, 1, released={("a", "expired"): 2, ("b", "expired"): 3, ("a", "failed"): 7}
    )
    assert [metrics.lost(cause) for cause in ("expired", "failed", "overflow")] == [5, 7, 0]


def test_a_trace_begins_with_its_first_job_and_is_in_microseconds() -> None:
    take = Take(1, Sample("s", 1, 0, 100, 0, np.zeros(1)))
    entries = [Entry(take, 0, begin, begin + 3_500, {1: (1, 2, 3)}) for begin in (7_000, 9_000)]
    events = json.loads(chrome_trace(entries))["traceEvents"]
    boxes = [(each["ts"], each["dur"]) for each in events if each["ph"] == "X"]
    assert boxes == [(0.0, 3.5), (2.0, 3.5)]
    assert [each["args"] for each in events if each["ph"] == "C"] == [{"priority 1": 6}] * 2
