"""Classes of events that may change their mind: what is known of an event has versions.

An event of a class is known by its key. It has an occurrence time `occ`, when it takes place, and a
detection time `det`, when that was learnt. Subscribed classes are told of their events, complex
ones derive them from others by a query. Reactions say what is done about what was learnt when.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cepheid.core.checks import need
from cepheid.core.located import Located
from cepheid.core.time import Period
from cepheid.core.types import BOOLEAN, DOUBLE, LONG, STRING, TIMESTAMP, Attribute, DataType
from cepheid.errors import Span
from cepheid.sql.text import Sql

# What every event of a class has besides its attributes, and what its rows say of a version.
IMPLICIT = ("occ", "det")
RESERVED = (*IMPLICIT, "kind", "fired")
# The types of attributes, with the names that SQL has for them, the usual one first.
TYPE_NAMES: Mapping[DataType, tuple[str, ...]] = {
    STRING: ("TEXT", "VARCHAR", "STRING", "CHAR"),
    DOUBLE: ("NUMBER", "DOUBLE", "REAL", "FLOAT"),
    LONG: ("INTEGER", "INT", "BIGINT", "LONG"),
    BOOLEAN: ("BOOLEAN", "BOOL"),
    TIMESTAMP: ("TIMESTAMP", "TIME", "DATETIME"),
}
TYPES = {name: type for type, names in TYPE_NAMES.items() for name in names}
USUAL_TYPES = tuple(names[0] for names in TYPE_NAMES.values())


@dataclass(frozen=True, slots=True)
class Reaction(Located):
    """`ON condition DO action(argument, ...)`."""

    condition: Sql
    action: str
    arguments: tuple[Sql, ...] = ()


def reaction_name(cls: str, place: int) -> str:
    """How results call the reaction at a place of a class: `Arrival[1]` is the first."""
    return f"{cls}[{place + 1}]"


def reaction_place(name: str) -> int:
    return int(name.rpartition("[")[2].removesuffix("]")) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EventClass(Located):
    """The root of both kinds of classes."""

    name: str
    attributes: tuple[Attribute, ...]
    key: tuple[str, ...]
    reactions: tuple[Reaction, ...] = ()
    # Of the attributes, then of the key; empty where the class was not read from a text.
    places: tuple[Span, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        need(bool(self.key), "a class needs a key")

    def key_of(self, values: dict[str, object]) -> tuple[object, ...]:
        return tuple(values[name] for name in self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribedClass(EventClass):
    """`CREATE MUTABLE SUBSCRIBED EVENT CLASS ... FREEZING TIME (2d)`: events from outside.

    An event may change until its first occurrence time plus the freezing time.
    """

    freezing: Period
    is_mutable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexClass(EventClass):
    """`CREATE COMPLEX EVENT CLASS ... OBSERVATION SPAN (2d) AS SELECT ... OCCURRING AT ...`.

    The occurrence times of the events behind one of its events lie at most the span apart.
    """

    observation: Period
    select: Sql
    occurring: Sql


AnyClass: TypeAlias = SubscribedClass | ComplexClass


def sql_of(declared: AnyClass) -> Iterator[Sql]:
    """All SQL of a class, in the order of the text."""
    if isinstance(declared, ComplexClass):
        yield from (declared.select, declared.occurring)
    for reaction in declared.reactions:
        yield from (reaction.condition, *reaction.arguments)
