"""`behind`: the events behind a row, as a tree, each with its place on the timeline."""

from __future__ import annotations

from itertools import islice

from cepheid.io.causes import Cause, causes_of
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.runs import Run, event_json, run_of, the_one

_DEEPEST, _MOST = 20, 1_000


def behind(room: Room, given: Given) -> object:
    kept = run_of(room, given)
    row = the_one(kept.lane("out", given.text("type")), given.whole("index"))
    causes = list(islice(causes_of(row, _DEEPEST), _MOST + 1))
    return {
        "tree": [_node(kept, cause) for cause in causes[:_MOST]],
        "more": len(causes) > _MOST,
    }


def _node(kept: Run, cause: Cause) -> dict[str, object]:
    """One event; those behind it follow with a larger depth."""
    told = event_json(cause.event, kept.place_of(cause.event))
    return {"depth": cause.depth, **told, "cut": cause.is_cut}


BEHIND = Verb("behind", behind, "run")
