"""What all declarations have in common, and those of schemas and contexts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from cepheid.build.checks import name, refuse
from cepheid.build.expressions import lit
from cepheid.core.types import Attribute
from cepheid.core.values import shown
from cepheid.errors import suggest
from cepheid.expr.notation import IDENTIFIER
from cepheid.io.type_arguments import GivenAttribute, data_type
from cepheid.lang import DEFAULT
from cepheid.program import tree
from cepheid.program.schemas import TIME_UNITS
from cepheid.program.tree import Annotation, ContextKey

DeclarationTree: TypeAlias = tree.Declaration
Argument = tree.Scalar | tuple[tree.Scalar, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Declaration:
    """A part of a program; its methods give changed ones."""

    tree: tree.Annotated

    @property
    def trees(self) -> tuple[DeclarationTree, ...]:
        """All that it declares."""
        return (self.tree,)

    def annotated(self, annotation: str, /, *arguments: object, **named: object) -> Self:
        """With one more annotation.

        >>> print(cep.stream("A").annotated("Action", "mail", to="me@example.org"))
        @Action('mail', to='me@example.org')
        select *
        from A;
        """
        if not all(map(IDENTIFIER.fullmatch, name(annotation, "an annotation").split("."))):
            refuse("bad-annotation", f"{annotation!r} cannot be the name of an annotation")
        unnamed = [(None, _argument(argument)) for argument in arguments]
        return self._annotated(
            *self.tree.annotations,
            Annotation(annotation, (*unnamed, *((n, _argument(a)) for n, a in named.items()))),
        )

    def described(self, text: str) -> Self:
        """With `@Description`."""
        return self._noted("Description", text)

    def _noted(self, annotation: str, value: str | int) -> Self:
        """With an annotation that is there once, in its place."""
        noted = Annotation(annotation, ((None, _argument(value)),))
        others = [a for a in self.tree.annotations if a.name.lower() != annotation.lower()]
        position = next(
            (i for i, a in enumerate(self.tree.annotations) if a not in others), len(others)
        )
        return self._annotated(*others[:position], noted, *others[position:])

    def _annotated(self, *annotations: Annotation) -> Self:
        return replace(self, tree=replace(self.tree, annotations=annotations))

    def __str__(self) -> str:
        """As a text says it."""
        return DEFAULT.print_declaration(self.tree)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


def _argument(value: object) -> Argument:
    if isinstance(value, list | tuple):
        return tuple(_scalar(item) for item in value)
    return _scalar(value)


def _scalar(value: object) -> tree.Scalar:
    hint = "use texts, numbers, True, False, None and lists of them"
    if not (value is None or isinstance(value, str | int | float)) or _is_endless(value):
        refuse("bad-annotation", f"{shown(value)} cannot be an argument of an annotation", hint)
    lit(value)  # refuses what no text can write: whole numbers beyond 64 bits, broken characters
    return value


def _is_endless(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def schema(
    type: str,
    attributes: Mapping[str, GivenAttribute] | None = None,
    /,
    *,
    event_time: str | tuple[str, str] | None = None,
    inherits: str | Iterable[str] = (),
    **more: GivenAttribute,
) -> Declaration:
    """Declares an event type: its attributes, the one that holds its time, its ancestors.

    >>> print(cep.schema("Bike", ts="long", speed="int", event_time=("ts", "seconds")))
    @EventTime(attribute='ts', unit='seconds')
    create schema Bike (ts long, speed int);
    >>> print(cep.schema("Van", {"load": "double[]"}, inherits="Bike"))
    create schema Van (load double[]) inherits Bike;
    """
    given = {**(attributes or {}), **more}
    parents = [inherits] if isinstance(inherits, str) else list(inherits)
    return Declaration(
        tree.Schema(
            name=name(type, "an event type"),
            attributes=tuple(_attribute(n, t) for n, t in given.items()),
            inherits=tuple(name(parent, "an event type") for parent in parents),
            annotations=() if event_time is None else (event_time_annotation(event_time),),
        )
    )


def _attribute(attribute: str, given: GivenAttribute) -> Attribute:
    if isinstance(given, Mapping):
        hint = "declare a schema for it and give its name as the type"
        refuse("usage", f"the record '{attribute}' has no name in {DEFAULT.title}", hint)
    return Attribute(name(attribute, "an attribute"), data_type(given))


def event_time_annotation(given: str | tuple[str, str]) -> Annotation:
    """`@EventTime`: the attribute that holds the time of an event, and its unit."""
    attribute, unit = (given, "seconds") if isinstance(given, str) else given
    if unit not in TIME_UNITS:
        refuse("usage", f"no time unit {unit!r}", suggest(str(unit), TIME_UNITS, "units"))
    return Annotation("EventTime", (("attribute", attribute), ("unit", unit)))


def context(
    context: str,
    keys: Mapping[str, str | Iterable[str]] | None = None,
    /,
    **more: str | Iterable[str],
) -> Declaration:
    """Declares a context: for every event type the attributes that make its key.

    >>> print(cep.context("PerBike", Motorbike="motorbikeId", Crash=("city", "motorbikeId")))
    create context PerBike partition by motorbikeId from Motorbike, city and motorbikeId from Crash;
    """
    given = {**(keys or {}), **more}
    if not given:
        hint = "write cep.context('PerBike', Motorbike='motorbikeId')"
        refuse("usage", "a context needs the key of at least one event type", hint)
    found = tuple(_context_key(event_type, key) for event_type, key in given.items())
    return Declaration(tree.Context(name=name(context, "a context"), keys=found))


def _context_key(event_type: str, key: str | Iterable[str]) -> ContextKey:
    attributes = [key] if isinstance(key, str) else list(key)
    if not attributes:
        refuse("usage", f"the key of '{event_type}' has no attributes")
    return ContextKey(
        name(event_type, "an event type"), tuple(name(a, "an attribute") for a in attributes)
    )
