"""Classes built in Python are those of a BiCEPL text, and print as it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import cepheid as cep
from tests.build.test_builder import refusal

anything: Any = cep
ARRIVAL = {"flightNo": "TEXT", "toLoc": "varchar", "at": "TIMESTAMP"}


def refused(build: Callable[[], object]) -> str:
    return refusal(build).message


def arrival(**changes: Any) -> Any:
    return cep.subscribed_class(
        "Arrival", ARRIVAL, **{"key": "flightNo", "freezing": "2d", **changes}
    )


def test_built_classes_are_those_of_a_text() -> None:
    built = cep.compose(
        arrival(mutable=False, freezing=timedelta(hours=36)),
        cep.complex_class(
            "Landed",
            {"flightNo": "TEXT", "n": "INTEGER"},
            cep.on("ontime or late(0s, 1h)").do("post", 'format("%s", NEW.flightNo)', "NEW"),
            cep.on("CHANGE").do("log"),
            key=["flightNo", "n"],
            observation=60,
            select="select a.flightNo, count(*) n from Arrival a group by a.flightNo",
            occurring="max(a) + 5m",
        ),
    )
    text = """
        CREATE IMMUTABLE SUBSCRIBED EVENT CLASS Arrival(flightNo TEXT, toLoc TEXT, at TIMESTAMP)
            ID (flightNo) FREEZING TIME (36h);
        CREATE COMPLEX EVENT CLASS Landed(flightNo TEXT, n INTEGER) ID (flightNo, n)
            OBSERVATION SPAN (1m)
            AS SELECT a.flightNo, COUNT(*) AS n FROM Arrival a GROUP BY a.flightNo
            OCCURRING AT MAX(a) + 5m
            ON ONTIME OR LATE(0s, 1h) DO post(format('%s', NEW.flightNo), NEW),
            ON CHANGE DO log();
    """
    assert built == cep.parse(text, "bicepl")
    assert cep.parse(str(built), "bicepl") == built
    assert not [f for f in built.check() if f.severity is cep.Severity.ERROR]


def test_a_built_class_shows_its_text() -> None:
    assert str(arrival()).startswith("CREATE MUTABLE SUBSCRIBED EVENT CLASS Arrival(")
    assert repr(arrival()).startswith("<EventClass: CREATE MUTABLE")


def test_what_makes_no_sense_is_refused() -> None:
    assert "a class needs a key" in refused(lambda: arrival(key=()))
    assert "an attribute of a key is a text" in refused(lambda: arrival(key=[3]))
    assert "not a whole number of seconds" in refused(lambda: arrival(freezing="1 month"))
    assert "not a whole number of seconds" in refused(lambda: arrival(freezing=0.5))
    assert "no such type" in refused(
        lambda: cep.subscribed_class("A", {"k": "TXT"}, key="k", freezing="1d")
    )
    assert "a class needs attributes" in refused(
        lambda: cep.subscribed_class("A", {}, key="k", freezing="1d")
    )
    assert "no statement of a class" in refused(
        lambda: anything.subscribed_class("A", {"k": "TEXT"}, "CHANGE", key="k", freezing="1d")
    )
    assert "a condition is a text in SQL" in refused(lambda: anything.on(3))
    assert "an argument is a text in SQL" in refused(lambda: anything.on("CHANGE").do("f", 3))
    reserved = cep.on("NEW.k = 1").do("f", "NEW.do")
    assert "no text says" in refused(
        lambda: cep.subscribed_class("A", {"k": "TEXT"}, reserved, key="k", freezing="1d")
    )


@pytest.mark.parametrize("text", ["CHANGE AND", "NEW.k = 'a", "a, b", "SELECT"])
def test_sql_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(cep.ProgramError):
        cep.on(text)
