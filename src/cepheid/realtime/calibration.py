"""How long the operators of a graph take on this machine, and what the scheduler adds to that.

Operators run in this process, in the order in which they read each other, over what their suppliers' signals
give. Times can be kept in a file, so that predictions for this machine can be made on another one.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from cepheid.core.values import shown
from cepheid.core.whole_file import whole_file
from cepheid.errors import InputError, RunError, UsageError, error, reason_of
from cepheid.realtime.checking import Checked
from cepheid.realtime.graph import (
    Consumer,
    Graph,
    Operator,
    Supplier,
    Time,
    in_order,
    original,
)
from cepheid.realtime.histogram import Histogram
from cepheid.realtime.machine import Job, Machine, Move, Run, Sample, Take
from cepheid.realtime.metrics import Metrics
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.operators.running import Operators
from cepheid.realtime.payload import OBJECT, Payload
from cepheid.realtime.signals import Signal
from cepheid.realtime.simulation import Durations

_WARM_UP = 20  # runs that do not count: caches are cold, and some operators compile themselves
_WORST = 0.999  # the share of runs that are not longer than what counts as the longest
_FEWEST, _LONG = 20, 3.0  # runs that are enough where more would take so many seconds
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Cost:
    """How long something takes: at worst, which bounds are made of, and on average, which is load."""

    worst: Time
    mean: Time

    @classmethod
    def of(cls, measured: Histogram) -> Cost:
        mean = round(measured.mean)
        return cls(max(measured.quantile(_WORST), mean), mean)


@dataclass(frozen=True, slots=True)
class Times:
    """What a graph needs: its operators for a run, and the scheduler for each job."""

    operators: Mapping[str, Cost]
    take: Cost
    move: Cost
    overhead: Cost  # of a run, or of each step of it

    def step(self, operator: Operator) -> Cost:
        """A step of an operator, with what the scheduler adds."""
        whole = self.operators.get(original(operator.name))
        if whole is None:
            fact = f"nothing says how long '{operator.name}' takes"
            raise UsageError(error("usage", fact, hint="measure this graph again"))
        return Cost(
            -(-whole.worst // operator.steps) + self.overhead.worst,
            whole.mean // operator.steps + self.overhead.mean,
        )


def durations(times: Times, spread: float = 0.1) -> Durations:
    """For simulations: jobs take their time on average, runs up to this share more or less, and never more
    than at worst."""

    def taken(job: Job[Any], rng: Random) -> Time:
        if isinstance(job, Take):
            return times.take.mean
        if isinstance(job, Move):
            return times.move.mean
        step = times.step(job.operator)
        return min(step.worst, round(step.mean * rng.uniform(1 - spread, 1 + spread)))

    return taken


# -- measuring --


def calibrate(checked: Checked, runs: int = 2_000) -> Times:
    """Runs every operator so many times, or fewer where that takes long; RunError where one fails."""
    take, move, overhead = _scheduling(len({*checked.graph.levels.values()}), runs)
    return Times(_operators(checked, runs), take, move, overhead)


def _operators(checked: Checked, runs: int) -> dict[str, Cost]:
    graph = checked.graph
    operators = Operators(checked.works)
    signals = {each.name: Signal(each) for each in graph.suppliers}
    latest = {name: _example(name, payload) for name, payload in checked.payloads.items()}
    wholes = {each.name: Histogram() for each in graph.operators}
    longest = {each.name: Histogram() for each in graph.operators}  # of the steps of a run
    order, begin = in_order(graph), time.perf_counter()
    for number in range(_WARM_UP + runs):
        if number >= _WARM_UP + _FEWEST and time.perf_counter() - begin > _LONG:
            break
        for each in graph.suppliers:
            latest[each.name] = signals[each.name][number]
        for operator in order:
            for job in _jobs(operator, graph, latest, number):
                values, taken = _timed(operators, job)
                if values:
                    latest[operator.name] = values[-1]
                if number >= _WARM_UP:
                    wholes[operator.name].add(sum(taken))
                    longest[operator.name].add(max(taken))
    return {each.name: _cost_of(each, wholes[each.name], longest[each.name]) for each in order}


def _cost_of(operator: Operator, wholes: Histogram, longest: Histogram) -> Cost:
    """At worst all steps are as long as the longest, since any of them can be in the way of others."""
    whole = Cost.of(wholes)
    return Cost(max(whole.worst, Cost.of(longest).worst * operator.steps), whole.mean)


def _example(name: str, payload: Payload) -> Array:
    """Something for readers of an operator that has made no event yet."""
    import numpy as np

    if payload.dtype == OBJECT:
        return np.full(payload.size, None, object)
    return Signal(Supplier(name=name, period=1, validity=1, payload=payload))[0]


def _jobs(
    operator: Operator, graph: Graph, latest: Mapping[str, Array], number: int
) -> Iterator[Run[Array]]:
    """A run over the events of all inputs, or one for each of them."""
    begin = number * graph.rhythms[operator.name].period
    samples = [
        Sample(name, number + 1, begin, begin + 1, begin, latest[name]) for name in operator.inputs
    ]
    if operator.ready_on == "all":
        yield Run(1, operator, tuple(samples), tuple(range(len(samples))))
        return
    for place, sample in enumerate(samples):
        yield Run(1, operator, (sample,), (place,))


def _timed(operators: Operators, job: Run[Array]) -> tuple[Any, list[Time]]:
    """The events that a run makes, and how long each step took."""
    taken, values = [], None
    while values is None:
        begin = _Moment.now()
        try:
            values = operators.run(job)
        except Exception as problem:
            fact = f"'{job.operator.name}' fails on an example: {type(problem).__name__}: {problem}"
            raise RunError(error("operator-failed", fact)) from None
        taken.append(_Moment.now().since(begin))
        job = job._replace(step=job.step + 1)
    return values, taken


class _Moment(NamedTuple):
    clock: Time
    own: Time  # that this thread has worked
    waits: int  # how often it let others work of its own accord

    @classmethod
    def now(cls) -> _Moment:
        usage = resource.getrusage(resource.RUSAGE_THREAD)
        return cls(time.perf_counter_ns(), time.thread_time_ns(), usage.ru_nvcsw)

    def since(self, begin: _Moment) -> Time:
        """Without what others on the machine took; one who waits for something takes all of the time."""
        if self.waits > begin.waits:
            return self.clock - begin.clock
        return self.own - begin.own


def _scheduling(levels: int, runs: int) -> tuple[Cost, Cost, Cost]:
    """What a Take, with its push, a Move and a Run cost besides the work, where there are so many priorities."""
    graph, clock = _chain(max(levels, 2)), time.thread_time_ns
    machine, metrics = Machine[int](graph), Metrics.of(graph, 1)
    found: dict[type, Histogram] = {Take: Histogram(), Move: Histogram(), Run: Histogram()}
    for number in range(_WARM_UP + runs):
        begin = clock()
        machine.push("s", number, 0)
        while (job := machine.next(number)) is not None:
            for delivery in machine.finish(job, number, (0,) if isinstance(job, Run) else ()):
                metrics.deliver(delivery)
            end = clock()
            if number >= _WARM_UP:
                found[type(job)].add(end - begin)
            begin = clock()
    return Cost.of(found[Take]), Cost.of(found[Move]), Cost.of(found[Run])


def _chain(levels: int) -> Graph:
    """An operator of each priority, which reads that of the one before."""
    names = [f"o{level}" for level in range(1, levels + 1)]
    return Graph(
        (Supplier(name="s", period=1, validity=1),),
        tuple(
            Operator(name=name, kind="", inputs=(before,))
            for before, name in zip(("s", *names), names, strict=False)
        ),
        tuple(
            Consumer(name=f"c{level}", input=name, priority=level)
            for level, name in enumerate(names, 1)
        ),
    )


# -- files --


def save_times(times: Times, file: str | os.PathLike[str]) -> None:
    """UsageError where the file cannot be written."""
    text = json.dumps({"format": _FORMAT, **asdict(times)}, indent=2)
    try:
        with whole_file(file) as draft:
            draft.write_text(text + "\n", encoding="utf-8")
    except OSError as problem:
        fact = f"cannot write '{os.fspath(file)}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None


def load_times(file: str | os.PathLike[str]) -> Times:
    """UsageError where the file cannot be read, InputError where it has no times."""
    path = os.fspath(file)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        code = "missing-file" if isinstance(problem, FileNotFoundError) else "bad-file"
        raise UsageError(error(code, f"cannot read '{path}': {reason_of(problem)}")) from None
    except ValueError:
        raise UsageError(error("bad-file", f"'{path}' is not JSON")) from None
    try:
        return _times(data)
    except ValueError as wrong:
        hint = "measure the graph again, which writes such a file"
        raise InputError(error("bad-file", f"'{path}': {wrong}", hint=hint)) from None


def _times(data: object) -> Times:
    table = _table(data, "the file", ("format", "operators", "take", "move", "overhead"))
    if table["format"] != _FORMAT:
        raise ValueError(f"the format is {_FORMAT}, not {shown(table['format'])}")
    operators = table["operators"]
    if not isinstance(operators, dict):
        raise ValueError(f"'operators' has the times of each operator, not {shown(operators)}")
    return Times(
        {name: _cost(each, f"operators.{name}") for name, each in operators.items()},
        *(_cost(table[name], name) for name in ("take", "move", "overhead")),
    )


def _cost(data: object, place: str) -> Cost:
    table = _table(data, f"'{place}'", ("worst", "mean"))
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"'{place}.{name}' is a number of nanoseconds, not {shown(value)}")
    if table["mean"] > table["worst"]:
        raise ValueError(f"'{place}' takes longer on average than at worst")
    return Cost(table["worst"], table["mean"])


def _table(data: object, place: str, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(data, dict) or set(data) != {*names}:
        wanted = ", ".join(f"'{name}'" for name in names)
        raise ValueError(f"{place} has {wanted}, and nothing else")
    return data
