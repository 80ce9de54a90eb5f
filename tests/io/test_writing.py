"""What is written reads back equal, in every format."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, SECOND
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    Attribute,
    DataType,
    DecimalType,
    EventRef,
    EventType,
    RecordType,
)
from cepheid.errors import UsageError
from cepheid.io import (
    Decoder,
    encode,
    fail,
    read_records,
    records_of,
    to_arrow,
    to_pandas,
    write_csv,
    write_file,
    write_jsonl,
)
from tests.effort import examples

POINT = EventType("Point", (Attribute("x", INT), Attribute("tags", ArrayType(STRING))))
A = EventType(
    "A",
    (
        Attribute("s", STRING),
        Attribute("b", BOOLEAN),
        Attribute("i", INT),
        Attribute("l", LONG),
        Attribute("f", FLOAT),
        Attribute("d", DOUBLE),
        Attribute("list", ArrayType(DOUBLE)),
        Attribute("at", EventRef("Point")),
        Attribute("all", ArrayType(EventRef("Point"))),
        Attribute("rec", RecordType((Attribute("a", ArrayType(INT)), Attribute("c", STRING)))),
    ),
)
B = EventType("B", (Attribute("s", STRING), Attribute("i", DOUBLE), Attribute("own", BOOLEAN)))
TYPES = {t.name: t for t in (POINT, A, B)}
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
Format = Literal["jsonl", "csv", "parquet"]

TEXTS = st.one_of(
    st.sampled_from(["", '"', '""', '"""', "\r", "\n", "\ufeff", "null", "1"]), st.text()
)
INSTANTS = st.integers(FIRST_INSTANT, LAST_INSTANT)


def values_of(type: DataType) -> st.SearchStrategy[Value]:
    strategies: dict[DataType, st.SearchStrategy[Value]] = {
        STRING: TEXTS,
        BOOLEAN: st.booleans(),
        INT: st.integers(-(2**31), 2**31 - 1),
        LONG: st.integers(-(2**63), 2**63 - 1),
        FLOAT: st.floats(width=32),
        DOUBLE: st.floats(),
    }
    match type:
        case ArrayType(element):
            return st.none() | st.lists(values_of(element), max_size=3).map(list[Value])
        case RecordType(attributes):
            return st.none() | members(attributes)
        case EventRef(name):
            nested = st.builds(Event, st.just(name), INSTANTS, members(TYPES[name].attributes))
            return st.none() | members(TYPES[name].attributes) | nested
    return st.none() | strategies[type]


def members(attributes: tuple[Attribute, ...]) -> st.SearchStrategy[dict[str, Value]]:
    return st.fixed_dictionaries({a.name: values_of(a.type) for a in attributes})


def events_of(type: EventType) -> st.SearchStrategy[Event]:
    return st.builds(
        Event, st.just(type.name), INSTANTS, members(type.attributes), is_old=st.booleans()
    )


STREAMS = st.lists(events_of(A) | events_of(B), max_size=4)


def plain(value: Value) -> object:
    """A value to compare by: nested events as their attributes, NaN as equal to itself."""
    if isinstance(value, Mapping):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return (type(value).__name__, repr(value))


def described(event: Event) -> tuple[object, ...]:
    return event.type, event.instant, event.is_old, plain(event.values_)


def decoded(source: object, types: Mapping[str, EventType]) -> Iterator[Event]:
    decoder = Decoder(types)
    for record in records_of(source):
        event = decoder.decode(record, 0)
        assert isinstance(event, Event)
        yield event


def round_trip(events: list[Event], format: Format, types: Mapping[str, EventType]) -> list[Event]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"any.{format}"
        write_file(events, path, format, types)
        return list(decoded(path, types))


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
@given(events=STREAMS)
@examples(60)
def test_what_is_written_reads_back_equal(format: Format, events: list[Event]) -> None:
    again = round_trip(events, format, TYPES)
    assert list(map(described, again)) == list(map(described, events))


@given(events=STREAMS)
@examples(30)
def test_an_arrow_table_reads_back_equal(events: list[Event]) -> None:
    again = decoded(to_arrow(events, TYPES), TYPES)
    assert list(map(described, again)) == list(map(described, events))


