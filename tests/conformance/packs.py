"""Many examples as one program over one stream, so that one job on Spark runs them all.

Types, contexts and statements of each example get names of their own: the examples know nothing of
each other. What the job gives is sorted by example again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.core.types import ArrayType, DataType, EventRef, EventType
from cepheid.pattern.tree import Atom
from cepheid.program.tree import (
    Annotation,
    Context,
    ContextKey,
    ProgramTree,
    QuickFix,
    ReactiveRule,
    Schema,
    Statement,
    StreamSource,
)
from tests.conformance.engines import instant_of
from tests.conformance.scenarios import Example

T = TypeVar("T")

_NAMES: dict[type, tuple[str, ...]] = {
    Atom: ("event_type",),
    StreamSource: ("event_type",),
    ContextKey: ("event_type",),
    Schema: ("name",),
    Context: ("name",),
    EventRef: ("name",),
    Statement: ("insert_into", "context"),
}


def renamed(value: T, suffix: str) -> T:
    """A tree in which all types, contexts and statements have another name."""
    if isinstance(value, tuple):
        return type(value)(renamed(item, suffix) for item in value)
    if not is_dataclass(value):
        return value
    changes: dict[str, Any] = {}
    for field in fields(value):
        before = getattr(value, field.name)
        if field.name in _NAMES.get(type(value), ()) and before is not None:
            changes[field.name] = before + suffix
        elif isinstance(value, Annotation) and value.name == "Name":
            changes["arguments"] = ((None, f"{value.value()}{suffix}"),)
        elif isinstance(value, Schema) and field.name == "inherits":
            changes["inherits"] = tuple(name + suffix for name in before)
        elif isinstance(before, tuple) or is_dataclass(before):
            changes[field.name] = renamed(before, suffix)
    return replace(value, **changes)  # type: ignore[type-var]


@dataclass(frozen=True)
class Pack:
    """Examples that begin and end together."""

    examples: tuple[Example, ...]

    @classmethod
    def of(cls, examples: Sequence[Example], rest: int = 0) -> Pack:
        """Some examples, and some time after the last of them, in milliseconds."""
        end = max(example.end for example in examples) + rest
        return cls(tuple(example.until(end) for example in examples))

    @property
    def program(self) -> cep.Program:
        tree = ProgramTree()
        for number, example in enumerate(self.examples):
            tree += renamed(_complete(example), f"_{number}")
        return cep.Program(tree)

    @property
    def input_types(self) -> dict[str, EventType]:
        """The types of the program; nested ones that have one name in all examples are one here.

        Examples share the columns of a frame. Where such types are not alike, it has none that fits.
        """
        types = self.program.resolve().types
        first: dict[str, str] = {}
        for name in types:
            first.setdefault(name.rpartition("_")[0], name)

        def shared(type: DataType) -> DataType:
            if isinstance(type, ArrayType):
                return ArrayType(shared(type.element))
            if isinstance(type, EventRef):
                return EventRef(first[type.name.rpartition("_")[0]])
            return type

        return {
            name: replace(
                found, attributes=tuple(replace(a, type=shared(a.type)) for a in found.attributes)
            )
            for name, found in types.items()
        }

    def items(self) -> list[Event | Instant]:
        """All events in their order; those of one instant come example by example."""
        found: list[Event | Instant] = []
        for number, example in enumerate(self.examples):
            found += [_moved(item, f"_{number}") for item in example.items()]
        return sorted(found, key=instant_of)

    def parted(self, rows: Sequence[Event]) -> list[list[Event]]:
        """The rows of each example, as if it had run alone."""
        found: list[list[Event]] = [[] for _ in self.examples]
        for row in rows:
            number = int(row.type.rpartition("_")[2])
            found[number].append(_named_as_before(row))
        return found


def _complete(example: Example) -> ProgramTree:
    """A program that declares all types it takes, and names all statements."""
    tree, program = example.program.tree, example.resolved
    declared = {d.name for d in tree.declarations if isinstance(d, Schema)}
    used = {item.type for item in example.items() if isinstance(item, Event)}
    used |= {name for statement in program.statements for name in statement.inputs}
    derived = {statement.target for statement in program.statements}
    schemas = tuple(
        Schema(name=name, attributes=program.types[name].attributes)
        for name in sorted(used - declared - derived)
    )
    names = iter(statement.name for statement in program.statements)
    declarations = (
        _with_name(d, next(names)) if isinstance(d, Statement) else d
        for d in tree.declarations
        if not isinstance(d, ReactiveRule | QuickFix)  # which take no part in recorded runs
    )
    return ProgramTree((*schemas, *declarations), tree.functions)


def _with_name(statement: Statement, name: str) -> Statement:
    if any(annotation.name == "Name" for annotation in statement.annotations):
        return statement
    named = Annotation("Name", ((None, name),))
    return replace(statement, annotations=(named, *statement.annotations))


def _moved(item: Event | Instant, suffix: str) -> Event | Instant:
    if not isinstance(item, Event):
        return item
    return Event(item.type + suffix, item.instant, item.values_, item.sequence)


def _named_as_before(row: Event) -> Event:
    values = {name: _value_as_before(value) for name, value in row.items()}
    return Event(
        row.type.rpartition("_")[0],
        row.instant,
        values,
        is_old=row.is_old,
        is_timeout=row.is_timeout,
    )


def _value_as_before(value: Value) -> Value:
    if isinstance(value, list):
        return [_value_as_before(item) for item in value]
    return _named_as_before(value) if isinstance(value, Event) else value
