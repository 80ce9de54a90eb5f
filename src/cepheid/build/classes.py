"""Classes of events in Python. Their queries, conditions and arguments are written in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.build.checks import PeriodLike, name, period, refuse
from cepheid.core.time import SECOND, Period
from cepheid.core.types import Attribute
from cepheid.core.values import shown
from cepheid.errors import suggest
from cepheid.lang import OF_CLASSES
from cepheid.program.classes import (
    TYPES,
    USUAL_TYPES,
    AnyClass,
    ComplexClass,
    Reaction,
    SubscribedClass,
)
from cepheid.sql.text import Sql

_Kind: TypeAlias = Literal["select", "condition", "value", "time"]


@dataclass(frozen=True, slots=True, repr=False)
class EventClass:
    """A class as a part of a program."""

    tree: AnyClass

    @property
    def trees(self) -> tuple[AnyClass, ...]:
        """All that it declares."""
        return (self.tree,)

    def __str__(self) -> str:
        """As a text says it."""
        return OF_CLASSES.print_declaration(self.tree).rstrip("\n")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


@dataclass(frozen=True, slots=True)
class On:
    """A condition, before it is said what is done when it holds."""

    condition: Sql

    def do(self, action: str, /, *arguments: str) -> Reaction:
        """With an action; each of its arguments is a text in SQL."""
        given = tuple(_sql("value", each, "an argument") for each in arguments)
        return Reaction(self.condition, name(action, "an action"), given)


def on(condition: str, /) -> On:
    """Begins a statement of a class: `cep.on("CHANGE").do("post", "NEW.location")`."""
    return On(_sql("condition", condition, "a condition"))


def subscribed_class(
    subscribed: str,
    attributes: Mapping[str, str],
    /,
    *reactions: Reaction,
    key: str | Iterable[str],
    freezing: PeriodLike,
    mutable: bool = True,
) -> EventClass:
    """Declares a class of events that come from outside, and may change until they freeze.

    >>> arrival = {"flightNo": "TEXT", "toLoc": "TEXT"}
    >>> print(cep.subscribed_class("Arrival", arrival, key="flightNo", freezing="2d"))
    CREATE MUTABLE SUBSCRIBED EVENT CLASS Arrival(flightNo TEXT, toLoc TEXT)
        ID (flightNo)
        FREEZING TIME (2d);
    """
    return _checked(
        SubscribedClass(
            name=name(subscribed, "a class"),
            attributes=_attributes(attributes),
            key=_key(key),
            reactions=_reactions(reactions),
            freezing=_length(freezing),
            is_mutable=mutable,
        )
    )


def complex_class(
    derived: str,
    attributes: Mapping[str, str],
    /,
    *reactions: Reaction,
    key: str | Iterable[str],
    observation: PeriodLike,
    select: str,
    occurring: str,
) -> EventClass:
    """Declares a class of events that a query derives from those of other classes.

    >>> print(
    ...     cep.complex_class(
    ...         "Landed",
    ...         {"flightNo": "TEXT"},
    ...         cep.on("ONTIME").do("post", "format('%s is here', NEW.flightNo)"),
    ...         key="flightNo",
    ...         observation="2d",
    ...         select="SELECT a.flightNo FROM Arrival a WHERE a.toLoc = 'VIE'",
    ...         occurring="a + 5m",
    ...     )
    ... )
    CREATE COMPLEX EVENT CLASS Landed(flightNo TEXT)
        ID (flightNo)
        OBSERVATION SPAN (2d)
        AS SELECT a.flightNo
           FROM Arrival AS a
           WHERE a.toLoc = 'VIE'
           OCCURRING AT a + 5m
        ON ONTIME DO post(FORMAT('%s is here', NEW.flightNo));
    """
    return _checked(
        ComplexClass(
            name=name(derived, "a class"),
            attributes=_attributes(attributes),
            key=_key(key),
            reactions=_reactions(reactions),
            observation=_length(observation),
            select=_sql("select", select, "a query"),
            occurring=_sql("time", occurring, "a time"),
        )
    )


def _attributes(given: Mapping[str, str]) -> tuple[Attribute, ...]:
    if not isinstance(given, Mapping) or not given:
        hint = "write {'flightNo': 'TEXT'}"
        refuse("usage", f"a class needs attributes, each with its type, not {shown(given)}", hint)
    return tuple(_attribute(attribute, type) for attribute, type in given.items())


def _attribute(attribute: str, type: object) -> Attribute:
    found = TYPES.get(type.upper()) if isinstance(type, str) else None
    if found is None:
        hint = suggest(str(type), USUAL_TYPES, "types")
        refuse("usage", f"attribute '{attribute}' has no such type: {shown(type)}", hint)
    return Attribute(name(attribute, "an attribute"), found)


def _key(given: str | Iterable[str]) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else list(given)
    if not names:
        refuse("usage", "a class needs a key", "key='flightNo'")
    return tuple(name(each, "an attribute of a key") for each in names)


def _reactions(given: Iterable[object]) -> tuple[Reaction, ...]:
    found = []
    for each in given:
        if not isinstance(each, Reaction):
            hint = "write cep.on('CHANGE').do('post', 'NEW.location')"
            refuse("usage", f"{shown(each)} is no statement of a class", hint)
        found.append(each)
    return tuple(found)


def _length(given: PeriodLike) -> Period:
    found = period(given)
    if found.months or found.microseconds % SECOND:
        refuse("bad-period", f"{found} is not a whole number of seconds")
    return found


def _sql(kind: _Kind, text: object, what: str) -> Sql:
    """In its normal spelling; ProgramError with places in the text."""
    # Reads SQL with a library that takes time to load.
    from cepheid.sql.dialect import normal_text

    if not isinstance(text, str):
        refuse("usage", f"{what} is a text in SQL, not {shown(text)}")
    return Sql(normal_text(kind, text))


def _checked(declared: AnyClass) -> EventClass:
    """Any class that is built can be written down."""
    parsed = OF_CLASSES.parse(OF_CLASSES.print_declaration(declared), None)
    if parsed.problems or parsed.tree.declarations != (declared,):
        hint = "names such as `on`, `do`, `create` and `occurring` need backquotes"
        refuse("unsupported", f"no text says what the SQL of '{declared.name}' does", hint)
    return EventClass(declared)
