"""Graph queries over live models: a transaction with the matches kept up to date, beside all anew.

The model is a plant of hosts that run applications; the query is local: applications that need more
than their host has left. The closure is that of the links of a forest, whose parts are hung elsewhere.
The body of a person has 40 numbers; a frame sets all of a hundred persons, 25 times a second.
Quick fixes are for hosts that have more free than they have, for each of which there are two.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import cepheid as cep
from benchmarks import live_gestures
from benchmarks.measure import Sizes
from benchmarks.report import Figure, Goal
from cepheid.live import (
    DOUBLE,
    INT,
    Attribute,
    Class,
    Matcher,
    Metamodel,
    Model,
    Object,
    Reference,
    parse_queries,
    quick_fixes,
)
from cepheid.program.tree import ProgramTree

PLANT = Metamodel(
    "plant",
    (
        Class("Plant", (Reference("hosts", "Host", containment=True, upper=None),)),
        Class(
            "Host",
            (
                Attribute("free", INT),
                Attribute("total", INT),
                Reference("runs", "Application", containment=True, upper=None, opposite="host"),
            ),
        ),
        Class(
            "Application",
            (Attribute("needs", INT), Reference("host", "Host", opposite="runs")),
        ),
    ),
)
LOCAL = """
pattern tooLittle(h : Host, a : Application) {
    Host.runs(h, a);
    Host.free(h, free);
    Application.needs(a, needs);
    check(needs > free);
}
"""
TOO_MUCH = """
@Constraint(key = {h}, message = "too much", severity = "error")
pattern tooMuch(h : Host) { Host.free(h, free); Host.total(h, total); check(free > total); }
"""
FIXES = """
fix lower on tooMuch(h) { set h.free = h.total }
fix extend on tooMuch(h) { set h.total = h.free }
"""
APPLICATIONS = 9  # of a host
STEPS = 10  # of a transaction

FOREST = Metamodel("forest", (Class("Node", (Reference("next", "Node", upper=None),)),))
CLOSURE = """
private pattern step(a : Node, b : Node) { Node.next(a, b); }
pattern reaches(a : Node, b : Node) { find step+(a, b); }
"""

JOINTS = 13
PERSON = Metamodel(
    "person",
    (
        Class("Joint", tuple(Attribute(n, DOUBLE) for n in ("x", "y", "z")), is_abstract=True),
        *(Class(n, (), ("Joint",)) for n in ("Head", "Hand", "Elbow", "Shoulder", "Other")),
        Class(
            "Body",
            (
                Attribute("seen", DOUBLE),
                *(Reference(n.lower(), n, containment=True) for n in ("Head", "Hand", "Elbow")),
                Reference("shoulder", "Shoulder", containment=True),
                Reference("others", "Other", containment=True, upper=None),
            ),
        ),
    ),
)
POSTURES = """
pattern start(b : Body, hand : Hand, elbow : Elbow, shoulder : Shoulder, head : Head) {
    Body.head(b, head);
    find stretched(b, hand, elbow, shoulder);
    neg find above(b, hand, head);
}
private pattern stretched(b : Body, hand : Hand, elbow : Elbow, shoulder : Shoulder) {
    Body.hand(b, hand);
    Body.elbow(b, elbow);
    Body.shoulder(b, shoulder);
    check(hand.x - elbow.x > 0.2 and elbow.x - shoulder.x > 0.2);
}
private pattern above(b : Body, hand : Hand, head : Head) {
    Body.hand(b, hand);
    Body.head(b, head);
    check(moving_avg(hand.y, 5) > moving_avg(head.y, 5));
}
"""


def run(sizes: Sizes) -> Iterator[Figure]:
    yield frames()
    yield from live_gestures.figures()
    yield local(sizes.events(100_000))
    yield growth(sizes.events(1_000_000))
    yield closure(sizes.events(10_000))
    yield one_host()
    yield many_hosts(20)


def median(job: Callable[[], object], times: int) -> float:
    """Seconds; the first runs are for warming up."""
    taken = []
    gc.collect()
    for _ in range(times):
        begin = time.perf_counter()
        job()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken[times // 5 :])


# Local queries.


def plant(elements: int, rng: random.Random) -> tuple[Model, list[Object], list[Object]]:
    model = Model(PLANT)
    hosts, applications = [], []
    with model.transaction() as change:
        root = change.create("Plant")
        for _ in range(elements // (APPLICATIONS + 1)):
            host = change.create("Host", free=rng.randrange(100), total=100)
            change.add(root, "hosts", host)
            hosts.append(host)
            for _ in range(APPLICATIONS):
                one = change.create("Application", needs=rng.randrange(50))
                change.add(host, "runs", one)
                applications.append(one)
    return model, hosts, applications


def change_plant(
    model: Model, hosts: list[Object], applications: list[Object], rng: random.Random
) -> None:
    """Ten changes: what applications need, what a host has left, and two applications that move."""
    with model.transaction() as change:
        for _ in range(STEPS - 3):
            change.set(rng.choice(applications), "needs", rng.randrange(50))
        change.set(rng.choice(hosts), "free", rng.randrange(100))
        change.move(rng.choice(applications), rng.choice(hosts), "runs")
        change.move(rng.choice(applications), rng.choice(hosts), "runs")


def local(elements: int) -> Figure:
    rng = random.Random(1)
    queries = parse_queries(LOCAL, PLANT)
    model, hosts, applications = plant(elements, rng)
    anew = median(lambda: Matcher(model, queries).close(), 5)
    matcher = Matcher(model, queries)
    kept = median(partial(change_plant, model, hosts, applications, rng), 1_000)
    return Figure(
        name=f"a local query of {elements:,} elements: all anew, beside a transaction of {STEPS} changes",
        ratio=anew / kept,
        goal=Goal("at least", 1_000),
        of={
            "seconds anew": anew,
            "microseconds": kept * 1e6,
            "matches": matcher.count("tooLittle"),
        },
        is_wrong=not is_right(matcher, "tooLittle"),
    )


def growth(largest: int) -> Figure:
    rng = random.Random(1)
    queries = parse_queries(LOCAL, PLANT)
    taken = {}
    for elements in (1_000, largest):
        model, hosts, applications = plant(elements, rng)
        matcher = Matcher(model, queries)
        taken[elements] = median(partial(change_plant, model, hosts, applications, rng), 2_000)
        matcher.close()
    small, large = taken.values()
    return Figure(
        name=f"a transaction on {largest:,} elements, beside one on 1,000",
        ratio=large / small,
        goal=Goal("at most", 2),
        of={"microseconds": large * 1e6, "beside": small * 1e6},
    )


def is_right(matcher: Matcher, query: str) -> bool:
    """Whether a matcher that starts now finds the same."""
    fresh = Matcher(matcher.model, matcher.queries)
    fresh.close()
    return fresh.matches(query) == matcher.matches(query)


# Transitive closure.


def closure(nodes: int, depth: int = 20) -> Figure:
    rng = random.Random(1)
    queries = parse_queries(CLOSURE, FOREST)
    model = Model(FOREST)
    levels: list[list[Object]] = []
    with model.transaction() as change:
        for level in range(depth):
            levels.append([change.create("Node") for _ in range(nodes // depth)])
            for one in levels[-1] if level else []:
                change.add(rng.choice(levels[-2]), "next", one)
    above = {one: s for level in levels for s in level for one in s["next"]}  # type: ignore[union-attr]
    anew = median(lambda: Matcher(model, queries).close(), 5)
    matcher = Matcher(model, queries)

    def hang_elsewhere() -> None:
        level = rng.randrange(1, depth)
        one, parent = rng.choice(levels[level]), rng.choice(levels[level - 1])
        with model.transaction() as change:
            change.remove(above[one], "next", one)
            change.add(parent, "next", one)
        above[one] = parent

    kept = median(hang_elsewhere, 500)
    return Figure(
        name=f"closure of a forest of {nodes:,} nodes, depth {depth}: all anew, beside a part hung elsewhere",
        ratio=anew / kept,
        goal=Goal("at least", 50),
        of={"seconds anew": anew, "microseconds": kept * 1e6, "pairs": matcher.count("reaches")},
        is_wrong=not is_right(matcher, "reaches"),
    )


# Frames.


def frames(bodies: int = 100, count: int = 60) -> Figure:
    rng = random.Random(1)
    model = Model(PERSON)
    people = []
    with model.transaction() as change:
        for _ in range(bodies):
            parts = {n.lower(): change.create(n) for n in ("Head", "Hand", "Elbow", "Shoulder")}
            others = [change.create("Other") for _ in range(JOINTS - len(parts))]
            body = change.create("Body", **parts, others=others)
            people.append((body, [*parts.values(), *others]))
    matcher = Matcher(model, parse_queries(POSTURES, PERSON))
    found = 0

    def frame() -> None:
        nonlocal found
        with model.transaction() as change:
            for body, joints in people:
                change.set(body, "seen", rng.random())
                for joint in joints:
                    for name in ("x", "y", "z"):
                        change.set(joint, name, rng.random())
        assert matcher.delta is not None
        found += len(matcher.delta.found)

    taken = median(frame, count)
    changes = bodies * (JOINTS * 3 + 1)
    return Figure(
        name=f"a frame of {bodies} bodies with three queries, beside 40 ms",
        ratio=taken / 0.040,
        goal=Goal("at most", 1),
        of={"ms": taken * 1_000, "microseconds of a change": taken / changes * 1e6, "found": found},
    )


# Quick fixes.


def repairs() -> cep.Program:
    trees = (cep.parse(FIXES, "vepl").tree, cep.parse(TOO_MUCH, "vql").tree)
    return cep.Program(ProgramTree(tuple(d for tree in trees for d in tree.declarations)))


def overfull(hosts: int) -> Model:
    model = Model(PLANT)
    with model.transaction() as change:
        for _ in range(hosts):
            change.create("Host", free=10, total=8)
    return model


def one_host() -> Figure:
    program, model = repairs(), overfull(1)
    taken = median(lambda: quick_fixes(program, model), 50)
    fixes = quick_fixes(program, model)
    return Figure(
        name="the two quick fixes of a host, beside 100 ms",
        ratio=taken / 0.100,
        goal=Goal("at most", 1),
        of={"ms": taken * 1_000, "solutions": len(fixes), "models": fixes.states},
        is_wrong={one.diff() for one in fixes}
        != {("Host#1.free: 10 -> 8",), ("Host#1.total: 8 -> 10",)},
    )


def many_hosts(hosts: int) -> Figure:
    program, model = repairs(), overfull(hosts)
    taken = median(lambda: quick_fixes(program, model), 5)
    fixes = quick_fixes(program, model)
    expanded = min(one.found_after for one in fixes if one.cost == hosts)
    return Figure(
        name=f"models expanded up to a cheapest quick fix of {hosts} hosts, beside one for each and the last",
        ratio=expanded / (hosts + 1),
        goal=Goal("at most", 1),
        of={"expanded": expanded, "seconds of all": taken, "models of all": fixes.states},
        is_wrong=fixes[0].cost != hosts,
    )
