"""Events pushed one at a time, or as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant, to_datetime
from cepheid.core.values import shown
from cepheid.engines.common.clock import Time, instant_of
from cepheid.engines.common.intake import happens
from cepheid.engines.common.judging import (
    Extra,
    IgnoredColumns,
    input_keys,
    null_derived_keys,
    null_key_of,
    rules_for,
)
from cepheid.engines.common.request import RunRequest
from cepheid.engines.common.runners import Runner
from cepheid.errors import Diagnostic, InputError, LateEvent, UsageError, error
from cepheid.io import Decoder, Record
from cepheid.io.records import record_from
from cepheid.program.seal import Seal
from cepheid.result import Result
from cepheid.semantics.inspection.description import Inspection

_COUNT = 8  # bytes of how many events were sent


class Session:
    """A running program: send events, let time pass, save and go on later.

    Both `send` and `advance` return the rows they bring, those of timers first.
    """

    def __init__(
        self,
        runner: Runner,
        start: Instant | None = None,
        saved: bytes | None = None,
        extra: Extra = "ignore",
    ) -> None:
        self._runner = runner
        self._extra = extra
        self._decoder = Decoder(runner.program.types, extra)
        self._ignored = IgnoredColumns(self._decoder.ignored)
        self._keys = input_keys(runner.program)
        self._sent = 0
        if saved is not None:
            self._load(saved)
        elif start is not None:
            self._runner.start(start)

    @property
    def runner(self) -> Runner:
        return self._runner

    @property
    def sent(self) -> int:
        """How many events were sent; the number of the next one, which orders those of one time."""
        return self._sent

    @property
    def notes(self) -> Sequence[Diagnostic]:
        """What there is to say of all events so far."""
        return tuple(self._ignored.notes)

    @property
    def clock(self) -> datetime | None:
        """The time up to which everything has happened; None before the first event."""
        clock = self._runner.clock
        return None if clock is None else to_datetime(clock)

    def __repr__(self) -> str:
        clock = self._runner.clock
        return f"<Session: {'not started' if clock is None else format_instant(clock)}>"

    def send(
        self,
        type: str | Mapping[str, object],
        values: Mapping[str, object] | None = None,
        time: Time | None = None,
    ) -> list[Event]:
        """An event happens: a type and its attributes, or a dictionary with '@type' and '@time'.

        A time before the clock raises LateEvent, and nothing changes.
        """
        if isinstance(type, Event):
            return self.take(type)
        return self.feed(_record(type, values, time))

    def send_table(self, table: object, *, optional: Collection[str] = ()) -> Result:
        """Many events happen: an Arrow table, a pandas frame, a dictionary of them by type, as for `run`.

        They are taken in the order of their times, and give the rows that sending them one by one
        gives. If one of them cannot be taken, or comes before the clock, nothing changes. An attribute
        that the program uses and the table does not have is an error unless it is `optional`.
        """
        program = self._runner.program
        rules = rules_for(program, optional, self._extra)
        request = RunRequest(program=program, sources=(table,), rules=rules)
        outcome = self._runner.send_sources(request, self._sent)
        self._sent += outcome.taken
        notes = [*outcome.notes, *null_derived_keys(program, outcome.rows)]
        self._ignored.hear(notes)
        return Result(
            outcome.rows,
            program.types,
            derived=list(dict.fromkeys(s.target for s in program.statements)),
            taken=outcome.taken,
            moved=outcome.moved,
            notes=notes,
        )

    def take(self, event: Event) -> list[Event]:
        """A typed event happens."""
        rows = self._runner.send(event)
        self._sent += 1
        return rows

    def feed(self, record: Record) -> list[Event]:
        """A record happens: an event, or time that passes. InputError says where it is wrong."""
        item = self._decoded(record)
        try:
            if isinstance(item, Event):
                return self.take(item) if happens(item) else self._runner.pass_time(item.instant)
            return self._runner.pass_time(item)
        except LateEvent as late:
            placed = (replace(problem, span=record.span) for problem in late.diagnostics)
            raise LateEvent(*placed) from None

    def _decoded(self, record: Record) -> Event | Instant:
        item = self._decoder.decode(record, self._sent)
        if isinstance(item, Event):
            keyless = null_key_of(item, self._keys, record.span)
            if keyless is not None and happens(item):
                raise InputError(keyless)
            self._ignored.see(item.type)
        return item

    def advance(self, time: Time) -> list[Event]:
        """Time passes, up to and including an instant."""
        return self._runner.pass_time(instant_of(time))

    def inspect(self) -> Inspection:
        """What the program keeps now: partial matches, windows, timers, the queue.

        Where the reference semantics runs it: on the engines `reference` and `automaton`, and with `why` or
        `timed_out`. The compiled matcher keeps numbers, and raises UsageError.
        """
        return self._runner.inspect()

    def save(self) -> bytes:
        """The state between two events; `open(program, state=...)` goes on from it."""
        return self._seal.close(self._sent.to_bytes(_COUNT) + self._runner.save())

    def _load(self, saved: bytes) -> None:
        state = self._seal.open(saved)
        self._runner.load(state[_COUNT:])
        self._sent = int.from_bytes(state[:_COUNT])

    @cached_property
    def _seal(self) -> Seal:
        return Seal("session", "1", self._runner.program)


_FORMS = "send('Type', {...}, time=...) or send({'@type': 'Type', '@time': ..., ...})"


def _record(type: object, values: object, time: Time | None) -> Record:
    """What `send` was given; UsageError or InputError where it is no event."""
    if isinstance(type, str):
        if not (values is None or isinstance(values, dict) or isinstance(values, Mapping)):  # noqa: SIM101 (the first is fast)
            fact = f"the attributes of an event are a dictionary, not {shown(values)}"
            raise InputError(error("bad-value", fact, hint=_FORMS))
        return Record(type, time, dict(values or {}), None)
    if isinstance(type, Mapping):
        if values is not None or time is not None:
            fact = "a dictionary is the whole event: '@time' and attributes stand in it"
            raise UsageError(error("usage", fact, hint=_FORMS))
        try:
            return record_from(type, None)
        except ValueError as problem:
            raise InputError(error("bad-line", str(problem))) from None
    fact = f"{shown(type)} is neither an event type nor a dictionary"
    raise UsageError(error("usage", fact, hint=_FORMS))
