"""Classes that are not monotone, and keys that do not tell what an event is made of."""

from __future__ import annotations

import pytest

from tests.analysis.classes.programs import derived, findings, places, subscribed

CLASSES = subscribed("A") + subscribed("B")
KX = {"columns": "k INTEGER, x INTEGER"}


def reasons(query: str, **options: str) -> list[str]:
    found = findings("monotone", CLASSES + derived(query, **options))
    start = "'C' is not monotone: "
    return [f.message.removeprefix(start) if f.code == "not-monotone" else f.code for f in found]


@pytest.mark.parametrize(
    ("query", "reason", "part"),
    [
        (
            "SELECT a.k FROM A a WHERE NOT EXISTS (SELECT * FROM B b WHERE b.k = a.k) OCCURRING AT a",
            "NOT EXISTS asks that 'B' is missing",
            "NOT EXISTS (SELECT * FROM B b WHERE b.k = a.k)",
        ),
        (
            "SELECT a.k FROM A a WHERE a.k NOT IN (SELECT b.k FROM B b) OCCURRING AT a",
            "NOT IN asks that 'B' is missing",
            "a.k NOT IN (SELECT b.k FROM B b)",
        ),
        (
            "SELECT a.k FROM A a WHERE NOT (a.x = 1 OR EXISTS (SELECT * FROM B b)) OCCURRING AT a",
            "its rows depend on what else is there of 'B'",
            None,
        ),
        (
            "SELECT a.k FROM A a WHERE a.x > (SELECT max(b.x) AS m FROM B b) OCCURRING AT a",
            "its rows depend on what else is there of 'B'",
            None,
        ),
        (
            "SELECT a.k FROM A a LEFT JOIN B b ON a.k = b.k OCCURRING AT a",
            "what LEFT JOIN fills up when 'b' is missing",
            "B b",
        ),
        (
            "SELECT a.x AS k FROM A a GROUP BY a.x HAVING COUNT(*) > 2 OCCURRING AT MAX(a)",
            "'COUNT(*)' depends on all rows of a group",
            "COUNT(*)",
        ),
        (
            "SELECT a.x AS k FROM A a GROUP BY a.x OCCURRING AT MAX(a)",
            "'MAX(a)' depends on all rows of a group",
            "MAX(a)",
        ),
    ],
)
def test_what_makes_a_class_not_monotone(query: str, reason: str, part: str | None) -> None:
    assert reasons(query)[0] == reason
    if part is not None:
        assert places("monotone", CLASSES + derived(query))[0] == part


def test_an_attribute_of_an_event_whose_key_is_missing() -> None:
    query = "SELECT a.k, b.x FROM A a, B b WHERE b.x = a.x + 1 OCCURRING AT a"
    assert reasons("SELECT a.k, b.x FROM A a, B b WHERE b.s = a.s OCCURRING AT a", **KX) == [
        "it has attributes of 'b', but not its key"
    ]
    assert reasons(query, **KX) == ["open-key"]  # the value follows from `a`
    assert reasons("SELECT a.k, b.x FROM A a, B b WHERE b.k = a.x OCCURRING AT a", **KX) == []
    moved = "SELECT a.k FROM A a, B b WHERE b.s = a.s OCCURRING AT b"
    assert reasons(moved) == ["it has attributes of 'b', but not its key"]
    assert places("monotone", CLASSES + derived(moved)) == ["b"]


def test_constituents_pass_it_on() -> None:
    first = derived("SELECT a.x AS k FROM A a GROUP BY a.x HAVING COUNT(*) > 2 OCCURRING AT MAX(a)")
    text = CLASSES + first + derived("SELECT c.k FROM C c OCCURRING AT c", name="E")
    found = [f.message for f in findings("monotone", text)]
    assert found[-1] == "'E' is not monotone: 'C' is not"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.k FROM A a OCCURRING AT a + 1h",
        "SELECT DISTINCT a.k FROM A a, B b WHERE a.k = b.k AND a.x > 1 OCCURRING AT MAX(a, b)",
        "SELECT a.k FROM A a WHERE NOT (a.x = 1) OCCURRING AT a",
        "SELECT a.k FROM A a WHERE a.x = 1 UNION SELECT a.k FROM B a OCCURRING AT a",
        "SELECT a.k FROM A a WHERE EXISTS (SELECT * FROM B b WHERE b.k = a.k) OCCURRING AT a",
        "SELECT a.k FROM A a WHERE a.k IN (SELECT b.k FROM B b) OCCURRING AT a",
        "SELECT a.k, COUNT(*) AS x FROM A a GROUP BY a.k OCCURRING AT MAX(a)",  # one row
    ],
)
def test_monotone_classes(query: str) -> None:
    assert reasons(query, **(KX if "COUNT" in query else {})) == []


def test_a_key_that_does_not_tell_the_constituents() -> None:
    query = "SELECT a.k, b.k AS x FROM A a, B b WHERE b.s = a.s OCCURRING AT MAX(a, b)"
    assert reasons(query, **KX) == ["open-key"]
    assert reasons(query, **KX, key="k, x") == []
    text = CLASSES + derived(query, **KX)
    assert places("monotone", text) == ["k"]
