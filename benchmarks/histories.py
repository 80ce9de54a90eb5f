"""Histories of a year, detected minute by minute, as Parquet: deliveries that move, and business travel.

Each class has a folder of files in the order of detection. An event is announced, changes a few times and
may be retracted; all of it before it freezes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from benchmarks.inputs import PIECE, kept

MINUTE = 60_000_000  # microseconds
HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE
BEGIN = 1_735_689_600_000_000  # of the year 2025
YEAR, WEEK = 365 * DAY, 7 * DAY

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

DELIVERIES = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS Delivery(id TEXT, place TEXT, amount NUMBER)
  ID (id)
  FREEZING TIME (4d)
  ON ONTIME DO delivered(NEW.id, NEW.place),
  ON LATE DO deliveredBefore(NEW.id, NEW.occ),
  ON RETROACTIVECHANGE DO corrected(NEW.id, OLD.amount, NEW.amount),
  ON REVOCATION DO revoked(OLD.id),
  ON ANNOUNCEMENT DO announced(NEW.id, NEW.occ),
  ON CANCELLATION DO cancelled(OLD.id),
  ON CHANGE DO changed(NEW.id, NEW.occ, NEW.amount);
"""
TRAVEL = Path(__file__).parent.parent / "examples" / "travel" / "travel.bicepl"


