"""Writes history.jsonl: what a home-care service learns of discharges, rounds and visits in two days of March."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]
END = "03 20:00"


def at(text: str) -> str:
    """`02 13:20` is twenty past one in the afternoon of the second of March."""
    day, clock = text.split()
    return datetime.fromisoformat(f"2026-03-{day}T{clock}").replace(tzinfo=UTC).strftime("%FT%TZ")


def detected(when: str, kind: str, occurs: str, **values: object) -> Row:
    return {"@type": kind, "@time": at(occurs), "@detected": at(when), **values}


def discharge(when: str, stay: str, occurs: str, district: str, *, needs_lift: bool = False) -> Row:
    values = {"stay": stay, "day": f"2026-03-{occurs[:2]}", "district": district}
    return detected(when, "Discharge", occurs, **values, needsLift=needs_lift)


def stays(when: str, stay: str) -> Row:
    """The patient does not leave."""
    return {"@type": "Discharge", "@detected": at(when), "@retracted": True, "stay": stay}


def nursing(when: str, district: str, begins: str, nurse: str, places: int) -> Row:
    values = {"district": district, "day": f"2026-03-{begins[:2]}"}
    return detected(when, "NursingRound", begins, **values, nurse=nurse, places=places)


def visited(when: str, stay: str, occurs: str, nurse: str) -> Row:
    return detected(when, "VisitDone", occurs, stay=stay, nurse=nurse)


def plans() -> Iterator[Row]:
    """What is known on Sunday evening."""
    for district, nurse in (("north", "Ada"), ("south", "Ben")):
        for begins in ("02 07:00", "03 07:00"):
            yield nursing("01 18:00", district, begins, nurse, 2)
    yield discharge("01 18:00", "s1", "02 10:00", "north")
    yield discharge("01 18:00", "s2", "02 09:00", "north")
    yield discharge("01 18:00", "s3", "02 11:00", "north", needs_lift=True)
    yield discharge("01 18:00", "s5", "02 08:00", "south")
    yield discharge("01 18:00", "s6", "02 10:00", "south")


def changes() -> Iterator[Row]:
    yield stays("01 20:00", "s3")  # a fever
    yield discharge("02 08:30", "s1", "02 11:30", "north")
    yield discharge("02 09:00", "s7", "03 12:00", "north")
    yield discharge("02 13:00", "s5", "02 08:30", "south")  # it was half an hour later
    yield discharge("02 13:20", "s2", "02 12:00", "north")  # the nurse stands before a closed door
    yield stays("02 14:30", "s6")  # went to another ward
    yield discharge("02 16:00", "s3", "03 10:00", "north", needs_lift=True)
    yield discharge("02 17:00", "s4", "02 12:00", "south")  # nobody had told the service
    yield nursing("02 19:00", "north", "03 07:00", "Ada", 1)
    yield nursing("03 06:00", "north", "03 07:00", "Eva", 1)
    yield nursing("03 08:00", "south", "02 07:00", "Dan", 2)  # a day is over: it stays as it was


def visits() -> Iterator[Row]:
    yield visited("02 12:30", "s5", "02 12:20", "Ben")
    yield visited("02 15:50", "s1", "02 15:45", "Ada")
    yield visited("02 16:25", "s2", "02 16:15", "Ada")
    yield visited("02 18:00", "s5", "02 12:20", "Cem")  # what has been done does not change
    yield visited("02 22:40", "s4", "02 22:35", "Ben")
    yield visited("03 14:30", "s3", "03 14:20", "Eva")
    yield visited("03 16:20", "s7", "03 16:10", "Eva")


def history() -> list[Row]:
    """All of it, in the order of detection, and how long time goes on."""
    rows = [*plans(), *changes(), *visits()]
    return [*sorted(rows, key=lambda row: row["@detected"]), {"@time": at(END)}]


def main() -> None:
    lines = [json.dumps(row) + "\n" for row in history()]
    Path(__file__).with_name("history.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
