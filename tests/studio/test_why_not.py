"""What kept a statement of a run from giving a row."""

from __future__ import annotations

import json
from typing import Any

import pytest

import cepheid as cep
from tests.studio.conftest import WHY, WHY_EVENTS, Page, Refused, texts

LINES = WHY_EVENTS.splitlines()


@pytest.fixture
def run(page: Page) -> int:
    answer = page.ask("run", texts=texts(WHY), lines=LINES)
    assert answer["statements"] == ["Sold", "Good"]
    number: int = answer["run"]
    return number


def facts(answer: dict[str, Any]) -> list[list[str]]:
    return [[h["fact"] for h in each["hindrances"]] for each in answer["obstacles"]]


def test_the_obstacles_are_those_of_the_command_with_places(page: Page, run: int) -> None:
    answer = page.ask("why-not", run=run, statement="Sold", type="Payment", index=1)
    events = [json.loads(line) for line in LINES]
    known = cep.explain_absence(cep.parse(WHY), events, "Sold", event=5)
    assert facts(answer) == [[h.fact for h in each.hindrances] for each in known.obstacles]
    timer, cancel = answer["obstacles"][0]["hindrances"]
    line = WHY.splitlines()[timer["place"]["line"] - 1]
    assert line[timer["place"]["column"] - 1 :].startswith("(p=Payment")
    assert [(e["type"], e["kind"], e["index"]) for e in cancel["events"]] == [("Cancel", "in", 0)]
    match = answer["obstacles"][0]["match"]
    assert [(tag, e["type"], e["index"]) for tag, e in match] == [
        ("o", "Order", 1),
        ("p", "Payment", 1),
    ]
    assert [tag for each in answer["reached"] for tag, _ in each["match"]] == ["o"] * len(
        answer["reached"]
    )


@pytest.mark.parametrize(
    ("when", "asked"),
    [
        ({}, "from 1970-01-01T00:00:01Z to 1970-01-01T00:00:14Z"),
        ({"at": "1970-01-01T00:00:05Z"}, "at 1970-01-01T00:00:05Z"),
        (
            {"from": "1970-01-01T00:00:05Z", "to": "1970-01-01T00:00:06Z"},
            "from 1970-01-01T00:00:05Z to 1970-01-01T00:00:06Z",
        ),
        ({"type": "Cancel", "index": 0}, "with Cancel at 1970-01-01T00:00:06Z"),
    ],
)
def test_a_time_a_span_or_an_event_is_asked_for(
    page: Page, run: int, when: dict[str, object], asked: str
) -> None:
    answer = page.ask("why-not", run=run, statement="Sold", **when)
    assert answer["asked"] == asked
    assert answer["rows"] == []
    assert answer["obstacles"]


def test_a_missing_event_is_followed_to_the_statement_that_derives_it(page: Page, run: int) -> None:
    answer = page.ask("why-not", run=run, statement="Good")
    [followed] = answer["obstacles"][0]["hindrances"][0]["followed"]
    assert followed["statement"] == "Sold"
    assert followed["obstacles"]


def test_rows_that_came_are_shown_with_their_places(page: Page) -> None:
    paid = [*LINES[:2], LINES[2].replace("7", "70")]
    run = page.ask("run", texts=texts(WHY), lines=paid)["run"]
    answer = page.ask("why-not", run=run, statement="Sold")
    assert [(row["kind"], row["index"]) for row in answer["rows"]] == [("out", 0)]
    assert answer["obstacles"] == []


def test_what_cannot_be_asked_is_refused(page: Page, run: int) -> None:
    for given, said in (
        ({"statement": "Nope"}, "no statement is called 'Nope'"),
        ({"statement": "Sold", "at": "soon"}, "soon"),
        ({"statement": "Sold", "at": "2030-01-01T00:00:00Z"}, "not between the first and the last"),
        ({"statement": "Sold", "type": "Order", "index": 9}, "there is no number 9"),
        ({"statement": "Sold", "from": "1970-01-01T00:00:02Z"}, "'to' must be a text"),
    ):
        with pytest.raises(Refused, match=said):
            page.ask("why-not", run=run, **given)
    with pytest.raises(Refused, match="let go of this run"):
        page.ask("why-not", run=run + 100, statement="Sold")


def test_of_events_at_one_time_the_one_that_is_meant_is_named(page: Page) -> None:
    other = LINES[3].replace('"id": 2', '"id": 7')
    run = page.ask("run", texts=texts(WHY), lines=[*LINES[:3], other, *LINES[3:]])["run"]
    answer = page.ask("why-not", run=run, statement="Sold", type="Payment", index=1)
    _, cancel = answer["obstacles"][0]["hindrances"]
    assert [(e["type"], e["index"]) for e in cancel["events"]] == [("Cancel", 1)]
