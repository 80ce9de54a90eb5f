"""Traces: events and the time around them, as files that replay, and as small as they can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.engines.common.runners import Runner
from cepheid.engines.registry import open_runner
from cepheid.formal.shrink import shortest
from cepheid.io.encode import to_json, trace_records
from cepheid.program.resolved import ResolvedProgram


@dataclass(frozen=True, slots=True)
class Trace:
    """Events in their order; the clock runs from `start` to `end`, else from the first to the last.

    `left_out` is how many events the scenario brought beside them, up to the end.
    """

    events: tuple[Event, ...]
    start: Instant | None = None
    end: Instant | None = None
    left_out: int = 0

    def records(self) -> list[dict[str, object]]:
        """As an events file has them."""
        return trace_records(self.events, self.start, self.end)

    def lines(self) -> list[str]:
        return [to_json(record) for record in self.records()]

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines())

    def rows(self, program: ResolvedProgram) -> list[Event]:
        """What a program derives from it."""
        return self._through(open_runner(program))

    def _through(self, runner: Runner) -> list[Event]:
        if self.start is not None:
            runner.start(self.start)
        rows = runner.send_all(self.events)
        return rows + runner.pass_time(self.end) if self.end is not None else rows


def smallest(trace: Trace, program: ResolvedProgram, statement: str) -> Trace:
    """With as few events as possible for which a statement still gives its first row when it did.

    So no row comes of an absence that there was not: what kept earlier rows away stays. Other events
    that the scenario brings may be left out, and are counted.
    """
    first = _first_row(trace, program, statement)
    assert first is not None
    trace = _up_to(trace, first)

    def shows(tried: Trace) -> bool:
        found = _first_row(tried, program, statement)
        return found is not None and found.instant == first.instant

    whole = len(trace.events)
    behind = replace(trace, events=_behind(trace, program, statement))
    trace = _with_fewest(behind if shows(behind) else trace, shows)
    for shorter in ({"start": None}, {"end": None}):
        fewer = replace(trace, **shorter)  # type: ignore[arg-type]
        if fewer.events and shows(fewer):
            trace = _with_fewest(fewer, shows)
    return replace(trace, left_out=whole - len(trace.events))


def _with_fewest(trace: Trace, shows: Callable[[Trace], bool]) -> Trace:
    kept = shortest(trace.events, lambda events: shows(replace(trace, events=tuple(events))))
    return replace(trace, events=kept)


def _first_row(trace: Trace, program: ResolvedProgram, statement: str) -> Event | None:
    rows = trace.rows(program)
    return next((row for row in rows if row.statement == statement and not row.is_old), None)


def _up_to(trace: Trace, row: Event) -> Trace:
    """Without what happens after a row."""
    events = tuple(event for event in trace.events if event.instant <= row.instant)
    return replace(trace, events=events, end=row.instant)


def _behind(trace: Trace, program: ResolvedProgram, statement: str) -> tuple[Event, ...]:
    """The events of the input from which the first row came."""
    rows = trace._through(open_runner(program, why=True))
    row = next(row for row in rows if row.statement == statement and not row.is_old)
    needed: set[int] = set()
    known: set[int] = set()
    waiting = [row]
    while waiting:
        event = waiting.pop()
        if id(event) not in known:
            known.add(id(event))
            waiting.extend(event.causes)
            if event.statement is None:
                needed.add(event.sequence)
    return tuple(event for event in trace.events if event.sequence in needed)
