"""`cepheid why-not`: what it prints, as a tree and as data, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import cepheid as cep
from tests.cli.conftest import EXAMPLES, Run

Write = Callable[[str, str], Path]
ASKED = ("why-not", "p.epl", "--events", "e.jsonl")
MOTORBIKE = (
    *("why-not", str(EXAMPLES / "motorbike" / "motorbike.epl")),
    *("--events", str(EXAMPLES / "motorbike" / "events.jsonl")),
)

pytestmark = pytest.mark.usefixtures("folder")


def test_the_nearest_obstacle_is_told_with_values_place_and_match(cepheid: Run) -> None:
    outcome = cepheid(*ASKED, "--statement", "Big", "--event", "1")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "Big gave no row with A at 1970-01-01T00:00:01Z\n"
        "├── but for condition x > 100: x = 1  p.epl:13:8\n"
        "│   └── this would have matched at 1970-01-01T00:00:01Z\n"
        "│       └── A 1970-01-01T00:00:01Z id=k x=1\n"
        "└── but for an event A(x > 100): no A came that fits  p.epl:13:6\n"
    )


def test_a_timer_tells_what_would_have_been_in_time(cepheid: Run, write: Write) -> None:
    write(
        "late.jsonl",
        '{"@type": "A", "@time": 1, "id": "k", "x": 1}\n'
        '{"@type": "B", "@time": 14, "id": "k", "x": 2}\n',
    )
    outcome = cepheid(
        "why-not", "p.epl", "-e", "late.jsonl", "-s", "Pair", "--event", "2", "--json"
    )
    (hindrance,) = outcome.data["obstacles"][0]["hindrances"]
    assert hindrance["kind"] == "timer"
    assert (
        hindrance["fact"] == "10 seconds were over at 1970-01-01T00:00:11Z; b came 3 seconds later"
    )
    assert hindrance["place"]["line"] == 8
    assert [event["@type"] for event in hindrance["events"]] == ["B"]
    assert outcome.data["reached"] == [
        {
            "match": {"a": {"@type": "A", "@time": "1970-01-01T00:00:01Z", "id": "k", "x": 1}},
            "awaits": None,
            "ended": "1970-01-01T00:00:11Z",
        }
    ]


def test_a_statement_that_gave_rows_shows_them_and_ends_with_1(cepheid: Run) -> None:
    outcome = cepheid(*ASKED, "--statement", "Pair", "--between", "0", "1970-01-01T00:00:05Z")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "Pair gave 1 row from 1970-01-01T00:00:01Z to 1970-01-01T00:00:05Z",
        "└── Pair 1970-01-01T00:00:02Z id=k first=1 second=2",
    ]


def test_a_derived_event_that_is_missing_is_followed_to_its_statement(cepheid: Run) -> None:
    between = ("--between", "2017-03-01T10:00:39Z", "2017-03-01T10:00:43Z")
    outcome = cepheid(*MOTORBIKE, "--statement", "Accident", *between, "--json")
    nearest = outcome.data["obstacles"][0]
    assert [each["kind"] for each in nearest["hindrances"]] == ["missing"]
    assert {tag: event["motorbikeId"] for tag, event in nearest["match"].items()} == {
        "a1": 5,
        "a2": 5,
    }
    (followed,) = nearest["hindrances"][0]["followed"]
    assert followed["statement"] == "DriverLeftSeat"
    facts = [each["fact"] for o in followed["obstacles"] for each in o["hindrances"]]
    assert any(fact.startswith("a match is under way since 2017-03-01T10:00:30Z") for fact in facts)


def test_the_near_accident_of_the_example_is_printed_as_a_tree(cepheid: Run) -> None:
    outcome = cepheid(*MOTORBIKE, "--statement", "Crash", "--event", "419")
    assert outcome.code == 0
    told = " ".join(outcome.out.replace("│", "").split())
    assert "3 seconds were over at 2017-03-01T10:00:27Z; a2 came at that instant" in told


@pytest.mark.parametrize(
    ("options", "fact", "hint"),
    [
        (["-s", "Pear"], "no statement is called 'Pear'", "did you mean 'Pair'?"),
        (["-s", "Pair", "--event", "9"], "there is no event 9: the input has 3", "from 1"),
        (["-s", "Pair", "--at", "99"], "not between the first and the last event", "clock runs"),
        (["-s", "Pair", "--at", "noon"], "--at: ", "write ISO 8601"),
        (["-s", "Pair", "--between", "5", "3"], "is after", "the earlier time first"),
        (["-s", "Pair", "--between", "5"], "--between takes two times", "--between 2026"),
        (
            ["-s", "Pair", "--at", "1", "--event", "1"],
            "one time is asked for",
            "at, between or event",
        ),
    ],
)
def test_a_wrong_question_is_wrong_use(
    cepheid: Run, options: list[str], fact: str, hint: str
) -> None:
    outcome = cepheid(*ASKED, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert fact in outcome.err
    assert hint in outcome.err


def test_standard_input_is_refused(cepheid: Run) -> None:
    outcome = cepheid("why-not", "p.epl", "--events", "-", "-s", "Pair")
    assert (outcome.code, outcome.out) == (2, "")
    assert "write the events to a file first" in outcome.err


def test_classes_of_events_are_not_explained(cepheid: Run) -> None:
    travel = EXAMPLES / "travel"
    program, events = str(travel / "travel.bicepl"), str(travel / "history.jsonl")
    name = next(each.name for each in cep.load(program).tree.classes)
    outcome = cepheid("why-not", program, "--events", events, "-s", name)
    assert (outcome.code, outcome.out) == (1, "")
    assert f"error[not-explained]: '{name}' is no pattern over events" in outcome.err


def test_no_event_at_all_is_told(cepheid: Run, write: Write) -> None:
    write("none.jsonl", "")
    outcome = cepheid("why-not", "p.epl", "--events", "none.jsonl", "-s", "Pair")
    assert (outcome.code, outcome.out) == (2, "")
    assert "there are no events" in outcome.err
