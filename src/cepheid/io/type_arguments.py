"""Event types that Python code gives: dictionaries of attribute types, and Arrow schemas."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, Union

from cepheid.core.types import (
    ANY,
    SCALARS,
    ArrayType,
    Attribute,
    DataType,
    EventRef,
    EventType,
    RecordType,
    bad_name,
    scalar_named,
)
from cepheid.core.values import TYPE_NAMES
from cepheid.errors import UsageError, error
from cepheid.io.arrow import data_type as arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

# The type of an attribute: `"int"`, `"double[]"`, the name of a type, or a nested dictionary.
GivenAttribute: TypeAlias = "str | DataType | Mapping[str, GivenAttribute]"
GivenType: TypeAlias = Union[EventType, Mapping[str, GivenAttribute], "pa.Schema"]
GivenTypes: TypeAlias = Mapping[str, GivenType]

_SCALAR_NAMES = ", ".join((*SCALARS, "decimal(p, s)"))
_TYPE_TEXT = re.compile(
    r"\s*(?:`([^`\n]+)`|([^\W\d][\w$]*(?:\s*\([\d\s,]*\))?))((?:\s*\[\s*\])*)\s*"
)


def event_types(given: GivenTypes | None) -> dict[str, EventType]:
    """The event types of a `types=` argument."""
    types = {name: _event_type(name, type) for name, type in (given or {}).items()}
    for name, type in types.items():
        _check(name, type)
    return types


def _check(name: str, type: EventType) -> None:
    """A type must say all of its attributes, and name them as events can."""
    if type.is_open:
        raise UsageError(error("no-schema", f"the type {name} does not say its attributes"))
    for attribute in type.attributes:
        if problem := bad_name(attribute.name, "an attribute"):
            raise UsageError(problem)
        if not _is_known(attribute.type):
            fact = f"attribute {attribute.name!r} of {name} has no type that events can hold"
            raise UsageError(error("usage", fact, hint=f"types: {_SCALAR_NAMES}"))


def _is_known(type: DataType) -> bool:
    if isinstance(type, ArrayType):
        return _is_known(type.element)
    if isinstance(type, RecordType):
        return all(_is_known(member.type) for member in type.attributes)
    return type != ANY  # what another program derives may always be null, and is a type then


def data_type(given: GivenAttribute) -> DataType:
    """The type of an attribute; a word in backquotes is always the name of an event type."""
    if isinstance(given, DataType):
        return given
    if isinstance(given, Mapping):
        return RecordType(_attributes(given))
    match = _TYPE_TEXT.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        hint = f"types: {_SCALAR_NAMES}, one of them with [], or the name of an event type"
        raise UsageError(error("usage", f"{given!r} is not a type", hint=hint))
    quoted, word, brackets = match.groups()
    found: DataType = EventRef(quoted or word)
    if word:
        try:
            found = TYPE_NAMES.get(word.lower()) or scalar_named(word) or found
        except ValueError as problem:
            raise UsageError(error("unsupported", str(problem))) from None
    for _ in range(brackets.count("[")):
        found = ArrayType(found)
    return found


def _event_type(name: str, given: GivenType) -> EventType:
    if isinstance(given, EventType):
        return given
    if isinstance(given, Mapping):
        return EventType(name, _attributes(given))
    arrow = sys.modules.get("pyarrow")  # who has a schema has loaded it
    if arrow is None or not isinstance(given, arrow.Schema):
        hint = "give a dictionary such as {'speed': 'int'} or an Arrow schema"
        raise UsageError(error("usage", f"{given!r} does not describe the type {name}", hint=hint))
    fields = [field for field in given if not field.name.startswith("@")]
    return EventType(name, tuple(Attribute(f.name, arrow_type(f.type) or ANY) for f in fields))


def _attributes(given: Mapping[str, GivenAttribute]) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, data_type(type)) for name, type in given.items())
