"""The reference semantics as an operator: Arrow columns become events, its rows become a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.io.arrow import to_column
from cepheid.matcher.columns.typed_columns import TypedColumns, missing
from cepheid.matcher.contents import Contents
from cepheid.matcher.inspected import told
from cepheid.matcher.operator import (
    CAUSES,
    Operator,
    columns_of,
    derived_types,
    rows_schema,
)
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics import state
from cepheid.semantics.inspection.machine import Inspector
from cepheid.semantics.machine import Machine

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.semantics.inspection.parts import Texts


class ReferenceOperator(Operator):
    """Runs whatever the reference semantics runs."""

    def __init__(
        self,
        program: ResolvedProgram,
        *,
        timed_out: bool = False,
        why: bool = False,
        ranked: bool = False,
    ) -> None:
        self.program = program
        self._machine = Machine(program, timed_out=timed_out)
        self._decoder = _Decoder(program)
        self._encoder = _Encoder(program, why=why, ranked=ranked)

    @property
    def clock(self) -> Instant | None:
        return self._machine.clock if self._machine.started else None

    def start(self, instant: Instant) -> None:
        self._machine.start(instant)

    def take(self, events: pa.RecordBatch | pa.Table) -> pa.Table:
        machine = self._machine
        is_part = "@key" in events.schema.names
        take, pass_time = (
            (machine.meet, machine.reach) if is_part else (machine.take, machine.advance)
        )
        rows: list[Event] = []
        for item in self._decoder.decode(events):
            rows += take(item) if isinstance(item, Event) else pass_time(item)
        return self._encoder.encode(rows)

    def advance(self, instant: Instant) -> pa.Table:
        return self._encoder.encode(self._machine.advance(instant))

    def next_due(self) -> Instant | None:
        return self._machine.next_due()

    def reached(self) -> dict[str, list[int]]:
        return self._machine.steps_reached

    def save(self) -> bytes:
        return state.save(self._machine)

    def load(self, state_: bytes) -> None:
        state.load(self._machine, state_)

    def contents(self, texts: Texts, most: int) -> Contents:
        return told(Inspector(self._machine, texts).inspect(), most)


class _Decoder:
    """Makes events of the rows of batches, type by type and column by column."""

    def __init__(self, program: ResolvedProgram) -> None:
        self._inputs = TypedColumns(program)
        columns = columns_of(program)
        self._columns = {
            name: [column for column in columns if name in column.types]
            for name in program.consumed_types
        }

    def decode(self, events: pa.RecordBatch | pa.Table) -> Sequence[Event | Instant]:
        """In their order: events, and instants where nothing happens that concerns the program."""
        items: list[Any] = events.column("@time").to_pylist()
        sequences: list[Any] = events.column("@sequence").to_pylist()
        keys: list[Any] = [None] * len(items)
        if "@key" in events.schema.names:
            keys = [key and tuple(key) for key in events.column("@key").to_pylist()]
        places: dict[str | None, list[int]] = {}
        for place, type in enumerate(events.column("@type").to_pylist()):
            places.setdefault(type, []).append(place)
        for name in self._columns.keys() & places.keys():
            mine = places[name]
            for place, values in zip(mine, self._values(events, name, mine), strict=True):
                items[place] = Event(name, items[place], values, sequences[place], key=keys[place])
        return items

    def _values(
        self, events: pa.RecordBatch | pa.Table, name: str, places: list[int]
    ) -> Iterable[dict[str, Value]]:
        """The attributes of the events of one type, which are at these places."""
        columns = self._columns[name]
        if not columns:
            return ({} for _ in places)
        names = [column.attribute for column in columns]
        present = set(events.schema.names)
        decoded = []
        for column in columns:
            if column.name not in present:
                raise missing(column, name)
            mine = events.column(column.name).take(places)
            decoded.append(self._inputs.values(mine, column, name))
        return (dict(zip(names, row, strict=True)) for row in zip(*decoded, strict=True))


class _Encoder:
    """Makes a table of rows."""

    def __init__(self, program: ResolvedProgram, *, why: bool, ranked: bool) -> None:
        self._types = program.types
        self._derived = derived_types(program)
        self._schema = rows_schema(program, why=why, ranked=ranked)
        self._why = why
        self._ranks = {s.name: s.rank for s in program.statements} if ranked else {}

    def encode(self, rows: Sequence[Event]) -> pa.Table:
        import pyarrow as pa

        columns: list[Any] = [
            pa.array([row.type for row in rows], pa.string()),
            pa.array([row.instant for row in rows], self._schema.field("@time").type),
            pa.array(map(_kind, rows), pa.string(), size=len(rows)),
            pa.array([row.key for row in rows], self._schema.field("@key").type),
            *self._causes(rows),
            *(self._struct(name, rows) for name in self._derived),
            *self._numbers(rows),
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _numbers(self, rows: Sequence[Event]) -> Iterable[Any]:
        """The ranks of the statements of rows, where they are asked for."""
        import pyarrow as pa

        if self._ranks:
            yield pa.array([self._ranks[row.statement or ""] for row in rows], pa.int64())

    def _causes(self, rows: Sequence[Event]) -> Iterable[Any]:
        """What led to each row, where that is asked for."""
        import pyarrow as pa

        if self._why:
            named = [[_cause(event) for event in row.causes] for row in rows]
            yield pa.array(named, self._schema.field(CAUSES).type)

    def _struct(self, name: str, rows: Sequence[Event]) -> Any:
        """The attributes of the rows of one type, null at the places of the others."""
        import pyarrow as pa

        mine = [row for row in rows if row.type == name]
        members = [
            to_column([row.values_.get(a) for row in mine], t, self._types)
            for a, t in self._derived[name].items()
        ]
        type = self._schema.field(name).type
        packed = pa.StructArray.from_arrays(members, fields=list(type))
        numbers = iter(range(len(mine)))
        return packed.take(
            pa.array([next(numbers) if row.type == name else None for row in rows], pa.int64())
        )


def _cause(event: Event) -> dict[str, object]:
    """An event in few words; only those of the input, whose keys have no depth, have a sequence."""
    is_input = event.key[3] == 0
    sequence = event.sequence if is_input else None
    return {"type": event.type, "time": event.instant, "sequence": sequence}


def _kind(row: Event) -> str:
    return "old" if row.is_old else "timeout" if row.is_timeout else "match"
