"""Statements that may hold when windows have forgotten the event."""

from __future__ import annotations

import pytest

from tests.analysis.classes.programs import codes, derived, findings, places, subscribed

WARNING, NOTE = [("warning", "outlives-window")], [("note", "outlives-window")]
JOIN = "SELECT a.k FROM A a, B b WHERE a.k = b.k OCCURRING AT a"


def of(*conditions: str, kind: str = "MUTABLE", freezing: str = "10m") -> list[tuple[str, str]]:
    return codes("lifespans", subscribed("A", *conditions, kind=kind, freezing=freezing))


def of_join(*conditions: str, freezing: str = "10m") -> list[tuple[str, str]]:
    parts = subscribed("A", freezing=freezing) + subscribed("B", freezing=freezing)
    return codes("lifespans", parts + derived(JOIN, *conditions))


@pytest.mark.parametrize(
    "condition",
    ["LATE(1h, 1d)", "NOW > NEW + 1h", "NEW + 1h = NOW", "LATE(1h, 1d) AND NEW.x > 1", "NEW < NOW"],
)
def test_what_holds_after_the_life_span(condition: str) -> None:
    assert of(condition) == WARNING


def test_what_holds_too_late_only_of_events_that_move() -> None:
    assert of("LATE(5m, 1d)") == NOTE
    assert of("LATE(5m, 1d)", kind="IMMUTABLE") == []


@pytest.mark.parametrize(
    "condition",
    [
        "LATE",
        "ONTIME OR LATE",
        "LATE(0s, 1h)",
        "LATE(0s, 30d)",  # holds in the first round after its time
        "ANNOUNCEMENT AND NOW > NEW + 1h",  # what is learnt is learnt in time
        "CHANGE AND (NEW - 1d) < NOW",
        "NEW - 1h = NOW",
        "(NEW - 1d) < NOW AND NEW > NOW",
    ],
)
def test_what_holds_before_the_event_is_forgotten(condition: str) -> None:
    assert of(condition) == []


def test_what_another_statement_has_dealt_with() -> None:
    assert of("ONTIME OR LATE(0s, 1h)", "LATE(1h, 1d)") == []
    assert of("ONTIME OR LATE(0s, 30m)", "LATE(1h, 1d)") == WARNING  # 30 minutes are left out
    assert of("LATE", "LATE(1h, 1d)") == []
    assert of("ONTIME", "LATE(1h, 1d)") == WARNING  # a round may be missed


def test_a_long_freezing_time_keeps_events() -> None:
    assert of("LATE(1h, 1d)", freezing="2d", kind="IMMUTABLE") == []
    assert of("LATE(1h, 1d)", freezing="2d") == NOTE


def test_events_of_complex_classes_are_kept_for_twice_the_freezing_time() -> None:
    assert of_join("LATE(15m, 1d)") == []
    assert of_join("LATE(25m, 1d)") == NOTE
    assert of_join("LATE(35m, 1d)") == WARNING
    assert of_join("LATE(1h, 1d)", freezing="2d") == []


def test_place_and_wording() -> None:
    text = subscribed("A", "CHANGE OR LATE(1h, 1d)", freezing="10m")
    [finding] = findings("lifespans", text)
    assert finding.message == (
        "`CHANGE OR LATE(1h, 1d)` may hold of events that sliding windows have forgotten: they keep events"
        " of 'A' for 10 minutes after their time"
    )
    assert places("lifespans", text) == ["LATE(1h, 1d"]