def test_the_json_form_of_an_event() -> None:
    inner = Event("Point", SECOND // 2, {"x": 1, "tags": None})
    event = Event("A", SECOND, {"at": inner, "d": [math.nan, math.inf, -math.inf, 1.5]})
    assert json.dumps(encode(event)) == (
        '{"@type": "A", "@time": "1970-01-01T00:00:01Z", '
        '"at": {"@type": "Point", "@time": "1970-01-01T00:00:00.5Z", "x": 1, "tags": null}, '
        '"d": ["NaN", "Infinity", "-Infinity", 1.5]}'
    )
    assert list(encode(Event("A", 0, {"x": 1}, is_old=True))) == ["@type", "@time", "@old", "x"]


def test_json_lines_are_written_as_the_events_come_and_keep_their_letters() -> None:
    stream = io.StringIO()
    event = Event("A", 0, {"s": "é"})

    def events() -> Iterator[Event]:
        yield event
        assert stream.getvalue() == '{"@type": "A", "@time": "1970-01-01T00:00:00Z", "s": "é"}\n'

    write_jsonl(events(), stream)


def test_csv_has_the_columns_of_all_types_and_empty_cells_for_null() -> None:
    stream = io.StringIO()
    events = [
        Event("A", 0, {"x": 1, "s": "a,b"}),
        Event("B", SECOND, {"s": "", "y": [1, None], "b": True}, is_old=True),
        Event("C", 0, {"x": None, "d": math.nan}),
    ]
    write_csv(events, stream)
    assert stream.getvalue() == (
        "@type,@time,@old,x,s,y,b,d\n"
        'A,1970-01-01T00:00:00Z,,1,"a,b",,,\n'
        'B,1970-01-01T00:00:01Z,true,,"""""","[1, null]",true,\n'
        "C,1970-01-01T00:00:00Z,,,,,,NaN\n"
    )


def test_no_events_write_a_csv_header_and_an_empty_table() -> None:
    stream = io.StringIO()
    write_csv([], stream)
    assert stream.getvalue() == "@type,@time\n"
    assert to_arrow([], TYPES).column_names == ["@type", "@time"]


def test_arrow_columns_have_the_types_of_the_schema() -> None:
    event = Event("A", 0, {"s": "a", "i": 1})
    schema = to_arrow([event], TYPES).schema
    point = (
        "struct<@type: string, @time: timestamp[us, tz=UTC], x: int32, tags: list<item: string>>"
    )
    assert {field.name: str(field.type).replace("element", "item") for field in schema} == {
        "@type": "string",
        "@time": "timestamp[us, tz=UTC]",
        "s": "string",
        "b": "bool",
        "i": "int32",
        "l": "int64",
        "f": "float",
        "d": "double",
        "list": "list<item: double>",
        "at": point,
        "all": f"list<item: {point}>",
        "rec": "struct<a: list<item: int32>, c: string>",
    }


def test_pandas_keeps_whole_numbers_beside_nulls() -> None:
    frame = to_pandas([Event("A", 0, {"i": 1}), Event("A", SECOND, {"i": None})], TYPES)
    assert frame["i"].dtype == pd.Int32Dtype()
    assert frame["i"][0] == 1
    assert frame["i"].isna().tolist() == [False, True]
    assert frame["@time"][1] == pd.Timestamp(1, unit="s", tz="UTC")
    assert [dict(event)["i"] for event in decoded(frame, TYPES)] == [1, None]


def test_a_type_may_contain_itself_or_stand_for_its_descendants() -> None:
    tree = EventType("Tree", (Attribute("left", EventRef("Tree")), Attribute("n", INT)))
    leaf = EventType("Leaf", (*tree.attributes, Attribute("c", STRING)), frozenset({"Tree"}))
    holder = EventType("Holder", (Attribute("p", EventRef("Base")),))
    base = EventType("Base", (Attribute("x", INT),))
    derived = EventType("Derived", (*base.attributes, Attribute("y", INT)), frozenset({"Base"}))
    types = {t.name: t for t in (tree, leaf, holder, base, derived)}
    events = [
        Event("Tree", 0, {"left": {"left": {"left": None, "n": 1}, "n": 2}, "n": 3}),
        Event("Holder", 0, {"p": Event("Derived", 0, {"x": 1, "y": 2})}),
        Event("Holder", 0, {"p": Event("Base", 0, {"x": 1})}),
    ]
    formats: list[Format] = ["jsonl", "csv", "parquet"]
    for format in formats:
        again = round_trip(events, format, types)
        assert list(map(described, again)) == list(map(described, events))


def test_attributes_without_a_common_type_are_text_in_a_table_and_refused_in_parquet(
    tmp_path: Path,
) -> None:
    types = {
        "P": EventType("P", (Attribute("v", INT),)),
        "Q": EventType("Q", (Attribute("v", STRING),)),
    }
    events = [Event("P", 0, {"v": 1}), Event("Q", 0, {"v": "a"}), Event("P", 0, {"v": None})]
    assert to_arrow(events, types)["v"].to_pylist() == ["1", "a", None]
    with pytest.raises(UsageError, match="one Parquet column cannot hold"):
        write_file(events, tmp_path / "e.parquet", "parquet", types)
    again = round_trip(events, "csv", types)
    assert list(map(described, again)) == list(map(described, events))


@pytest.mark.parametrize(("whole", "real"), [(LONG, DOUBLE), (INT, FLOAT)])
def test_whole_numbers_beside_others_lose_the_digits_that_these_do_not_have(
    whole: DataType, real: DataType
) -> None:
    types = {
        "P": EventType("P", (Attribute("v", whole),)),
        "Q": EventType("Q", (Attribute("v", real),)),
    }
    number = (1 << 62) + 1 if whole == LONG else (1 << 30) + 1
    events = [Event("P", 0, {"v": number}), Event("Q", 0, {"v": 0.5}), Event("P", 0, {"v": None})]
    assert to_arrow(events, types)["v"].to_pylist() == [number - 1, 0.5, None]


@pytest.mark.parametrize(
    ("narrow", "wide", "small", "large", "found"),
    [
        (DecimalType(8, 2), DOUBLE, Decimal("1.50"), 0.25, [1.5, 0.25, None]),
        (DecimalType(8, 2), FLOAT, Decimal("1.50"), 0.25, [1.5, 0.25, None]),
        (DATE, TIMESTAMP, date(2026, 1, 2), NOON, [NOON.replace(hour=0), NOON, None]),
        (
            ArrayType(DecimalType(4, 1)),
            ArrayType(DOUBLE),
            [Decimal("1.5")],
            [0.25],
            [[1.5], [0.25], None],
        ),
        (
            LONG,
            DecimalType(18, 2),
            1 << 62,
            Decimal("0.25"),
            [Decimal(1 << 62), Decimal("0.25"), None],
        ),
    ],
)
def test_a_column_of_two_types_holds_the_values_of_both(
    narrow: DataType, wide: DataType, small: Value, large: Value, found: list[Value], tmp_path: Path
) -> None:
    types = {
        "P": EventType("P", (Attribute("v", narrow),)),
        "Q": EventType("Q", (Attribute("v", wide),)),
    }
    events = [Event("P", 0, {"v": small}), Event("Q", 0, {"v": large}), Event("P", 0, {"v": None})]
    assert to_arrow(events, types)["v"].to_pylist() == found
    write_file(events, tmp_path / "e.parquet", "parquet", types)
    assert pd.read_parquet(tmp_path / "e.parquet")["@type"].tolist() == ["P", "Q", "P"]


def test_values_of_no_known_type_still_become_columns() -> None:
    events = [Event("U", 0, {"n": 1, "mixed": 1, "deep": {"a": [math.nan]}, "void": None}),
              Event("U", 0, {"n": 2, "mixed": "x", "deep": {}, "void": None})]  # fmt: skip
    types = {"U": EventType("U", (Attribute("n", ANY),), is_open=True)}
    for known in (types, {}):
        columns = to_arrow(events, known).to_pydict()
        assert columns["n"] == [1, 2]
        assert columns["mixed"] == ["1", "x"]
        assert columns["deep"] == ['{"a": ["NaN"]}', "{}"]
        assert columns["void"] == [None, None]


def test_every_attribute_of_an_open_type_becomes_a_column() -> None:
    events = [Event("U", 0, {"a": 1}), Event("U", 0, {"b": 2})]
    columns = to_arrow(events, {}).to_pydict()
    assert (columns["a"], columns["b"]) == ([1, None], [None, 2])


def test_a_place_that_cannot_be_written_is_an_error_of_use(tmp_path: Path) -> None:
    formats: list[Format] = ["jsonl", "csv", "parquet"]
    for format in formats:
        with pytest.raises(UsageError, match="cannot write"):
            write_file([], tmp_path / "none" / "e.out", format, {})


def test_the_output_of_one_program_is_the_input_of_another(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    write_file([Event("A", 0, {"at": Event("Point", 0, {"x": 1})})], path, "jsonl", TYPES)
    (record,) = read_records(path, on_problem=fail)
    event = Decoder(TYPES).decode(record, 0)
    assert isinstance(event, Event)
    assert event["at"] == {"x": 1, "tags": None}


NESTING = """
create schema P (u string); create schema Q (w int) inherits P;
insert into N select a from pattern [every a=P];
"""
HANDING_ON = """
create schema P (u string); create schema Q (w int) inherits P; create schema N (a P);
select a from N;
"""
FORMATS_AGAIN = ["jsonl", "csv", "parquet", None]  # a result itself


@pytest.mark.parametrize("form", FORMATS_AGAIN)
def test_events_in_rows_are_records_when_they_are_read_again(
    form: Literal["jsonl", "csv", "parquet"] | None, tmp_path: Path
) -> None:
    found = cep.run(cep.parse(NESTING), [{"@type": "Q", "@time": 1, "u": "z", "w": 3}])
    again: Any = found
    if form is not None:
        again = tmp_path / f"N.{form}"
        write_file(found, again, form, found.types)
    [row] = cep.run(cep.parse(HANDING_ON), again)
    meta = {} if form else {"@type": "Q", "@time": "1970-01-01T00:00:01Z"}
    assert encode(row)["a"] == {**meta, "u": "z", "w": 3}
