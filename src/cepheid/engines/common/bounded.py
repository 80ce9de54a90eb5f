"""Engines that take all events at once, from a first instant to a last one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.engines.common.progress import Progress
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.program.resolved import ResolvedProgram

RunBetween: TypeAlias = Callable[
    [ResolvedProgram, Sequence[Event], Instant, Instant, Progress], list[Event]
]


def run_between(run: RunBetween, request: RunRequest) -> Outcome:
    intake = request.take_in()
    rows: list[Event] = []
    first = intake.first
    if first is not None:
        last = first if intake.last is None else max(first, intake.last)
        rows = run(intake.program, intake.events, first, last, request.progress)
    return Outcome(
        program=intake.program,
        rows=rows,
        taken=len(intake.events),
        moved=intake.moved,
        notes=intake.notes,
    )
