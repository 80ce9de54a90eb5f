"""The static types of attributes and expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cepheid.errors import Diagnostic, Span, error

MOST_DIGITS = 18  # of a decimal: more are not to be had in 64 bits


@dataclass(frozen=True, slots=True)
class DataType:
    """The root of all static types."""


@dataclass(frozen=True, slots=True)
class Scalar(DataType):
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    """Numbers of so many digits in all, `scale` of them after the point; a long counts their last."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if self.precision > MOST_DIGITS:
            raise ValueError(f"{self} has more than {MOST_DIGITS} digits")
        if self.precision < 1:
            raise ValueError(f"{self} has no digits")
        if not 0 <= self.scale <= self.precision:
            raise ValueError(f"{self} has more digits after the point than in all")

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class ArrayType(DataType):
    element: DataType

    def __str__(self) -> str:
        return f"{self.element}[]"


@dataclass(frozen=True, slots=True)
class EventRef(DataType):
    """An event, or a nested record, of a named type."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class RecordType(DataType):
    """A nested record that has no name of its own (found in a file or a frame)."""

    attributes: tuple[Attribute, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(f"{a.name} {a.type}" for a in self.attributes) + "}"


STRING = Scalar("string")
BOOLEAN = Scalar("boolean")
INT = Scalar("int")  # 32 bit
LONG = Scalar("long")  # 64 bit
FLOAT = Scalar("float")  # 32 bit
DOUBLE = Scalar("double")  # 64 bit
TIMESTAMP = Scalar("timestamp")  # an instant, in microseconds
DATE = Scalar("date")  # a day of the calendar, which has no zone
NULL = Scalar("null")  # of what is always null: fits everything
ANY = Scalar("any")  # of what nothing is known of yet: fits everything, and is null in a run

PLAIN_SCALARS = {t.name: t for t in (STRING, BOOLEAN, INT, LONG, FLOAT, DOUBLE)} | {"integer": INT}
SCALARS = PLAIN_SCALARS | {t.name: t for t in (TIMESTAMP, DATE)}
_NUMERIC_RANK = {INT: 0, LONG: 1, FLOAT: 2, DOUBLE: 3}
# What whole numbers are beside decimals; a long may have one digit more.
_AS_DECIMALS: dict[DataType, DecimalType] = {
    INT: DecimalType(10, 0),
    LONG: DecimalType(MOST_DIGITS, 0),
}


def is_numeric(t: DataType) -> bool:
    return t in _NUMERIC_RANK or isinstance(t, DecimalType) or is_open(t)


def is_integral(t: DataType) -> bool:
    return t in (INT, LONG)


def is_calendar(t: DataType) -> bool:
    return t in (TIMESTAMP, DATE)


def is_scalar(t: DataType) -> bool:
    return t in SCALARS.values() or isinstance(t, DecimalType)


def is_counted(t: DataType) -> bool:
    """Whether values are whole numbers of something: of microseconds, of days, of a last digit."""
    return is_calendar(t) or isinstance(t, DecimalType)


def is_ordered(t: DataType) -> bool:
    """Whether values of the type can be less than others."""
    return is_numeric(t) or t == STRING or is_calendar(t)


_DECIMAL = re.compile(r"decimal\s*\(\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?\)", re.IGNORECASE)


def scalar_named(text: str) -> DataType | None:
    """The scalar type that a text names, `date` or `decimal(12, 2)`; ValueError with a fact."""
    if found := SCALARS.get(text.lower()):
        return found
    match = _DECIMAL.fullmatch(text)
    return DecimalType(int(match[1]), int(match[2] or 0)) if match else None


def is_open(t: DataType) -> bool:
    """Whether nothing is known of the values, so that nothing can be held against them."""
    return t in (NULL, ANY)


def wider(
    a: DataType, b: DataType, types: Mapping[str, EventType] = MappingProxyType({})
) -> DataType | None:
    """The type that holds the values of both, or None where there is none.

    The types of a program say which events are also of which other types.
    """
    if a == b:
        return a
    if is_open(a):
        return b
    if is_open(b):
        return a
    if a in _NUMERIC_RANK and b in _NUMERIC_RANK:
        # A long beside a float keeps its digits only in a double.
        if {a, b} == {LONG, FLOAT}:
            return DOUBLE
        return a if _NUMERIC_RANK[a] > _NUMERIC_RANK[b] else b
    if isinstance(a, DecimalType) or isinstance(b, DecimalType):
        return _wider_decimal(a, b)
    if {a, b} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        element = wider(a.element, b.element, types)
        return ArrayType(element) if element else None
    if isinstance(a, EventRef) and isinstance(b, EventRef):
        return _common_ancestor(a, b, types)
    return None


def as_decimal(t: DataType) -> DecimalType | None:
    """What an exact number is as a decimal."""
    return t if isinstance(t, DecimalType) else _AS_DECIMALS.get(t)


def _wider_decimal(a: DataType, b: DataType) -> DataType | None:
    """With the digits of both before and after the point, as far as there are digits."""
    if a in (FLOAT, DOUBLE) or b in (FLOAT, DOUBLE):
        return DOUBLE
    one, other = as_decimal(a), as_decimal(b)
    if one is None or other is None:
        return None
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return DecimalType(min(whole + scale, MOST_DIGITS), scale)


def _common_ancestor(a: EventRef, b: EventRef, types: Mapping[str, EventType]) -> EventRef | None:
    """The nearest type that both are of; None where there is none, or several as near."""
    common = _lineage(a, types) & _lineage(b, types)
    nearest = [n for n in common if not any(n in types[o].ancestors for o in common)]
    return EventRef(nearest[0]) if len(nearest) == 1 else None


def _lineage(event: EventRef, types: Mapping[str, EventType]) -> frozenset[str]:
    """The known types that such an event is of."""
    known = types.get(event.name)
    return (known.ancestors | {event.name}) & types.keys() if known else frozenset()


def fits(
    source: DataType, target: DataType, types: Mapping[str, EventType] = MappingProxyType({})
) -> bool:
    """Whether every value of the source type is one of the target type, or easily becomes one."""
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        # Numbers are widened one at a time, never inside an array.
        is_plain = is_open(source.element) or not (
            is_numeric(source.element) or is_calendar(source.element)
        )
        is_exact = source.element == target.element or is_plain
        return is_exact and fits(source.element, target.element, types)
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        whole = target.precision - target.scale >= source.precision - source.scale
        return whole and target.scale >= source.scale
    return is_open(source) or wider(source, target, types) == target


def bad_name(name: str, what: str, span: Span | None = None) -> Diagnostic | None:
    """What is wrong with the name of an attribute; names such as '@type' are taken."""
    if not name.startswith("@"):
        return None
    hint = "names that start with '@' say what an event is"
    return error("bad-name", f"'{name}' cannot be the name of {what}", span, hint)


@dataclass(frozen=True, slots=True)
class EventTime:
    """Which attribute of an event holds its time, and in which unit it counts."""

    attribute: str
    unit: str


@dataclass(frozen=True, slots=True)
class EventType:
    """What the events of a type look like; inherited attributes are included, ancestors named."""

    name: str
    attributes: tuple[Attribute, ...]
    ancestors: frozenset[str] = frozenset()
    time: EventTime | None = None
    is_open: bool = False  # no schema known: any attribute may be asked for

    def find(self, attribute: str) -> DataType | None:
        for candidate in self.attributes:
            if candidate.name == attribute:
                return candidate.type
        return ANY if self.is_open else None


def lineage(name: str, types: Mapping[str, EventType]) -> frozenset[str]:
    """The types that an event of a type is of."""
    return types[name].ancestors | {name}
