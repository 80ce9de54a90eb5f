"""Programs that run one event after the other, and bounded input driven through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.engines.common.intake import Intake, take_in
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.common.request import Outcome, Reached, RunRequest
from cepheid.errors import LateEvent
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import forged
from cepheid.semantics import state
from cepheid.semantics.contexts import Follow
from cepheid.semantics.inspection.description import Inspection
from cepheid.semantics.inspection.machine import Inspector
from cepheid.semantics.machine import Machine, late_event
from cepheid.semantics.residuals import Residuals


class Runner(Protocol):
    """A program that runs. Time moves only as told, and never back."""

    @property
    def program(self) -> ResolvedProgram: ...
    @property
    def clock(self) -> Instant | None:
        """The time up to which everything has happened; None before the program has begun."""

    def start(self, instant: Instant) -> None:
        """The program begins; without this, it does so at the first instant it is told."""

    def send(self, event: Event) -> list[Event]:
        """Time passes to the event's instant, then it happens; gives all rows."""

    def send_all(self, events: Sequence[Event]) -> list[Event]:
        """The same for events in the order of their times."""

    def send_sources(self, request: RunRequest, number: int) -> Outcome:
        """The same for all events of sources, numbered from `number` on in that order.

        If one of them cannot be taken, none is.
        """

    def pass_time(self, instant: Instant) -> list[Event]:
        """Time passes, up to and including an instant; gives the rows that time brings."""

    def reached(self) -> Reached:
        """Per statement with a pattern, how often each of its events and timers was reached."""

    def inspect(self) -> Inspection:
        """What the program keeps now; UsageError where it keeps that in a form of its own."""

    def save(self) -> bytes: ...
    def load(self, state: bytes) -> None: ...


class OpenRunner(Protocol):
    """How an engine that can take single events begins a program."""

    def __call__(
        self, program: ResolvedProgram, *, timed_out: bool = False, why: bool = False
    ) -> Runner: ...


class Reference:
    """The reference semantics as a runner: what other engines leave is left to it."""

    def __init__(
        self,
        program: ResolvedProgram,
        *,
        timed_out: bool = False,
        why: bool = False,
        follow: Follow = Residuals,
    ) -> None:
        self.machine = Machine(program, timed_out=timed_out, trace=why, follow=follow)
        self._use: Callable[[], AbstractContextManager[None]] = nullcontext

    @property
    def program(self) -> ResolvedProgram:
        return self.machine.program

    @property
    def clock(self) -> Instant | None:
        return self.machine.clock if self.machine.started else None

    def start(self, instant: Instant) -> None:
        self.machine.start(instant)

    def send(self, event: Event) -> list[Event]:
        with self._use():
            return self.machine.take(event)

    def send_all(self, events: Sequence[Event]) -> list[Event]:
        with self._use():
            return [row for event in events for row in self.machine.take(event)]

    def send_sources(self, request: RunRequest, number: int) -> Outcome:
        return send_records(self, request, number)

    def pass_time(self, instant: Instant) -> list[Event]:
        with self._use():
            return self.machine.advance(instant)

    def reached(self) -> dict[str, list[int]]:
        return self.machine.steps_reached

    def inspect(self) -> Inspection:
        with self._use():
            return self._inspector.inspect()

    @cached_property
    def _inspector(self) -> Inspector:
        from cepheid.engines.common.texts import TEXTS

        return Inspector(self.machine, TEXTS)

    def save(self) -> bytes:
        with self._use():
            return state.save(self.machine)

    def load(self, saved: bytes) -> None:
        state.load(self.machine, saved)
        self._use = forged


CHUNK = 1 << 12  # events between two reports of progress


def drive(runner: Runner, intake: Intake, progress: Progress = no_progress) -> Iterator[Event]:
    """The rows of a program over all its input, as they come, while the clock runs."""
    if intake.first is None:
        return
    runner.start(intake.first)
    yield from _sent(runner, intake.events, progress)
    if intake.last is not None:
        yield from runner.pass_time(intake.last)


def _sent(runner: Runner, events: Sequence[Event], progress: Progress) -> Iterator[Event]:
    total = len(events)
    for begin in range(0, total, CHUNK):
        chunk = events[begin : begin + CHUNK]
        yield from runner.send_all(chunk)
        progress(begin + len(chunk), total)


def run_through(open_runner: OpenRunner, request: RunRequest) -> Outcome:
    """A request by an engine that takes one event after the other."""
    intake = request.take_in()
    runner = open_runner(intake.program, timed_out=request.timed_out, why=request.why)
    rows = list(drive(runner, intake, request.progress))
    return Outcome(
        program=intake.program,
        rows=rows,
        taken=len(intake.events),
        moved=intake.moved,
        notes=intake.notes,
        reached=runner.reached,
    )


def send_records(runner: Runner, request: RunRequest, number: int) -> Outcome:
    """All events of a request into a program that runs, record by record."""
    intake = take_in(request.program, request.records(), request.on_problem, request.rules)
    clock = runner.clock
    if intake.first is not None and clock is not None and intake.first < clock:
        raise LateEvent(replace(late_event(intake.first, clock), span=intake.first_place))
    if intake.first is not None and clock is None:
        runner.start(intake.first)
    events = [
        Event(event.type, event.instant, event.values_, place)
        for place, event in enumerate(intake.events, number)
    ]
    rows = list(_sent(runner, events, request.progress))
    if intake.last is not None and runner.clock is not None and intake.last > runner.clock:
        rows += runner.pass_time(intake.last)
    return Outcome(
        program=intake.program,
        rows=rows,
        taken=len(events),
        moved=intake.moved,
        notes=intake.notes,
    )
