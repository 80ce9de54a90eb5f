"""Programs that run one event after the other, and bounded input driven through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.engines.common.intake import Intake
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.common.request import Outcome, Reached, RunRequest
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import forged
from cepheid.semantics import state
from cepheid.semantics.contexts import Follow
from cepheid.semantics.machine import Machine
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

    def pass_time(self, instant: Instant) -> list[Event]:
        """Time passes, up to and including an instant; gives the rows that time brings."""

    def reached(self) -> Reached:
        """Per statement with a pattern, how often each of its events and timers was reached."""

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

    def pass_time(self, instant: Instant) -> list[Event]:
        with self._use():
            return self.machine.advance(instant)

    def reached(self) -> dict[str, list[int]]:
        steps = self.machine.steps
        return {
            plan.name: [steps[node] for node in plan.node.walk() if not node.children]
            for plan in self.machine.plans
            if plan.node is not None
        }

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
    total = len(intake.events)
    for begin in range(0, total, CHUNK):
        chunk = intake.events[begin : begin + CHUNK]
        yield from runner.send_all(chunk)
        progress(begin + len(chunk), total)
    if intake.last is not None:
        yield from runner.pass_time(intake.last)


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
