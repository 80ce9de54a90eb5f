"""Events pushed into a session one at a time: how long a push takes, and what memory does.

Memory is that of twenty motorbikes that report once a second to the partitioned motorbike program.
Live state is bounded, so the second half of the events must add next to nothing. Rows are dropped, so
that neither input nor output is counted.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

import cepheid as cep
from benchmarks.inputs import Rides
from benchmarks.measure import Sizes, calibrate
from benchmarks.pairs import LEAST, Measure
from benchmarks.programs import SPEEDS, crash
from benchmarks.report import Figure, Goal

PROGRAM = Path(__file__).parents[1] / "examples" / "motorbike" / "motorbike_partitioned.epl"
BIKES = 20
CITIES = ("Cadiz", "Malaga", "Sevilla", "Granada")
START = 1_488_326_400
SOON = 50.0  # microseconds

Push: TypeAlias = tuple[str, Mapping[str, object], float | None]  # a type, its values, the time


def run(sizes: Sizes) -> Iterator[Figure]:
    yield memory(sizes.events(100_000))
    yield latency(sizes.events(50_000))


def latency(count: int) -> Figure:
    """The 99th percentile of a push into Crash, scaled by the speed of this machine."""
    slow = statistics.median(slow_push(count) for _ in range(LEAST))
    pace = calibrate()
    return Figure(
        name="99th percentile of a push, scaled, beside 50 microseconds",
        ratio=slow / pace / SOON,
        goal=Goal("at most", 1),
        of={"microseconds": slow, "scaled": slow / pace},
    )


def measures(sizes: Sizes) -> Mapping[str, Measure]:
    return {"99th percentile of a push": partial(slow_push, sizes.events(50_000))}


def slow_push(count: int) -> float:
    """The 99th percentile of the times of pushes into Crash, in microseconds."""
    events = next(Rides(events=count).tables()).to_pylist()
    return slowest(cep.open(crash(SPEEDS)), [("Motorbike", e, e["ts"] / 1_000) for e in events])


def slowest(session: cep.Session, pushes: Iterable[Push]) -> float:
    """The 99th percentile of the times of pushes, but for the first fifth of them, in microseconds."""
    taken = []
    for push in pushes:
        begin = time.perf_counter_ns()
        session.send(*push)
        taken.append(time.perf_counter_ns() - begin)
    warm = sorted(taken[len(taken) // 5 :])
    return warm[int(len(warm) * 0.99)] / 1_000


def memory(count: int) -> Figure:
    """Resident memory at the end, beside that half-way."""
    session = cep.open(cep.load(PROGRAM))
    half = 0.0
    for number, reading in enumerate(readings(count), start=1):
        session.send("Motorbike", reading)
        if number == count // 2:
            half = resident_megabytes()
    end = resident_megabytes()
    return Figure(
        name=f"memory after {count:,} events, beside half of them",
        ratio=end / half,
        of={"MB": end, "half-way": half, "bytes of state": len(session.save())},
    )


def readings(count: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Rides with now and then a flat tyre, a full stop or an empty seat, and now and then all three."""
    rng = random.Random(seed)
    crashed: dict[int, int] = {}
    for number in range(count):
        second, bike = divmod(number, BIKES)
        if rng.random() < 0.002:
            crashed[bike] = second + 3
        is_down = crashed.get(bike, -1) >= second
        yield {
            "timestamp": START + second,
            "motorbikeId": bike,
            "location": CITIES[bike % len(CITIES)],
            "speed": 0 if is_down and rng.random() < 0.7 else rng.randrange(30, 130),
            "tirePressure1": 1.0 if is_down else round(rng.uniform(2.1, 3.2), 2),
            "tirePressure2": round(rng.uniform(2.1, 3.2), 2),
            "seat": not is_down or rng.random() < 0.3,
        }


def resident_megabytes() -> float:
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("resident memory is read from /proc, which this system does not have")
