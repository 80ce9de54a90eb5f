"""Firings of a Petri net, beside the same net in the library snakes; and a program that runs as one.

The nets beside snakes have no priorities, because snakes has none. The program is the air quality of
two pollutants over a thousand readings; its rows must be those of the reference semantics.
"""

from __future__ import annotations

import runpy
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import cepheid as cep
from benchmarks.measure import Sizes
from benchmarks.report import Figure, Goal
from cepheid.core.event import Event
from cepheid.engines.local.intake import take_in
from cepheid.formal.petri.net import INT, Arc, Net, Place, ProductOf, Transition
from cepheid.formal.petri.simulation import Simulation, Stop, marked
from cepheid.formal.petri.terms import Apply, Const, Var, product
from cepheid.formal.petri.translate import run as run_net
from cepheid.io import fail, records_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine

READINGS = 1_000
TOKENS = 1_000
FIRINGS = 200_000
PEER_SECONDS = 5.0
X, Y, Z = Var("x"), Var("y"), Var("z")
NUMBERS = list(range(TOKENS))
PAIRS = [(n, n) for n in NUMBERS]
LINKS = [(n, (7 * n + 1) % TOKENS) for n in NUMBERS]


def run(sizes: Sizes) -> Iterator[Figure]:
    del sizes  # the number of tokens is what matters
    yield _air_quality()
    try:
        peer = import_module("snakes.nets")
    except ImportError:
        yield Figure(name="firings per second", ratio=None, note="pip install snakes first")
        return
    nets = {
        "one place, one token counted up": (_counting(), _peer_counting(peer)),
        "two places, joined by a value": (_joining(), _peer_joining(peer)),
    }
    for name, (ours, theirs) in nets.items():
        rate, peer_rate = _rate(ours), _peer_rate(theirs)
        yield Figure(
            name=f"{TOKENS} tokens, {name}: firings per second beside snakes",
            ratio=rate / peer_rate,
            goal=Goal("at least", 1_000),
            of={"firings/s": rate, "beside": peer_rate},
        )


def air_quality() -> tuple[ResolvedProgram, list[Event]]:
    """The statements about two of the pollutants, and a thousand readings."""
    folder = Path(__file__).parents[1] / "examples" / "airquality"
    whole = cep.load(folder / "airquality_fixed.epl").resolve()
    wanted = ("PM25", "NO2", "AirQualityLevel")
    program = whole.part([s.name for s in whole.statements if s.name.startswith(wanted)])
    generate = runpy.run_path(str(folder / "generate.py"), run_name="generate")
    readings = list(islice(generate["measurements"](4, 48, 1), READINGS))
    return program, take_in(program, records_of(readings, on_problem=fail), fail).events


def _air_quality() -> Figure:
    program, events = air_quality()
    start, end = events[0].instant, events[-1].instant
    begin = time.perf_counter()
    rows = run_net(program, events, start, end)
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    machine = Machine(program)
    machine.start(start)
    expected = [row for event in events for row in machine.take(event)]
    reference_seconds = time.perf_counter() - begin
    if list(map(_shown, rows)) != list(map(_shown, expected)):
        raise RuntimeError("the net gives other rows than the reference semantics")
    return Figure(
        name=f"air quality of two pollutants, {READINGS:,} readings: time beside the reference",
        ratio=seconds / reference_seconds,
        of={"s": seconds, "beside": reference_seconds},
        note=f"{len(rows):,} rows, equal; published for another net and machine: 32 minutes",
    )


def _shown(row: Event) -> tuple[object, ...]:
    return row.instant, row.statement, row.type, row.is_old, tuple(row.items())


def _rate(simulation: Simulation) -> float:
    begin = time.perf_counter()
    if simulation.run(limit=FIRINGS) is not Stop.LIMIT:
        raise RuntimeError("the net came to its end")
    return FIRINGS / (time.perf_counter() - begin)


def _peer_rate(fire: Callable[[], None]) -> float:
    begin = time.perf_counter()
    count = 0
    while time.perf_counter() - begin < PEER_SECONDS:
        fire()
        count += 1
    return count / (time.perf_counter() - begin)


def _counting() -> Simulation:
    up = Transition("up", (Arc("p", X),), (Arc("p", Apply("+", X, Const(1))),))
    return Simulation(Net((Place("p", INT),), (up,)), marked({"p": NUMBERS}))


def _joining() -> Simulation:
    pair = ProductOf((INT, INT))
    link = Arc("q", product(Y, Z))
    step = Transition("step", (Arc("p", product(X, Y)), link), (Arc("p", product(X, Z)), link))
    net = Net((Place("p", pair), Place("q", pair)), (step,))
    return Simulation(net, marked({"p": PAIRS, "q": LINKS}))


def _peer_counting(peer: Any) -> Callable[[], None]:
    net = peer.PetriNet("counting")
    net.add_place(peer.Place("p", NUMBERS))
    net.add_transition(peer.Transition("up"))
    net.add_input("p", "up", peer.Variable("x"))
    net.add_output("p", "up", peer.Expression("x + 1"))
    return _firing(net.transition("up"))


def _peer_joining(peer: Any) -> Callable[[], None]:
    def pair(first: str, second: str) -> Any:
        return peer.Tuple([peer.Variable(first), peer.Variable(second)])

    net = peer.PetriNet("joining")
    net.add_place(peer.Place("p", PAIRS))
    net.add_place(peer.Place("q", LINKS))
    net.add_transition(peer.Transition("step"))
    net.add_input("p", "step", pair("x", "y"))
    net.add_input("q", "step", pair("y", "z"))
    net.add_output("p", "step", pair("x", "z"))
    net.add_output("q", "step", pair("y", "z"))
    return _firing(net.transition("step"))


def _firing(transition: Any) -> Callable[[], None]:
    return lambda: transition.fire(transition.modes()[0])
