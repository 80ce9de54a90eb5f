"""What resolving a program gives: statements whose names and types are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from cepheid.core.types import DataType, EventType, lineage
from cepheid.errors import Diagnostic, Severity
from cepheid.expr.tree import Column, Expr, Part
from cepheid.expr.tree import walk as walk_expr
from cepheid.pattern.algebra import walk_taken
from cepheid.pattern.policy import EVERY, Policy
from cepheid.pattern.tree import Atom, Pattern, atoms, expressions, walk
from cepheid.program.classes import AnyClass, Reaction, SubscribedClass
from cepheid.program.tree import Context, OrderItem, PatternSource, ProgramTree, Statement

if TYPE_CHECKING:
    from cepheid.sql.conditions import ResolvedArgument, ResolvedCondition
    from cepheid.sql.queries import ResolvedQuery
    from cepheid.sql.tables import Table


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
    is_named: bool = field(default=True, compare=False)  # not one of those that `*` stands for


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

    def arriving(self, types: Mapping[str, EventType]) -> tuple[str, ...]:
        """The types whose events it takes, those that inherit from its inputs included."""
        inputs = self.inputs
        heirs = (name for name in types if not lineage(name, types).isdisjoint(inputs))
        return tuple(dict.fromkeys((*inputs, *heirs)))

    @property
    def expressions(self) -> Iterator[tuple[str | None, Expr]]:
        """All expressions over events, each with the type of the event at hand.

        What an output rate waits for is none of them: it knows counters only.
        """
        for node in walk(self.pattern) if self.pattern is not None else ():
            event_type = node.event_type if isinstance(node, Atom) else None
            yield from ((event_type, expr) for expr in expressions(node))
        clauses = (
            self.condition,
            *(column.expr for column in self.columns),
            self.where,
            *self.group_by,
            self.having,
            *(item.expr for item in self.order_by),
        )
        yield from ((self.event_type, expr) for expr in clauses if expr is not None)

    @property
    def columns_read(self) -> Iterator[tuple[str, Column]]:
        """What it looks at in events, each with their declared type."""
        return self._columns_in(self.expressions)

    @property
    def columns_named(self) -> Iterator[tuple[str, Column]]:
        """What of it stands in the text, and not only behind a `*`."""
        named = tuple(column for column in self.columns if column.is_named)
        return self._columns_in(replace(self, columns=named).expressions)

    def _columns_in(
        self, expressions: Iterable[tuple[str | None, Expr]]
    ) -> Iterator[tuple[str, Column]]:
        found = atoms(self.pattern) if self.pattern is not None else ()
        owners = {atom.tag: atom.event_type for atom in found}
        for current, expr in expressions:
            for node in walk_expr(expr):
                if isinstance(node, Column):
                    owner = current if node.tag is None else owners.get(node.tag)
                    if owner is not None:
                        yield owner, node
        for taken in walk_taken(self.pattern) if self.pattern is not None else ():
            for _, attribute in taken.parameters:
                yield taken.atom.event_type, Column(None, (Part(attribute),))

    def key_of(self, event_type: str) -> tuple[str, ...] | None:
        """The attributes that make the key of that type's events, in a context."""
        for key in self.context.keys if self.context else ():
            if key.event_type == event_type:
                return key.attributes
        return None


@dataclass(frozen=True, slots=True)
class ResolvedReaction:
    declared: Reaction
    condition: ResolvedCondition
    arguments: tuple[ResolvedArgument, ...]


@dataclass(frozen=True, slots=True)
class ResolvedClass:
    """A class whose SQL is resolved; what has errors in it is left out."""

    declared: AnyClass
    table: Table
    query: ResolvedQuery | None  # of a complex class
    reactions: tuple[ResolvedReaction, ...]

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def reads(self) -> tuple[str, ...]:
        """The classes from which its events are derived."""
        return self.query.reads if self.query is not None else ()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ResolvedProgram:
    """Everything the engines need to know; it can run if no problem is an error."""

    tree: ProgramTree
    types: Mapping[str, EventType]
    statements: tuple[ResolvedStatement, ...]
    problems: tuple[Diagnostic, ...]
    given: Mapping[str, EventType]  # known from files or frames
    classes: tuple[ResolvedClass, ...] = field(default=(), compare=False)  # after what they read

    @property
    def can_run(self) -> bool:
        return not any(problem.severity is Severity.ERROR for problem in self.problems)

    @property
    def input_types(self) -> tuple[str, ...]:
        """The types that come from outside: consumed and not derived, or declared.

        To statements, that is what classes tell them, too.
        """
        derived = {s.target for s in self.statements}
        used = [name for s in self.statements for name in s.inputs]
        told = [c.name for c in self.classes if isinstance(c.declared, SubscribedClass)]
        declared = [schema.name for schema in self.tree.schemas] + told
        return tuple(dict.fromkeys(n for n in (*declared, *used) if n not in derived))

    @property
    def consumed_types(self) -> tuple[str, ...]:
        """The types whose events some statement takes, in the order of all types."""
        taken = {name for s in self.statements for name in s.arriving(self.types)}
        return tuple(name for name in self.types if name in taken)

    def part(self, names: Collection[str]) -> ResolvedProgram:
        """The program with some of its statements only; they keep their ranks."""
        return replace(self, statements=tuple(s for s in self.statements if s.name in names))
