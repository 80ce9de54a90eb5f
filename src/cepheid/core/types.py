"""The static types of attributes and expressions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataType:
    """The root of all static types."""


@dataclass(frozen=True, slots=True)
class Scalar(DataType):
    name: str

    def __str__(self) -> str:
        return self.name


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
NULL = Scalar("null")  # the type of the literal null: fits everything
ANY = Scalar("any")  # of an attribute whose schema is not known yet: fits everything

SCALARS = {t.name: t for t in (STRING, BOOLEAN, INT, LONG, FLOAT, DOUBLE)} | {"integer": INT}
_NUMERIC_RANK = {INT: 0, LONG: 1, FLOAT: 2, DOUBLE: 3}


def is_numeric(t: DataType) -> bool:
    return t in _NUMERIC_RANK or is_open(t)


def is_integral(t: DataType) -> bool:
    return t in (INT, LONG)


def is_open(t: DataType) -> bool:
    """Whether nothing is known of the values, so that nothing can be held against them."""
    return t in (NULL, ANY)


def wider(a: DataType, b: DataType) -> DataType | None:
    """The type that holds the values of both, or None where there is none."""
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
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        element = wider(a.element, b.element)
        return ArrayType(element) if element else None
    return None


def fits(source: DataType, target: DataType) -> bool:
    """Whether every value of the source type is one of the target type."""
    return wider(source, target) == target or is_open(source) or is_open(target)


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
