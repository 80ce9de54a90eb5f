"""Raw values become values of a static type, or say why not."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from cepheid.core.event import Event
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    ArrayType,
    Attribute,
    DataType,
    EventRef,
    EventType,
    RecordType,
)
from cepheid.core.values import DEEPEST, Coercions, any_cell, coerce, parse_json

POSITION = EventType("Position", (Attribute("x", INT), Attribute("y", DOUBLE)))
PLACE = EventType(
    "Place",
    (*POSITION.attributes, Attribute("name", STRING)),
    ancestors=frozenset({"Position"}),
)
TREE = EventType("Tree", (Attribute("left", EventRef("Tree")), Attribute("value", INT)))
LOOSE = EventType("Loose", (), is_open=True)
TYPES = {t.name: t for t in (POSITION, PLACE, TREE, LOOSE)}
PAIR = RecordType((Attribute("a", INT), Attribute("b", STRING)))


@pytest.mark.parametrize(
    ("raw", "type", "expected"),
    [
        (3, INT, 3),
        (3.0, INT, 3),
        (Decimal("3"), LONG, 3),
        (-(2**31), INT, -(2**31)),
        (2**63 - 1, LONG, 2**63 - 1),
        (1e18, LONG, 10**18),
        (2, DOUBLE, 2.0),
        (Decimal("2.5"), DOUBLE, 2.5),
        ("-Infinity", DOUBLE, -math.inf),
        ("Infinity", FLOAT, math.inf),
        (0.1, FLOAT, 0.10000000149011612),
        ("", STRING, ""),
        ("é", STRING, "é"),
        (
            datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
            STRING,
            "2026-01-01T00:00:00Z",
        ),
        (date(2026, 1, 2), STRING, "2026-01-02"),
        (False, BOOLEAN, False),
        (np.int64(4), INT, 4),
        (np.bool_(True), BOOLEAN, True),
        (np.array([1, 2]), ArrayType(INT), [1, 2]),
        ((1, None), ArrayType(LONG), [1, None]),
        (pd.NaT, STRING, None),
        (pd.NA, INT, None),
        ({"b": "t", "a": 1}, PAIR, {"a": 1, "b": "t"}),
        ({"a": 1}, PAIR, {"a": 1, "b": None}),
        ('{"a": 1}', PAIR, {"a": 1, "b": None}),
        ({"@type": "Position", "@time": "x", "x": 1}, EventRef("Position"), {"x": 1, "y": None}),
        (
            {"@type": "Place", "name": "n"},
            EventRef("Position"),
            {"x": None, "y": None, "name": "n"},
        ),
        ({"@type": "Tree", "x": 1}, EventRef("Position"), {"x": 1, "y": None}),
        (
            {"left": {"value": 1}},
            EventRef("Tree"),
            {"left": {"left": None, "value": 1}, "value": None},
        ),
        ({"z": (Decimal(1), None, {"k": "v"})}, ANY, {"z": [1.0, None, {"k": "v"}]}),
    ],
)
def test_a_value_that_fits_is_converted(raw: object, type: DataType, expected: object) -> None:
    value = coerce(raw, type, TYPES)
    assert value == expected
    assert value.__class__ is expected.__class__


@pytest.mark.parametrize(
    "type",
    [STRING, BOOLEAN, INT, LONG, FLOAT, DOUBLE, ANY, NULL, PAIR, EventRef("Tree"), ArrayType(INT)],
)
def test_null_fits_every_type(type: DataType) -> None:
    assert coerce(None, type, TYPES) is None
    assert Coercions(TYPES).of_text(type)("") is None


@pytest.mark.parametrize(
    ("raw", "type", "fact"),
    [
        ("abc", INT, "'abc' is not an int"),
        ("3", INT, "'3' is not an int"),
        (3_000_000_000, INT, "3000000000 does not fit an int (32 bit)"),
        (2**63, LONG, "9223372036854775808 does not fit a long (64 bit)"),
        (10**400, LONG, "a number of 401 digits does not fit a long (64 bit)"),
        (10**400, DOUBLE, "a number of 401 digits does not fit a double"),
        (10**400, ANY, "a number of 401 digits does not fit a long (64 bit)"),
        (1e39, FLOAT, "1e+39 does not fit a float (32 bit)"),
        (3.5, INT, "3.5 is not an int"),
        (math.nan, INT, "nan is not an int"),
        (math.inf, LONG, "inf is not a long"),
        (True, INT, "true is not an int"),
        (1, NULL, "1 is not a null"),
        ({}, EventRef("Loose"), "type 'Loose' has no schema"),
        (Event("Loose", 0, {}), EventRef("Loose"), "type 'Loose' has no schema"),
        (True, DOUBLE, "true is not a double"),
        ("nan", DOUBLE, "'nan' is not a double"),
        ([1], DOUBLE, "a list is not a double"),
        (1, BOOLEAN, "1 is not a boolean"),
        (1, STRING, "1 is not a string"),
        ("x" * 99, INT, f"'{'x' * 56}... is not an int"),
        ("\ud800", STRING, "'\\ud800' holds half of a surrogate pair"),
        (b"x", STRING, "b'x' is not a string"),
        (timedelta(1), ANY, "datetime.timedelta(days=1) is nothing that an event can hold"),
        ("x", ArrayType(INT), "'x' is not an int[]"),
        ([1, "x"], ArrayType(INT), "'x' is not an int"),
        (1, PAIR, "1 is not a {a int, b string}"),
        ({"c": 1}, PAIR, "no attribute 'c' in {a int, b string}, which has a, b"),
        ({"name": "n"}, EventRef("Position"), "no attribute 'name' in Position, which has x, y"),
        ({}, EventRef("Nowhere"), "no event type 'Nowhere'"),
        (Event("Tree", 0, {}), EventRef("Position"), "an event of type 'Tree' is not a Position"),
    ],
)
def test_a_value_that_does_not_fit_says_so(raw: object, type: DataType, fact: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared in full
        coerce(raw, type, TYPES)
    assert str(caught.value) == fact


def test_an_event_stays_itself_where_its_type_or_an_ancestor_is_asked_for() -> None:
    place = Event("Place", 0, {"x": 1, "y": None, "name": "n"})
    assert coerce(place, EventRef("Position"), TYPES) is place


def test_values_may_be_nested_as_deeply_as_the_limit_and_no_deeper() -> None:
    def tree(depth: int) -> dict[str, object]:
        value: dict[str, object] = {"value": 1}
        for _ in range(depth - 1):
            value = {"left": value}
        return value

    for type in (EventRef("Tree"), ANY):
        assert coerce(tree(DEEPEST), type, TYPES)
        with pytest.raises(ValueError, match="nested deeper than 64 levels"):
            coerce(tree(DEEPEST + 1), type, TYPES)
        with pytest.raises(ValueError, match="nested deeper than 64 levels"):
            coerce(tree(100_000), type, TYPES)


@pytest.mark.parametrize(
    ("text", "type", "expected"),
    [
        ("12", INT, 12),
        (" 12 ", INT, 12),
        ("007", INT, 7),
        ("3.0", LONG, 3),
        ("1e3", DOUBLE, 1000.0),
        ("NaN", DOUBLE, math.nan),
        ("true", BOOLEAN, True),
        ("False", BOOLEAN, False),
        ("true", STRING, "true"),
        (" a ", STRING, " a "),
        ('""', STRING, ""),
        ('"', STRING, '"'),
        ("[1, null]", ArrayType(INT), [1, None]),
        ('{"a": 1}', PAIR, {"a": 1, "b": None}),
    ],
)
def test_a_cell_is_read_as_its_type_says(text: str, type: DataType, expected: object) -> None:
    value = Coercions(TYPES).of_text(type)(text)
    assert (value.__class__, repr(value)) == (expected.__class__, repr(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 5),
        ("-0.5", -0.5),
        ("007", "007"),
        ("+5", "+5"),
        ("true", True),
        ("[1", "[1"),
        ("[1]", [1]),
        ("Alice ", "Alice "),
    ],
)
def test_a_cell_without_a_type_is_what_it_looks_like(text: str, expected: object) -> None:
    value = any_cell(text)
    assert (value.__class__, value) == (expected.__class__, expected)


@pytest.mark.parametrize(
    ("text", "type", "fact"),
    [
        ("abc", INT, "'abc' is not an int"),
        ("1_000", INT, "'1_000' is not an int"),
        ("٣", INT, "'٣' is not an int"),
        ("3000000000", INT, "3000000000 does not fit an int"),
        pytest.param("9" * 5000, INT, "a number of 5000 digits does not fit a long", id="huge"),
        ("1e999", DOUBLE, "1e999 does not fit a double"),
        ("yes", BOOLEAN, "'yes' is not a boolean"),
        ("[1", ArrayType(INT), "not JSON: it ends too early at column 3"),
        pytest.param("[" * 100_000, ArrayType(INT), "nested deeper", id="deep"),
    ],
)
def test_a_cell_that_does_not_fit_says_so(text: str, type: DataType, fact: str) -> None:
    with pytest.raises(ValueError, match=fact):
        Coercions(TYPES).of_text(type)(text)


def test_a_number_too_long_to_be_printed_is_refused_all_the_same() -> None:
    with pytest.raises(ValueError, match="a number of 5001 digits does not fit a long"):
        coerce(10**5000, LONG, TYPES)


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', "1e999", pytest.param("9" * 5000, id="huge"), '"\\ud800"', "[1] x", ""],
)
def test_json_that_no_event_may_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_json(text)


def test_a_surrogate_pair_written_as_escapes_is_one_character() -> None:
    assert parse_json('"\\ud83d\\ude00"') == "😀"


def test_times_at_the_edge_of_the_calendar_are_refused() -> None:
    late = datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))
    assert coerce(datetime.max.replace(tzinfo=UTC), STRING, TYPES) == "9999-12-31T23:59:59.999999Z"
    with pytest.raises(ValueError, match="outside the years"):
        coerce(late, STRING, TYPES)
