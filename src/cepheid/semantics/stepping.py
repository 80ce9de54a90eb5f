"""A run of the machine in its smallest steps.

A step is what can be told apart: a timer fires, an event happens, a statement takes it, the run ends. The
order is that of `Machine.take` and `Machine.advance`, which do the same at once. Between two steps the
machine can be looked at. Where nothing is half done it is at *rest*: a snapshot taken there goes on as
the run itself would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.semantics import limits
from cepheid.semantics.machine import Cause, Machine

Kind: TypeAlias = Literal["start", "timer", "event", "derived", "statement", "end"]


@dataclass(frozen=True, slots=True)
class Step:
    """What happened last: an event from the input or from the queue, a statement that took it, a timer."""

    kind: Kind
    instant: Instant | None = None
    event: Event | None = None
    statement: str | None = None  # that took the event, or whose timer fired
    rows: tuple[Event, ...] = ()  # that came of it
    is_taken: bool = True  # the event, by all statements
    is_rest: bool = True  # what was derived, too
    is_input: bool = False  # the event, or what it was derived from, is one of the input


def steps_of(
    machine: Machine, events: Sequence[Event], done: int, last: Instant | None
) -> Iterator[Step]:
    """All steps from a machine at rest on, after so many events; the clock ends at `last`."""
    for event in (events[place] for place in range(done, len(events))):
        yield from _pass_time(machine, event.instant)
        machine.cause = Cause({})
        yield from _happen(machine, event, "event", is_input=True)
        yield from _drain(machine, is_input=True)
    if last is not None:
        yield from _pass_time(machine, last)
    yield Step("end", machine.clock)


def next_instant(machine: Machine, event: Event | None, last: Instant | None) -> Instant | None:
    """When the next step is, of a machine at rest; `event` is the next one. None after the last."""
    coming = last if event is None else event.instant
    due = machine.next_due()
    return due if due is not None and coming is not None and due <= coming else coming


def _pass_time(machine: Machine, instant: Instant) -> Iterator[Step]:
    """Timers fire up to and including an instant; those of one instant before what they derive."""
    instants = 0  # that gave rows
    while (due := machine.next_due()) is not None and due <= instant:
        machine.turn()
        machine.clock = due
        speaker: str | None = None
        while (armed := machine.take_due(due)) is not None:
            machine.fire(armed)
            step = _step(machine, "timer", None, machine.plan_of(armed.rank).name)
            speaker = step.statement if step.rows else speaker
            yield step
        for step in _drain(machine, is_input=False):
            speaker = step.statement if step.rows else speaker
            yield step
        instants += speaker is not None
        if speaker is not None and instants > limits.MOST_INSTANTS:
            machine.end_endless(speaker)
    machine.clock = instant


def _drain(machine: Machine, *, is_input: bool) -> Iterator[Step]:
    """What was derived is taken, first in first out."""
    while machine.queue:
        event, machine.cause = machine.queue.popleft()
        yield from _happen(machine, event, "derived", is_input=is_input)


def _happen(machine: Machine, event: Event, kind: Kind, *, is_input: bool) -> Iterator[Step]:
    """An event happens, then one statement after the other takes it."""
    machine.begin(event)
    plans = machine.consumers.get(event.type, ())
    yield _step(machine, kind, event, None, is_taken=not plans, is_input=is_input)
    for place, plan in enumerate(plans, start=1):
        machine.give(plan, event)
        is_taken = place == len(plans)
        yield _step(machine, "statement", event, plan.name, is_taken=is_taken, is_input=is_input)


def _step(
    machine: Machine,
    kind: Kind,
    event: Event | None,
    statement: str | None,
    *,
    is_taken: bool = True,
    is_input: bool = False,
) -> Step:
    is_rest = is_taken and not machine.queue
    rows = tuple(machine.take_rows())
    return Step(kind, machine.clock, event, statement, rows, is_taken, is_rest, is_input)
