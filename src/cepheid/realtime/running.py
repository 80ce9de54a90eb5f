"""Graphs at work: in real time, and in virtual time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from cepheid.core.values import shown
from cepheid.errors import UsageError, error
from cepheid.realtime.arrivals import Arrival, arrivals
from cepheid.realtime.calibration import Times, durations
from cepheid.realtime.checking import Checked, checked
from cepheid.realtime.dispatcher import Dispatcher, Entry, Scheduling, SteadyClock, Trouble
from cepheid.realtime.edges.opening import open_feeds, open_sinks
from cepheid.realtime.edges.traffic import Traffic
from cepheid.realtime.feeds import Feed, Scheduled
from cepheid.realtime.graph import Graph, Time, runs_for_one
from cepheid.realtime.machine import Delivery, Machine, Run
from cepheid.realtime.metrics import Metrics
from cepheid.realtime.operators.running import Operators
from cepheid.realtime.recorded import run_whole, traces_of
from cepheid.realtime.remaining import remaining
from cepheid.realtime.simulation import Durations, Execute, no_time
from cepheid.realtime.simulation import simulate as simulate_machine

SECOND = 1_000_000_000
_LEAD = 50_000_000  # before the first event, for threads and processes to begin
Deliver: TypeAlias = Callable[[Delivery[Any]], None]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a real run brought."""

    graph: Graph
    metrics: Metrics
    scheduling: Scheduling  # what was in force
    troubles: Sequence[Trouble] = ()
    trace: Sequence[Entry] = field(default=(), repr=False)
    traffic: Mapping[str, Traffic] = field(default_factory=dict)  # by supplier or consumer


def run(
    graph: Graph | Checked,
    *,
    seconds: float | None = None,
    processors: int = 1,
    scheduling: Scheduling = "other",
    seed: int = 0,
    times: Times | None = None,
    deliver: Deliver = lambda _: None,
    on_trouble: Callable[[Trouble], None] = lambda _: None,
    with_trace: bool = False,
    watch: Callable[[Dispatcher], None] = lambda _: None,
) -> Ran:
    """Runs a graph in real time, for so many seconds or as long as its files have events.

    Suppliers push by their rates, from their files or from their addresses; consumers with an address
    get their events there, and `deliver` gets all. With `times`, work that cannot be in time any more
    is not begun where late events are shed. `watch` gets the dispatcher before it begins: from then on it
    can be asked for a snapshot, and stopped.
    """
    found = as_checked(graph)
    graph = found.graph
    expect_positive(seconds, processors)
    clock, traces = SteadyClock(), traces_of(graph)
    with ExitStack() as opened:
        feeds = opened.enter_context(open_feeds(graph, found.payloads))
        sinks = opened.enter_context(open_sinks(graph, found.payloads))
        sources: list[Feed] = [*feeds]

        def send(delivery: Delivery[Any]) -> None:
            sinks(delivery)
            deliver(delivery)

        dispatcher = Dispatcher(
            found,
            sources,
            processors=processors,
            clock=clock,
            deliver=send,
            on_trouble=on_trouble,
            with_trace=with_trace,
            scheduling=scheduling,
            rest=_rest(graph, times),
        )
        opened.enter_context(closing(dispatcher))
        watch(dispatcher)
        # All that takes time to prepare is there: now suppliers may begin.
        start = clock() + _LEAD
        until = None if seconds is None else start + round(seconds * SECOND)
        pushes = arrivals_of(graph, traces, start=start, until=until, seed=seed)
        sources.append(Scheduled(pushes))
        metrics = dispatcher.run(until)
        metrics.begin = min(start, metrics.end)  # it may have been stopped before
        return Ran(
            graph,
            metrics,
            dispatcher.scheduling,
            dispatcher.troubles,
            dispatcher.trace,
            {**feeds.traffic, **sinks.traffic},
        )


