"""`cep.debug` over a hundred thousand events: steps forward and back at any place of the run.

Twenty motorbikes report once a second to the partitioned motorbike program. The run has been done once;
then the debugger goes to places by chance and steps there, back before forward, so that what was just
restored helps nothing.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from functools import partial

import cepheid as cep
from benchmarks.measure import Sizes, seconds
from benchmarks.push import PROGRAM, readings
from benchmarks.report import Figure, Goal

SOON = 0.1  # seconds
TRIES = 100


def run(sizes: Sizes) -> Iterator[Figure]:
    count = sizes.events(100_000)
    events = [{"@type": "Motorbike", **reading} for reading in readings(count)]
    debugger = cep.debug(cep.load(PROGRAM), events)
    ran = seconds(debugger.resume)
    backs = moves(debugger, count, debugger.back)
    yield slow(f"a step back at {count:,} events, beside 100 ms", backs)
    steps = moves(debugger, count, debugger.step)
    yield slow(f"a step at {count:,} events, beside 100 ms", steps)
    yield slow(
        f"an event back at {count:,} events",
        moves(debugger, count, partial(debugger.back, "event")),
    )
    yield slow("what the program keeps there, described", moves(debugger, count, debugger.inspect))
    yield Figure(
        name="a run with snapshots, beside one by the same engine",
        ratio=ran / seconds(lambda: cep.run(cep.load(PROGRAM), events, engine="reference")),
        of={"seconds": ran},
    )


def moves(debugger: cep.Debugger, count: int, move: Callable[[], object]) -> list[float]:
    """How long a move takes, at the end of the run and at places by chance."""
    rng = random.Random(1)
    gc.collect()
    taken = []
    for number in range(TRIES):
        debugger.go(count - number % 10 if number % 2 else rng.randrange(1, count))
        taken.append(seconds(move))
    return taken


def slow(name: str, taken: list[float]) -> Figure:
    """The 95th percentile, beside what people take for at once."""
    ordered = sorted(taken)
    found = ordered[int(len(ordered) * 0.95)]
    of = {"ms": found * 1_000, "ms, the slowest": ordered[-1] * 1_000}
    return Figure(name=name, ratio=found / SOON, goal=Goal("at most", 1), of=of)
