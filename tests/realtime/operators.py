"""Operators for tests, and events for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.checking import checked, work_of
from cepheid.realtime.graph import Graph, Operator
from cepheid.realtime.machine import Delivery, Job, Machine, Sample
from cepheid.realtime.operators.kind import Inputs, Work
from cepheid.realtime.operators.running import Operators
from cepheid.realtime.payload import NUMBERS, Payload, payload_of
from cepheid.realtime.simulation import simulate

MS = 1_000_000
REAL = [name for name in NUMBERS if not name.startswith("complex")]
KEY = "000102030405060708090a0b0c0d0e0f"


def operator_of(kind: str, payloads: Sequence[Payload], **settings: Any) -> Operator:
    own = {name: settings.pop(name) for name in ("steps", "within", "fields") if name in settings}
    inputs = tuple(f"s{n}" for n in range(len(payloads)))
    return Operator(name="o", kind=kind, inputs=inputs, parameters=settings, **own)


def made(kind: str, *inputs: str, **settings: Any) -> tuple[Payload, Work]:
    payloads = tuple(map(payload_of, inputs))
    return work_of(operator_of(kind, payloads, **settings), payloads)


def sample(value: Any, number: int = 1, source: str = "s0", begin: int = 0) -> Sample[Any]:
    return Sample(source, number, begin, begin + MS, begin, value)


def array(rng: np.random.Generator, payload: Payload) -> Any:
    dtype = np.dtype(payload.dtype)
    if dtype.kind == "b":
        return rng.random(payload.size) > 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = max(limits.min, -1000), min(limits.max, 1000)
        return rng.integers(low, high, payload.size, dtype, endpoint=True)
    found = rng.normal(0, 100, payload.size)
    if dtype.kind == "c":
        found = found + 1j * rng.normal(0, 100, payload.size)
    return found.astype(dtype)


def inputs_of(rng: np.random.Generator, payloads: Sequence[Payload], number: int = 1) -> Inputs:
    found = [
        sample(array(rng, each), number, f"s{n}", number * MS) for n, each in enumerate(payloads)
    ]
    for each in found:
        each.value.flags.writeable = False  # others have it, too
    return tuple(found)


def run_all(work: Work, runs: Sequence[Inputs]) -> tuple[list[list[Any]], Any]:
    state, found = work.begin(), []
    for inputs in runs:
        state, values = work.step(state, inputs)
        found.append([*values])
    return found, state


def same(first: Sequence[Sequence[Any]], second: Sequence[Sequence[Any]]) -> bool:
    """To the last bit."""
    return [[(v.dtype, v.tobytes()) for v in vs] for vs in first] == [
        [(v.dtype, v.tobytes()) for v in vs] for vs in second
    ]


def one(kind: str, value: Any, **settings: Any) -> list[Any]:
    """The events of one run over one event."""
    value = np.asarray(value)
    _, work = made(kind, f"{value.dtype}[{len(value)}]", **settings)
    return [*work.step(work.begin(), (sample(value),))[1]]


def _at_once(job: Job[Any], rng: Random) -> int:
    return 0


def delivered(graph: Graph, pushes: list[tuple[int, str, Any]]) -> list[Delivery[Any]]:
    """What consumers get of events that are pushed at times in milliseconds."""
    operators = Operators(checked(graph).works)
    arrivals = [Arrival(time * MS, name, np.atleast_1d(value)) for time, name, value in pushes]
    machine = Machine[Any](graph)
    course = simulate(machine, arrivals, _at_once, processors=1, execute=operators.run_whole)
    return course.deliveries


# Functions of a user, which are found by their names, too.


def doubled(values: Any) -> Any:
    return values * 2


def no_sum() -> int:
    return 0


def summed(state: int, values: Any) -> Any:
    state = state + len(values)
    return state, values + state


def in_place(state: Any, values: Any) -> Any:
    state[0] += 1
    return state, values * state[0]


def stepwise(values: Any) -> Iterator[Any]:
    found = np.zeros_like(values)
    for place in range(len(values)):
        found[place] = values[place] * 3
        yield None
    yield found


def stepwise_with_state(state: list[int], values: Any) -> Iterator[Any]:
    for _ in range(3):
        state.append(len(state))
        yield None
    yield state, values + len(state)
