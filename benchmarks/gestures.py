"""Gestures of bodies: the chain of four postures in VEPL, under all contexts, beside the same chain in EPL;
and forms beyond chains, beside that chain and beside the reference semantics.

Each body goes through its six postures again and again, and all bodies do so in turn, as in a frame of a
camera. The paper's own figures, in Java at 2.9 GHz, are 414,248 atomic events a second with one body and
145,322 with 24.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

import cepheid as cep
from benchmarks.inputs import ADVANCING, RETURNING
from benchmarks.measure import Sizes, cpu_seconds
from benchmarks.pairs import paired
from benchmarks.report import Figure, Goal

EVENTS = 1_000_000
BODIES = (1, 2, 4, 8, 16, 24, 25, 100, 1_000)
CONTEXTS = ("chronicle", "immediate", "strict")
POSTURES = (*ADVANCING, *RETURNING)
_FIRST, _SECOND, _THIRD, _LAST = (
    f"{name}({shown}, _, body)" for name, shown in zip(ADVANCING, "a__d", strict=True)
)
FORMS = {
    "a loop": f"{_FIRST} -> ({_SECOND} OR {_THIRD}){{+}} -> {_LAST}",
    "AND": f"({_FIRST} AND {_SECOND} AND {_THIRD}) -> {_LAST}",
    "NOT": f"{_FIRST} -> NOT {RETURNING[0]}(_, _, body) -> {_THIRD} -> {_LAST}",
}
TIMED = "@EventTime(attribute='ts', unit='milliseconds')\n"


def run(sizes: Sizes) -> Iterator[Figure]:
    tables = {bodies: cycles(sizes.events(EVENTS), bodies) for bodies in BODIES}
    for context in CONTEXTS:
        ours = complex_event(context)
        runs = {bodies: partial(rows, ours, table) for bodies, table in tables.items()}
        for bodies, table in tables.items():
            theirs = partial(rows, chain(), table)
            yield _beside(
                f"{context}, {bodies:,} bod{'y' if bodies == 1 else 'ies'}, beside EPL",
                runs[bodies],
                theirs,
                len(table),
            )
        found = paired(partial(cpu_seconds, runs[1]), partial(cpu_seconds, runs[BODIES[-1]]))
        goal = Goal("at least", 0.8)
        name = f"{context}, speed with {BODIES[-1]:,} bodies, beside one"
        yield Figure.of_pairs(name, found, goal)

    yield from beyond_chains(tables[BODIES[-1]])


def beyond_chains(table: pa.Table) -> Iterator[Figure]:
    """Loops, AND and NOT, whose partial matches are tokens on an automaton."""
    few = table.slice(0, len(table) // 100)
    gesture = partial(rows, complex_event("chronicle"), table)
    for name, form in FORMS.items():
        program = complex_event("chronicle", form)
        ours = partial(rows, program, table)
        figure = _beside(f"{name}, beside the chain in VEPL", ours, gesture, len(table))
        yield replace(figure, goal=None, note=f"{ours():,} gestures")
        speeds = (
            len(table) / cpu_seconds(ours),
            len(few) / cpu_seconds(partial(reference_rows, program, few)),
        )
        measured = dict(zip(("atomic events/s", "in the reference"), speeds, strict=True))
        ratio = speeds[0] / speeds[1]
        yield Figure(name=f"{name}, speed beside the reference", ratio=ratio, of=measured)


def reference_rows(program: cep.Program, table: pa.Table) -> int:
    return len(cep.run(program, table, engine="reference"))


def _beside(name: str, ours: Callable[[], int], theirs: Callable[[], int], events: int) -> Figure:
    """How fast the complex event is: the time of the other, in units of its own."""
    complete = ours(), theirs()
    found = paired(partial(cpu_seconds, theirs), partial(cpu_seconds, ours))
    figure = Figure.of_pairs(name, found, Goal("at least", 0.4))
    speed = events / statistics.median(found.theirs)
    note = f"{complete[0]:,} gestures, {complete[1]:,} in EPL"
    return replace(figure, of={**figure.of, "atomic events/s": speed}, note=note)


def rows(program: cep.Program, table: pa.Table) -> int:
    return cep.run(program, table).to_arrow().num_rows


def complex_event(context: str, form: str | None = None) -> cep.Program:
    events = "".join(
        f"{TIMED}atomicEvent {name}(id: long, ts: long, body: int)\n" for name in POSTURES
    )
    calls = " -> ".join(
        f"{name}({shown}, _, body)"
        for name, shown in zip(ADVANCING, ("a", "_", "_", "d"), strict=True)
    )
    head = "complexEvent ForwardGesture(a: long, d: long, body: int)"
    whole = calls if form is None else form
    return cep.parse(f"{events}{head} {{ as {whole} context {context} }}", language="vepl")


def chain() -> cep.Program:
    schemas = "".join(
        f"{TIMED}create schema {name} (id long, ts long, body int);\n" for name in POSTURES
    )
    first, *others = (f"{tag}={name}" for tag, name in zip("abcd", ADVANCING, strict=True))
    links = " -> ".join([f"every {first}", *(f"{other}(body = a.body)" for other in others)])
    return cep.parse(
        f"{schemas}select a.id as a, d.id as d, a.body as body from pattern [{links}];"
    )


def cycles(events: int, bodies: int) -> pa.Table:
    """All bodies take the next posture, one after the other."""
    number = np.arange(events)
    step, body = np.divmod(number, bodies)
    names = pa.DictionaryArray.from_arrays(pa.array(step % len(POSTURES)), pa.array(POSTURES))
    return pa.table(
        {
            "id": pa.array(number),
            "ts": pa.array(step * 40),
            "@type": names.cast(pa.string()),
            "body": pa.array(body.astype(np.int32)),
        }
    )
