"""What runs a program in this process: the compiled matcher, or the reference semantics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.matcher.operator import left_to_reference
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics import state
from cepheid.semantics.machine import Machine


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

    def reached(self) -> Mapping[str, Sequence[int]]:
        """Per statement with a pattern, how often each of its events and timers was reached."""

    def save(self) -> bytes: ...
    def load(self, state: bytes) -> None: ...


class Reference:
    """The reference semantics as a runner."""

    def __init__(
        self, program: ResolvedProgram, *, timed_out: bool = False, why: bool = False
    ) -> None:
        self.machine = Machine(program, timed_out=timed_out, trace=why)

    @property
    def program(self) -> ResolvedProgram:
        return self.machine.program

    @property
    def clock(self) -> Instant | None:
        return self.machine.clock if self.machine.started else None

    def start(self, instant: Instant) -> None:
        self.machine.start(instant)

    def send(self, event: Event) -> list[Event]:
        return self.machine.take(event)

    def send_all(self, events: Sequence[Event]) -> list[Event]:
        return [row for event in events for row in self.machine.take(event)]

    def pass_time(self, instant: Instant) -> list[Event]:
        return self.machine.advance(instant)

    def reached(self) -> dict[str, list[int]]:
        steps = self.machine.steps
        return {
            plan.name: [steps[node] for node in plan.node.walk() if not node.children]
            for plan in self.machine.plans
            if plan.node is not None
        }

    def save(self) -> bytes:
        return state.save(self.machine)

    def load(self, saved: bytes) -> None:
        state.load(self.machine, saved)


def open_runner(
    program: ResolvedProgram,
    *,
    engine: str = "local",
    timed_out: bool = False,
    why: bool = False,
) -> Runner:
    """A runner for a program that can run.

    `local` is the compiled matcher wherever it can do all that is asked for. Timed-out partial
    matches and the causes of rows are known to the reference semantics alone.
    """
    if engine == "reference" or timed_out or why or left_to_reference(program):
        return Reference(program, timed_out=timed_out, why=why)
    from cepheid.matcher.machine.push import Matcher

    return Matcher(program)
