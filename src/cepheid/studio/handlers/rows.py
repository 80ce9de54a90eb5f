"""`rows`: some of the events of a kept run, those that came in or those that were found, of one type;
`find`: how many of each type have a text in them.
"""

from __future__ import annotations

from cepheid.core.time import format_instant
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.runs import cell, run_of

_MOST = 500  # at once


def rows(room: Room, given: Given) -> object:
    kept = run_of(room, given)
    kind, type, start = given.text("kind"), given.text("type"), given.whole("from")
    events, names = kept.lane(kind, type), kept.columns(type)
    wanted = given.text_if_any("where")
    places = range(len(events)) if not wanted else kept.search(wanted)[kind, type]
    return {
        "from": start,
        "count": len(places),
        "rows": [
            {
                "index": place,
                "time": format_instant(event.instant),
                "values": [cell(event.values_.get(name)) for name in names],
                "mark": "old" if event.is_old else "timed out" if event.is_timeout else "",
            }
            for place in places[start : start + _MOST]
            for event in (events[place],)
        ],
    }


def find(room: Room, given: Given) -> object:
    found = run_of(room, given).search(given.text("text"))
    return [
        {"kind": kind, "type": type, "count": len(each)} for (kind, type), each in found.items()
    ]


ROWS = Verb("rows", rows, "run")
FIND = Verb("find", find, "run")
