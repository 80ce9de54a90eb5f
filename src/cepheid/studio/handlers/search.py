"""`search`: the shortest inputs that lead to an event, or whose results depend on the order of statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cepheid.core.event import Event
from cepheid.studio.evidence import toml_of
from cepheid.studio.programs import program_of
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.runs import event_json
from cepheid.verbs.searching import search as search_event
from cepheid.verbs.searching import search_any_order

if TYPE_CHECKING:
    from cepheid.formal.maude.search import Difference, OrderAnswer, SearchAnswer, Trace


def search(room: Room, given: Given) -> object:
    """For an `event`, or without one for a race."""
    program = program_of(room, given)
    environment = toml_of(given, "environment", "bad-environment")
    event, within, seconds = (
        given.text_if_any("event"),
        given.text("within"),
        given.number("seconds"),
    )

    def watch(_: int, states: int) -> None:
        room.progress(states, None)

    if event is None:
        return _race(
            search_any_order(program, environment, within=within, seconds=seconds, watch=watch)
        )
    found = search_event(
        program,
        environment,
        event,
        within=within,
        traces=given.whole("traces"),
        seconds=seconds,
        watch=watch,
    )
    return _found(found)


def _found(answer: SearchAnswer) -> dict[str, object]:
    return {
        "states": answer.states,
        "length": answer.length,
        "impossible": answer.impossible,
        "traces": [{**_trace(each), "results": [_rows(each.rows)]} for each in answer.traces],
    }


def _race(answer: OrderAnswer) -> dict[str, object]:
    """The inputs with two results that they may have."""
    found = answer.difference
    results = [] if found is None else [_rows(found.one), _rows(found.other)]
    return {
        "states": answer.states,
        "length": answer.length,
        "impossible": [],
        "traces": [] if found is None else [{**_trace(found), "results": results}],
    }


def _trace(trace: Trace | Difference) -> dict[str, object]:
    return {
        "lines": trace.lines(),
        "events": [event_json(event, ("in", None)) for event in trace.events],
    }


def _rows(rows: Sequence[Event]) -> list[dict[str, object]]:
    return [event_json(row, ("out", None)) for row in rows]


SEARCH = Verb("search", search, "evidence")
