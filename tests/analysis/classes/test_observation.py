"""Events that may lie further apart than the observation span."""

from __future__ import annotations

import pytest

from tests.analysis.classes.programs import codes, derived, findings, places, subscribed

CLASSES = subscribed("A") + subscribed("B") + subscribed("D")
NOTE, WARNING = [("note", "observation-span")], [("warning", "observation-span")]
NEGATION = [("note", "open-negation")]


def query(condition: str, sources: str = "A a, B b", occurring: str = "a") -> str:
    return CLASSES + derived(
        f"SELECT a.k FROM {sources} WHERE a.k = 1 AND {condition} OCCURRING AT {occurring}"
    )


@pytest.mark.parametrize(
    "condition",
    [
        "(a + 30m) > b AND b > a",
        "b BETWEEN a AND a + 1d",
        "a = b",
        "b - a < 3600 AND b >= a",
        "abs(b - a) <= 86400",
        "b.occ <= a.occ + 1d AND a.occ <= b.occ + 1d",
        "greatest(a.occ, b.occ) - least(a.occ, b.occ) < 1h",
        "NOT (a.x = 1) AND a + 1h > b AND a - 1h < b",
    ],
)
def test_conditions_that_keep_the_span(condition: str) -> None:
    assert codes("spans", query(condition)) == []


@pytest.mark.parametrize(
    "condition",
    [
        "a.k = b.k",
        "b > a",
        "(a + 30m) > b",
        "(a + 30m > b AND b > a) OR a.x = 1",
        "abs(b - a) > 60",
    ],
)
def test_conditions_that_leave_it_to_the_events(condition: str) -> None:
    assert codes("spans", query(condition)) == NOTE


@pytest.mark.parametrize("condition", ["b BETWEEN a AND a + 2d", "b > a AND b - a < 90000"])
def test_conditions_that_allow_more(condition: str) -> None:
    assert codes("spans", query(condition)) == WARNING


def test_bounds_add_up() -> None:
    near = "b BETWEEN a AND a + {0} AND d BETWEEN b AND b + {0}"
    sources = "A a, B b, D d"
    assert codes("spans", query(near.format("12h"), sources)) == []
    [finding] = findings("spans", query(near.format("13h"), sources))
    assert finding.message.startswith("'d' may be 1 day 2 hours after 'a'")
    assert codes("spans", query("b BETWEEN a AND a + 1h", sources)) == NOTE


def test_what_would_break_it_and_what_keeps_it_is_said() -> None:
    text = query("a.k = b.k AND b > a")
    [finding] = findings("spans", text)
    assert finding.message.startswith("no condition says how far 'a' and 'b' lie apart")
    assert finding.hint is not None
    assert finding.hint.startswith("'b' more than 1 day after 'a' breaks")
    assert "`b <= a + 1d`" in finding.hint
    assert places("spans", text) == ["B b"]
    assert codes("spans", query("a.k = b.k AND b > a AND b <= a + 1d")) == []


def test_one_event_is_near_itself() -> None:
    assert codes("spans", CLASSES + derived("SELECT a.k FROM A a OCCURRING AT a + 1h")) == []


def test_joins_bound_as_conditions_do() -> None:
    sources = "A a LEFT JOIN B b ON a.k = b.k AND b BETWEEN a - 1h AND a"
    assert codes("spans", query("a.x = 1", sources)) == []
    assert codes("spans", query("a.x = 1", "A a JOIN B b ON a.k = b.k")) == NOTE


def test_derived_tables_are_looked_into() -> None:
    inner = "(SELECT b.k AS k, b.occ AS t FROM B b) q"
    assert codes("spans", query("q.t BETWEEN a AND a + 1h", f"A a, {inner}")) == []
    assert codes("spans", query("q.k = a.k", f"A a, {inner}")) == NOTE


def test_groups() -> None:
    head = "SELECT a.x AS k FROM A a WHERE a.x IS NOT NULL GROUP BY a.x"
    assert codes("spans", CLASSES + derived(f"{head} OCCURRING AT MAX(a)")) == NOTE
    near = f"{head} HAVING MAX(a) <= MIN(a) + 1d OCCURRING AT MAX(a)"
    assert codes("spans", CLASSES + derived(near)) == []
    one = "SELECT a.k FROM A a GROUP BY a.k OCCURRING AT MAX(a)"
    assert codes("spans", CLASSES + derived(one)) == []


@pytest.mark.parametrize(
    "condition",
    [
        "NOT EXISTS (SELECT * FROM B b WHERE b.k = a.k)",
        "NOT EXISTS (SELECT * FROM B b WHERE b.k = a.k AND b > a)",
        "a.k NOT IN (SELECT b.k FROM B b)",
        "NOT EXISTS (SELECT * FROM B b WHERE b BETWEEN a - 2d AND a)",
    ],
)
def test_what_must_be_missing_has_to_lie_near(condition: str) -> None:
    text = query(condition, "A a")
    assert codes("spans", text) == NEGATION
    assert places("spans", text) == [condition]


def test_a_bounded_negation() -> None:
    near = "NOT EXISTS (SELECT * FROM B b WHERE b.k = a.k AND b BETWEEN a - 1d AND a)"
    assert codes("spans", query(near, "A a")) == []


def test_what_must_be_there_counts_as_constituent() -> None:
    assert codes("spans", query("EXISTS (SELECT * FROM B b WHERE b.k = a.k)", "A a")) == NOTE
    near = "EXISTS (SELECT * FROM B b WHERE b BETWEEN a AND a + 1h)"
    assert codes("spans", query(near, "A a")) == []


EARLY = [("note", "early-occurrence")]
HELD = "SELECT a.k FROM A a WHERE NOT EXISTS (SELECT * FROM B b WHERE b BETWEEN a - 1h AND {})"


def test_an_event_that_occurs_before_what_it_is_made_of() -> None:
    later = HELD.format("a + 1h")
    assert codes("spans", CLASSES + derived(f"{later} OCCURRING AT a")) == EARLY
    assert codes("spans", CLASSES + derived(f"{later} OCCURRING AT a + 1h")) == []
    assert codes("spans", CLASSES + derived(f"{HELD.format('a')} OCCURRING AT a")) == []
    assert codes("spans", CLASSES + derived(f"{HELD.format('a')} OCCURRING AT a - 1h")) == EARLY


@pytest.mark.parametrize(
    ("occurring", "expected"),
    [("a", EARLY), ("b", []), ("MAX(a, b)", []), ("MIN(a, b)", EARLY), ("MIN(a, b) + 1h", [])],
)
def test_all_classes_of_a_program_that_needs_it_are_looked_at(
    occurring: str, expected: list[tuple[str, str]]
) -> None:
    near = "a.k = b.k AND b BETWEEN a AND a + 1h"
    join = derived(f"SELECT a.k FROM A a, B b WHERE {near} OCCURRING AT {occurring}")
    assert codes("spans", CLASSES + join) == []
    held = derived(f"{HELD.format('a')} OCCURRING AT a", name="N")
    assert codes("spans", CLASSES + join + held) == expected


def test_what_is_above_an_event_may_be_learnt_as_late() -> None:
    held = derived(f"{HELD.format('a')} OCCURRING AT a", name="N")
    late = derived("SELECT n.k FROM N n OCCURRING AT n - 1h", name="O")
    assert codes("spans", CLASSES + held + late) == EARLY
    mended = derived("SELECT o.k FROM O o OCCURRING AT o + 1h", name="P")
    assert codes("spans", CLASSES + held + late + mended) == EARLY
