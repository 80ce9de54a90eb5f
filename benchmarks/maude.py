"""Programs in the real Maude, by the specifications that Cepheid writes, beside the reference."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

from benchmarks.measure import Sizes
from benchmarks.report import Figure
from cepheid.core.event import Event
from cepheid.engines.local.intake import take_in
from cepheid.formal.maude.engine import run_in
from cepheid.formal.maude.process import Maude
from cepheid.formal.maude.specify import specify
from cepheid.io import fail, records_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine
from cepheid.verbs import load, parse

EXAMPLES = Path(__file__).parents[1] / "examples"
READINGS = 1_000
OTHER_POLLUTANTS = ("O3", "NO2", "SO2", "CO")
RIDES = 30_000
BIKES = 3  # each reports once a second
SECOND = 1_000_000
PROGRAM = """
create schema Bike (number int, speed int, seat boolean);
create context PerBike partition by number from Bike;
@Name('Crash') context PerBike insert into Crash select a.number as number
from pattern [every a=Bike(speed >= 50) -> b=Bike(speed = 0) where timer:within(3 sec)];
@Name('Ghost') context PerBike insert into Ghost select a.number as number
from pattern [every a=Bike(not seat and speed > 0)];
@Name('Left') context PerBike insert into Left select b.number as number
from pattern [every (a=Bike(seat) -> b=Bike(not seat))];
"""


def run(sizes: Sizes) -> Iterator[Figure]:
    del sizes  # a thousand events are what others have measured
    if find_spec("maude") is None:
        yield Figure(name="Maude", ratio=None, note="pip install 'cepheid[maude]' first")
        return
    yield _figure("air quality with two pollutants", *two_pollutants())
    yield _figure("three patterns of motorbikes", parse(PROGRAM).resolve(), rides(RIDES))


def _figure(what: str, program: ResolvedProgram, events: Sequence[Event]) -> Figure:
    expected, reference = _timed(lambda: _by_reference(program, events))
    with Maude() as maude:
        in_maude(maude, program, events[:100])  # the first program loads the part that all share
        found, seconds = _timed(lambda: in_maude(maude, program, events))
    return Figure(
        name=f"{what}, {len(events):,} events: seconds in Maude beside the reference",
        ratio=seconds / reference,
        of={"s": seconds, "beside": reference},
        note=f"{len(events) / seconds:,.0f} events/s, {len(found):,} rows",
        is_wrong=[dict(row) for row in found] != [dict(row) for row in expected],
    )


def in_maude(maude: Maude, program: ResolvedProgram, events: Sequence[Event]) -> list[Event]:
    return run_in(maude, specify(program), events, events[0].instant, events[-1].instant)


def _by_reference(program: ResolvedProgram, events: Sequence[Event]) -> list[Event]:
    machine = Machine(program)
    machine.start(events[0].instant)
    return [row for event in events for row in machine.take(event)]


def _timed(job: Callable[[], list[Event]]) -> tuple[list[Event], float]:
    begin = time.perf_counter()
    rows = job()
    return rows, time.perf_counter() - begin


def two_pollutants() -> tuple[ResolvedProgram, list[Event]]:
    """The part of the air quality program that is about particles, and a day of seven stations."""
    folder = EXAMPLES / "airquality"
    measurements = run_path(str(folder / "generate.py"))["measurements"]
    readings = list(measurements(7, 24, 1))[:READINGS]
    program = load(folder / "airquality.epl").resolve()
    names = [s.name for s in program.statements if not s.name.startswith(OTHER_POLLUTANTS)]
    intake = take_in(program.part(names), records_of(readings, on_problem=fail), fail)
    return intake.program, list(intake.events)


def rides(count: int) -> list[Event]:
    """Readings of the bikes in turn; now and then one stands still, or nobody sits on it."""
    chance = random.Random(1)
    return [
        Event(
            "Bike",
            place // BIKES * SECOND,
            {
                "number": place % BIKES,
                "speed": 0 if chance.random() < 0.02 else chance.randrange(30, 60),
                "seat": chance.random() > 0.01,
            },
            place,
        )
        for place in range(count)
    ]
