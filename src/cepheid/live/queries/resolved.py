"""What resolving a graph query gives: numbered variables and atoms over them.

An atom says one thing about variables that are all different: constants, and variables that stand
twice in a constraint, have variables and atoms of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from cepheid.core.event import Value
from cepheid.core.types import DataType
from cepheid.errors import Diagnostic
from cepheid.expr.tree import Expr
from cepheid.live.changes import Held
from cepheid.live.metamodel import Feature, Kind, Metamodel
from cepheid.live.model import Object
from cepheid.query.tree import Query

PLACEHOLDER = re.compile(r"\$([^$]*)\$")


@dataclass(frozen=True, slots=True)
class ObjectType:
    """Objects that are of all these classes; of any class, if none is named."""

    classes: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return " and ".join(sorted(self.classes)) or "object"


VariableType: TypeAlias = ObjectType | DataType


# Atoms; numbers are variables.


@dataclass(frozen=True, slots=True)
class Atom:
    """The root of all atoms."""


@dataclass(frozen=True, slots=True)
class Extent(Atom):
    """An object of a class."""

    kind: Kind
    object: int


@dataclass(frozen=True, slots=True)
class Step(Atom):
    """A value or a target of a feature; with nulls, an attribute without a value has the value null.

    The source may be known to be of one of these classes.
    """

    feature: Feature
    source: int
    target: int
    with_nulls: bool = False
    kinds: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Mean(Atom):
    """The moving average of an attribute; null where nothing was read yet."""

    feature: Feature
    size: int
    source: int
    target: int
    kinds: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Call(Atom):
    query: str
    transitive: bool
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Absence(Atom):
    """No match of a query has these arguments in these columns."""

    query: str
    transitive: bool
    columns: tuple[int, ...]
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tally(Atom):
    """How many matches of a query have these arguments in these columns."""

    query: str
    transitive: bool
    columns: tuple[int, ...]
    arguments: tuple[int, ...]
    result: int


@dataclass(frozen=True, slots=True)
class Same(Atom):
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Different(Atom):
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Constant(Atom):
    variable: int
    value: Value


@dataclass(frozen=True, slots=True)
class Condition(Atom):
    """An expression that must be true; it names its variables."""

    expr: Expr
    inputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Computed(Atom):
    """The value of an expression, unless it is null."""

    expr: Expr
    inputs: tuple[tuple[str, int], ...]
    result: int


@dataclass(frozen=True, slots=True)
class ResolvedBody:
    variables: tuple[str, ...]  # names; those that a text cannot have are not in it
    atoms: tuple[Atom, ...]
    outputs: tuple[int, ...]  # the variables of the parameters


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    tree: Query
    types: tuple[VariableType, ...]  # of the parameters
    bodies: tuple[ResolvedBody, ...]

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.tree.parameters)

    def message(self, row: Sequence[Held]) -> str:
        """What its rule says of a match."""
        rule = self.tree.rule
        bound = dict(zip(self.parameters, row, strict=True))

        def shown(match: re.Match[str]) -> str:
            name, *path = match[1].split(".")
            value: object = bound[name]
            for step in path:
                value = value[step] if isinstance(value, Object) else None
            return "null" if value is None else str(value)

        return "" if rule is None else PLACEHOLDER.sub(shown, rule.message)


@dataclass(frozen=True)
class Queries:
    """Queries that can be matched, in the order of their text."""

    metamodel: Metamodel
    queries: tuple[ResolvedQuery, ...]
    order: tuple[str, ...]  # those that others ask for before those that ask
    warnings: tuple[Diagnostic, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, ResolvedQuery]:
        return {query.name: query for query in self.queries}
