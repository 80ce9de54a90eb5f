"""Firings of a Petri net, beside the same net in the library snakes; and a program that runs as one.

The nets beside snakes have no priorities, because snakes has none. The program is the air quality of
two pollutants over a thousand readings; its rows must be those of the reference semantics.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from benchmarks.measure import Sizes
from benchmarks.reference import READINGS, are_equal, by_reference, two_pollutants
from benchmarks.report import Figure, Goal
from cepheid.formal.petri.firing.simulation import Simulation, Stop, marked
from cepheid.formal.petri.nets.net import INT, Arc, Net, Place, ProductOf, Transition
from cepheid.formal.petri.nets.terms import Apply, Const, Var, product
from cepheid.formal.petri.translate import run as run_net

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


def _air_quality() -> Figure:
    program, events = two_pollutants()
    begin = time.perf_counter()
    rows = run_net(program, events, events[0].instant, events[-1].instant)
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    expected = by_reference(program, events)
    reference_seconds = time.perf_counter() - begin
    return Figure(
        name=f"air quality of two pollutants, {READINGS:,} readings: time beside the reference",
        ratio=seconds / reference_seconds,
        of={"s": seconds, "beside": reference_seconds},
        note=f"{len(rows):,} rows; published for another net and machine: 32 minutes",
        is_wrong=not are_equal(rows, expected),
    )


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
