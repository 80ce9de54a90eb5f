"""Bounded input through a runner, from its first instant to its last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant
from cepheid.engines.local.intake import Intake
from cepheid.engines.local.runners import Runner
from cepheid.errors import LateEvent, error

# Called with how many events are done, and of how many where that is known.
Progress: TypeAlias = Callable[[int, int | None], None]


CHUNK = 1 << 12  # events between two reports of progress


def no_progress(done: int, total: int | None) -> None:
    """For those who need not know."""


def run(
    intake: Intake,
    runner: Runner,
    start: Instant | None = None,
    progress: Progress = no_progress,
) -> Iterator[Event]:
    """The rows of a program over all its input, as they come.

    The clock starts at `start`, else at the smallest time of the input, and ends at its largest.
    """
    first = starts_at(intake.first, start)
    if first is None:
        return
    runner.start(first)
    total = len(intake.events)
    for begin in range(0, total, CHUNK):
        chunk = intake.events[begin : begin + CHUNK]
        yield from runner.send_all(chunk)
        progress(begin + len(chunk), total)
    if intake.last is not None:
        yield from runner.pass_time(intake.last)


def starts_at(first: Instant | None, start: Instant | None) -> Instant | None:
    """When the clock starts, beside the smallest time of the input; None where there is neither."""
    if start is None:
        return first
    if first is not None and first < start:
        fact = f"an event at {format_instant(first)} is before the start"
        raise LateEvent(error("late-event", fact, hint=f"start is {format_instant(start)}"))
    return start
