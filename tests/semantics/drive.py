"""Runs programs over streams and shows their rows as plain data that can be compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cepheid.core.event import Event, Value
from cepheid.errors import Severity
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree
from cepheid.semantics.machine import Machine


class Shown(NamedTuple):
    instant: int
    statement: str | None
    type: str
    is_old: bool
    is_timeout: bool
    values: tuple[tuple[str, str], ...]
    causes: tuple[str, ...]


def show(row: Event) -> Shown:
    return Shown(
        row.instant,
        row.statement,
        row.type,
        row.is_old,
        row.is_timeout,
        tuple((name, repr(plain(value))) for name, value in row.items()),
        tuple(repr(plain(cause)) for cause in row.causes),
    )


def plain(value: Value) -> object:
    """A value whose text is the same for all that cannot be told apart; 1 and 1.0 can."""
    if isinstance(value, Event):
        return value.type, value.instant, [(name, plain(v)) for name, v in value.items()]
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value


def per_instant(rows: Iterable[Shown]) -> dict[int, Counter[Shown]]:
    """The rows of each instant, in whatever order."""
    found: dict[int, Counter[Shown]] = {}
    for row in rows:
        found.setdefault(row.instant, Counter())[row] += 1
    return found


def resolved(tree: ProgramTree) -> ResolvedProgram:
    program = resolve_program(tree)
    assert [p for p in program.problems if p.severity is Severity.ERROR] == []
    return program


def end_of(stream: Sequence[Event], rest: int = 6_000_000) -> int:
    """Some time after the last event, so that timers have their say."""
    return (stream[-1].instant if stream else 0) + rest


def run(
    tree: ProgramTree,
    stream: Sequence[Event],
    *,
    start: int = 0,
    end: int | None = None,
    order: Sequence[str] | None = None,
) -> list[Shown]:
    """All rows, those of timeouts too, until some time after the last event."""
    machine = Machine(resolved(tree), order=order, timed_out=True, trace=True)
    machine.start(start)
    rows = [row for event in stream for row in machine.take(event)]
    rows += machine.advance(end_of(stream) if end is None else end)
    return [show(row) for row in rows]
