"""The answer: what stood in the way, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.absence.parts import Kind
from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant
from cepheid.errors import Span
from cepheid.io.encode import encode

Match: TypeAlias = Mapping[str, Event | tuple[Event, ...]]


@dataclass(frozen=True, slots=True)
class Hindrance:
    """A part of a statement that stood in the way: what it says, where, and what was so instead."""

    kind: Kind
    text: str
    fact: str
    span: Span | None = None
    events: tuple[Event, ...] = ()  # that are concerned
    followed: tuple[Absence, ...] = ()  # why events did not come that other statements derive

    def to_json(self) -> dict[str, object]:
        place = None if self.span is None else _place(self.span)
        return {
            "kind": str(self.kind),
            "text": self.text,
            "place": place,
            "fact": self.fact,
            "events": [encode(event) for event in self.events],
            "followed": [absence.to_json() for absence in self.followed],
        }


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A minimal set of hindrances: without all of them there would have been a row, of this match."""

    hindrances: tuple[Hindrance, ...]
    instant: Instant  # when the row would have come
    match: Match  # by tags, or by numbers where there are none
    matches: int  # how many there would have been

    def to_json(self) -> dict[str, object]:
        return {
            "hindrances": [each.to_json() for each in self.hindrances],
            "time": format_instant(self.instant),
            "match": _match(self.match),
            "matches": self.matches,
        }


@dataclass(frozen=True, slots=True)
class PartialMatch:
    """How far a partial match came: what it has, and what it waits for, or when its time was over."""

    match: Match
    awaits: str | None
    ended: Instant | None

    def to_json(self) -> dict[str, object]:
        return {
            "match": _match(self.match),
            "awaits": self.awaits,
            "ended": None if self.ended is None else format_instant(self.ended),
        }


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a statement gave no row in some time, or with an event; the nearest to a row first.

    If it gave rows, these are they, and nothing stood in the way. `limits` says what was not tried.
    """

    statement: str
    asked: str
    first: Instant
    last: Instant
    rows: tuple[Event, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    reached: tuple[PartialMatch, ...] = ()
    limits: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "statement": self.statement,
            "from": format_instant(self.first),
            "to": format_instant(self.last),
            "asked": self.asked,
            "rows": [encode(row) for row in self.rows],
            "obstacles": [obstacle.to_json() for obstacle in self.obstacles],
            "reached": [each.to_json() for each in self.reached],
            "limits": list(self.limits),
        }


def _match(match: Match) -> dict[str, object]:
    return {
        tag: encode(bound) if isinstance(bound, Event) else [encode(e) for e in bound]
        for tag, bound in match.items()
    }


def _place(span: Span) -> dict[str, object]:
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
