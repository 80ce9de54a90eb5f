"""A place in a run, as people and other programs are told it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant, to_datetime
from cepheid.semantics.inspection.description import event_json
from cepheid.semantics.stepping import Kind, Step

_WORDS: dict[Kind, str] = {
    "start": "the program has begun",
    "timer": "a timer of {statement} has fired",
    "event": "{event} happens",
    "derived": "{event} happens, which {source} derived",
    "statement": "{statement} has taken {event}",
    "end": "the end",
}


@dataclass(frozen=True, slots=True)
class Position:
    """How many input events are done, how many steps came after them, and what the last step was.

    `events` and `step` name the place: `Debugger.go` leads there again. `statement` is the one that took
    the event, or whose timer fired; `rows` are those that this step gave.
    """

    events: int
    step: int
    kind: Kind
    instant: Instant | None
    event: Event | None
    statement: str | None
    rows: tuple[Event, ...]

    @classmethod
    def of(cls, spot: tuple[int, int], step: Step) -> Position:
        return cls(*spot, step.kind, step.instant, step.event, step.statement, step.rows)

    @property
    def time(self) -> datetime | None:
        return None if self.instant is None else to_datetime(self.instant)

    def to_json(self) -> dict[str, object]:
        return {
            "events": self.events,
            "step": self.step,
            "kind": self.kind,
            "time": None if self.instant is None else format_instant(self.instant),
            "event": None if self.event is None else event_json(self.event),
            "statement": self.statement,
            "rows": list(map(event_json, self.rows)),
        }

    def __str__(self) -> str:
        event = self.event
        words = _WORDS[self.kind].format(
            statement=self.statement,
            event=event and event.type,
            source=event and event.statement,
        )
        time = "" if self.instant is None else f" {format_instant(self.instant)}"
        rows = f", {len(self.rows)} row{'s' * (len(self.rows) != 1)}" if self.rows else ""
        return f"{self.events}+{self.step}{time}: {words}{rows}"
