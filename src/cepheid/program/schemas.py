"""Declared schemas turned into event types: inheritance, event time, references between types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from cepheid.core.time import TimeUnit
from cepheid.core.types import (
    INT,
    LONG,
    STRING,
    ArrayType,
    Attribute,
    DataType,
    EventRef,
    EventTime,
    EventType,
    is_numeric,
)
from cepheid.errors import Diagnostic, error, suggest
from cepheid.program.tree import Annotation, Schema

TIME_UNITS: tuple[str, ...] = get_args(TimeUnit)


def declared_types(
    schemas: Iterable[Schema], known: Mapping[str, EventType], problems: list[Diagnostic]
) -> dict[str, EventType]:
    """The event types that the schemas declare; `known` are those that exist besides."""
    by_name: dict[str, Schema] = {}
    for schema in schemas:
        if schema.name in by_name:
            problems.append(
                error("duplicate-name", f"type '{schema.name}' is declared twice", schema.span)
            )
        by_name.setdefault(schema.name, schema)
    types: dict[str, EventType] = {}
    for name in by_name:
        _declare(name, by_name, known, types, (), problems)
    for schema in by_name.values():
        _check_references(schema, {**known, **types}, problems)
    return types


def _declare(
    name: str,
    schemas: Mapping[str, Schema],
    known: Mapping[str, EventType],
    types: dict[str, EventType],
    below: tuple[str, ...],
    problems: list[Diagnostic],
) -> EventType | None:
    """The type of that name, its ancestors first; `below` are the descendants being declared."""
    if name in types:
        return types[name]
    schema = schemas.get(name)
    if schema is None:
        return known.get(name)
    if name in below:
        path = " inherits ".join((*below[below.index(name) :], name))
        problems.append(error("inheritance-cycle", f"{path}", schema.span))
        return None
    attributes: dict[str, Attribute] = {}
    ancestors: set[str] = set()
    time: EventTime | None = None
    for parent_name in schema.inherits:
        parent = _declare(parent_name, schemas, known, types, (*below, name), problems)
        if parent is None:
            if parent_name not in schemas:
                problems.append(_unknown_type(parent_name, schema, {**known, **types}, schemas))
            continue
        attributes.update((a.name, a) for a in parent.attributes)
        ancestors |= {parent_name} | parent.ancestors
        time = time or parent.time
    _add_own_attributes(schema, attributes, problems)
    time = _event_time(schema, attributes, problems) or time
    types[name] = EventType(name, tuple(attributes.values()), frozenset(ancestors), time)
    return types[name]


def _add_own_attributes(
    schema: Schema, attributes: dict[str, Attribute], problems: list[Diagnostic]
) -> None:
    own: set[str] = set()
    for attribute in schema.attributes:
        inherited = attributes.get(attribute.name)
        if attribute.name in own:
            fact = f"attribute '{attribute.name}' is declared twice in {schema.name}"
            problems.append(error("duplicate-name", fact, schema.span))
        elif inherited is not None and inherited.type != attribute.type:
            fact = (
                f"attribute '{attribute.name}' of {schema.name} is {attribute.type},"
                f" but it inherits {inherited.type}"
            )
            problems.append(error("schema-conflict", fact, schema.span))
        own.add(attribute.name)
        attributes[attribute.name] = attribute


def _unknown_type(
    name: str, schema: Schema, known: Mapping[str, EventType], schemas: Mapping[str, Schema]
) -> Diagnostic:
    hint = suggest(name, {*known, *schemas} - {schema.name}, "known types")
    return error("unknown-type", f"no event type '{name}'", schema.span, hint)


def _check_references(
    schema: Schema, types: Mapping[str, EventType], problems: list[Diagnostic]
) -> None:
    for attribute in schema.attributes:
        reference = _element(attribute.type)
        if isinstance(reference, EventRef) and reference.name not in types:
            hint = suggest(
                reference.name,
                {*types, "string", "boolean", "int", "long", "float", "double"},
                "types",
            )
            fact = f"attribute '{attribute.name}' of {schema.name} has unknown type '{reference}'"
            problems.append(error("unknown-type", fact, schema.span, hint))


def _element(type: DataType) -> DataType:
    while isinstance(type, ArrayType):
        type = type.element
    return type


def _event_time(
    schema: Schema, attributes: Mapping[str, Attribute], problems: list[Diagnostic]
) -> EventTime | None:
    """What `@EventTime(attribute='ts', unit='minutes')` says."""
    for annotation in schema.annotations:
        if annotation.name.lower() == "eventtime":
            return _read_event_time(schema, annotation, attributes, problems)
    return None


def _read_event_time(
    schema: Schema,
    annotation: Annotation,
    attributes: Mapping[str, Attribute],
    problems: list[Diagnostic],
) -> EventTime | None:
    def complain(fact: str, hint: str | None = None) -> None:
        problems.append(error("bad-annotation", fact, annotation.span or schema.span, hint))

    name = annotation.value("attribute") or annotation.value()
    unit = annotation.value("unit") or "seconds"
    if not isinstance(name, str):
        complain("@EventTime needs an attribute", "@EventTime(attribute='ts', unit='minutes')")
        return None
    if name not in attributes:
        complain(f"no attribute '{name}' in {schema.name}", suggest(name, attributes, "attributes"))
        return None
    if unit not in TIME_UNITS:
        complain(f"no time unit '{unit}'", suggest(str(unit), TIME_UNITS, "units"))
        return None
    type = attributes[name].type
    if not (is_numeric(type) or type == STRING):
        complain(f"the time attribute '{name}' is {type}", f"use {INT}, {LONG} or ISO text")
        return None
    return EventTime(name, str(unit))
