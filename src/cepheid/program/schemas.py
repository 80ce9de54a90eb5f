"""Declared schemas turned into event types: inheritance, event time, references between types."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import get_args

from cepheid.core.time import PERIOD_UNITS, TimeUnit, unit_name
from cepheid.core.types import (
    ANY,
    SCALARS,
    STRING,
    ArrayType,
    Attribute,
    DataType,
    EventRef,
    EventTime,
    EventType,
    bad_name,
    is_calendar,
    is_ordered,
)
from cepheid.errors import Diagnostic, Slip, Span, declared_twice, error, note, suggest
from cepheid.program.tree import Annotation, Schema

TIME_UNITS: tuple[str, ...] = get_args(TimeUnit)


def declared_types(
    schemas: Iterable[Schema], known: Mapping[str, EventType], problems: list[Diagnostic]
) -> dict[str, EventType]:
    """The event types that the schemas declare; `known` are those that exist besides."""
    by_name: dict[str, Schema] = {}
    for schema in _settled(tuple(schemas), problems):
        if schema.name in by_name:
            first = by_name[schema.name].span
            problems.append(declared_twice(f"type '{schema.name}'", schema.span, first))
        by_name.setdefault(schema.name, schema)
    names = {*known, *by_name}
    by_name = {name: _with_known_types(each, names, problems) for name, each in by_name.items()}
    types = dict(known)
    for name in _parents_first(by_name, problems):
        types[name] = _declare(by_name[name], by_name, types, problems)
    return {name: types[name] for name in by_name}


def _settled(schemas: tuple[Schema, ...], problems: list[Diagnostic]) -> Iterable[Schema]:
    """A schema that has the name of a type of times wins, so that old programs mean what they did."""
    own = {s.name.lower(): s for s in schemas if is_calendar(SCALARS.get(s.name.lower(), STRING))}
    for name, schema in own.items():
        fact = f"'{schema.name}' is the schema here, not the type {name}"
        problems.append(note("bad-name", fact, schema.span, "rename it to use the type"))

    def settled(type: DataType) -> DataType:
        if isinstance(type, ArrayType):
            return ArrayType(settled(type.element))
        return EventRef(own[str(type)].name) if is_calendar(type) and str(type) in own else type

    for schema in schemas:
        attributes = tuple(replace(a, type=settled(a.type)) for a in schema.attributes)
        yield replace(schema, attributes=attributes) if own else schema


def _parents_first(schemas: Mapping[str, Schema], problems: list[Diagnostic]) -> Iterable[str]:
    """The names in an order in which parents come before their children, cycles left aside."""
    ordered: dict[str, None] = {}
    for name in schemas:
        # From a schema to its parents, each with those of its own that are still to be visited.
        path = {} if name in ordered else {name: iter(schemas[name].inherits)}
        while path:
            current = next(reversed(path))
            parent = next(path[current], None)
            if parent is None:
                del path[current]
                ordered[current] = None
            elif parent in path:
                cycle = [*path][[*path].index(parent) :]
                fact = " inherits ".join((*cycle, parent))
                problems.append(error("inheritance-cycle", fact, schemas[parent].span))
            elif parent in schemas and parent not in ordered:
                path[parent] = iter(schemas[parent].inherits)
    return ordered


def _declare(
    schema: Schema,
    schemas: Mapping[str, Schema],
    known: Mapping[str, EventType],
    problems: list[Diagnostic],
) -> EventType:
    """The type that a schema declares; its parents are known, but for those of a cycle.

    One that inherits from a type that is not known may have any attributes.
    """
    attributes: dict[str, Attribute] = {}
    ancestors: set[str] = set()
    time: EventTime | None = None
    is_open = False
    for position, name in enumerate(schema.inherits, start=len(schema.attributes)):
        span = _place(schema, position)
        parent = known.get(name)
        if parent is not None:
            _inherit(schema, parent, attributes, span, problems)
            ancestors |= {name} | parent.ancestors
            time, is_open = time or parent.time, is_open or parent.is_open
        elif name not in schemas:
            is_open = True
            hint = suggest(name, {*known, *schemas} - {schema.name}, "known types")
            problems.append(error("unknown-type", f"no event type '{name}'", span, hint))
    _add_own_attributes(schema, attributes, problems)
    time = _event_time(schema, attributes, problems) or time
    return EventType(schema.name, tuple(attributes.values()), frozenset(ancestors), time, is_open)


def _place(schema: Schema, position: int) -> Span | None:
    """Of an attribute, or after all of them of a parent."""
    return schema.places[position] if position < len(schema.places) else schema.span


def _inherit(
    schema: Schema,
    parent: EventType,
    attributes: dict[str, Attribute],
    span: Span | None,
    problems: list[Diagnostic],
) -> None:
    for attribute in parent.attributes:
        before = attributes.setdefault(attribute.name, attribute)
        if before.type != attribute.type:
            fact = (
                f"{schema.name} inherits '{attribute.name}' as {attribute.type} from"
                f" {parent.name} and as {before.type} before"
            )
            problems.append(error("schema-conflict", fact, span))


def _add_own_attributes(
    schema: Schema, attributes: dict[str, Attribute], problems: list[Diagnostic]
) -> None:
    own: set[str] = set()
    for position, attribute in enumerate(schema.attributes):
        span = _place(schema, position)
        if problem := bad_name(attribute.name, "an attribute", span):
            problems.append(problem)
        inherited = attributes.get(attribute.name)
        if attribute.name in own:
            fact = f"attribute '{attribute.name}' is declared twice in {schema.name}"
            problems.append(error("duplicate-name", fact, span))
        elif inherited is not None and inherited.type != attribute.type:
            fact = (
                f"attribute '{attribute.name}' of {schema.name} is {attribute.type},"
                f" but it inherits {inherited.type}"
            )
            problems.append(error("schema-conflict", fact, span))
        own.add(attribute.name)
        attributes[attribute.name] = attribute


def _with_known_types(schema: Schema, names: Collection[str], problems: list[Diagnostic]) -> Schema:
    """Its attributes; of those with an unknown type nothing more is said."""
    attributes = []
    for position, attribute in enumerate(schema.attributes):
        reference = _element(attribute.type)
        if isinstance(reference, EventRef) and reference.name not in names:
            hint = _type_hint(reference.name, names)
            fact = f"attribute '{attribute.name}' of {schema.name} has unknown type '{reference}'"
            problems.append(error("unknown-type", fact, _place(schema, position), hint))
            attributes.append(replace(attribute, type=ANY))
        else:
            attributes.append(attribute)
    return replace(schema, attributes=tuple(attributes))


# What the scalar types are called elsewhere.
_FOREIGN_TYPES = {
    **dict.fromkeys(("varchar", "char", "text", "str", "uuid"), "string"),
    **dict.fromkeys(("smallint", "tinyint", "short", "byte", "int32"), "int"),
    **dict.fromkeys(("bigint", "int64"), "long"),
    **dict.fromkeys(("datetime", "instant"), "timestamp"),
    **dict.fromkeys(("real", "float32"), "float"),
    **dict.fromkeys(("number", "float64"), "double"),
    **dict.fromkeys(("decimal", "numeric", "money"), "decimal(12, 2)"),
}


def _type_hint(name: str, types: Collection[str]) -> str | None:
    meant = _FOREIGN_TYPES.get(name.lower())
    if meant is not None:
        return Slip.of(name, meant)
    return suggest(name, {*types, *SCALARS}, "types")


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
    if unit in PERIOD_UNITS:
        unit = unit_name(str(unit))
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
    if not is_ordered(type):
        complain(
            f"the time attribute '{name}' is {type}",
            "use timestamp, date, a number, or a string with ISO 8601",
        )
        return None
    return EventTime(name, str(unit))
