"""`verify`: how probable it is that a property is broken, and the fewest events that break it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheid.studio.evidence import playable, toml_of
from cepheid.studio.programs import program_of
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.runs import event_json
from cepheid.verbs.simulating import verify as verify_property

if TYPE_CHECKING:
    from cepheid.simulation.traces import Trace

_SHOWN = 20  # events of a trace


def verify(room: Room, given: Given) -> object:
    """As many runs as the `precision` needs; a `bound` lets some of them be broken."""
    from cepheid.simulation.wording import answer, left_out, reasons

    found = verify_property(
        program_of(room, given),
        toml_of(given, "scenario", "bad-scenario"),
        given.text("property"),
        precision=given.number("precision"),
        bound=given.number("bound"),
        sequential=given.flag("sequential"),
        until=given.text_if_any("until"),
        seed=given.whole("seed"),
        progress=room.progress,
    )
    return {
        "verdict": found.word,
        "said": answer(found),
        "reasons": [*reasons(found, is_planned=True), left_out(found)],
        "low": found.interval.low,
        "estimate": found.estimate,
        "high": found.interval.high,
        "bound": found.bound,
        "trace": None if found.trace is None else _trace(found.trace),
    }


def _trace(trace: Trace) -> dict[str, object]:
    hint = "say that a run lasts less, or use `cepheid verify --trace`"
    return {
        "lines": playable(trace.lines(), hint),
        "events": [event_json(event, ("in", None)) for event in trace.events[:_SHOWN]],
        "count": len(trace.events),
    }


VERIFY = Verb("verify", verify, "evidence")
