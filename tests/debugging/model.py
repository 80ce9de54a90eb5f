"""All places of a run, found by one pass over it: what a debugger must show wherever it goes.

The pass is that of a fresh machine without snapshots; what is said of strides and breakpoints here is said
once more, of lists.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import cepheid as cep
from cepheid.core.time import Instant
from cepheid.debugging.debugger import Debugger
from cepheid.engines.common.runners import Reference
from cepheid.engines.registry import open_runner
from cepheid.semantics.stepping import Step, steps_of
from tests.conformance.engines import attributes_of, records_of
from tests.conformance.rows import strict
from tests.conformance.scenarios import Example


@dataclass(frozen=True, slots=True)
class Spot:
    """One place, with all that can be seen there."""

    events: int
    step: int
    last: Step
    clock: Instant
    seen: str  # the inspection
    rows: int
    begun: frozenset[tuple[str, Instant]]  # partial matches, by statement and first event

    @property
    def name(self) -> tuple[int, int]:
        return self.events, self.step


@dataclass(frozen=True, slots=True)
class Model:
    spots: list[Spot]
    rows: list[str]
    fails: bool  # whether the run has to end early

    def ends(self, place: int, by: str) -> bool:
        """Whether a stride of this kind ends at a place."""
        spot, step = self.spots[place], self.spots[place].last
        if step.kind in ("start", "end") or by == "statement":
            return True
        if by == "timer":
            return step.kind == "timer"
        if by == "event":  # where the count of events goes up
            return spot.events > self.spots[place - 1].events
        is_last = place + 1 == len(self.spots)
        after = None if is_last else self.spots[place + 1].last
        if by == "derived":
            return after is not None and after.kind != "statement"
        return after is not None and after.instant != step.instant

    def forward(self, place: int, stops: Callable[[int], bool]) -> int:
        later = (p for p in range(place + 1, len(self.spots)) if stops(p))
        return next(later, len(self.spots) - 1)

    def back(self, place: int, stops: Callable[[int], bool]) -> int:
        return next((p for p in range(place - 1, 0, -1) if stops(p)), 0)

    def until(self, instant: Instant) -> int:
        """The last place up to an instant."""
        return max((p for p, s in enumerate(self.spots) if s.clock <= instant), default=0)

    def gets_as_old(self, place: int, age: int, statement: str | None) -> bool:
        """Whether a partial match does so as the clock comes here, or before it goes on."""
        clock, spot = self.spots[place].clock, self.spots[place]
        times = {clock} if self.spots[place - 1].clock < clock else set()
        until = clock if place + 1 == len(self.spots) else self.spots[place + 1].clock
        reached = {begin + age for name, begin in spot.begun if statement in (None, name)}
        return bool(reached & times) or any(clock < at < until for at in reached)


def seen(inspection: cep.Inspection) -> str:
    return json.dumps(inspection.to_json())


def begun(inspection: cep.Inspection) -> frozenset[tuple[str, Instant]]:
    found = ((name, match.since) for name, match in inspection.partial())
    return frozenset((name, since) for name, since in found if since is not None)


def debugger_of(example: Example, engine: str = "reference") -> Debugger:
    return cep.debug(
        example.program,
        records_of(example),
        start=example.start / 1000,
        optional=attributes_of(example.resolved),
        engine=engine,
    )


def model_of(debugger: Debugger, example: Example, engine: str = "reference") -> Model:
    """The places of a run of the same events on a machine of its own."""
    events = debugger.events
    course = debugger._course
    runner = open_runner(example.resolved, engine=engine)
    assert isinstance(runner, Reference)
    spots: list[Spot] = []
    rows: list[str] = []

    def stand(done: int, since: int, step: Step) -> None:
        rows.extend(map(strict, step.rows))
        kept = runner.inspect()
        clock = runner.machine.clock
        spots.append(Spot(done, since, step, clock, seen(kept), len(rows), begun(kept)))

    assert course.first is not None
    runner.start(course.first)
    stand(0, 0, Step("start", course.first))
    try:
        for step in steps_of(runner.machine, events, 0, course.last):
            done, since = spots[-1].name
            is_done = step.is_input and not runner.machine.queue and step.is_taken
            stand(*((done + 1, 0) if is_done else (done, since + 1)), step)
    except cep.RunError:
        return Model(spots, rows, fails=True)
    return Model(spots, rows, fails=False)
