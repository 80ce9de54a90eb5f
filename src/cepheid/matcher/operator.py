"""A program as an operator over Arrow: events in, rows out, state that can be saved in between.

Events come in the order of (time, sequence) and have the columns '@type' (null: the row only lets
time pass), '@time' (microseconds since the epoch), '@sequence' and those of `columns_of`. Rows have
the columns of `rows_schema`. Their '@key' orders the rows of all parts in which the input may have
been split: sorted by it, they are the rows of the undivided run.

Statements of one program may run in several operators, one of which takes what another derives. Then
events have a column '@key', too: null for those of the input, the row's for derived ones. They come
in the order of these keys, an input event's being (time, 1, sequence, 0). What an operator derives
is taken in its place among them, so that it may wait until more is known: the next event, or that
time goes on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cepheid.core.once import once
from cepheid.core.time import Instant
from cepheid.core.types import DataType, lineage
from cepheid.io.arrow import arrow_type
from cepheid.io.rows import RANK, RowColumns
from cepheid.matcher.contents import Contents
from cepheid.matcher.gaps import left_to_reference
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.semantics.inspection.parts import Texts


class Operator(ABC):
    """A program that runs. Time moves only as told, and never back."""

    program: ResolvedProgram

    @property
    @abstractmethod
    def clock(self) -> Instant | None:
        """The time up to which everything has happened; None before the program has begun."""

    @abstractmethod
    def start(self, instant: Instant) -> None:
        """The program begins; without this, it does so at the first instant it is told."""

    @abstractmethod
    def take(self, events: pa.RecordBatch | pa.Table) -> pa.Table:
        """Time passes to each event in turn, then it happens; gives all rows."""

    @abstractmethod
    def advance(self, instant: Instant) -> pa.Table:
        """Time passes, up to and including an instant; gives the rows that time brings."""

    @abstractmethod
    def next_due(self) -> Instant | None:
        """When the first armed timer falls due."""

    @abstractmethod
    def save(self) -> bytes:
        """The state between two calls."""

    @abstractmethod
    def load(self, state: bytes) -> None:
        """Goes on from a saved state; RunError if it is damaged or another program's."""

    @abstractmethod
    def contents(self, texts: Texts, most: int) -> Contents:
        """What it keeps, for people; of many things the first ones."""


def open_operator(
    program: ResolvedProgram,
    *,
    timed_out: bool = False,
    why: bool = False,
    is_fed: bool = False,
    keyed: bool = True,
    ranked: bool = False,
) -> Operator:
    """An operator for a program that can run; `timed_out` asks for rows of kind 'timeout'.

    `why` asks for the causes of rows. It is the compiled matcher, or the reference semantics where that does not know all that is
    asked for. `is_fed` says that others derive some of its events, so that these have keys. Where
    it alone takes the whole input, its rows are in order and may do without: not `keyed`. `ranked` asks for a
    column '@rank' with the ranks of their statements.
    """
    from cepheid.matcher.lanes.operator import LanesOperator
    from cepheid.matcher.lanes.plan import lanes_of
    from cepheid.matcher.machine.operator import MachineOperator
    from cepheid.matcher.parts import PartsOperator, parts_of

    is_plain = not (timed_out or why or is_fed)
    lanes = lanes_of(program) if is_plain else None
    if lanes is not None and (lanes.has_keys or not keyed):
        return LanesOperator(program, lanes, keyed=keyed, ranked=ranked)
    if is_plain and (parts := parts_of(program)):
        return PartsOperator(program, parts, ranked=ranked)
    is_asked_more = timed_out or why or (is_fed and takes_own_rows(program))
    if is_asked_more or left_to_reference(program):
        from cepheid.matcher.reference import ReferenceOperator

        return ReferenceOperator(program, timed_out=timed_out, why=why, ranked=ranked)
    return MachineOperator(program, keyed=keyed, ranked=ranked)


def takes_own_rows(program: ResolvedProgram) -> bool:
    """Whether what it derives has places among its events; only the reference finds them."""
    consumed = program.consumed_types
    return any(statement.target in consumed for statement in program.statements)


# Rows -----------------------------------------------------------------------------------------


CAUSES = "@causes"


