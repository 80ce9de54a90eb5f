"""Input that is a little different: events in the order of their times, and where the difference begins."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cepheid.core.event import Event
from cepheid.core.time import format_instant
from cepheid.core.types import EventType
from cepheid.errors import UsageError, error
from cepheid.io.encode import encode


@dataclass(frozen=True, slots=True)
class Edit:
    events: list[Event]
    place: int  # of the first that is another one


def is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def as_mapping(event: object) -> Mapping[str, object]:
    """What is given as an event; UsageError where it cannot be one."""
    if isinstance(event, Mapping):
        return event
    fact = f"an event is a dictionary, not {type(event).__name__}"
    raise UsageError(error("usage", fact, hint="{'@type': ..., '@time': ..., ...}"))


def with_event(events: Sequence[Event], event: Event, place: int | None) -> Edit:
    """One more, at a place or behind those of its time; UsageError where the times do not allow it."""
    if place is None:
        place = bisect_right(events, event.instant, key=lambda each: each.instant)
    if not (is_whole(place) and 0 <= place <= len(events) and _fits(events, event, place)):
        fact = f"an event of {format_instant(event.instant)} cannot be the one at {place!r}"
        hint = "events stand in the order of their times; without a place it finds its own"
        raise UsageError(error("usage", fact, hint=hint))
    return Edit([*events[:place], event, *events[place:]], place)


def with_other(events: Sequence[Event], event: Event, place: int) -> Edit:
    """Another one instead of the one at a place, where it stays if its time allows that."""
    others = [*events[:place], *events[place + 1 :]]
    edit = with_event(others, event, place if _fits(others, event, place) else None)
    return Edit(edit.events, min(edit.place, place))


def _fits(events: Sequence[Event], event: Event, place: int) -> bool:
    before, after = events[max(place - 1, 0) : place], events[place : place + 1]
    is_after = all(each.instant <= event.instant for each in before)
    return is_after and all(event.instant <= each.instant for each in after)


def changed(old: Event, given: Mapping[str, object], type: EventType) -> dict[str, object]:
    """What an event was, as far as nothing else is given; of another type it has only the time.

    Where an attribute holds the time, that decides.
    """
    before = encode(old)
    if given.get("@type", old.type) != old.type:
        before = {"@time": before["@time"]}
    elif type.time is not None:
        del before["@time"]
    return {**before, **given}
