"""How event types are shown to people: `@Icon('🚗')`, `@Description('what it is')`.

They stand on the schema of a type, or on a statement that makes its events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.program.tree import Annotation, ProgramTree, Schema, Statement

ICON, DESCRIPTION = "Icon", "Description"
_LONGEST_ICON = 8  # characters: a picture may be made of several


@dataclass(frozen=True, slots=True)
class Look:
    icon: str = ""
    description: str = ""


def look_of(declaration: Schema | Statement) -> Look:
    """What its annotations say; nothing where they are no texts."""
    icon = _text(declaration.annotations, ICON)
    return Look(icon[:_LONGEST_ICON], _text(declaration.annotations, DESCRIPTION))


def _text(annotations: tuple[Annotation, ...], name: str) -> str:
    for annotation in annotations:
        value = annotation.value()
        if annotation.name.lower() == name.lower() and isinstance(value, str):
            return value.strip()
    return ""


def looks_of(tree: ProgramTree) -> Mapping[str, Look]:
    """By type; where several say something of one, a schema does before statements."""
    found: dict[str, Look] = {}
    for statement in reversed(tree.statements):
        if statement.insert_into is not None and look_of(statement) != Look():
            found[statement.insert_into] = look_of(statement)
    for schema in tree.schemas:
        if look_of(schema) != Look():
            found[schema.name] = look_of(schema)
    return found