def rows_schema(program: ResolvedProgram, *, why: bool = False, ranked: bool = False) -> pa.Schema:
    """What rows look like: one struct column for each derived type, null in rows of the others.

    With `why`, rows name the events that led to them, in their order; derived ones have no sequence. With
    `ranked`, they name the rank of their statement.
    """
    import pyarrow as pa

    fields: list[pa.Field[Any]] = [
        pa.field("@type", pa.string()),
        pa.field("@time", pa.timestamp("us", "UTC")),
        pa.field("@kind", pa.string()),
        pa.field("@key", pa.list_(pa.int64())),
    ]
    if why:
        time = pa.timestamp("us", "UTC")
        names = {"type": pa.string(), "time": time, "sequence": pa.int64()}
        cause = pa.struct([pa.field(name, type) for name, type in names.items()])
        fields.append(pa.field(CAUSES, pa.list_(cause)))
    for name, attributes in derived_types(program).items():
        members = [pa.field(a, arrow_type(t, program.types)) for a, t in attributes.items()]
        fields.append(pa.field(name, pa.struct(members)))
    if ranked:
        fields.append(pa.field(RANK, pa.int64()))
    return pa.schema(fields)


@once
def derived_types(program: ResolvedProgram) -> dict[str, dict[str, DataType]]:
    """The derived types, and the types of their attributes in the order of the select lists."""
    found: dict[str, dict[str, DataType]] = {}
    for statement in program.statements:
        for column in statement.columns:
            type = program.types[statement.target].find(column.name)
            found.setdefault(statement.target, {})[column.name] = type or column.expr.type
    return found


@once
def row_shapes(program: ResolvedProgram) -> dict[int, RowColumns]:
    """What the rows of each statement hold, by its rank."""
    return {statement.rank: _shape(statement, program) for statement in program.statements}


def _shape(statement: ResolvedStatement, program: ResolvedProgram) -> RowColumns:
    types = derived_types(program)
    columns = {column.name: types[statement.target][column.name] for column in statement.columns}
    marks = ("@old",) if statement.tree.stream == "irstream" else ()
    return RowColumns(statement.name, statement.target, columns, marks)


# Events ---------------------------------------------------------------------------------------

HEADS = (
    "@type",
    "@time",
    "@sequence",
    "@key",
)  # of the columns of events; the last one where some are derived


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the input, and the types whose events have an attribute there."""

    name: str
    data_type: DataType
    types: tuple[str, ...]
    attribute: str


@once
def columns_of(program: ResolvedProgram) -> tuple[Column, ...]:
    """The attributes that a program looks at.

    A column is named like its attribute, or `Type.attribute` where two types do not agree on what
    it holds. There may be no events of a type; then its columns may be missing, too.
    """
    found: dict[str, dict[str, DataType]] = {}  # per attribute, what it is for each type
    for name, attributes in _seen_attributes(program).items():
        for attribute in attributes:
            type = program.types[name].find(attribute)
            assert type is not None
            found.setdefault(attribute, {})[name] = type
    columns: list[Column] = []
    for attribute, types in found.items():
        if len(set(types.values())) == 1:
            columns.append(Column(attribute, next(iter(types.values())), tuple(types), attribute))
        else:
            columns += [Column(f"{n}.{attribute}", t, (n,), attribute) for n, t in types.items()]
    return tuple(columns)


@dataclass(frozen=True, slots=True)
class ColumnsWithin:
    """The columns that a part of a program takes, among those of the program.

    Alone, types may agree on an attribute that others do not agree on.
    """

    columns: Mapping[str, Sequence[Column]]

    def of(self, events: pa.Table) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        present = set(events.column_names)
        heads = [name for name in HEADS if name in present]
        found: dict[str, Any] = {name: events[name] for name in heads}
        for name, columns in self.columns.items():
            some = [events[column.name] for column in columns if column.name in present]
            if some:
                found[name] = pc.coalesce(*some) if len(some) > 1 else some[0]
        return pa.table(found)


def columns_within(program: ResolvedProgram, part: ResolvedProgram) -> ColumnsWithin:
    columns = columns_of(program)
    return ColumnsWithin(
        {one.name: [c for c in columns if _overlap(c, one)] for one in columns_of(part)}
    )


def _overlap(one: Column, other: Column) -> bool:
    return one.attribute == other.attribute and not set(one.types).isdisjoint(other.types)


def _seen_attributes(program: ResolvedProgram) -> dict[str, list[str]]:
    """For each type that statements take, the attributes that they look at."""
    uses = {use for statement in program.statements for use in _uses(statement)}
    return {
        name: [
            attribute.name
            for attribute in program.types[name].attributes
            if any(
                (n, a) in uses for n in lineage(name, program.types) for a in (attribute.name, None)
            )
        ]
        for name in program.consumed_types
    }


def _uses(statement: ResolvedStatement) -> Iterator[tuple[str, str | None]]:
    """Types and the attributes of theirs that a statement looks at; None stands for all."""
    for name in statement.inputs:
        for attribute in statement.key_of(name) or ():
            yield name, attribute
    for name, column in statement.columns_read:
        yield name, column.path[0].name if column.path else None
