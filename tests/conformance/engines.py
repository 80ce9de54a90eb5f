"""Every engine and configuration behind one function: what an example gives on it.

All that the suite knows of engines stands here, through public verbs where there are any.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import cycle
from typing import Any

import pyarrow as pa

import cepheid as cep
from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.core.types import EventType, wider
from cepheid.formal.maude.engine import run_in
from cepheid.formal.maude.process import Maude
from cepheid.formal.maude.specify import specify
from cepheid.io.arrow import to_column
from cepheid.matcher.gaps import left_to_reference
from cepheid.matcher.lanes.lane_rows import LaneRows, RowChunk
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.lanes.plan import lanes_of
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import Operator, columns_of, row_shapes
from cepheid.program.resolved import ResolvedProgram
from tests.conformance.rows import events_of, strict
from tests.conformance.scenarios import Example


class Refused(Exception):
    """A configuration cannot run a program; says what there is in it."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to run an example from instant 0 to the last time in it."""

    name: str
    run: Callable[[Example], Sequence[Event]]
    names_statements: bool = True  # whether rows say which statement they come from
    has_negative_zero: bool = True
    has_order: bool = True  # whether rows come in the order of the reference

    def rows(self, example: Example) -> list[str]:
        """All rows, or what the run ends with. Refused where it does not run such a program."""
        try:
            return self.shown(self.run(example))
        except cep.RunError as problem:
            return [f"error {d.code}" for d in problem.diagnostics]
        except cep.CepheidError as refusal:
            raise Refused(*(problem.message for problem in refusal.diagnostics)) from None

    def shown(self, rows: Sequence[Event]) -> list[str]:
        texts = [strict(row, with_statement=self.names_statements) for row in rows]
        if not self.has_negative_zero:
            texts = [text.replace("=-0.0", "=0.0") for text in texts]
        return texts if self.has_order else sorted(texts)


# Forms of the input ---------------------------------------------------------------------------


def records_of(example: Example) -> list[dict[str, object]]:
    """The events as dictionaries; what is only a time lets it pass."""
    return [
        {"@type": item.type, "@time": item.time, **_given(item)}
        if isinstance(item, Event)
        else {"@time": item / 1_000_000}
        for item in example.items()
    ]


def _given(event: Event) -> dict[str, object]:
    return {name: value for name, value in event.items() if value is not None}


def table_of(example: Example) -> pa.Table:
    """The same as one Arrow table, with a column for each attribute of any type."""
    types = example.resolved.types
    items = example.items()
    return table_of_items(items, types)


def table_of_items(items: Sequence[Event | Instant], types: Mapping[str, EventType]) -> pa.Table:
    columns: dict[str, Any] = {
        "@type": pa.array([_type(item) for item in items], pa.string()),
        "@time": pa.array(list(map(instant_of, items)), pa.timestamp("us", "UTC")),
    }
    for name, type in _attributes(items, types).items():
        values = [item.get(name) if isinstance(item, Event) else None for item in items]
        columns[name] = to_column(values, type, types)
    return pa.table(columns)


def _type(item: Event | Instant) -> str | None:
    return item.type if isinstance(item, Event) else None


def instant_of(item: Event | Instant) -> Instant:
    return item.instant if isinstance(item, Event) else item


