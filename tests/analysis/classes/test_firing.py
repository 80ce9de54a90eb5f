"""Statements that never fire, fire in every round, or fire together."""

from __future__ import annotations

import pytest

from tests.analysis.classes.programs import codes, findings, places, subscribed

NEVER = [("warning", "never-fires")]
EVERY = [("warning", "every-round")]
BOTH = [("note", "both-fire")]


def of(*conditions: str) -> list[tuple[str, str]]:
    return codes("firing", subscribed("A", *conditions))


@pytest.mark.parametrize(
    "condition",
    [
        "ANNOUNCEMENT AND CANCELLATION",
        "ONTIME AND LATE",
        "ONTIME AND LATE(0s, 1h)",
        "CHANGE AND ANNOUNCEMENT",
        "FUTURE AND ONTIME",
        "POSTPONE AND RETROACTIVECHANGE",
        "FUTURECANCEL AND REVOCATION",
        "CANCELLATION AND NEW.x > 1",
        "CANCELLATION AND upper(NEW.s) = 'A'",
        "ANNOUNCEMENT AND OLD.x = 1",
        "ANNOUNCEMENT AND OLD <= NOW",
        "CHANGE AND 1 = 2",
        "CHANGE AND NEW.x > 3 AND NEW.x < 2",
        "CHANGE AND NEW.s = 'a' AND NEW.s = 'b'",
        "CHANGE AND NEW.s IN ('a', 'b') AND NEW.s = 'c'",
        "CHANGE AND NEW.x IS NULL AND NEW.x = 1",
        "ANNOUNCEMENT AND (NEW - 1d) < NOW AND (NEW - 2d) >= NOW",
        "LATE(2h, 1h)",
        "LATE AND FUTURE",
        "ONTIME AND NEW > NOW",
        "NOT CHANGE AND OLD.x <> NEW.x",
        "ANNOUNCEMENT AND NOT (NEW.x = 1 OR NEW.x <> 1 OR NEW.x IS NULL)",
        "RETROACTIVECHANGE",
    ],
)
def test_a_condition_that_no_event_satisfies(condition: str) -> None:
    assert of(condition) == NEVER


@pytest.mark.parametrize(
    "condition",
    [
        "ANNOUNCEMENT",
        "CANCELLATION",
        "CHANGE",
        "ONTIME",
        "LATE",
        "FUTURE",
        "FUTURECANCEL",
        "POSTPONE",
        "REVOCATION",
        "LATE(0s, 1h)",
        "ANNOUNCEMENT AND ONTIME",
        "CHANGE AND LATE",
        "CHANGE AND POSTPONE",
        "CANCELLATION AND OLD.x > 1",
        "CANCELLATION AND COALESCE(NEW.x, 7) = 7",
        "CANCELLATION AND NEW.x IS NULL",
        "CHANGE AND NEW.x > 1 AND OLD.x > 1 AND NEW.x <> OLD.x",
        "CHANGE AND NEW.s <> 'a' AND OLD.s <> 'a' AND OLD.s <> NEW.s",
        "CHANGE AND NEW.r > 1 AND NEW.r < 1.1",
        "CHANGE AND NEW.s LIKE 'a%' AND NEW.s LIKE 'b%'",
        "CHANGE AND NEW.x + 1 > 3 AND NEW.x < 2",
        "CHANGE AND NEW.occ - OLD.occ > 60 AND OLD < NEW",
        "ANNOUNCEMENT AND (NEW - 1d) < NOW AND (NEW - 2h) >= NOW",
        "ANNOUNCEMENT AND NEW + 30s = NOW AND NEW = NOW",  # in one chronon of a minute
        "CHANGE AND NEW.f AND NOT OLD.f",
    ],
)
def test_conditions_that_some_event_satisfies(condition: str) -> None:
    assert of(condition) == []


def test_a_retroactive_change_needs_a_toggle() -> None:
    assert of("RETROACTIVECHANGE", "ONTIME OR LATE") == []


def test_the_parts_that_exclude_each_other_are_named() -> None:
    [finding] = findings("firing", subscribed("A", "CHANGE AND NEW.x = 1 AND CANCELLATION"))
    assert finding.message == "'act0' is never called: no event is ever so"
    assert finding.hint == "`CHANGE` and `CANCELLATION` exclude each other"
    [finding] = findings("firing", subscribed("A", "CHANGE AND LATE(2h, 1h)"))
    assert finding.hint == "`LATE(2h, 1h)` is never true here"


