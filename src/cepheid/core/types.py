"""The static types of attributes and expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cepheid.errors import Diagnostic, Span, error


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
TIMESTAMP = Scalar("timestamp")  # an instant; attributes of classes only
NULL = Scalar("null")  # of what is always null: fits everything
ANY = Scalar("any")  # of what nothing is known of yet: fits everything, and is null in a run

SCALARS = {t.name: t for t in (STRING, BOOLEAN, INT, LONG, FLOAT, DOUBLE)} | {"integer": INT}
_NUMERIC_RANK = {INT: 0, LONG: 1, FLOAT: 2, DOUBLE: 3}


def is_numeric(t: DataType) -> bool:
    return t in _NUMERIC_RANK or is_open(t)


def is_integral(t: DataType) -> bool:
    return t in (INT, LONG)


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
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        element = wider(a.element, b.element, types)
        return ArrayType(element) if element else None
    if isinstance(a, EventRef) and isinstance(b, EventRef):
        return _common_ancestor(a, b, types)
    return None


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
        is_exact = source.element == target.element or source.element not in _NUMERIC_RANK
        return is_exact and fits(source.element, target.element, types)
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
