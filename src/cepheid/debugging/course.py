"""A run as a course of steps, on which one may stand anywhere.

A *spot* is how many input events are done, and how many steps have happened since the last of them. Going
back is going forward from the nearest snapshot before: a run is the same every time. A snapshot is taken
after so many steps that the way from one to the next stays short, or, where states are large, after as
many more as keep the time for snapshots within that for steps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.semantics import state
from cepheid.semantics.machine import Machine
from cepheid.semantics.stepping import Step, next_instant, steps_of

Spot: TypeAlias = tuple[int, int]
BEGIN: Spot = (0, 0)
APART = 2_000  # steps from one snapshot to the next
BYTES_A_STEP = 50  # of a state, for each of which the next snapshot waits a step longer


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the machine kept at a spot, how many rows there were, and what had happened last."""

    state: bytes
    rows: int
    step: Step


class Course:
    """The run of a machine over events, which happen in this order; the clock ends at `last`."""

    def __init__(
        self, machine: Machine, events: list[Event], first: Instant | None, last: Instant | None
    ) -> None:
        self.machine = machine
        self.events = events
        self.first = first
        self.last = last
        self.begin()

    def begin(self) -> None:
        """Forgets everything, and stands where the program has just begun."""
        self.machine.reset()
        if self.first is not None:
            self.machine.start(self.first)
        self.spot: Spot = BEGIN
        self.step: Step = Step("start", self.first)
        self._farthest: Spot = BEGIN  # that was reached
        self._known_rows: list[Event] = []  # up to there
        self._rows = 0  # up to the spot
        self._snapshots: dict[Spot, Snapshot] = {}
        self._spots: list[Spot] = []  # of the snapshots, in order
        self._since = 0  # steps since the last snapshot
        self._apart = APART  # how many there may be
        self._keep()
        self._go_on()

    def _go_on(self) -> None:
        last = None if self.first is None else self.last
        self._coming: Iterator[Step] = (
            iter(()) if last is None else steps_of(self.machine, self.events, self.spot[0], last)
        )

    @property
    def rows(self) -> list[Event]:
        """All rows up to the spot."""
        return self._known_rows[: self._rows]

    # Forward.

    @property
    def is_over(self) -> bool:
        return self.step.kind == "end" or self.first is None

    @property
    def next_instant(self) -> Instant | None:
        """When the next step is; None after the last."""
        if self.is_over or not self.step.is_rest:
            return None if self.is_over else self.machine.clock
        done = self.spot[0]
        event = self.events[done] if done < len(self.events) else None
        return next_instant(self.machine, event, self.last)

    def on(self) -> Step | None:
        """One step on; None at the end. Where an error or Ctrl-C ends the step, the spot stays."""
        before = self.spot
        try:
            step = next(self._coming, None)
        except BaseException:
            self._restore(before)
            self.to(before)
            raise
        if step is None:
            return None
        done, since = before
        self.spot = (done + 1, 0) if step.is_input and step.is_rest else (done, since + 1)
        self.step = step
        self._rows += len(step.rows)
        if self.spot > self._farthest:
            self._farthest = self.spot
            self._known_rows += step.rows
        self._since += 1
        if self.spot in self._snapshots:
            self._since, self._apart = 0, self._way_from(self.spot)
        elif step.is_rest and self._since >= self._apart:
            self._keep()
        return step

    def _keep(self) -> None:
        taken = state.snapshot(self.machine, self.events)
        self._snapshots[self.spot] = Snapshot(taken, self._rows, self.step)
        insort(self._spots, self.spot)
        self._since, self._apart = 0, self._way_from(self.spot)

    def _way_from(self, spot: Spot) -> int:
        return max(APART, len(self._snapshots[spot].state) // BYTES_A_STEP)

    # To anywhere.

    def to(self, spot: Spot) -> bool:
        """Goes to a spot, or where there is none to the first one after it; whether it is there."""
        nearest = self.snapshot_before(spot)
        if not nearest <= self.spot <= spot:
            self._restore(nearest)
        while self.spot < spot and self.on() is not None:
            pass
        return self.spot == spot

    def snapshot_before(self, spot: Spot) -> Spot:
        """Where the last snapshot was taken up to a spot."""
        return self._spots[max(bisect_right(self._spots, spot) - 1, 0)]

    def snapshots_before(self, spot: Spot) -> Iterator[Spot]:
        """Where snapshots were taken before a spot, the last first."""
        return reversed(self._spots[: bisect_left(self._spots, spot)])

    def snapshot_until(self, instant: Instant) -> Spot:
        """Where the last snapshot was taken up to an instant; the first, if there is none."""

        def clock(spot: Spot) -> Instant:
            return self._snapshots[spot].step.instant or 0

        place = bisect_right(self._spots, instant, lo=1, key=clock)
        return self._spots[place - 1]

    def _restore(self, spot: Spot) -> None:
        """Stands where a snapshot was taken, or where the last before was."""
        spot = self.snapshot_before(spot)
        found = self._snapshots[spot]
        state.restore(self.machine, found.state, self.events)
        self.spot, self.step = spot, found.step
        self._rows = found.rows
        self._since, self._apart = 0, self._way_from(spot)
        self._go_on()

    # With other events.

    def change(self, events: list[Event], place: int) -> None:
        """Other events from a place on: what was behind it never happened.

        The clock runs from the first instant to the last that it had, or further where events do.
        """
        edge: Spot = (place, 0)
        here = min(self.spot, edge)
        if self._farthest > edge:
            self.to(edge)
            self._forget_rest()
        self.events = events
        is_earlier = bool(events) and (self.first is None or events[0].instant < self.first)
        if is_earlier:
            self.first = events[0].instant
        if events:
            self.last = max(
                events[-1].instant, events[-1].instant if self.last is None else self.last
            )
        if is_earlier:
            self.begin()
        self._restore(here)  # what goes on from here has the other events before it
        self.to(here)

    def _forget_rest(self) -> None:
        """Of what was found out, only what led here stays."""
        place = bisect_right(self._spots, self.spot)
        for spot in self._spots[place:]:
            del self._snapshots[spot]
        del self._spots[place:], self._known_rows[self._rows :]
        self._farthest = self.spot