def _attributes(items: Sequence[Event | Instant], types: Mapping[str, EventType]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(item.type for item in items if isinstance(item, Event)):
        for attribute in types[name].attributes:
            known = found.get(attribute.name, attribute.type)
            found[attribute.name] = wider(known, attribute.type, types)
    return found


# Engines --------------------------------------------------------------------------------------


def by_records(engine: str) -> Callable[[Example], Sequence[Event]]:
    return lambda example: cep.run(
        example.program,
        records_of(example),
        start=example.start / 1000,
        engine=engine,
        optional=attributes_of(example.resolved),
    )


def attributes_of(program: ResolvedProgram) -> set[str]:
    """All attributes, any of which examples may leave out."""
    return {attribute.name for type in program.types.values() for attribute in type.attributes}


def by_columns(example: Example) -> Sequence[Event]:
    """An Arrow table takes another road through the engine `local` than records do."""
    optional = attributes_of(example.resolved)
    return cep.run(
        example.program, table_of(example), start=example.start / 1000, optional=optional
    )


def with_restarts(engine: str) -> Callable[[Example], Sequence[Event]]:
    """One event at a time, saved and opened again after each; after some of them where they are many."""

    def run(example: Example) -> Sequence[Event]:
        program = example.program
        session = cep.open(program, start=example.start / 1000, engine=engine)
        rows: list[Event] = []
        items = example.items()
        step = 1 + len(items) // 25
        for number, item in enumerate(items):
            if isinstance(item, Event):
                rows += session.take(item)
            else:
                rows += session.advance(item / 1_000_000)
            if number % step == 0:
                session = cep.open(program, state=session.save(), engine=engine)
        return rows

    return run


def in_tables(sizes: Sequence[int]) -> Callable[[Example], Sequence[Event]]:
    """Tables of some sizes, one after the other, those of one event sent alone; a new session goes on after each."""

    def run(example: Example) -> Sequence[Event]:
        program, rest = example.program, example.items()
        session = cep.open(program, start=example.start / 1000)
        rows: list[Event] = []
        scale = 1 + len(rest) // 50
        for size in cycle(sizes):
            if not rest:
                break
            items, rest = rest[: scale * size], rest[scale * size :]
            if len(items) > 1:
                table = table_of_items(items, program.resolve().types)
                rows += session.send_table(table, optional=attributes_of(program.resolve()))
            elif isinstance(items[0], Event):
                rows += session.take(items[0])
            else:
                rows += session.advance(items[0] / 1_000_000)
            session = cep.open(program, state=session.save())
        return rows

    return run


def operator_table(program: ResolvedProgram, events: Sequence[Event]) -> pa.Table:
    """Events as an operator takes them; null where a column is none of an event's type."""
    columns: dict[str, Any] = {
        "@type": pa.array([e.type for e in events], pa.string()),
        "@time": pa.array([e.instant for e in events], pa.int64()),
        "@sequence": pa.array([e.sequence for e in events], pa.int64()),
    }
    for column in columns_of(program):
        values = [e.get(column.attribute) if e.type in column.types else None for e in events]
        columns[column.name] = to_column(values, column.data_type, program.types)
    return pa.table(columns)


def by_operator(
    make: Callable[[ResolvedProgram], Operator], sizes: Sequence[int] = (10_000,)
) -> Callable[[Example], Sequence[Event]]:
    """Batches of some sizes, one after the other; a new operator goes on after each.

    Where events are many, so are those of a batch: to begin anew takes longer than to run.
    """

    def run(example: Example) -> Sequence[Event]:
        program, items = example.resolved, example.items()
        operator = make(program)
        operator.start(example.start * 1000)
        rest = operator_table(program, [item for item in items if isinstance(item, Event)])
        found: list[pa.Table] = []
        scale = 1 + rest.num_rows // 50
        for size in (scale * size for size in cycle(sizes)):
            if not rest.num_rows:
                break
            found.append(operator.take(rest.slice(0, size)))
            rest, state = rest.slice(size), operator.save()
            operator = make(program)
            operator.load(state)
        found.append(operator.advance(instant_of(items[-1])))
        rows = pa.concat_tables(found)
        keys: list[list[int]] = rows["@key"].to_pylist()  # type: ignore[assignment]
        assert keys == sorted(keys), "the keys of rows say their order"
        return list(events_of(rows, program.types))

    return run


def compiled(program: ResolvedProgram) -> Operator:
    if reasons := left_to_reference(program):
        raise Refused(*(reason for found in reasons.values() for reason in found))
    return MachineOperator(program)


def in_lanes(program: ResolvedProgram) -> Operator:
    plan = lanes_of(program)
    if plan is not None and plan.has_keys:
        return LanesOperator(program, plan)
    raise _no_lanes(program)


def _no_lanes(program: ResolvedProgram) -> Refused:
    if reasons := left_to_reference(program):
        return Refused(*(reason for found in reasons.values() for reason in found))
    return Refused("a statement takes events one at a time")


def in_a_row(sizes: Sequence[int] = (10_000,)) -> Callable[[Example], Sequence[Event]]:
    """Lanes that take what others derive; a new operator goes on after each batch."""

    def run(example: Example) -> Sequence[Event]:
        program, items = example.resolved, example.items()
        plan = lanes_of(program)
        if plan is None:
            raise _no_lanes(program)
        operator = LanesOperator(program, plan, keyed=False)
        operator.start(example.start * 1000)
        rest = operator_table(program, [item for item in items if isinstance(item, Event)])
        chunks: list[RowChunk] = []
        scale = 1 + rest.num_rows // 50
        for size in (scale * size for size in cycle(sizes)):
            if not rest.num_rows:
                break
            chunks += operator.take_chunks(rest.slice(0, size))
            rest, state = rest.slice(size), operator.save()
            operator = LanesOperator(program, plan, keyed=False)
            operator.load(state)
        chunks.append(operator.advance_chunk(instant_of(items[-1])))
        shapes = [*row_shapes(program).values()]
        rows = LaneRows(chunks, shapes, program.types, lambda: pa.array([[0]] * len(rows)))
        return rows

    return run


@cache
def _maude() -> Maude:
    """One process for all examples, as it is slow to start."""
    maude = Maude()
    atexit.register(maude.close)
    return maude


def by_maude(example: Example) -> Sequence[Event]:
    program, items = example.resolved, example.items()
    events = [item for item in items if isinstance(item, Event)]
    start, end = example.start * 1000, instant_of(items[-1])
    return run_in(_maude(), specify(program), events, start, end)


@lru_cache(1000)  # all engines are compared with it
def by_reference(example: Example) -> Sequence[Event]:
    return by_records("reference")(example)


REFERENCE = Engine("reference", by_reference)
ENGINES = {
    engine.name: engine
    for engine in (
        REFERENCE,
        Engine("reference, restarted", with_restarts("reference")),
        Engine("local, records", by_records("local")),
        Engine("local, columns", by_columns),
        Engine("local, restarted", with_restarts("local")),
        Engine("local, tables", in_tables((3, 1, 5, 1, 1, 2))),
        Engine("compiled", by_operator(compiled), names_statements=False),
        Engine("compiled, in batches", by_operator(compiled, (2, 1, 5)), names_statements=False),
        Engine("lanes", by_operator(in_lanes), names_statements=False),
        Engine("lanes, in batches", by_operator(in_lanes, (3, 1, 2)), names_statements=False),
        Engine("lanes in a row", in_a_row()),
        Engine("lanes in a row, in batches", in_a_row((3, 1, 2))),
        Engine("automaton", by_records("automaton")),
        Engine("automaton, restarted", with_restarts("automaton")),
        Engine("petri", by_records("petri")),
        Engine("maude", by_maude, has_negative_zero=False),
    )
}
