"""Toggles that nothing clears."""

from __future__ import annotations

import pytest

from tests.analysis.classes.programs import codes, derived, places, subscribed

FOUND = [("note", "toggle-stays")]
QUERY = "SELECT a.k FROM A a OCCURRING AT a"


@pytest.mark.parametrize("condition", ["LATE", "LATE(0s, 1h)", "RETROACTIVECHANGE OR ONTIME"])
def test_a_class_that_only_sets_toggles(condition: str) -> None:
    text = subscribed("A", "ANNOUNCEMENT", condition)
    assert codes("toggles", text) == FOUND
    assert places("toggles", text) == [condition]


@pytest.mark.parametrize("condition", ["CANCELLATION", "POSTPONE", "POSTPONE AND NEW.x > 1"])
def test_what_clears_toggles(condition: str) -> None:
    assert codes("toggles", subscribed("A", "ONTIME OR LATE", condition)) == []


def test_a_class_without_toggles() -> None:
    assert codes("toggles", subscribed("A", "ANNOUNCEMENT", "RETROACTIVECHANGE")) == []


def test_toggles_that_nothing_asks_for() -> None:
    assert codes("toggles", subscribed("A", "ONTIME", "CHANGE")) == []


@pytest.mark.parametrize(("kind", "expected"), [("MUTABLE", FOUND), ("IMMUTABLE", [])])
def test_events_that_do_not_change_need_no_clearing(
    kind: str, expected: list[tuple[str, str]]
) -> None:
    assert codes("toggles", subscribed("A", "ONTIME OR LATE", kind=kind)) == expected
    assert codes("toggles", subscribed("A", kind=kind) + derived(QUERY, "LATE")) == expected
