"""Schemas of types that no program declares, found in their events.

Whole numbers are long, beside fractions double: a schema does not depend on how large the numbers
happen to be. Objects become nested records, and an attribute that is always null says nothing about
its type. Datetimes, dates and decimals of Python are what they are. Sources with declared columns (Arrow, Parquet, pandas) are believed. CSV cells are what
their text looks like, and strings where they look like different things.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import reduce

from cepheid.core.event import Event
from cepheid.core.numbers import NOT_FINITE, fits_digits
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DATE,
    DOUBLE,
    LONG,
    MOST_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    Attribute,
    DataType,
    DecimalType,
    EventRef,
    EventType,
    RecordType,
    Scalar,
    bad_name,
    is_numeric,
    is_open,
    wider,
)
from cepheid.core.values import (
    DEEPEST,
    META_KEYS,
    any_cell,
    is_null,
    is_too_deep,
    native,
    shown,
)
from cepheid.errors import Diagnostic, InputError, error
from cepheid.io.records import Record

# The texts that stand for NaN and infinities: numbers among numbers, strings among strings.
_NOT_FINITE = Scalar("not finite")


@dataclass(slots=True)
class _Guess:
    type: DataType
    is_text: bool
    is_reported: bool = False


def infer_types(records: Iterable[Record], known: Mapping[str, EventType]) -> dict[str, EventType]:
    """The types that occur in the records and are not known, by name.

    Attributes that have one type here and another there raise InputError, all at once.
    """
    found: dict[str, dict[str, _Guess]] = {}
    problems: list[Diagnostic] = []
    for record in records:
        if record.type is not None and record.type not in known:
            guesses = found.setdefault(record.type, {})
            problems += _learn(guesses, record)
    if problems:
        raise InputError(*problems)
    return {
        name: EventType(name, tuple(Attribute(a, _settled(g.type)) for a, g in guesses.items()))
        for name, guesses in found.items()
    }


def type_of_columns(name: str, columns: Mapping[str, DataType]) -> EventType:
    """The same of a table whose columns all state their types."""
    return EventType(name, tuple(Attribute(a, _settled(type)) for a, type in columns.items()))


def _learn(guesses: dict[str, _Guess], record: Record) -> Iterable[Diagnostic]:
    for name, value in record.values.items():
        if misnamed := bad_name(str(name), "an attribute", record.span):
            yield misnamed
            continue
        try:
            new = _type_in(record, name, value)
        except ValueError as problem:
            fact = f"attribute {shown(name)} of {record.type}: {problem}"
            yield error("bad-value", fact, record.span)
            continue
        guess = guesses.setdefault(name, _Guess(new, record.is_text))
        if guess.type == new:
            continue
        merged = _merged(guess.type, new, guess.is_text and record.is_text)
        if merged is not None:
            guess.type = merged
        elif not guess.is_reported:
            guess.is_reported = True
            old_name, new_name = (_settled(t) for t in (guess.type, new))
            fact = (
                f"attribute {shown(name)} of {record.type} is {new_name} here and {old_name} before"
            )
            yield error("bad-value", fact, record.span, "declare the type with create schema")


def _type_in(record: Record, name: str, value: object) -> DataType:
    if record.columns is not None and name in record.columns:
        return record.columns[name]
    if record.is_text and isinstance(value, str):
        return _type_of_cell(value)
    if isinstance(value, Mapping | list | tuple) and is_too_deep(value):
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    return type_of(value)


def _type_of_cell(text: str) -> DataType:
    if not text:
        return ANY
    if text in NOT_FINITE:
        return _NOT_FINITE
    try:
        return type_of(any_cell(text))
    except ValueError:  # a number too long to be one; the decoder reports it in its row
        return LONG


def type_of(value: object) -> DataType:
    """The static type that a raw value seems to have; ValueError where it can have none."""
    if isinstance(value, Event):
        return EventRef(value.type)
    if isinstance(value, date) and not is_null(value):
        return TIMESTAMP if isinstance(value, datetime) else DATE
    value = native(value)
    if value is None:
        return ANY
    if isinstance(value, Decimal):
        return _decimal_type(value)
    if isinstance(value, str):
        return _NOT_FINITE if value in NOT_FINITE else STRING
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return LONG
    if isinstance(value, float):
        return DOUBLE
    if isinstance(value, Mapping):
        members = {str(k): type_of(v) for k, v in value.items() if k not in META_KEYS}
        return RecordType(tuple(Attribute(name, type) for name, type in members.items()))
    if isinstance(value, list | tuple):
        nothing: DataType = ANY
        return ArrayType(reduce(_element, map(type_of, value), nothing))
    raise ValueError(f"{shown(value)} is nothing that an event can hold")


def _decimal_type(value: Decimal) -> DataType:
    """With all digits before the point: the next value may have more of them."""
    scale = -int(value.as_tuple().exponent) if value.is_finite() else MOST_DIGITS + 1
    is_held = scale <= MOST_DIGITS and fits_digits(value, MOST_DIGITS)
    return DecimalType(MOST_DIGITS, max(scale, 0)) if is_held else DOUBLE


def _element(a: DataType, b: DataType) -> DataType:
    merged = _merged(a, b, are_text=False)
    if merged is None:
        raise ValueError(f"an array of {_settled(a)} and {_settled(b)}")
    return merged


def _merged(a: DataType, b: DataType, are_text: bool) -> DataType | None:
    """The type that holds the values of both, or None."""
    if isinstance(a, RecordType) and isinstance(b, RecordType):
        return _merged_records(a, b)
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        element = _merged(a.element, b.element, are_text=False)
        return ArrayType(element) if element else None
    if _NOT_FINITE in (a, b) and not is_open(a) and not is_open(b):
        other = b if a == _NOT_FINITE else a
        if other == STRING:
            return STRING
        if is_numeric(other):
            return DOUBLE
    merged = wider(a, b)
    if merged is None and are_text:
        return STRING
    return merged


def _merged_records(a: RecordType, b: RecordType) -> RecordType | None:
    members = {attribute.name: attribute.type for attribute in a.attributes}
    for attribute in b.attributes:
        merged = _merged(members.get(attribute.name, ANY), attribute.type, are_text=False)
        if merged is None:
            return None
        members[attribute.name] = merged
    return RecordType(tuple(Attribute(name, type) for name, type in members.items()))


def _settled(type: DataType) -> DataType:
    """The guess as a static type: texts for NaN that stand alone are numbers."""
    if type == _NOT_FINITE:
        return DOUBLE
    if type == ANY:
        return NULL
    if isinstance(type, ArrayType):
        return ArrayType(_settled(type.element))
    if isinstance(type, RecordType):
        return RecordType(tuple(Attribute(a.name, _settled(a.type)) for a in type.attributes))
    return type
