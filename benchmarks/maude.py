"""Programs in Maude: the specification that Cepheid writes, beside the reference and beside rules over
one list of events."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
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

AIR_QUALITY = Path(__file__).parents[1] / "examples" / "airquality"
READINGS = 1_000
OTHER_POLLUTANTS = ("O3", "NO2", "SO2", "CO")
BIKES = """
create schema Bike (number int, speed int, seat boolean);
create context PerBike partition by number from Bike;
@Name('Crash') context PerBike insert into Crash select a.number as number
from pattern [every a=Bike(speed >= 50) -> b=Bike(speed = 0) where timer:within(3 sec)];
@Name('Ghost') context PerBike insert into Ghost select a.number as number
from pattern [every a=Bike(not seat and speed > 0)];
@Name('Left') context PerBike insert into Left select b.number as number
from pattern [every (a=Bike(seat) -> b=Bike(not seat))];
"""
NUMBERS = (1, 2, 3)  # of the bikes, each of which reports once a second
IN_A_LIST = 2_000  # events; their time grows with the square
IN_A_STREAM = 30_000
SECOND = 1_000_000


def run(sizes: Sizes) -> Iterator[Figure]:
    del sizes  # a thousand events are what others have measured
    if find_spec("maude") is None:
        yield Figure(name="Maude", ratio=None, note="pip install 'cepheid[maude]' first")
        return
    yield _beside_reference()
    yield _beside_list()


def _beside_reference() -> Figure:
    program, events = _two_pollutants()
    begin = time.perf_counter()
    expected = _reference(program, events)
    between = time.perf_counter()
    with Maude() as maude:
        found = _by_specification(maude, program, events)
    seconds = time.perf_counter() - between
    return Figure(
        name=f"air quality, two pollutants, {len(events):,} events: seconds beside the reference",
        ratio=seconds / (between - begin),
        of={"s": seconds, "beside": between - begin},
        note=f"{len(found):,} rows; the start of Maude counts",
        is_wrong=[dict(row) for row in found] != [dict(row) for row in expected],
    )


def _two_pollutants() -> tuple[ResolvedProgram, list[Event]]:
    """The part of the air quality program for particles, and a day of seven stations."""
    make = run_path(str(AIR_QUALITY / "generate.py"))["measurements"]
    readings = list(make(7, 24, 1))[:READINGS]
    program = load(AIR_QUALITY / "airquality.epl").resolve()
    names = [s.name for s in program.statements if not s.name.startswith(OTHER_POLLUTANTS)]
    intake = take_in(program.part(names), records_of(readings, on_problem=fail), fail)
    return intake.program, list(intake.events)


def _beside_list() -> Figure:
    program = parse(BIKES).resolve()
    expected = Counter(row.type for row in _reference(program, _rides(IN_A_LIST)))
    rate, (list_based, counts) = specification_rate(), list_rate()
    return Figure(
        name="motorbikes: events per second beside rules over one list of 2,000 events",
        ratio=rate / list_based,
        of={"events/s": rate, "beside": list_based},
        is_wrong=counts != [expected[name] for name in ("Crash", "Ghost", "Left")],
    )


def specification_rate() -> float:
    """Events per second in Maude, by the specification of the program, warm."""
    program, events = parse(BIKES).resolve(), _rides(IN_A_STREAM)
    with Maude() as maude:
        _by_specification(maude, program, events[:1000])
        begin = time.perf_counter()
        _by_specification(maude, program, events)
        return len(events) / (time.perf_counter() - begin)


def list_rate() -> tuple[float, list[int]]:
    """Events per second in Maude, by rules over one list, and how many rows of each kind."""
    events = " ; ".join(
        f"bike({e.instant // SECOND}, {e['number']}, {e['speed']}, {str(e['seat']).lower()})"
        for e in _rides(IN_A_LIST)
    )
    seekers = " ".join(f"seek({p}, {n}, 0)" for p in ("Crash", "Ghost", "Left") for n in NUMBERS)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.onelist"],
        input=json.dumps([events, seekers]),
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, counts = json.loads(done.stdout)
    return IN_A_LIST / seconds, counts


def _rides(count: int) -> list[Event]:
    """Readings of the bikes in turn; now and then one stands still, or nobody sits on it."""
    chance = random.Random(1)
    return [
        Event(
            "Bike",
            place // len(NUMBERS) * SECOND,
            {
                "number": NUMBERS[place % len(NUMBERS)],
                "speed": 0 if chance.random() < 0.02 else chance.randrange(30, 60),
                "seat": chance.random() > 0.01,
            },
            place,
        )
        for place in range(count)
    ]


def _reference(program: ResolvedProgram, events: Sequence[Event]) -> list[Event]:
    machine = Machine(program)
    machine.start(events[0].instant)
    return [row for event in events for row in machine.take(event)]


def _by_specification(
    maude: Maude, program: ResolvedProgram, events: Sequence[Event]
) -> list[Event]:
    return run_in(maude, specify(program), events, events[0].instant, events[-1].instant)
