"""The event types: their attributes, and whether they come in or are derived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.core.types import EventType
from cepheid.program.classes import ComplexClass
from cepheid.program.resolved import ResolvedProgram
from cepheid.verbs import Program


def text(program: Program) -> Iterator[RenderableType]:
    resolved = program.resolve()
    attributes = Column("attributes", is_whole=True)
    table = TextTable([Column("event type"), Column("comes from"), attributes], is_spaced=True)
    for type in resolved.types.values():
        notes = [origin(resolved, type.name), *_notes(type)]
        table.add(type.name, "\n".join(notes), "\n".join(_attributes(type)))
    yield table


def _attributes(type: EventType) -> list[str]:
    if type.is_open:
        return ["any, as its events say"]
    width = max((len(attribute.name) for attribute in type.attributes), default=0)
    return [f"{attribute.name:{width}}  {attribute.type}" for attribute in type.attributes]


def _notes(type: EventType) -> Iterator[str]:
    if type.ancestors:
        yield f"inherits {', '.join(sorted(type.ancestors))}"
    if type.time:
        yield f"time: {type.time.attribute}, in {type.time.unit}"


def data(program: Program) -> list[dict[str, object]]:
    resolved = program.resolve()
    return [_described(resolved, type) for type in resolved.types.values()]


def _described(resolved: ResolvedProgram, type: EventType) -> dict[str, object]:
    time = {"attribute": type.time.attribute, "unit": type.time.unit} if type.time else None
    return {
        "name": type.name,
        "attributes": [{"name": a.name, "type": str(a.type)} for a in type.attributes],
        "inherits": sorted(type.ancestors),
        "time": time,
        "open": type.is_open,
        "derived_by": list(derived_by(resolved, type.name)),
        **({"class": kind} if (kind := class_kind(resolved, type.name)) else {}),
    }


def derived_by(resolved: ResolvedProgram, type: str) -> Sequence[str]:
    return [s.name for s in resolved.statements if s.target == type]


def origin(resolved: ResolvedProgram, type: str) -> str:
    makers, kind = derived_by(resolved, type), class_kind(resolved, type)
    told = f"statement {', '.join(makers)}" if makers else "input"
    if kind is None:
        return told
    return f"{kind} class" if kind == "complex" else f"{kind} class: {told}"


def class_kind(resolved: ResolvedProgram, type: str) -> str | None:
    """Of a type that is a class."""
    for each in resolved.classes:
        if each.name == type:
            return "complex" if isinstance(each.declared, ComplexClass) else "subscribed"
    return None
