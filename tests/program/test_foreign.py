"""Whatever is given in place of what is needed, the answer is ours."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import cepheid as cep
from cepheid.formal.petri.export.cpn.reading import from_cpn

PROGRAM = cep.parse("create schema A (x int); @Name('S') insert into S select x from A;")
DEEP = "[" * 100_000
GIVEN: dict[str, Callable[[Any], object]] = {
    "from_json": cep.Program.from_json,
    "from_cpn": from_cpn,
    "send": lambda given: cep.open(PROGRAM).send(given),
    "send its values": lambda given: cep.open(PROGRAM).send("A", given, 1),
    "send its time": lambda given: cep.open(PROGRAM).send("A", {"x": 1}, given),
    "advance": lambda given: cep.open(PROGRAM).advance(given),
    "state": lambda given: cep.open(PROGRAM, state=given),
}
ODD: tuple[object, ...] = (
    *(3, 2.5, b"", b"\xff", "", "x", DEEP, "1" * 10_000, [], [1], {1: 2}, object(), float("nan")),
    *('{"format": 1, "declarations": [{}]}', "<x/>", 10**400, ("A", 1)),
)


@pytest.mark.parametrize("name", GIVEN)
def test_what_makes_no_sense_is_said_in_our_words(name: str) -> None:
    for odd in ODD:
        with suppress(cep.CepheidError):
            GIVEN[name](odd)


def test_the_last_year_of_the_calendar_has_schedules_too() -> None:
    text = (
        "create schema A (x int); @Name('T') select * from pattern [every timer:at(0, 0, *, *, *)]"
    )
    times = ("9999-12-29T12:00:00Z", "9999-12-31T23:59:59.999999Z")
    events = [{"@type": "A", "@time": time} for time in times]
    for engine in ("reference", "local"):
        rows = cep.run(cep.parse(text), events, engine=engine)
        assert [f"{row.time:%m-%d}" for row in rows] == ["12-30", "12-31"]
