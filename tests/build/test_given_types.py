"""Types for events that no schema declares: dictionaries and Arrow schemas."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    STRING,
    ArrayType,
    Attribute,
    DataType,
    EventRef,
    EventType,
    RecordType,
)
from cepheid.io.type_arguments import data_type, event_types

TEXTS: list[tuple[str, DataType]] = [
    ("int", INT),
    ("Integer", INT),
    ("bool", BOOLEAN),
    ("double[]", ArrayType(DOUBLE)),
    (" string [ ] [] ", ArrayType(ArrayType(STRING))),
    ("Position", EventRef("Position")),
    ("`int`", EventRef("int")),
    ("`two words`[]", ArrayType(EventRef("two words"))),
]


@pytest.mark.parametrize(("text", "type"), TEXTS, ids=[text for text, _ in TEXTS])
def test_a_type_is_written_as_in_epl(text: str, type: DataType) -> None:
    assert data_type(text) == type


@pytest.mark.parametrize("text", ["", "5", "int[", "int []x", "a b", "int[2]"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(cep.UsageError, match="is not a type"):
        data_type(text)


def test_dictionaries_describe_types() -> None:
    nested = RecordType((Attribute("lat", DOUBLE),))
    assert event_types({"A": {"x": "int", "p": {"lat": "double"}}}) == {
        "A": EventType("A", (Attribute("x", INT), Attribute("p", nested)))
    }


def test_arrow_schemas_describe_types() -> None:
    fields = [
        ("@time", pa.int64()),
        ("x", pa.int64()),
        ("s", pa.string()),
        ("l", pa.list_(pa.int32())),
    ]
    schema = pa.schema([pa.field(name, type) for name, type in fields])
    attributes = (Attribute("x", LONG), Attribute("s", STRING), Attribute("l", ArrayType(INT)))
    assert event_types({"A": schema}) == {"A": EventType("A", attributes)}


def test_event_types_pass_as_they_are() -> None:
    type = EventType("A", (Attribute("x", INT),))
    assert event_types({"A": type}) == {"A": type}
    assert event_types(None) == {}


def test_given_types_are_checked_against() -> None:
    program = cep.compose(
        cep.stream("Motorbike").where(cep.col("sped") > 5),
        types={"Motorbike": {"speed": "int", "id": "string"}},
    )
    (finding,) = [f for f in program.check() if f.severity is cep.Severity.ERROR]
    assert finding.code in ("unknown-attribute", "unknown-name")
    assert "speed" in (finding.hint or "")


def test_given_types_decide_what_events_may_hold() -> None:
    program = cep.parse("select x / 2 as half from A", types={"A": {"x": "int"}})
    (row,) = cep.run(program, [{"@type": "A", "@time": 0, "x": 5}])
    assert row["half"] == 2.5
    with pytest.raises(cep.InputError):
        cep.run(program, [{"@type": "A", "@time": 0, "x": "five"}])


def test_what_another_program_derives_may_always_be_null() -> None:
    first = cep.parse("create schema A (v int); insert into Wide select v, null as nix from A;")
    types = first.resolve().types
    second = cep.parse("select v, nix, coalesce(nix, v) as either from Wide;", types=types)
    derived = cep.run(first, [{"@type": "A", "@time": 0, "v": 1}])
    for given in (derived, {"Wide": derived.to_arrow()}):
        assert [dict(row) for row in cep.run(second, given)] == [{"v": 1, "nix": None, "either": 1}]
    with pytest.raises(cep.InputError, match="'nix' of Wide: 3 is not a null"):
        cep.run(second, [{"@type": "Wide", "@time": 0, "v": 1, "nix": 3}])


def test_what_has_no_type_is_told_all_types() -> None:
    schema = pa.schema([("x", pa.binary())])
    with pytest.raises(cep.UsageError, match=r"'x' of A has no type .*double.*decimal\(p, s\)"):
        event_types({"A": schema})
