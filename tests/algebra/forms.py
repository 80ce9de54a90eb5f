"""Forms in few words, and how they run: one statement on the reference semantics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.pattern.algebra import Form, Occurrence
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine

TYPES = "abcd"
SCHEMAS = "".join(f"atomicEvent {name}(p: int, q: int)\n" for name in TYPES)
# What forms may call: the names of these are their own where a call does not give them.
CALLED = {
    "pair": "a(x, _) -> b(x, y)",
    "many": "a(x, _){2} -> b(x, y)",
    "lone": "a -> NOT b(x, _) -> c(x, y)",
}


@dataclass(frozen=True)
class Chosen:
    """A match that a context chose: when, by which events, with which parameters."""

    instant: Instant
    events: tuple[Event, ...]
    values: dict[str, Value]


@cache
def program(form: str, context: str = "chronicle", parameters: str = "") -> ResolvedProgram:
    text = f"{SCHEMAS}\ncomplexEvent found({parameters}) {{ as {form} context {context} }}"
    for name in (name for name in CALLED if f"{name}(" in form):
        text += f"\ncomplexEvent {name}(x: int, y: int) {{ as {CALLED[name]} }}"
    found = cep.parse(text, language="vepl").resolve()
    errors = [problem for problem in found.problems if problem.severity.value == "error"]
    assert not errors, errors
    return found


@cache
def form_of(form: str) -> Form:
    """Resolved: its calls know their types."""
    pattern = program(form).statements[0].pattern
    assert isinstance(pattern, Occurrence)
    return pattern.form


def stream(text: str) -> list[Event]:
    """`a b1 c2@7`: types, the values of p and q (one digit each), times; else they count up."""
    events: list[Event] = []
    for word in text.split():
        head, _, time = word.partition("@")
        values = {n: int(digit) for n, digit in zip("pq", head[1:], strict=False)}
        instant = (
            int(time) * 1_000_000 if time else (events[-1].instant + 1_000_000 if events else 0)
        )
        events.append(Event(head[0], instant, {"p": None, "q": None, **values}, len(events)))
    return events


def run(
    resolved: ResolvedProgram, events: Sequence[Event], end: Instant | None = None
) -> list[Chosen]:
    machine = Machine(resolved)
    rows: list[Event] = []
    for event in events:
        rows += machine.take(event)
    if end is not None:
        rows += machine.advance(end)
    chosen = (row for row in rows if row.type == "found")
    return [Chosen(row.instant, row.causes, dict(row.values_)) for row in chosen]


def words(chosen: Iterable[Chosen]) -> list[str]:
    """Each match as its events, with their places in the stream: `a0 b3`."""
    return [" ".join(f"{e.type}{e.sequence}" for e in match.events) for match in chosen]
