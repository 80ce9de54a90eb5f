"""`rows`: some of the events of a kept run, those that came in or those that were found, of one type."""

from __future__ import annotations

from cepheid.core.time import format_instant
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.runs import cell, run_of

_MOST = 500  # at once


def rows(room: Room, given: Given) -> object:
    kept = run_of(room, given)
    type, start = given.text("type"), given.whole("from")
    events = kept.lane(given.text("kind"), type)[start : start + _MOST]
    names = kept.columns(type)
    return {
        "from": start,
        "rows": [
            {
                "time": format_instant(event.instant),
                "values": [cell(event.values_.get(name)) for name in names],
                "mark": "old" if event.is_old else "timed out" if event.is_timeout else "",
            }
            for event in events
        ],
    }


ROWS = Verb("rows", rows, "run")