@dataclass(frozen=True, slots=True)
class History:
    """How many versions all classes have together, about, and how much of a year is kept of them."""

    versions: int
    until: int = YEAR

    def deliveries(self) -> Mapping[str, Path]:
        """One class: 2.5 versions of an event, on average."""
        folder = kept(f"deliveries-{self._name}", self._write_deliveries)
        return {"Delivery": folder / "Delivery"}

    def travel(self) -> Mapping[str, Path]:
        """Five classes: flights that are late, and journeys of two flights to a meeting."""
        folder = kept(f"travel-{self._name}", self._write_travel)
        return {path.name: path for path in sorted(folder.iterdir())}

    def _write_deliveries(self, folder: Path) -> None:
        events = int(self.versions / 2.5)
        rng = np.random.default_rng(1)
        happens = BEGIN + rng.integers(2 * DAY, YEAR - 2 * DAY, events)
        learnt = happens - rng.integers(-HOUR, 2 * DAY, events)
        told = _Versions.of(rng, happens, learnt, 1 + np.arange(events) % 4)
        self._write(
            folder / "Delivery",
            told,
            {
                "id": _texts("e", told.event),
                "place": _texts("place ", told.event % 997),
                "amount": pa.array((told.event + told.number) % 1_000, pa.float64()),
            },
        )

    def _write_travel(self, folder: Path) -> None:
        rng = np.random.default_rng(2)
        flights, bookings = int(self.versions * 0.11), int(self.versions * 0.118)
        flight = np.arange(flights)
        departs = BEGIN + 2 * DAY + flight * ((YEAR - 5 * DAY) // flights)
        late = np.where(rng.random(flights) < 0.2, rng.integers(10, 120, flights) * MINUTE, 0)
        for name, happens in (("FlightDeparture", departs), ("FlightArrival", departs + 2 * HOUR)):
            told = _Versions.delayed(rng, happens, late)
            number = told.event
            columns = {
                **_named("flight", departs, number),
                "fromLoc": _texts("city ", number % 97),
                "toLoc": _texts("city ", (number + 1 + told.number // 3) % 97),
            }
            self._write(folder / name, told, columns)
        self._write_bookings(rng, folder, departs, bookings)

    def _write_bookings(
        self, rng: np.random.Generator, folder: Path, departs: Numbers, bookings: int
    ) -> None:
        """The second flight leaves 40 minutes to two hours after the first one should land."""
        a_minute = max(len(departs) * MINUTE / (YEAR - 5 * DAY), 1e-9)
        last = len(departs) - 1
        first = rng.integers(0, max(int(last - 260 * a_minute), 1), bookings)
        change = (rng.integers(160, 240, bookings) * a_minute).astype(np.int64)
        second = np.minimum(first + np.maximum(change, 1), last)
        booked = departs[first] - 36 * HOUR
        number = np.arange(bookings)
        once = np.ones(bookings, np.int64)
        told = _Versions.of(rng, booked, booked, once)
        names = {"bookingId": _texts("b", number), "meetingId": _texts("m", number)}
        company = {"company": _texts("agency ", number % 31)}
        self._write(folder / "FlightBooking", told, {**names, **company})
        meets = departs[second] + 6 * HOUR
        told = _Versions.of(rng, meets, booked, once)
        where = {
            "meetingId": _texts("m", number),
            "duration": _texts("", number % 5),
            "location": _texts("city ", second % 97),
            "contact": _texts("person ", number % 1_009),
        }
        self._write(folder / "BusinessMeeting", told, where)
        legs = np.concatenate([first, second])
        next_leg = np.concatenate([second, np.full(bookings, -1)])
        both = np.concatenate([number, number])
        told = _Versions.of(rng, departs[legs], np.tile(booked, 2), np.ones(2 * bookings, np.int64))
        columns = {
            **_named("flight", departs, legs),
            "bookingId": _texts("b", both),
            **_named("connFlgt", departs, next_leg),
        }
        self._write(folder / "Flight", told, columns)

    def _write(self, folder: Path, told: _Versions, columns: Mapping[str, pa.Array[Any]]) -> None:
        """In the order of detection, what is detected in time."""
        folder.mkdir(parents=True)
        order = np.argsort(told.det, kind="stable")
        order = order[told.det[order] < BEGIN + self.until]
        table = pa.table(
            {
                "@type": pa.repeat(folder.name, len(told.det)),
                "@time": _instants(told.occ),
                "@detected": _instants(told.det),
                "@retracted": pa.array(told.is_retraction),
                **columns,
            }
        )
        for number, begin in enumerate(range(0, max(len(order), 1), PIECE)):
            piece = table.take(order[begin : begin + PIECE])
            file = folder / f"{number:05}.parquet"
            pyarrow.parquet.write_table(piece, file, compression="zstd")

    @property
    def _name(self) -> str:
        return f"{self.versions}-{self.until // DAY}"


@dataclass(frozen=True, slots=True)
class _Versions:
    """Of each version: its event, which one of the event it is, and its times."""

    event: Numbers
    number: Numbers
    occ: Numbers
    det: Numbers
    is_retraction: Flags

    @classmethod
    def of(
        cls, rng: np.random.Generator, happens: Numbers, learnt: Numbers, counts: Numbers
    ) -> _Versions:
        """Each next one comes within twelve hours, every other one moves the event by up to an hour, and
        one of twenty last ones is a retraction."""
        event, number = _expanded(counts)
        gaps = np.where(number > 0, rng.integers(MINUTE, 12 * HOUR, len(event)), 0)
        moved = np.where((number > 0) & (event % 2 > 0), rng.integers(-HOUR, HOUR, len(event)), 0)
        is_last = number + 1 == counts[event]
        return cls(
            event,
            number,
            happens[event] + _added_up(moved, number),
            learnt[event] + _added_up(gaps, number),
            is_last & (number > 0) & (event % 20 == 3),
        )

    @classmethod
    def delayed(cls, rng: np.random.Generator, happens: Numbers, late: Numbers) -> _Versions:
        """Announced a day and a half before; then the delay is learnt, and some are cancelled at last."""
        event, number = _expanded(np.where(late > 0, 4, 2))
        before = np.array([40 * HOUR, 3 * HOUR, HOUR, 0])[number]
        share = np.array([0.0, 0.5, 0.9, 1.0])[number]
        jitter = rng.integers(0, 10 * MINUTE, len(event))
        occ = happens[event] + (late[event] * share).astype(np.int64)
        is_cancelled = (number == 3) & (event % 50 == 7)
        return cls(event, number, occ, happens[event] - before + jitter, is_cancelled)


def _expanded(counts: Numbers) -> tuple[Numbers, Numbers]:
    """For each version its event, and its number among the event's."""
    event = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return event, np.arange(len(event)) - begins[event]


def _added_up(values: Numbers, number: Numbers) -> Numbers:
    """Running totals that begin anew with each event, whose first value is zero."""
    total = np.cumsum(values)
    begin = np.arange(len(values)) - number
    result: Numbers = total - total[begin]
    return result


def _named(prefix: str, departs: Numbers, flight: Numbers) -> dict[str, pa.Array[Any]]:
    """The key of a flight: its day and number; none where there is no flight."""
    is_none = pa.array(flight < 0)
    keys = {
        "Day": _texts("day ", (departs[flight] - BEGIN) // DAY),
        "No": _texts("F", flight % 100_000),
    }
    nothing = pa.scalar(None, pa.string())
    return {
        f"{prefix}{name}": pyarrow.compute.if_else(is_none, nothing, values)
        for name, values in keys.items()
    }


def _texts(prefix: str, numbers: Numbers) -> pa.Array[Any]:
    texts = pa.array(numbers, pa.int64()).cast(pa.string())
    return pyarrow.compute.utf8_replace_slice(texts, 0, 0, prefix)


def _instants(numbers: Numbers) -> pa.Array[Any]:
    return pa.array(numbers).cast(pa.timestamp("us", tz="UTC"))