def simulate(
    graph: Graph | Checked,
    times: Times | None = None,
    *,
    seconds: float | None = None,
    processors: int | None = 1,
    seed: int = 0,
    spread: float = 0.1,
    deliver: Deliver = lambda _: None,
    with_values: bool = True,
) -> Metrics:
    """The same in virtual time: operators take their times, up to `spread` more or less.

    Without times nothing takes any, and without a number of processors there are as many as it takes:
    what is delivered then is what the graph means. `with_values=False` leaves operators out, where only
    times matter.
    """
    found = as_checked(graph)
    graph = found.graph
    expect_positive(seconds, processors)
    until = None if seconds is None else round(seconds * SECOND)
    metrics = Metrics.of(graph, processors or 1)
    sizes = {each.name: _bytes_of(found, each.input) for each in graph.consumers}

    def measure(delivery: Delivery[Any]) -> None:
        metrics.deliver(delivery, sizes[delivery.consumer.name])
        deliver(delivery)

    taken: Durations = no_time if times is None else durations(times, spread)
    execute = partial(run_whole, Operators(found.works)) if with_values else _without_values(graph)
    pushes = arrivals_of(
        graph, traces_of(graph), start=0, until=until, seed=seed, with_values=with_values
    )
    course = simulate_machine(
        Machine(graph, _rest(graph, times)),
        pushes,
        taken,
        processors=processors,
        seed=seed,
        deliver=measure,
        execute=execute,
    )
    metrics.end = course.end if until is None else max(until, course.end)
    metrics.busy, metrics.released = course.busy, course.released
    return metrics


def arrivals_of(
    graph: Graph,
    traces: Mapping[str, Sequence[tuple[Time, Any]]],
    *,
    start: Time,
    until: Time | None,
    seed: int,
    with_values: bool = True,
) -> Iterator[Arrival]:
    """What suppliers push, by their rates or from files, these from their first event on."""
    firsts = [events[0][0] for events in traces.values() if events]
    shift = start - min(firsts, default=start)
    moved = {n: [(time + shift, v) for time, v in events] for n, events in traces.items()}
    if until is None:
        until = max((events[-1][0] + 1 for events in moved.values() if events), default=None)
    if until is None:
        if any(each.source is None for each in graph.suppliers):
            reason = "its files have no events" if traces else "no supplier has a file"
            fact = f"nothing says how long the run is, as {reason}"
            raise UsageError(error("usage", fact, hint="seconds=10, or --for 10s"))
        return iter(())
    return arrivals(
        graph, start=start, until=until, seed=seed, traces=moved, with_values=with_values
    )


def as_checked(graph: Graph | Checked) -> Checked:
    return graph if isinstance(graph, Checked) else checked(graph)


def expect_positive(seconds: float | None, processors: int | None) -> None:
    if not isinstance(seconds, int | float | None):
        raise UsageError(error("usage", f"seconds are a number, not {shown(seconds)}"))
    if seconds is not None and seconds <= 0:
        raise UsageError(error("usage", f"a run takes more than no time, not {seconds:g} seconds"))
    if processors is not None and processors < 1:
        raise UsageError(error("usage", f"there is at least one processor, not {processors}"))


def _without_values(graph: Graph) -> Execute:
    """Events without values, where only times matter: one of each run, or of every so manieth."""
    every = {each.name: runs_for_one(each) for each in graph.operators}
    runs: Counter[str] = Counter()

    def execute(job: Run[Any]) -> Sequence[Any]:
        name = job.operator.name
        runs[name] += 1
        return (0,) if (runs[name] - 1) % every[name] == 0 else ()

    return execute


def _rest(graph: Graph, times: Times | None) -> dict[str, Time]:
    if times is None:
        return {}
    means = {each.name: times.step(each).mean * each.steps for each in graph.operators}
    return remaining(graph, means)


def _bytes_of(found: Checked, name: str) -> int:
    import numpy as np

    payload = found.payloads[name]
    return payload.size * np.dtype(payload.dtype).itemsize if payload.is_number else 0
