"""Programs that have classes and statements: who comes before whom.

Statements that read no class run first; what they insert into a subscribed class is detected when it
happens. Then come the rounds. Statements that read classes, or what such statements derive, run last:
to them a class is a stream of its announcements, changes and cancellations, each at the round in which
it became known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cepheid.bitemporal.detections import Detection
from cepheid.bitemporal.outcome import Outcome
from cepheid.core.event import Event, Value
from cepheid.core.types import TIMESTAMP
from cepheid.program.classes import EventClass
from cepheid.program.resolved import ResolvedProgram

_MILLISECOND = 1_000


def before_classes(program: ResolvedProgram) -> ResolvedProgram:
    """The statements that no class comes before."""
    after = {statement.name for statement in after_classes(program).statements}
    return program.part({s.name for s in program.statements} - after)


def after_classes(program: ResolvedProgram) -> ResolvedProgram:
    """The statements that read classes, or what such statements derive."""
    reached = {each.declared.name for each in program.classes}
    names: set[str] = set()
    while True:
        found = {s.name for s in program.statements if reached & set(s.arriving(program.types))}
        if found <= names:
            return program.part(names)
        names |= found
        reached |= {s.target for s in program.statements if s.name in names}


def detected(rows: Iterable[Event], classes: Mapping[str, EventClass], first: int) -> list[Detection]:
    """What statements tell subscribed classes, each when it happened."""
    found = []
    for sequence, row in enumerate(rows, start=first):
        declared = classes.get(row.type)
        if declared is not None and not row.is_old:
            values = tuple(_taken(row[a.name], a.type == TIMESTAMP) for a in declared.attributes)
            key = declared.key_of(dict(zip((a.name for a in declared.attributes), values, strict=True)))
            now = row.instant
            found.append(Detection(declared.name, key, values, now, now, now, sequence))  # type: ignore[arg-type]
    return found


def _taken(value: Value, is_time: bool) -> Value:
    return value * _MILLISECOND if is_time and isinstance(value, int) else value


def stream_of(outcome: Outcome, classes: Mapping[str, EventClass]) -> list[Event]:
    """What became known of classes, as statements see it: times are milliseconds."""
    found = []
    for sequence, change in enumerate(outcome.changes):
        declared = classes[change.cls]
        values: dict[str, Value] = {
            attribute.name: _told(value, attribute.type == TIMESTAMP)
            for attribute, value in zip(declared.attributes, change.row.values, strict=True)
        }
        values |= {
            "occ": _told(change.row.occ, True),
            "det": _told(change.row.det, True),
            "kind": change.kind,
        }
        instant = outcome.rounds.instant(change.round)
        found.append(Event(change.cls, instant, values, sequence))
    return found


def _told(value: Value, is_time: bool) -> Value:
    return value // _MILLISECOND if is_time and isinstance(value, int) else value


def merged(*streams: Sequence[Event]) -> list[Event]:
    """Events of several streams in the order of their keys, with sequences that say so."""
    events = sorted((event for stream in streams for event in stream), key=lambda e: e.key)
    return [
        Event(event.type, event.instant, event.values_, place) for place, event in enumerate(events)
    ]
