"""Writes history.jsonl: what was detected when about the trips of some business travellers.

Trips 1 and 2 are those of the paper. Each of the others shows one way in which plans change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]
END = "11 10:00"


def at(text: str) -> str:
    """`10 19:30` is half past seven in the evening of the tenth of January."""
    day, clock = text.split()
    return datetime.fromisoformat(f"2013-01-{day}T{clock}").replace(tzinfo=UTC).strftime("%FT%TZ")


def detected(when: str, kind: str, occurs: str, **values: object) -> Row:
    return {"@type": kind, "@time": at(occurs), "@detected": at(when), **values}


def retracted(when: str, kind: str, **key: object) -> Row:
    return {"@type": kind, "@detected": at(when), "@retracted": True, **key}


def flight(when: str, kind: str, number: str, occurs: str, route: str) -> Row:
    """A version of a departure or an arrival."""
    start, end = route.split("-")
    values = {"flightDay": f"2013-01-{occurs[:2]}", "flightNo": number}
    return detected(when, kind, occurs, **values, fromLoc=start, toLoc=end)


def departs(when: str, number: str, occurs: str, route: str) -> Row:
    return flight(when, "FlightDeparture", number, occurs, route)


def lands(when: str, number: str, occurs: str, route: str) -> Row:
    return flight(when, "FlightArrival", number, occurs, route)


def trip(
    number: int,
    *,
    booked: str,
    known: str,
    company: str,
    meeting: tuple[str, str, str],
    legs: dict[str, str],
) -> Iterator[Row]:
    """A booking for a meeting, and its legs: the number of each flight and when it departs."""
    occurs, location, contact = meeting
    ids = {"bookingId": f"b{number}", "meetingId": f"m{number}"}
    about = {"duration": "1h", "location": location, "contact": contact}
    yield detected(known, "BusinessMeeting", occurs, meetingId=ids["meetingId"], **about)
    yield detected(
        known,
        "FlightBooking",
        booked,
        bookingId=ids["bookingId"],
        company=company,
        meetingId=ids["meetingId"],
    )
    next_legs = [*list(legs.items())[1:], (None, None)]
    for (leg, departure), (next_leg, next_departure) in zip(legs.items(), next_legs, strict=True):
        yield detected(
            known,
            "Flight",
            departure,
            flightDay=f"2013-01-{departure[:2]}",
            flightNo=leg,
            bookingId=ids["bookingId"],
            connFlgtDay=next_departure and f"2013-01-{next_departure[:2]}",
            connFlgtNo=next_leg,
        )


def the_paper() -> Iterator[Row]:
    """Tables I and II: one flight lands on time, one is late, which is learnt a minute too late."""
    yield from trip(
        1,
        booked="08 10:00",
        known="08 10:15",
        company="Travel Star",
        meeting=("10 08:00", "Paris", "Ms. Martin"),
        legs={"AF1381": "10 05:30"},
    )
    yield from trip(
        2,
        booked="08 10:10",
        known="08 10:15",
        company="Travel Planet",
        meeting=("10 20:00", "London", "Mr. Smith"),
        legs={"AF1780": "10 17:00"},
    )
    yield departs("10 05:30", "AF1381", "10 05:30", "London-Paris")
    yield lands("10 07:00", "AF1381", "10 07:00", "London-Paris")
    yield departs("10 17:00", "AF1780", "10 17:00", "Paris-London")
    yield lands("10 18:50", "AF1780", "10 19:00", "Paris-London")
    yield lands("10 19:01", "AF1780", "10 19:30", "Paris-London")


def a_false_alarm() -> Iterator[Row]:
    """The first flight is put back, two days ahead; later the second one is, too."""
    yield from trip(
        3,
        booked="09 10:30",
        known="09 10:30",
        company="Travel Star",
        meeting=("11 10:15", "Paris", "Ms. Petit"),
        legs={"OS121": "11 05:40", "LH1028": "11 08:00"},
    )
    yield departs("09 10:30", "OS121", "11 05:40", "Vienna-Frankfurt")
    yield lands("09 10:30", "OS121", "11 07:10", "Vienna-Frankfurt")
    yield departs("09 10:30", "LH1028", "11 08:00", "Frankfurt-Paris")
    yield lands("09 10:30", "LH1028", "11 09:15", "Frankfurt-Paris")
    yield departs("09 11:20", "OS121", "11 06:15", "Vienna-Frankfurt")
    yield lands("09 11:20", "OS121", "11 07:45", "Vienna-Frankfurt")
    yield departs("09 15:00", "LH1028", "11 08:40", "Frankfurt-Paris")
    yield lands("09 15:00", "LH1028", "11 09:55", "Frankfurt-Paris")


def a_missed_connection() -> Iterator[Row]:
    """The first flight is late on the day itself, and the second one does not wait."""
    yield from trip(
        4,
        booked="09 16:00",
        known="09 16:00",
        company="Travel Planet",
        meeting=("10 15:00", "London", "Mr. Jones"),
        legs={"AZ432": "10 08:30", "LH2476": "10 11:30"},
    )
    yield departs("09 16:00", "AZ432", "10 08:30", "Rome-Munich")
    yield lands("09 16:00", "AZ432", "10 10:05", "Rome-Munich")
    yield departs("09 16:00", "LH2476", "10 11:30", "Munich-London")
    yield lands("09 16:00", "LH2476", "10 13:25", "Munich-London")
    yield departs("10 09:12", "AZ432", "10 09:35", "Rome-Munich")
    yield lands("10 09:12", "AZ432", "10 11:10", "Rome-Munich")


def a_diversion() -> Iterator[Row]:
    """Fog in London, learnt while the plane is in the air."""
    yield from trip(
        5,
        booked="09 09:00",
        known="09 09:00",
        company="Travel Star",
        meeting=("10 14:00", "London", "Mrs. Green"),
        legs={"BA305": "10 11:05"},
    )
    yield departs("10 06:00", "BA305", "10 11:05", "Paris-London")
    yield lands("10 06:00", "BA305", "10 12:20", "Paris-London")
    yield lands("10 12:02", "BA305", "10 12:41", "Paris-Birmingham")


def a_correction() -> Iterator[Row]:
    """Twenty minutes after the arrival the airport says that it was five minutes later."""
    yield from trip(
        6,
        booked="09 09:30",
        known="09 09:30",
        company="Travel Star",
        meeting=("10 16:00", "Madrid", "Sr. Ruiz"),
        legs={"IB3435": "10 12:00"},
    )
    yield departs("10 06:00", "IB3435", "10 12:00", "Paris-Madrid")
    yield lands("10 06:00", "IB3435", "10 14:05", "Paris-Madrid")
    yield lands("10 14:25", "IB3435", "10 14:10", "Paris-Madrid")


def a_silent_site() -> Iterator[Row]:
    """Nothing is heard of a flight until an hour and a half after it has landed."""
    yield from trip(
        7,
        booked="09 11:00",
        known="09 11:00",
        company="Travel Planet",
        meeting=("10 18:00", "Lisbon", "Sra. Costa"),
        legs={"TP434": "10 13:40"},
    )
    yield departs("10 17:45", "TP434", "10 13:40", "Paris-Lisbon")
    yield lands("10 17:45", "TP434", "10 16:15", "Paris-Lisbon")


def a_revocation() -> Iterator[Row]:
    """A plane has not landed after all: it went back, and its arrival is struck out and set anew."""
    yield from trip(
        8,
        booked="09 12:00",
        known="09 12:00",
        company="Travel Planet",
        meeting=("10 21:00", "Oslo", "Fru Berg"),
        legs={"SK838": "10 13:10"},
    )
    yield departs("10 06:00", "SK838", "10 13:10", "Paris-Oslo")
    yield lands("10 06:00", "SK838", "10 15:30", "Paris-Oslo")
    yield retracted("10 15:42", "FlightArrival", flightDay="2013-01-10", flightNo="SK838")
    yield lands("10 16:20", "SK838", "10 20:35", "Paris-Oslo")


def an_outage() -> Iterator[Row]:
    """A plane lands while the processor is down, see outages.jsonl."""
    yield from trip(
        9,
        booked="09 12:00",
        known="09 12:00",
        company="Travel Star",
        meeting=("11 09:00", "Dublin", "Ms. Byrne"),
        legs={"EI527": "10 21:30"},
    )
    yield departs("10 06:00", "EI527", "10 21:30", "Paris-Dublin")
    yield lands("10 06:00", "EI527", "10 23:10", "Paris-Dublin")


STORIES = (
    the_paper,
    a_false_alarm,
    a_missed_connection,
    a_diversion,
    a_correction,
    a_silent_site,
    a_revocation,
    an_outage,
)


def history() -> list[Row]:
    """All of it, in the order of detection, and how long time goes on."""
    rows = [row for story in STORIES for row in story()]
    return [*sorted(rows, key=lambda row: row["@detected"]), {"@time": at(END)}]


def main() -> None:
    lines = [json.dumps(row) + "\n" for row in history()]
    Path(__file__).with_name("history.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
