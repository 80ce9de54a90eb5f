"""Programs in the real Maude, by the specifications that Cepheid writes, beside the reference."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec

from benchmarks.measure import Sizes
from benchmarks.reference import are_equal, by_reference, two_pollutants
from benchmarks.report import Figure
from cepheid.core.event import Event
from cepheid.formal.maude.engine import run_in
from cepheid.formal.maude.process import Maude
from cepheid.formal.maude.specify import specify
from cepheid.program.resolved import ResolvedProgram
from cepheid.verbs import parse

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
    expected, reference = _timed(lambda: by_reference(program, events))
    with Maude() as maude:
        in_maude(maude, program, events[:100])  # the first program loads the part that all share
        found, seconds = _timed(lambda: in_maude(maude, program, events))
    return Figure(
        name=f"{what}, {len(events):,} events: seconds in Maude beside the reference",
        ratio=seconds / reference,
        of={"s": seconds, "beside": reference},
        note=f"{len(events) / seconds:,.0f} events/s, {len(found):,} rows",
        is_wrong=not are_equal(found, expected),
    )


def in_maude(maude: Maude, program: ResolvedProgram, events: Sequence[Event]) -> list[Event]:
    return run_in(maude, specify(program), events, events[0].instant, events[-1].instant)


def _timed(job: Callable[[], list[Event]]) -> tuple[list[Event], float]:
    begin = time.perf_counter()
    rows = job()
    return rows, time.perf_counter() - begin


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
