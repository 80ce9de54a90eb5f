"""What resolving a program gives: statements whose names and types are known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from cepheid.core.types import DataType, EventType
from cepheid.errors import Diagnostic
from cepheid.expr.tree import Expr
from cepheid.pattern.policy import EVERY, Policy
from cepheid.pattern.tree import Pattern, atoms
from cepheid.program.tree import Context, OrderItem, PatternSource, ProgramTree, Statement


class Shape(Enum):
    """What one row of a statement stands for."""

    ROW = "each row of the source"  # no aggregates
    TOTAL = "all rows together"  # aggregates only
    ROW_WITH_TOTAL = "each row, beside aggregates over all"
    GROUP = "each group"
    ROW_WITH_GROUP = "each row, beside aggregates over its group"

    @property
    def is_grouped(self) -> bool:
        return self in (Shape.GROUP, Shape.ROW_WITH_GROUP)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    expr: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedStatement:
    """A statement whose expressions are resolved; what needs no resolving stays in `tree`."""

    tree: Statement
    name: str
    target: str  # the type it derives
    pattern: Pattern | None  # the source is a pattern, or
    event_type: str | None  # the events of a type that satisfy
    condition: Expr | None  # a condition
    tags: Mapping[str, DataType]
    columns: tuple[OutputColumn, ...]
    where: Expr | None
    group_by: tuple[Expr, ...]
    having: Expr | None
    order_by: tuple[OrderItem, ...]
    output_when: Expr | None
    shape: Shape
    context: Context | None
    rank: int = 0  # its place among all statements that take an event

    @property
    def policy(self) -> Policy:
        """How the runs of its pattern share events; the events of a stream stand for themselves."""
        source = self.tree.source
        return source.policy if isinstance(source, PatternSource) else EVERY

    @property
    def inputs(self) -> tuple[str, ...]:
        """The types it consumes, in the order of the text."""
        if self.pattern is None:
            assert self.event_type is not None
            return (self.event_type,)
        return tuple(dict.fromkeys(atom.event_type for atom in atoms(self.pattern)))

    def key_of(self, event_type: str) -> tuple[str, ...] | None:
        """The attributes that make the key of that type's events, in a context."""
        for key in self.context.keys if self.context else ():
            if key.event_type == event_type:
                return key.attributes
        return None


@dataclass(frozen=True, slots=True)
class ResolvedProgram:
    """Everything the engines need to know; it can run if no problem is an error."""

    tree: ProgramTree
    types: Mapping[str, EventType]
    statements: tuple[ResolvedStatement, ...]
    problems: tuple[Diagnostic, ...]
    given: Mapping[str, EventType]  # known from files or frames

    @property
    def input_types(self) -> tuple[str, ...]:
        """The types that come from outside: consumed and not derived, or declared."""
        derived = {s.target for s in self.statements}
        used = [name for s in self.statements for name in s.inputs]
        declared = [schema.name for schema in self.tree.schemas]
        return tuple(dict.fromkeys(n for n in (*declared, *used) if n not in derived))

    def part(self, names: Collection[str]) -> ResolvedProgram:
        """The program with some of its statements only; they keep their ranks."""
        return replace(self, statements=tuple(s for s in self.statements if s.name in names))
