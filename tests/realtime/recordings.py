"""Graphs of all kinds of operators with recorded events, by chance, and what they must give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

import cepheid as cep
from cepheid.core.time import BEGIN, format_instant
from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.checking import Checked, work_of
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier
from cepheid.realtime.machine import Delivery, Machine
from cepheid.realtime.operators.kind import Array, KindError
from cepheid.realtime.operators.running import Operators
from cepheid.realtime.payload import Payload
from cepheid.realtime.programs import with_statements
from cepheid.realtime.simulation import no_time, simulate
from cepheid.realtime.spark.instances import raw

US = 1_000
MS = 1_000 * US
_PAYLOADS = (
    *(Payload("float64"), Payload("float64", 4), Payload("float32", 3), Payload("uint8", 4)),
    *(Payload("int16", 2), Payload("float64", 2, ("x", "y"))),
)
_STATEMENTS = """
    insert into {0}Pair select a.value as first, b.value as second
        from pattern [every a={0}s0 -> b={0}s1(value > 0.3) where timer:within(30 milliseconds)];
    insert into {0}Mean select avg(value) as mean, count(*) as many from {0}s0#length(3);
    insert into {0}Word select 'high' as word, value from {0}s1(value > 0.8);
"""


class Recording(NamedTuple):
    """A graph, and events of its suppliers as files have them, in their order."""

    graph: Graph
    records: list[dict[str, Any]]


def recording(seed: int, prefix: str = "", *, events: int = 40) -> Recording:
    """Operators of most kinds over some suppliers, and so many events."""
    rng = Random(seed)
    suppliers = [_supplier(rng, f"{prefix}s{n}", n) for n in range(rng.randint(3, 5))]
    payloads = {each.name: each.payload for each in suppliers}
    operators: list[Operator] = []
    for kind in rng.sample(list(_KINDS), rng.randint(4, len(_KINDS))):
        operator = _operator(rng, f"{prefix}o{len(operators)}", kind, list(payloads))
        try:
            made, _ = work_of(operator, tuple(payloads[name] for name in operator.inputs))
        except KindError:  # these inputs are not for it
            continue
        payloads[operator.name] = made
        operators.append(operator)
    derived = [f"{prefix}{name}" for name in ("Pair", "Mean", "Word")]
    inputs = [*rng.choices([*payloads][2:], k=4), rng.choice(derived)]
    consumers = tuple(
        Consumer(
            name=f"{prefix}c{n}",
            input=name,
            priority=rng.randint(1, 3),
            late=rng.choice(("mark", "shed")),
        )
        for n, name in enumerate(inputs)
    )
    graph = Graph(tuple(suppliers), tuple(operators), consumers)
    program = cep.parse(_STATEMENTS.format(prefix))
    return Recording(with_statements(graph, program), records_of(suppliers, seed, events))


def together(recordings: Sequence[Recording]) -> Recording:
    """One graph of several that share nothing, and all their events."""
    graph = Graph(
        tuple(each for one in recordings for each in one.graph.suppliers),
        tuple(each for one in recordings for each in one.graph.operators),
        tuple(each for one in recordings for each in one.graph.consumers),
    )
    records = [each for one in recordings for each in one.records]
    return Recording(graph, sorted(records, key=lambda each: str(each["@time"])))


def _supplier(rng: Random, name: str, place: int) -> Supplier:
    return Supplier(
        name=name,
        period=rng.choice((5, 10, 17)) * MS,
        validity=rng.choice((4, 10, 40)) * MS,
        jitter=rng.choice((0, 0, 2)) * MS,
        phase=rng.choice((0, 0, 1, 3)) * MS,
        payload=_PAYLOADS[0] if place < 2 else rng.choice(_PAYLOADS),
    )


def _doubled(value: Array) -> Array:
    return value * 2


def _backwards(value: Array) -> Array:
    return value[::-1].copy()


_FUNCTIONS: tuple[dict[str, object], ...] = (
    {"function": _doubled},
    {"function": lambda value: None if value[0] > 0.7 else value},
    {"function": lambda seen, value: (seen + 1, value + seen), "state": int},
)
_KINDS: dict[str, Callable[[Random], dict[str, object]]] = {
    "ekf": lambda rng: {"r": rng.choice((0.5, 2.0)), "offset": rng.choice((0.0, 3.0))},
    "fft": lambda _: {},
    "cat": lambda _: {},
    "join": lambda _: {},
    "aes": lambda rng: {"key": f"{rng.randrange(16):02x}" * 16},
    "average": lambda rng: {"window": rng.randint(1, 5)},
    "resample": lambda rng: {**rng.choice(({"size": 3}, {"every": 2}))},
    "threshold": lambda rng: {**rng.choice(({"above": 0.5}, {"below": 0.4}))},
    "python": lambda rng: {**rng.choice(_FUNCTIONS)},
    "numba": lambda _: {"function": _backwards},
}
_WIDE = {"ekf": (1, 2), "cat": (2, 2, 3), "join": (2, 3)}


def _operator(rng: Random, name: str, kind: str, sources: list[str]) -> Operator:
    count = min(rng.choice(_WIDE.get(kind, (1,))), len(sources))
    within = rng.choice((1, 3, 8)) * MS if kind == "join" else None
    return Operator(
        name=name,
        kind=kind,
        inputs=tuple(rng.sample(sources, count)),
        parameters=_KINDS[kind](rng),
        within=within,
    )


def records_of(suppliers: Sequence[Supplier], seed: int, count: int) -> list[dict[str, Any]]:
    """Events by their rates; now and then two at once, and none for a while."""
    rng = Random(seed)
    found: list[tuple[int, dict[str, Any]]] = []
    for supplier in suppliers:
        time = BEGIN * US + (supplier.phase or 0)
        for _ in range(count // len(suppliers)):
            late = rng.randrange(supplier.jitter // US + 1) * US
            found.append((time + late, {"@type": supplier.name, **_carried(rng, supplier.payload)}))
            time += supplier.period * rng.choice((0, *[1] * 8, 2, 9))
    found.sort(key=lambda each: each[0])
    return [{"@time": format_instant(time // US), **each} for time, each in found]


def _carried(rng: Random, payload: Payload) -> dict[str, Any]:
    def number() -> float:
        is_whole = payload.dtype in ("uint8", "int16")
        return float(rng.randrange(200)) if is_whole else round(rng.random(), rng.choice((1, 9)))

    if payload.fields or payload.size == 1:
        return {name: number() for name in payload.attributes}
    return {"values": [number() for _ in range(payload.size)]}


# What they must give ----------------------------------------------------------------------------


class Got(NamedTuple):
    """What a consumer gets, to be compared."""

    consumer: str | None
    source: str
    number: int | None
    time: int  # microseconds, as all of them
    begin: int
    end: int
    late: bool
    payload: bytes


def got(deliveries: Iterable[Delivery[Array]]) -> list[Got]:
    return [
        Got(
            each.consumer.name,
            each.sample.source,
            each.sample.number,
            each.time // US,
            each.sample.begin // US,
            each.sample.end // US,
            each.is_late,
            raw(each.sample.value),
        )
        for each in deliveries
    ]


def simulated(graph: Checked, arrivals: Iterable[Arrival]) -> list[Got]:
    """What a graph means."""
    course = simulate(
        Machine(graph.graph),
        arrivals,
        no_time,
        processors=None,
        execute=Operators(graph.works).run_whole,
    )
    return got(course.deliveries)


def by_value(graph: Graph, arrivals: Iterable[Arrival]) -> list[Arrival]:
    """In the order that events of one time have if nothing says another."""
    places = {each.name: place for place, each in enumerate(graph.suppliers)}
    return sorted(arrivals, key=lambda a: (a.time, places[a.supplier], a.value.tolist()))
