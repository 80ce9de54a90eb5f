"""`why-not`: what kept a statement of a kept run from giving a row, with places in the text and on the timeline."""

from __future__ import annotations

from typing import Any

from cepheid.absence.answer import Absence, Hindrance, Match, Obstacle, PartialMatch
from cepheid.core.event import Event
from cepheid.core.time import format_instant
from cepheid.io.encode import trace_records
from cepheid.studio.room import Given, Room, Verb, place_json
from cepheid.studio.runs import Run, event_json, run_of
from cepheid.verbs.absence import explain_absence

_MOST = 60  # obstacles, rows and partial matches that are told


def why_not(room: Room, given: Given) -> object:
    """`at` a time, `from` one `to` another, or with the event of a `type` at an `index`; else at any time."""
    kept = run_of(room, given)
    answer = explain_absence(
        kept.program,
        trace_records(kept.events, kept.first, kept.last),
        given.text("statement"),
        **_when(kept, given),
        progress=room.progress,
    )
    return _told(kept, answer)


def _when(kept: Run, given: Given) -> dict[str, Any]:
    at, first = given.text_if_any("at"), given.text_if_any("from")
    if at is not None:
        return {"at": at}
    if first is not None:
        return {"between": (first, given.text("to"))}
    if given.text_if_any("type") is not None:
        return {"event": kept.number_of(given.text("type"), given.whole("index"))}
    return {}


def _told(kept: Run, answer: Absence) -> dict[str, object]:
    return {
        "statement": answer.statement,
        "asked": answer.asked,
        "rows": [_event(kept, row) for row in answer.rows[:_MOST]],
        "obstacles": [_obstacle(kept, each) for each in answer.obstacles[:_MOST]],
        "reached": [_reached(kept, each) for each in answer.reached[:_MOST]],
        "limits": answer.limits,
        "more": max(0, len(answer.obstacles) - _MOST),
    }


def _obstacle(kept: Run, obstacle: Obstacle) -> dict[str, object]:
    return {
        "hindrances": [_hindrance(kept, each) for each in obstacle.hindrances],
        "time": format_instant(obstacle.instant),
        "match": _match(kept, obstacle.match),
        "matches": obstacle.matches,
    }


def _hindrance(kept: Run, hindrance: Hindrance) -> dict[str, object]:
    return {
        "kind": hindrance.kind,
        "text": hindrance.text,
        "fact": hindrance.fact,
        "place": None if hindrance.span is None else place_json(hindrance.span),
        "events": [_event(kept, event) for event in hindrance.events[:_MOST]],
        "followed": [_told(kept, each) for each in hindrance.followed],
    }


def _reached(kept: Run, match: PartialMatch) -> dict[str, object]:
    ended = None if match.ended is None else format_instant(match.ended)
    return {"match": _match(kept, match.match), "awaits": match.awaits, "ended": ended}


def _match(kept: Run, match: Match) -> list[object]:
    """Tags, each with one of its events."""
    return [
        [tag, _event(kept, event)]
        for tag, bound in match.items()
        for event in ((bound,) if isinstance(bound, Event) else bound[:_MOST])
    ]


def _event(kept: Run, event: Event) -> dict[str, object]:
    return event_json(event, kept.place_like(event))


WHY_NOT = Verb("why-not", why_not, "run")
