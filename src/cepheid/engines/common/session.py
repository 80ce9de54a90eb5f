"""Events pushed one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant, to_datetime
from cepheid.engines.common.clock import Time, instant_of
from cepheid.engines.common.intake import happens
from cepheid.engines.common.runners import Runner
from cepheid.errors import InputError, LateEvent, error
from cepheid.io import Decoder, Record
from cepheid.program.seal import Seal

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
    ) -> None:
        self._runner = runner
        self._decoder = Decoder(runner.program.types)
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
    def clock(self) -> datetime | None:
        """The time up to which everything has happened; None before the first event."""
        clock = self._runner.clock
        return None if clock is None else to_datetime(clock)

    def __repr__(self) -> str:
        clock = self._runner.clock
        return f"<Session: {'not started' if clock is None else format_instant(clock)}>"

    def send(
        self, type: str, values: Mapping[str, object] | None = None, time: Time | None = None
    ) -> list[Event]:
        """An event happens. A time before the clock raises LateEvent, and nothing changes."""
        try:
            attributes = dict(values or {})
        except (TypeError, ValueError):
            fact = f"the attributes of an event are a mapping, not {values!r}"
            raise InputError(error("bad-value", fact)) from None
        record = Record(type, time, attributes, None)
        event = self._decoder.decode(record, self._sent)
        assert isinstance(event, Event)
        return self.take(event)

    def take(self, event: Event) -> list[Event]:
        """A typed event happens."""
        rows = self._runner.send(event)
        self._sent += 1
        return rows

    def feed(self, record: Record) -> list[Event]:
        """A record happens: an event, or time that passes. InputError says where it is wrong."""
        item = self._decoder.decode(record, self._sent)
        try:
            if isinstance(item, Event):
                return self.take(item) if happens(item) else self._runner.pass_time(item.instant)
            return self._runner.pass_time(item)
        except LateEvent as late:
            placed = (replace(problem, span=record.span) for problem in late.diagnostics)
            raise LateEvent(*placed) from None

    def advance(self, time: Time) -> list[Event]:
        """Time passes, up to and including an instant."""
        return self._runner.pass_time(instant_of(time))

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
