"""The examples of the paper, step by step, on every engine in this process."""

from __future__ import annotations

from typing import Any

import pytest

import cepheid as cep
from cepheid.bitemporal.primitives import PRIMITIVES
from cepheid.verbs.rounds import RoundsResult
from tests.examples.test_classes import TRAVEL

ENGINES = ("reference", "local")
DAY = "2014-03-12T"

ARRIVAL = (
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS FlightArrival(flightNo TEXT) ID (flightNo)\n"
    "FREEZING TIME (2d)\n" + ",\n".join(f"ON {name} DO {name}()" for name in PRIMITIVES) + ";"
)


def ran(program: cep.Program, records: list[Any], engine: str) -> RoundsResult:
    result = cep.run(program, records, chronon="1m", engine=engine)
    assert isinstance(result, RoundsResult)
    return result


def told(clock: str, arrives: str | None) -> dict[str, object]:
    known: dict[str, object] = {"@type": "FlightArrival", "flightNo": "BA212"}
    known["@detected"] = f"{DAY}{clock}:00Z"
    return known | ({"@time": f"{DAY}{arrives}:00Z"} if arrives else {"@retracted": True})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_flight_is_announced_moved_on_time_and_then_postponed(engine: str) -> None:
    """Example 2.1: announced at ten for two, moved at one to a quarter past, and later to three."""
    history = [
        told("10:00", "14:00"),
        told("13:00", "14:15"),
        told("14:20", "15:00"),
        {"@time": f"{DAY}14:30:00Z"},
    ]
    actions = ran(cep.parse(ARRIVAL, "bicepl"), history, engine)
    assert [(event.time.strftime("%H:%M"), event.type) for event in actions] == [
        ("10:00", "ANNOUNCEMENT"),
        ("10:00", "FUTURE"),
        ("13:00", "CHANGE"),
        ("13:00", "FUTURE"),
        ("14:15", "ONTIME"),
        ("14:20", "CHANGE"),
        ("14:20", "POSTPONE"),
    ]


# Table I: class, key and attributes, occurrence, detection; the year is left out there.
TABLE_1 = [
    ("FlightArrival", ("10.01.", "AF1381", "London", "Paris"), "10T07:00", "10T07:00"),
    ("FlightArrival", ("10.01.", "AF1780", "Paris", "London"), "10T19:00", "10T18:50"),
    ("FlightArrival", ("10.01.", "AF1780", "Paris", "London"), "10T19:30", "10T19:01"),
    ("FlightDeparture", ("10.01.", "AF1381", "London", "Paris"), "10T05:30", "10T05:30"),
    ("FlightDeparture", ("10.01.", "AF1780", "Paris", "London"), "10T17:00", "10T17:00"),
    ("BusinessMeeting", ("m1", "1h", "Paris", "Ms. Martin"), "10T08:00", "08T10:15"),
    ("BusinessMeeting", ("m2", "1h", "London", "Mr. Smith"), "10T20:00", "08T10:15"),
    ("Flight", ("10.01.", "AF1381", "b1", None, None), "10T05:30", "08T10:15"),
    ("Flight", ("10.01.", "AF1780", "b2", None, None), "10T17:00", "08T10:15"),
    ("FlightBooking", ("b1", "Travel Star", "m1"), "08T10:00", "08T10:15"),
    ("FlightBooking", ("b2", "Travel Planet", "m2"), "08T10:10", "08T10:15"),
]


def time(text: str) -> str:
    return f"2013-01-{text}:00Z"


@pytest.fixture(scope="module")
def program() -> cep.Program:
    return cep.load(TRAVEL / "travel.bicepl")


def table_1(program: cep.Program) -> list[dict[str, object]]:
    names = {each.name: [a.name for a in each.attributes] for each in program.tree.classes}
    return [
        {"@type": name, "@time": time(occ), "@detected": time(det)}
        | dict(zip(names[name], values, strict=True))
        for name, values, occ, det in TABLE_1
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_second_table_follows_from_the_first(program: cep.Program, engine: str) -> None:
    """Example 4.7, with the toggle as statements read it at 19:01."""
    result = ran(program, table_1(program), engine)
    rows = ("flightDay", "flightNo", "bookingId", "meetingId", "location", "occ", "det")
    first = ("10.01.", "AF1381", "b1", "m1", "Paris", time("10T07:00"), time("10T07:00"))
    second = ("10.01.", "AF1780", "b2", "m2", "London")
    known = {
        clock: [
            tuple(event[name] for name in rows)
            for event in result.as_of(time(f"10T{clock}"))
            if event.type == "ArrivedAtDestination"
        ]
        for clock in ("19:00", "19:01")
    }
    assert known == {
        "19:00": [first, (*second, time("10T19:00"), time("10T18:50"))],
        "19:01": [first, (*second, time("10T19:30"), time("10T19:01"))],
    }
    number = result.outcome.rounds.last
    fired = {t.key[1] for t in result.outcome.toggles if t.set_in < number}
    assert fired == {"AF1381", "AF1780"}
    assert not result.of("MissedConnectingFlight")


@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_postponed_arrival_is_told_then(program: cep.Program, engine: str) -> None:
    result = ran(program, table_1(program), engine)
    last = [event for event in result if event.time.isoformat().startswith("2013-01-10T19:01")]
    assert [(event.type, event["p1"]) for event in last] == [
        ("publishOnTwitter", "Still in the air: arrival is now expected at 2013-01-10T19:30:00Z.")
    ]
    [toggle] = [t for t in result.outcome.toggles if t.key[1] == "AF1780"]
    assert toggle.cleared_in == result.outcome.rounds.last
