"""The examples with classes give the actions that lie beside them, which were worked out by hand.

`pytest tests/examples --rewrite` writes them anew.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.io import encode
from cepheid.program.classes import AnyClass, SubscribedClass
from cepheid.verbs.rounds import RoundsResult

EXAMPLES = Path(__file__).parents[2] / "examples"
TRAVEL, FLIGHTS = EXAMPLES / "travel", EXAMPLES / "flights"
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Run:
    """A program over a history."""

    folder: str
    program: str
    chronon: str
    outages: str | None = None

    @property
    def path(self) -> Path:
        return EXAMPLES / self.folder

    def result(self, engine: str) -> RoundsResult:
        result = cep.run(
            cep.load(self.path / self.program),
            self.path / "history.jsonl",
            engine=engine,
            chronon=self.chronon,
            outages=self.path / self.outages if self.outages else (),
        )
        assert isinstance(result, RoundsResult)
        return result


RUNS = {
    "travel": Run("travel", "travel.bicepl", "1m", "outages.jsonl"),
    "homecare": Run("homecare", "homecare.bicepl", "5m"),
    "flights": Run("flights", "../travel/travel.bicepl", "1m"),
}


def lines(events: list[cep.Event]) -> str:
    return "".join(json.dumps(encode(event), ensure_ascii=False) + "\n" for event in events)


@pytest.mark.parametrize("name", RUNS)
def test_an_example_gives_its_actions(name: str, rewrite: bool) -> None:
    run = RUNS[name]
    text = lines(list(run.result("local")))
    golden = run.path / "expected.jsonl"
    if rewrite:
        golden.write_text(text)
    assert text.splitlines() == golden.read_text().splitlines()


@pytest.mark.parametrize("name", ["travel", "homecare"])
def test_the_reference_does_the_same(name: str) -> None:
    run = RUNS[name]
    assert lines(list(run.result("reference"))) == (run.path / "expected.jsonl").read_text()


# --- travel ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def travel() -> RoundsResult:
    return RUNS["travel"].result("local")


def test_two_arrivals_are_known_as_in_the_second_table_of_the_paper(travel: RoundsResult) -> None:
    """At 19:00, and at 19:01, when the second one turns out to be late."""
    assert arrivals(travel, "19:00") == {"b1": ("07:00", "07:00"), "b2": ("19:00", "18:50")}
    assert arrivals(travel, "19:01") == {"b1": ("07:00", "07:00"), "b2": ("19:30", "19:01")}


def arrivals(travel: RoundsResult, clock: str) -> dict[str, tuple[str, str]]:
    """The clocks of occurrence and detection of what the two travellers of the paper do."""
    known = travel.as_of(f"2013-01-10T{clock}:00Z")
    return {
        cast("str", event["bookingId"]): (hours(event["occ"]), hours(event["det"]))
        for event in known
        if event.type == "ArrivedAtDestination" and event["bookingId"] in ("b1", "b2")
    }


def hours(time: object) -> str:
    return str(time)[11:16]


def test_a_false_alarm_is_struck_out_and_the_arrival_comes_back(travel: RoundsResult) -> None:
    rows = [*travel.of("MissedConnectingFlight"), *travel.of("ArrivedAtDestination")]
    third = sorted((row for row in rows if row["bookingId"] == "b3"), key=lambda row: row.instant)
    assert [(row.type, row["kind"], hours(row.time.isoformat())) for row in third] == [
        ("ArrivedAtDestination", "announcement", "10:30"),
        ("MissedConnectingFlight", "announcement", "11:20"),
        ("ArrivedAtDestination", "cancellation", "11:20"),
        ("MissedConnectingFlight", "cancellation", "15:00"),
        ("ArrivedAtDestination", "announcement", "15:00"),
    ]


def test_an_arrival_that_was_revoked_has_fired_for_good(travel: RoundsResult) -> None:
    """No statement asks for a cancellation, so nothing clears it."""
    rows = [row for row in travel.of("ArrivedAtDestination") if row["bookingId"] == "b8"]
    assert [(row["kind"], row["fired"]) for row in rows] == [
        ("announcement", False),
        ("cancellation", True),
        ("announcement", True),
    ]


def test_the_processors_have_the_classes_of_the_whole_program() -> None:
    whole, first, second = (
        classes_of(TRAVEL / f"{name}.bicepl") for name in ("travel", "connections", "arrivals")
    )
    told = second.pop("MissedConnectingFlight")
    assert {**first, **second} == whole
    assert isinstance(told, SubscribedClass)
    assert (told.attributes, told.key) == (
        whole["MissedConnectingFlight"].attributes,
        whole["MissedConnectingFlight"].key,
    )


def classes_of(path: Path) -> dict[str, AnyClass]:
    return {declared.name: declared for declared in cep.load(path).tree.classes}


# --- home care ------------------------------------------------------------------------------------


def test_two_rows_come_after_their_events_are_frozen_or_cannot_change() -> None:
    refused = RUNS["homecare"].result("local").refused
    assert {name: sum(counts.values()) for name, counts in refused.items()} == {
        "NursingRound": 1,
        "VisitDone": 1,
    }


# --- real flights ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def derive() -> Iterator[Mapping[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["derive.py"])
        yield runpy.run_path(str(FLIGHTS / "derive.py"), run_name="derive")


def test_the_history_follows_from_the_flights(derive: Mapping[str, Any]) -> None:
    rows = derive["history"](derive["read_flights"](FLIGHTS / "flights.csv"))
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert text == (FLIGHTS / "history.jsonl").read_text()


@given(delays=st.tuples(st.integers(-20, 400), st.integers(-20, 400)))
def test_what_is_said_at_the_gate_does_not_depend_on_what_comes_later(
    derive: Mapping[str, Any], delays: tuple[int, int]
) -> None:
    """Two flights that leave at different times are the same until the first of them has left."""
    sooner, later = sorted(delays)
    assert said(derive, "departure", sooner, sooner) == said(derive, "departure", later, sooner)


@given(delays=st.tuples(st.integers(-20, 400), st.integers(-20, 400)))
def test_what_is_said_of_a_plane_in_the_air_does_not_depend_on_what_comes_later(
    derive: Mapping[str, Any], delays: tuple[int, int]
) -> None:
    sooner, later = sorted(delays)
    assert said(derive, "arrival", sooner, sooner) == said(derive, "arrival", later, sooner)


def said(derive: Mapping[str, Any], what: str, delay: int, until: int) -> list[Any]:
    """What is said of a flight with so many minutes of delay, before so many have passed."""
    flights = derive["read_flights"](FLIGHTS / "flights.csv").values()
    first = next(iter(flights)).first
    scheduled = getattr(first, f"scheduled_{what}")
    flight = replace(first, departure=first.scheduled_departure)
    flight = replace(flight, **{what: scheduled + delay * MINUTE})
    versions = cast("Callable[[Any], Iterator[Any]]", derive[f"{what}s"])
    return [v for v in versions(flight) if v.detected < scheduled + until * MINUTE]


def test_the_report_says_what_the_readme_says(rewrite: bool) -> None:
    report = runpy.run_path(str(FLIGHTS / "report.py"), run_name="report")
    rows = map(encode, RUNS["flights"].result("local").of("MissedConnectingFlight"))
    bookings = report["read_bookings"](FLIGHTS / "flights.csv")
    text = "".join(f"{line}\n" for line in report["report"](bookings, report["alarms"](rows)))
    golden = FLIGHTS / "report.txt"
    if rewrite:
        golden.write_text(text)
    assert text == golden.read_text()
