"""Which type an attribute really belongs to: an ancestor, or the type that `select *` hands on."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.tree import atoms
from cepheid.program.statements import statement_names, target_of
from cepheid.program.tree import (
    PatternSource,
    ProgramTree,
    Schema,
    SelectAll,
    SelectExpr,
    Statement,
    StreamSource,
)


@dataclass(frozen=True, slots=True)
class Origins:
    schemas: dict[str, Schema]
    producers: dict[str, tuple[Statement, ...]]  # of the types without a schema

    @classmethod
    def of(cls, tree: ProgramTree) -> Origins:
        schemas = {schema.name: schema for schema in reversed(tree.schemas)}
        producers: dict[str, tuple[Statement, ...]] = {}
        for name, statement in zip(statement_names(tree.statements), tree.statements, strict=True):
            target = target_of(name, statement)
            if target not in schemas:
                producers[target] = (*producers.get(target, ()), statement)
        return cls(schemas, producers)

    @property
    def declared(self) -> frozenset[str]:
        return frozenset(self.schemas)

    def owner(self, type: str, attribute: str) -> str:
        return self._owner(type, attribute, frozenset()) or type

    def _owner(self, type: str, attribute: str, seen: frozenset[str]) -> str | None:
        """None where the attribute is not known there; of a type that is its own ancestor, too."""
        if type in seen:
            return None
        seen |= {type}
        schema = self.schemas.get(type)
        if schema is not None:
            if any(each.name == attribute for each in schema.attributes):
                return type
            given = schema.inherits
        else:
            statements = self.producers.get(type, ())
            if any(name_of(item) == attribute for s in statements for item in s.select):
                return type
            given = tuple(source for s in statements for source in handed_on(s))
            if not statements:
                return None
        found = (self._owner(each, attribute, seen) or self._open(each) for each in given)
        return next((each for each in found if each is not None), None)

    def _open(self, type: str) -> str | None:
        """A type that nothing declares may have any attribute."""
        return None if type in self.schemas or type in self.producers else type


def name_of(item: object) -> str | None:
    """What a select item is called, if its text tells."""
    if not isinstance(item, SelectExpr):
        return None
    if item.alias is not None:
        return item.alias
    parts = getattr(item.expr, "parts", ())
    return str(parts[-1].name) if parts else None


def handed_on(statement: Statement) -> tuple[str, ...]:
    """The types all of whose attributes a statement selects."""
    source = statement.source
    if isinstance(source, StreamSource):
        return (
            (source.event_type,) if any(isinstance(i, SelectAll) for i in statement.select) else ()
        )
    assert isinstance(source, PatternSource)
    types = {atom.tag: atom.event_type for atom in atoms(source.pattern) if atom.tag}
    tags = (item.tag for item in statement.select if isinstance(item, SelectAll))
    return tuple(types[tag] for tag in tags if tag in types)
