"""Records become events of their types, or one diagnostic says what is wrong and where."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pandas as pd
import pytest

from cepheid.core.event import Event
from cepheid.core.time import SECOND
from cepheid.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    Attribute,
    DataType,
    DecimalType,
    EventRef,
    EventTime,
    EventType,
    RecordType,
)
from cepheid.errors import Diagnostic, InputError, Span
from cepheid.io import Decoder, Record, infer_types
from cepheid.io.records import record_from, sequence_of
from cepheid.io.source import Placement

PLACE = Span(7, 1, 7, 9, "e.jsonl")
MOTORBIKE = EventType("Motorbike", (Attribute("speed", INT), Attribute("seat", BOOLEAN)))
PATIENT = EventType(
    "Patient",
    (Attribute("id", STRING), Attribute("ts", LONG)),
    time=EventTime("ts", "minutes"),
)
LOG = EventType("Log", (Attribute("at", STRING),), time=EventTime("at", "seconds"))
LOOSE = EventType("Loose", (), is_open=True)
DECODER = Decoder({t.name: t for t in (MOTORBIKE, PATIENT, LOG, LOOSE)})


def decoded(type: str, time: object, values: dict[str, object], is_text: bool = False) -> Event:
    event = DECODER.decode(Record(type, time, values, PLACE, is_text), 5)
    assert isinstance(event, Event)
    return event


def problem(
    type: str | None, time: object, values: dict[str, object], is_text: bool = False
) -> Diagnostic:
    with pytest.raises(InputError) as caught:
        DECODER.decode(Record(type, time, values, PLACE, is_text), 0)
    (found,) = caught.value.diagnostics
    assert found.span == PLACE
    return found


def test_attributes_follow_the_schema_and_missing_ones_are_null() -> None:
    event = decoded("Motorbike", 2, {"seat": True})
    assert (event.type, event.instant, event.sequence) == ("Motorbike", 2 * SECOND, 5)
    assert list(event.items()) == [("speed", None), ("seat", True)]
    assert not event.is_old


def test_the_mark_of_an_old_row_is_kept() -> None:
    event = DECODER.decode(Record("Motorbike", 0, {}, None, is_old=True), 0)
    assert isinstance(event, Event)
    assert event.is_old


def test_a_record_without_a_type_is_an_instant() -> None:
    assert DECODER.decode(Record(None, "1970-01-01T00:00:09Z", {}, None), 0) == 9 * SECOND


@pytest.mark.parametrize(
    "time",
    [
        60,
        60.0,
        Decimal(60),
        "1970-01-01T00:01",
        "1970-01-01T01:01:00+01:00",
        datetime(1970, 1, 1, 0, 1, tzinfo=UTC),
        pd.Timestamp(60, unit="s"),
        pd.Timestamp(60, unit="s", tz="Europe/Madrid"),
    ],
)
def test_times_come_in_many_forms(time: object) -> None:
    assert decoded("Motorbike", time, {}).instant == 60 * SECOND


def test_a_day_is_its_first_instant() -> None:
    assert decoded("Motorbike", date(1970, 1, 2), {}).instant == 86_400 * SECOND


@pytest.mark.parametrize("cell", ["60", " 60 ", "6e1", "1970-01-01T00:01:00Z"])
def test_time_cells_are_seconds_or_iso_texts(cell: str) -> None:
    assert decoded("Motorbike", cell, {}, is_text=True).instant == 60 * SECOND


def test_an_attribute_that_holds_the_time_wins_and_time_stands_in_for_it() -> None:
    assert decoded("Patient", 7, {"ts": 2}).instant == 120 * SECOND
    assert decoded("Patient", 7, {"ts": None}).instant == 7 * SECOND
    assert decoded("Patient", None, {"ts": "2"}, is_text=True).instant == 120 * SECOND
    assert decoded("Log", None, {"at": "1970-01-01T00:00:03Z"}).instant == 3 * SECOND


def test_events_of_a_type_without_a_schema_are_refused() -> None:
    found = problem("Loose", 0, {"x": 1})
    assert (found.code, found.message) == ("no-schema", "type 'Loose' has no schema")


def test_an_unknown_type_suggests_a_known_one() -> None:
    found = problem("Motorbik", 0, {})
    assert (found.code, found.message) == ("unknown-type", "no event type 'Motorbik'")
    assert found.hint == "did you mean 'Motorbike'?"


def test_an_unknown_attribute_is_left_out_and_remembered_once() -> None:
    decoder = Decoder({"Motorbike": MOTORBIKE})
    given: list[dict[str, object]] = [{"sped": 1, "zz": None}, {"sped": 2}]
    for values in given:
        event = decoder.decode(Record("Motorbike", 0, values, PLACE), 0)
        assert isinstance(event, Event)
        assert dict(event) == {"seat": None, "speed": None}
    assert decoder.ignored == {"Motorbike": {"sped": None, "zz": None}}


def test_an_unknown_attribute_that_is_refused_suggests_one_that_is_really_close() -> None:
    decoder = Decoder({"Motorbike": MOTORBIKE}, extra="error")
    for name, hint in (("sped", "did you mean 'speed'?"), ("zz", None)):
        with pytest.raises(InputError) as caught:
            decoder.decode(Record("Motorbike", 0, {name: 1}, PLACE), 0)
        (found,) = caught.value.diagnostics
        assert (found.code, found.span, found.hint) == ("unknown-attribute", PLACE, hint)
        assert found.message == f"no attribute '{name}' in Motorbike"


@pytest.mark.parametrize(
    ("value", "is_text", "fact"),
    [
        ("abc", False, "'abc' is not an int"),
        (3_000_000_000, False, "3000000000 does not fit an int (32 bit)"),
        ("abc", True, "'abc' is not an int"),
    ],
)
def test_a_wrong_value_names_attribute_and_type(value: object, is_text: bool, fact: str) -> None:
    found = problem("Motorbike", "0", {"speed": value}, is_text)
    assert (found.code, found.message) == ("bad-value", f"attribute 'speed' of Motorbike: {fact}")


@pytest.mark.parametrize(
    "time",
    ["soon", True, [1], 1e300, 1e308, -1e308, 10**400, float("nan"), float("inf"), 10**12, "60"],
    ids=range(11),
)
def test_a_time_that_is_none_or_off_the_calendar_is_refused(time: object) -> None:
    assert problem("Motorbike", time, {}).code == "bad-time"
    assert problem(None, time, {}).code == "bad-time"


def test_an_attribute_that_is_no_time_is_refused() -> None:
    assert problem("Log", None, {"at": "soon"}).code == "bad-time"
    assert problem("Patient", None, {"ts": 2**62}).code == "bad-time"


def test_a_missing_time_says_what_to_give() -> None:
    assert problem("Motorbike", None, {}).code == "missing-time"
    assert problem("Motorbike", "", {}, is_text=True).code == "missing-time"
    assert (
        problem("Patient", None, {}).hint
        == "give '@time' or the attribute 'ts', or name its column (time=, --time)"
    )


def test_values_without_a_type_are_no_passing_of_time() -> None:
    assert problem(None, 5, {"speed": 1}).code == "missing-type"
    assert problem(None, None, {}).code == "missing-type"


# Inference --------------------------------------------------------------------------------------


def inferred(*values: object, is_text: bool = False) -> DataType:
    records = [Record("A", 0, {"x": value}, PLACE, is_text) for value in values]
    (attribute,) = infer_types(records, {})["A"].attributes
    return attribute.type


@pytest.mark.parametrize(
    ("values", "type"),
    [
        ([1, None], LONG),
        ([1, 2**31], LONG),
        ([1, None, 2.5], DOUBLE),
        ([10**400], LONG),
        ([2.5, "NaN"], DOUBLE),
        (["NaN", 1], DOUBLE),
        (["NaN", None], DOUBLE),
        (["NaN", "Ann"], STRING),
        ([None, None], NULL),
        ([True, None], BOOLEAN),
        (["a", "b"], STRING),
        ([datetime(2026, 1, 1, tzinfo=UTC)], TIMESTAMP),
        ([Decimal("1.5"), Decimal(1)], DecimalType(18, 1)),
        ([[], [1], [2.5, None]], ArrayType(DOUBLE)),
        ([[], None], ArrayType(NULL)),
        ([["Infinity"]], ArrayType(DOUBLE)),
        (
            [{"a": 1, "@type": "P", "@time": 0}, {"b": "x", "a": 1.5}],
            RecordType((Attribute("a", DOUBLE), Attribute("b", STRING))),
        ),
        ([Event("P", 0, {})], EventRef("P")),
    ],
)
def test_a_schema_is_found_in_the_values(values: list[object], type: DataType) -> None:
    assert inferred(*values) == type


@pytest.mark.parametrize(
    ("cells", "type"),
    [
        (["1", ""], LONG),
        (["1", "3000000000"], LONG),
        (["1", "1.5", "NaN"], DOUBLE),
        (["true", "False"], BOOLEAN),
        (["1", "x"], STRING),
        (["true", "1"], STRING),
        (["x", "[1]"], STRING),
        (["007"], STRING),
        (["NaN", "x"], STRING),
        (["[1]", "[2.5]"], ArrayType(DOUBLE)),
        (['{"a": 1}'], RecordType((Attribute("a", LONG),))),
        ([""], NULL),
        (["9" * 500], LONG),
    ],
    ids=range(13),
)
def test_a_schema_is_found_in_cells(cells: list[str], type: DataType) -> None:
    assert inferred(*cells, is_text=True) == type


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        (["a", 1, 2], "attribute 'x' of A is long here and string before"),
        ([True, 1], "attribute 'x' of A is long here and boolean before"),
        ([{"a": 1}, {"a": "x"}], "attribute 'x' of A is {a string} here and {a long} before"),
        ([[1], ["x"]], "attribute 'x' of A is string[] here and long[] before"),
        ([[1, "x"]], "attribute 'x' of A: an array of long and string"),
        ([object], "attribute 'x' of A: <class 'object'> is nothing that an event can hold"),
    ],
)
def test_values_with_nothing_in_common_are_one_error(values: list[object], fact: str) -> None:
    with pytest.raises(InputError) as caught:
        inferred(*values)
    assert [(d.code, d.message, d.span) for d in caught.value.diagnostics] == [
        ("bad-value", fact, PLACE)
    ]


def test_only_unknown_types_are_inferred_each_with_all_its_attributes() -> None:
    records = [
        Record("Motorbike", 0, {"other": 1}, None),
        Record("B", 0, {}, None),
        Record("A", 0, {"x": 1}, None),
        Record(None, 0, {}, None),
        Record("A", 0, {"y": "2"}, None),
    ]
    assert infer_types(records, {"Motorbike": MOTORBIKE}) == {
        "A": EventType("A", (Attribute("x", LONG), Attribute("y", STRING))),
        "B": EventType("B", ()),
    }


def test_columns_that_a_source_declares_are_believed() -> None:
    records = [Record("A", 0, {"x": 1, "y": 1}, None, columns={"x": INT})]
    assert infer_types(records, {})["A"].attributes == (Attribute("x", INT), Attribute("y", LONG))


def test_an_attribute_cannot_have_a_name_that_describes_events() -> None:
    with pytest.raises(InputError) as caught:
        infer_types([Record("A", 0, {"@x": 1}, PLACE)], {})
    assert [(d.code, d.message, d.span) for d in caught.value.diagnostics] == [
        ("bad-name", "'@x' cannot be the name of an attribute", PLACE)
    ]


def test_what_explains_a_row_is_no_part_of_it() -> None:
    row = {"@type": "A", "@time": 1, "x": 1, "@why": [{"@type": "B"}]}
    assert record_from(row, None).values == {"x": 1}


@pytest.mark.parametrize("raw", [3, 3.0, -(2**31) - 1, 2**63 - 1])
def test_a_whole_number_is_a_place_among_events_of_one_time(raw: float) -> None:
    assert sequence_of(Record("A", 1, {}, None, sequence=raw), "n") == raw
    cell = Record("A", 1, {}, None, is_text=True, sequence=f" {raw} ")
    assert sequence_of(cell, "n") == raw


@pytest.mark.parametrize("raw", [True, 1.5, 2**63, "3", None])
def test_anything_else_is_no_place_among_events_of_one_time(raw: object) -> None:
    with pytest.raises(InputError, match="'n' orders events by whole numbers"):
        sequence_of(Record("A", 1, {}, None, sequence=raw), "n")


def test_a_line_with_a_time_alone_counts_in_the_unit_that_is_said() -> None:
    record = Record(None, 5, {}, None, placement=Placement(unit="milliseconds"))
    assert Decoder({}).decode(record, 0) == 5_000


def test_a_time_column_that_is_named_wins_and_counts_as_its_attribute_says() -> None:
    timed = EventType("A", (Attribute("ts", LONG),), time=EventTime("ts", "milliseconds"))

    def instant(time: str, values: dict[str, object]) -> int:
        record = Record("A", 7, values, None, placement=Placement(time=time))
        event = Decoder({"A": timed}).decode(record, 0)
        assert isinstance(event, Event)
        assert event["ts"] == values["ts"]
        return event.instant

    assert instant("at", {"ts": 1, "at": 7}) == 7_000_000
    assert instant("ts", {"ts": 7}) == 7_000


def test_each_zone_has_times_of_its_own() -> None:
    decoder = Decoder({"A": EventType("A", (Attribute("at", TIMESTAMP),))})

    def hour(zone: str | None) -> int:
        raw = "2026-01-01T12:00:00"
        record = Record("A", 1, {"at": raw}, None, placement=Placement(zone=zone))
        event = decoder.decode(record, 0)
        assert isinstance(event, Event)
        at = event["at"]
        assert isinstance(at, datetime)
        return at.hour

    assert [hour(zone) for zone in ("Europe/Berlin", None, "Asia/Tokyo", None)] == [11, 12, 3, 12]


@pytest.mark.parametrize(
    ("type", "value"), [(DATE, date(1970, 1, 2)), (DOUBLE, 86_401.5), (LONG, 86_401)]
)
def test_a_time_attribute_that_is_null_says_what_the_time_is(type: DataType, value: object) -> None:
    timed = EventType("A", (Attribute("at", type),), time=EventTime("at", "seconds"))
    event = Decoder({"A": timed}).decode(Record("A", 86_401.5, {"at": None}, None), 0)
    assert isinstance(event, Event)
    assert (event["at"], event["at"].__class__) == (value, value.__class__)


def test_the_hint_of_a_time_does_not_ask_for_a_column_that_is_there() -> None:
    types = {"A": EventType("A", ())}
    record = Record("A", None, {"at": None, "att": 1}, None, placement=Placement(time="at"))
    with pytest.raises(InputError) as refused:
        Decoder(types).decode(record, 0)
    assert refused.value.diagnostics[0].hint == "'at' holds the time"
    with pytest.raises(InputError, match="this is a text"):
        Decoder(types).decode(Record("A", " 1774742400 ", {}, None), 0)
