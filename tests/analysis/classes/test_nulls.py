"""Comparisons with NULL."""

from __future__ import annotations

import pytest

from tests.analysis.classes.programs import codes, derived, findings, places, subscribed

FOUND = [("warning", "null-comparison")]


@pytest.mark.parametrize(
    ("query", "part", "fix"),
    [
        ("SELECT a.k FROM A a WHERE a.s = NULL OCCURRING AT a", "a.s = NULL", "a.s IS NULL"),
        ("SELECT a.k FROM A a WHERE a.s <> NULL OCCURRING AT a", "a.s <> NULL", "a.s IS NOT NULL"),
        (
            "SELECT a.k FROM A a WHERE NULL = a.x + 1 OCCURRING AT a",
            "NULL = a.x + 1",
            "a.x + 1 IS NULL",
        ),
        (
            "SELECT a.k FROM A a WHERE EXISTS (SELECT * FROM A b WHERE b.s = NULL) OCCURRING AT a",
            "b.s = NULL",
            "b.s IS NULL",
        ),
        (
            "SELECT a.k FROM A a JOIN A b ON a.k = b.x AND b.s = NULL OCCURRING AT a",
            "b.s = NULL",
            "b.s IS NULL",
        ),
    ],
)
def test_a_comparison_with_null_in_a_query(query: str, part: str, fix: str) -> None:
    text = subscribed() + derived(query)
    assert codes("nulls", text) == FOUND
    assert places("nulls", text) == [part]
    assert [finding.hint for finding in findings("nulls", text)] == [f"write {fix}"]


@pytest.mark.parametrize(
    "condition", ["CHANGE AND NEW.x = NULL", "CHANGE AND NEW.s NOT IN ('a', NULL)"]
)
def test_a_comparison_with_null_in_a_condition(condition: str) -> None:
    text = subscribed("A", condition)
    assert codes("nulls", text) == FOUND
    assert codes("firing", text) == []  # said once


@pytest.mark.parametrize("condition", ["NEW.x IS NULL", "NEW.x IS NOT NULL", "NEW.s = 'NULL'"])
def test_tests_for_null_are_fine(condition: str) -> None:
    assert codes("nulls", subscribed("A", f"CHANGE AND {condition}")) == []