@pytest.mark.parametrize(
    "condition",
    [
        "NEW.x > 1",
        "NOT CHANGE",
        "NOT LATE",
        "NEW.s LIKE 'a%'",
        "NEW > NOW",
        "NOW > NEW + 1h",
        "(NEW - 1d) < NOW AND NEW > NOW",
        "CHANGE OR NEW.x = 2",
        "LATE OR NEW.x = 2",
        "OLD.x = NEW.x",
    ],
)
def test_a_condition_without_an_edge(condition: str) -> None:
    assert of(condition) == EVERY


@pytest.mark.parametrize(
    "condition",
    [
        "CHANGE AND NEW.x > 1",
        "(CHANGE OR ANNOUNCEMENT) AND NOT LATE",
        "LATE AND NEW.x > 1",
        "NEW + 2h = NOW",
        "NEW + 2h = NOW OR ONTIME",
        "OLD.x <> NEW.x",
        "OLD.x < NEW.x OR LATE(1h, 2h)",
        "NEW.x = 1 AND NOT (OLD.x = 1)",
    ],
)
def test_conditions_with_an_edge(condition: str) -> None:
    assert of(condition) == []


def test_a_finding_lies_at_the_condition() -> None:
    assert places("firing", subscribed("A", "CHANGE", "NEW.x > 1")) == ["NEW.x > 1"]


@pytest.mark.parametrize(
    "conditions",
    [
        ("ANNOUNCEMENT", "FUTURE"),
        ("CHANGE", "POSTPONE"),
        ("CANCELLATION", "REVOCATION"),
        ("CHANGE AND OLD.s <> NEW.s", "CHANGE AND OLD.x <> NEW.x"),
        ("CHANGE AND NEW.x > 1", "CHANGE AND NEW.x > 2"),
        ("ANNOUNCEMENT AND (NEW - 1d) < NOW", "ANNOUNCEMENT AND NEW <= NOW"),
    ],
)
def test_two_statements_that_fire_on_one_change(conditions: tuple[str, str]) -> None:
    assert of(*conditions) == BOTH


@pytest.mark.parametrize(
    "conditions",
    [
        ("ANNOUNCEMENT", "CANCELLATION"),
        ("ANNOUNCEMENT", "ONTIME"),  # one is about what is learnt, the other about time
        ("ANNOUNCEMENT", "LATE", "CANCELLATION"),
        ("ONTIME OR LATE(0s, 1h)", "LATE(1h, 1d)", "POSTPONE"),
        ("ANNOUNCEMENT AND (NEW - 1d) < NOW", "ANNOUNCEMENT AND (NEW - 1d) >= NOW"),
        ("CHANGE AND NEW.x > 1", "CHANGE AND NEW.x <= 1"),
        ("CHANGE AND NEW.s LIKE 'a%'", "CHANGE AND NEW.s LIKE 'b%'"),  # nobody knows
        ("CHANGE", "CHANGE"),  # two actions are meant
        ("REVOCATION", "FUTURECANCEL"),
    ],
)
def test_statements_that_do_not_meet(conditions: tuple[str, ...]) -> None:
    assert of(*conditions) == []


def test_the_change_on_which_both_fire_is_named() -> None:
    [finding] = findings("firing", subscribed("A", "CHANGE", "POSTPONE"))
    assert finding.message == (
        "`POSTPONE` holds beside `CHANGE`, for example when an event moves from the past to the future"
    )


@pytest.mark.parametrize(
    ("condition", "argument", "found"),
    [
        ("ANNOUNCEMENT", "OLD.x", ["there is never an OLD"]),
        ("ANNOUNCEMENT AND NEW.x > 1", "OLD.x + NEW.x", ["there is never an OLD"]),
        ("CANCELLATION", "format('%s', NEW.s)", ["there is never a NEW"]),
        ("CANCELLATION", "OLD.x", []),
        ("CANCELLATION OR CHANGE", "NEW.x", []),
        ("FUTURE", "OLD.x", []),
        ("ONTIME", "NEW.x", []),
    ],
)
def test_an_argument_of_a_version_that_is_never_there(
    condition: str, argument: str, found: list[str]
) -> None:
    text = subscribed("A", condition).replace("(1)", f"({argument})")
    facts = [f.message for f in findings("firing", text) if f.code == "missing-version"]
    assert [fact.partition("holds, ")[2] for fact in facts] == found
    if found:
        assert places("firing", text) == [argument]
