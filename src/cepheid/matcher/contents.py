"""What an operator keeps between two calls, as data for people, whichever form it keeps it in.

`inspect()` of the reference semantics says all there is to say. A compiled operator keeps less, in other
forms: of an event, only what later rows need. Here is what can be told of all of them alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from cepheid.core.event import Value
from cepheid.core.time import Instant, format_instant
from cepheid.expr.jsonvalue import encode_value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """What is kept of an event; its time, too, where later rows need that."""

    type: str
    tag: str | None = None
    instant: Instant | None = None
    values: Mapping[str, Value] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        return {
            "tag": self.tag,
            "type": self.type,
            "time": _time(self.instant),
            "values": _values(self.values),
        }


@dataclass(frozen=True, slots=True)
class KeptMatch:
    """What has begun and may become a match: what is bound, what it awaits, when it is over."""

    statement: str
    events: tuple[KeptEvent, ...]
    awaits: tuple[str, ...] = ()
    ends: Instant | None = None
    key: tuple[Value, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "statement": self.statement,
            "key": list(map(encode_value, self.key)),
            "events": [event.to_json() for event in self.events],
            "awaits": list(self.awaits),
            "ends": _time(self.ends),
        }


@dataclass(frozen=True, slots=True)
class KeptRow:
    values: Mapping[str, Value]
    leaves: Instant | None = None

    def to_json(self) -> dict[str, object]:
        return {"values": _values(self.values), "leaves": _time(self.leaves)}


@dataclass(frozen=True, slots=True)
class KeptWindow:
    """The newest rows of a window, and how many there are."""

    statement: str
    text: str
    rows: tuple[KeptRow, ...]
    count: int

    def to_json(self) -> dict[str, object]:
        return {
            "statement": self.statement,
            "text": self.text,
            "rows": [row.to_json() for row in self.rows],
            "count": self.count,
        }


@dataclass(frozen=True, slots=True)
class KeptTimer:
    due: Instant
    statement: str

    def to_json(self) -> dict[str, object]:
        return {"due": _time(self.due), "statement": self.statement}


@dataclass(frozen=True, slots=True)
class Contents:
    """All of it; of many matches and timers the first ones, with how many there are.

    `words` say, table by table, how much lies in what cannot be told in this way.
    """

    matches: tuple[KeptMatch, ...] = ()
    matched: int = 0
    windows: tuple[KeptWindow, ...] = ()
    timers: tuple[KeptTimer, ...] = ()
    words: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "matches": [match.to_json() for match in self.matches],
            "matched": self.matched,
            "windows": [window.to_json() for window in self.windows],
            "timers": [timer.to_json() for timer in self.timers],
            "words": list(self.words),
        }


def joined(parts: Iterable[Contents], most: int) -> Contents:
    """What several operators keep together."""
    found = list(parts)
    timers = sorted((t for part in found for t in part.timers), key=lambda timer: timer.due)
    return Contents(
        first((match for part in found for match in part.matches), most),
        sum(part.matched for part in found),
        tuple(window for part in found for window in part.windows if window.count),
        tuple(timers[:most]),
        tuple(words for part in found for words in part.words),
    )


def first(items: Iterable[T], most: int) -> tuple[T, ...]:
    return tuple(islice(items, most))


def _values(values: Mapping[str, Value]) -> dict[str, object]:
    return {name: encode_value(value) for name, value in values.items()}


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else format_instant(instant)
