"""Bounded input through the machine, from its first instant to its last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant
from cepheid.engines.local.intake import Intake
from cepheid.errors import LateEvent, error
from cepheid.semantics.machine import Machine

# Called with how many events are done, and of how many where that is known.
Progress: TypeAlias = Callable[[int, int | None], None]


def no_progress(done: int, total: int | None) -> None:
    """For those who need not know."""


def run(
    intake: Intake,
    machine: Machine,
    start: Instant | None = None,
    progress: Progress = no_progress,
) -> Iterator[Event]:
    """The rows of a program over all its input, as they come.

    The clock starts at `start`, else at the smallest time of the input, and ends at its largest.
    """
    first = intake.first if start is None else start
    if first is None:
        return
    if intake.first is not None and intake.first < first:
        fact = f"an event at {format_instant(intake.first)} is before the start"
        raise LateEvent(error("late-event", fact, hint=f"start is {format_instant(first)}"))
    machine.start(first)
    for count, event in enumerate(intake.events, start=1):
        yield from machine.take(event)
        progress(count, len(intake.events))
    if intake.last is not None:
        yield from machine.advance(intake.last)
