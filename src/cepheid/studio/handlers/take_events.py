"""`take-events`: the events of a kept run as texts, to be changed by hand."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant
from cepheid.core.types import EventType
from cepheid.errors import UsageError, error
from cepheid.io.encode import encode_value, to_json
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.runs import Run, run_of

MOST_BY_HAND = 2_000
# Attributes whose values are JSON texts: what is written in a field is the text itself.
_AS_WRITTEN = ("string", "timestamp", "date", "decimal")


def take_events(room: Room, given: Given) -> object:
    """In the order of their times; what has no type lets time pass only."""
    kept = run_of(room, given)
    if len(kept.events) > MOST_BY_HAND:
        fact = f"these are {len(kept.events):,} events; up to {MOST_BY_HAND:,} are changed by hand"
        raise UsageError(error("usage", fact, hint="choose a smaller file of events"))
    return {"events": list(_told(kept))}


def _told(kept: Run) -> Iterator[dict[str, object]]:
    events = kept.events
    if kept.first is not None and (not events or kept.first < events[0].instant):
        yield _pause(kept.first)
    places = dict.fromkeys(kept.taken, 0)
    for event in events:
        place = places[event.type]
        places[event.type] += 1
        yield {
            "type": event.type,
            "time": format_instant(event.instant),
            "values": _texts(event, kept.result.types[event.type]),
            "index": place,  # among those of its type
        }
    if kept.last is not None and (not events or kept.last > events[-1].instant):
        yield _pause(kept.last)


def _pause(instant: Instant) -> dict[str, object]:
    return {"type": "", "time": format_instant(instant), "values": {}, "index": 0}


def _texts(event: Event, type: EventType) -> dict[str, str]:
    found = {}
    for name, value in event.values_.items():
        if value is not None:
            encoded = encode_value(value)
            kind = str(type.find(name)).partition("(")[0]
            is_plain = isinstance(encoded, str) and kind in _AS_WRITTEN
            found[name] = str(encoded) if is_plain else to_json(encoded)
    return found


TAKE_EVENTS = Verb("take-events", take_events, "run")
