"""Parts of a program that have nothing to do with each other, as one that takes single events."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.engines.common.request import Outcome, Reached, RunRequest
from cepheid.engines.common.runners import Runner, send_records
from cepheid.matcher.parts import joined_states, parted_states
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import Seal
from cepheid.semantics.inspection.description import Inspection


class PartsRunner:
    """Each part takes each event; the keys of rows say how those of all parts follow each other."""

    def __init__(self, program: ResolvedProgram, runners: Sequence[Runner]) -> None:
        self._program = program
        self._runners = runners
        self._seal = Seal("parts of pushes", "1", program)

    @property
    def program(self) -> ResolvedProgram:
        return self._program

    @property
    def clock(self) -> Instant | None:
        return self._runners[0].clock

    def start(self, instant: Instant) -> None:
        for runner in self._runners:
            runner.start(instant)

    def send(self, event: Event) -> list[Event]:
        return _in_order([runner.send(event) for runner in self._runners])

    def send_all(self, events: Sequence[Event]) -> list[Event]:
        return _in_order([runner.send_all(events) for runner in self._runners])

    def send_sources(self, request: RunRequest, number: int) -> Outcome:
        return send_records(self, request, number)

    def pass_time(self, instant: Instant) -> list[Event]:
        return _in_order([runner.pass_time(instant) for runner in self._runners])

    def reached(self) -> Reached:
        found = {n: steps for one in self._runners for n, steps in one.reached().items()}
        names = (statement.name for statement in self._program.statements)
        return {name: found[name] for name in names if name in found}

    def inspect(self) -> Inspection:
        """One of the parts is always compiled."""
        from cepheid.engines.local.runner import not_shown

        raise not_shown()

    def save(self) -> bytes:
        return self._seal.close(joined_states([runner.save() for runner in self._runners]))

    def load(self, state: bytes) -> None:
        parts = parted_states(self._seal.open(state))
        for runner, part in zip(self._runners, parts, strict=True):
            runner.load(part)


def _in_order(found: Sequence[list[Event]]) -> list[Event]:
    some = [rows for rows in found if rows]
    if len(some) < 2:
        return some[0] if some else []
    return sorted((row for rows in some for row in rows), key=attrgetter("key"))
