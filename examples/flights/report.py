"""Says how good the alarms were: connections that were missed, how early that was known, and false alarms.

    cepheid run ../travel/travel.bicepl --events history.jsonl --chronon 1m --type MissedConnectingFlight \\
        | python report.py

Reads the versions of MissedConnectingFlight, and flights.csv for what came of each booking in the end.
"""

from __future__ import annotations

import csv
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
TO_CHANGE = timedelta(minutes=30)
OUTCOMES = ("missed", "made", "first flight did not arrive", "second flight did not leave")

Legs = list[dict[str, str]]
Periods = list[tuple[datetime, datetime | None]]


def read_bookings(path: Path) -> dict[str, Legs]:
    found: dict[str, Legs] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["booking"], []).append(row)
    return found


def outcome(legs: Legs) -> str:
    """From the actual times alone."""
    first, second = legs
    if not first["arrival"]:
        return OUTCOMES[2]
    if not second["departure"]:
        return OUTCOMES[3]
    time_to_change = instant(second["departure"]) - instant(first["arrival"])
    return "missed" if time_to_change < TO_CHANGE else "made"


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def alarms(versions: Iterable[Mapping[str, str]]) -> dict[str, Periods]:
    """For each booking from when to when it was thought to be missed; None if that is the last word."""
    found: dict[str, Periods] = {}
    for version in versions:
        periods = found.setdefault(version["bookingId"], [])
        if version["kind"] == "announcement":
            periods.append((instant(version["@time"]), None))
        elif version["kind"] == "cancellation":
            periods[-1] = (periods[-1][0], instant(version["@time"]))
    return found


def spread(times: Iterable[timedelta]) -> str:
    minutes = sorted(time.total_seconds() / 60 for time in times)
    middle = statistics.median(minutes)
    return f"median {middle:.0f} min, from {minutes[0]:.0f} to {minutes[-1]:.0f}"


def report(bookings: Mapping[str, Legs], found: Mapping[str, Periods]) -> Iterable[str]:
    came = {name: outcome(legs) for name, legs in bookings.items()}
    raised = Counter(came[name] for name in found)
    yield f"{len(bookings)} connections, {len(found)} with an alarm"
    for kind in OUTCOMES:
        yield f"{kind:28} {list(came.values()).count(kind):4} {raised[kind]:4} with an alarm"
    standing = {name: periods[-1][0] for name, periods in found.items() if periods[-1][1] is None}
    agrees = set(standing) == {name for name, kind in came.items() if kind == "missed"}
    yield f"missed and alarms that stand: {'the same' if agrees else 'NOT the same'}"
    early = [instant(bookings[n][1]["departure"]) - start for n, start in standing.items()]
    yield f"known before the departure: {spread(early)}"
    made = {name: periods for name, periods in found.items() if came[name] == "made"}
    false = [end - start for periods in made.values() for start, end in periods if end]
    yield f"false alarms: {len(false)} for {len(made)} bookings, revoked after {spread(false)}"


def main() -> None:
    versions = (json.loads(line) for line in sys.stdin)
    for line in report(read_bookings(HERE / "flights.csv"), alarms(versions)):
        print(line)


if __name__ == "__main__":
    main()
