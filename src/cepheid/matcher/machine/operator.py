"""The compiled machine as an operator: Arrow columns go into its memory, rows come out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from cepheid.core.event import Event, Value
from cepheid.core.memory import is_short
from cepheid.core.time import Instant
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    DataType,
    is_counted,
    is_scalar,
)
from cepheid.errors import Diagnostic, LateEvent, RunError
from cepheid.expr.python import FunctionFailed
from cepheid.io.arrow import arrow_type, to_column
from cepheid.matcher.columns.batches import (
    Repeated,
    check_order,
    expect_none,
    integers,
    type_names,
    words_of_types,
)
from cepheid.matcher.columns.interning import EventReader, array_of_counts, counts_in
from cepheid.matcher.columns.typed_columns import TypedColumns
from cepheid.matcher.compiling.lowering import lower
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.contents import Contents
from cepheid.matcher.machine import saved_state as state
from cepheid.matcher.machine.kept import contents_of
from cepheid.matcher.machine.python_calls import answer, forget, linked, remember
from cepheid.matcher.operator import Operator, columns_of, derived_types, rows_schema
from cepheid.matcher.vm.machine import run
from cepheid.matcher.vm.memory.access import (
    Memory,
    Words,
    absent_bits,
    collect,
    free_rows,
    grown,
    key_lengths,
    key_words,
    largest,
    lay_out,
    load_events,
    load_keys,
    load_nulls,
    load_values,
    next_due,
    rehashed,
    row_nulls,
    row_words,
    rows_of,
    with_more,
    with_room,
)
from cepheid.matcher.vm.memory.free_lists import EVENT, RESERVE
from cepheid.matcher.vm.memory.layout import BEGIN, NONE, TABLE, USED, WIDTH, EventRow, Head, Region
from cepheid.matcher.vm.memory.tables import (
    NEVER,
    ConsumerRow,
    ResultRow,
    RunningRow,
    Status,
    StepKind,
)
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.semantics import limits
from cepheid.semantics.machine import late_event

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.semantics.inspection.parts import Texts

CHUNK = 1 << 14  # events that lie in the memory at once
MANY_ROWS = 1 << 16  # rows that leave the memory before it grows
MANY_DERIVED = 1 << 10  # events that one cause has brought
MANY_VALUES = 1 << 16  # values beside those in use, before they are looked through
Array: TypeAlias = Any  # of Arrow, whose stubs know less than it does
KINDS = ("match", "old", "timeout")
_CLOCK = int(Head.CLOCK)
_ROWS = TABLE + 4 * int(Region.ROW) + USED


class MachineOperator(Operator):
    """Runs programs of which the machine leaves nothing to the reference semantics."""

    def __init__(
        self, program: ResolvedProgram, *, keyed: bool = True, ranked: bool = False
    ) -> None:
        self.program = program
        self._form: MachineProgram = lower(program)
        self._pool = self._form.pool
        self._memory: Memory = lay_out(self._form, keyed=keyed)
        self._keyed = keyed
        self._ended: Diagnostic | None = None  # why the run cannot go on
        self._aside: list[pa.Table] = []  # rows that had to leave the memory before they were taken
        self._most_values = MANY_VALUES
        self._columns = columns_of(program)
        self._inputs = TypedColumns(program)
        self._repeated = Repeated()
        self._schema = rows_schema(program, ranked=ranked)
        self._ranks = np.array([s.rank for s in self._form.statements], dtype=np.int64)
        self._ranked = ranked
        self._types = {name: place for place, name in enumerate(self._form.types)}

    @property
    def size(self) -> int:
        """How many words its memory has."""
        return len(self._memory)

    # -- time --

    @property
    def clock(self) -> Instant | None:
        return int(self._memory[Head.CLOCK]) if self._memory[Head.STARTED] else None

    def next_due(self) -> Instant | None:
        due = int(next_due(self._memory))
        return None if due == NEVER else due

    def start(self, instant: Instant) -> None:
        self._memory[Head.CLOCK] = instant
        self._memory[Head.STARTED] = 1
        self._memory[Head.START_INSTANT] = instant
        self._memory[Head.ORIGIN] = self._memory[Head.ORIGIN_EVENT] = NONE
        for number in reversed(range(len(self._form.statements))):
            if self._form.statements[number].context is None:
                self._push(StepKind.START_STATEMENT, number)
        self._run()

    def advance(self, instant: Instant) -> pa.Table:
        clock = self.clock
        if clock is None:
            self.start(instant)
        elif instant < clock:
            raise LateEvent(late_event(instant, clock))
        self._memory[Head.UNTIL] = instant
        self._memory[Head.SPEAKING] = 0
        self._push(StepKind.PASS_TIME)
        self._run()
        self._memory[Head.UNTIL] = NEVER
        return self._take_rows()

    # -- events --

    def take(self, events: pa.RecordBatch | pa.Table) -> pa.Table:
        import pyarrow as pa

        if isinstance(events, pa.RecordBatch):
            events = pa.Table.from_batches([events])
        chunks = (events.slice(begin, CHUNK) for begin in range(0, events.num_rows, CHUNK))
        return pa.concat_tables([self._schema.empty_table(), *map(self._take_chunk, chunks)])

    def _take_chunk(self, events: pa.Table) -> pa.Table:
        instants = integers(events["@time"])
        if self.clock is None:
            self.start(int(instants[0]))
        check_order(instants, int(self._memory[Head.CLOCK]))
        self._make_room(len(instants))
        types = type_names(events["@type"])
        arrays = self._arrays(events, types)
        numbers = words_of_types(types, self._types, NONE)
        absent = absent_bits(int(self._memory[Head.SLOTS]) - EventRow.NULLS, arrays)
        load_events(self._memory, numbers, instants, integers(events["@sequence"]), absent)
        for slot, (type, array) in arrays.items():
            load_values(self._memory, slot, self._words(array, type))
            if array.null_count:
                nulls = array.is_null().to_numpy(zero_copy_only=False)
                load_nulls(self._memory, slot, np.ascontiguousarray(nulls))
        if "@key" in events.column_names:
            self._load_keys(events["@key"].combine_chunks())
        self._push(StepKind.TAKE)
        self._run()
        return self._take_rows()

    def _load_keys(self, keys: Array) -> None:
        """The keys of events that other operators derived."""
        words = integers(keys.flatten())
        ends = np.cumsum(integers(keys.value_lengths()))
        self._memory = with_room(self._memory, {Region.KEY: len(words) + RESERVE})
        load_keys(self._memory, ends, words)

    def _arrays(self, events: pa.Table, types: Array) -> dict[int, tuple[DataType, Array]]:
        """The values of each slot; several columns may share one, each for types of its own."""
        import pyarrow.compute as pc

        names = set(events.column_names)
        found: dict[int, tuple[DataType, Array]] = {}
        for column in self._columns:
            if column.name not in names:
                expect_none(column, types)
            else:
                slot = self._form.slots[column.attribute, column.data_type]
                array = events[column.name].combine_chunks()
                if is_scalar(column.data_type):
                    array = self._inputs.exact(array, column)
                if slot in found:
                    array = pc.coalesce(found[slot][1], array)
                found[slot] = column.data_type, array
        return found

    def _make_room(self, count: int) -> None:
        if free_rows(self._memory, EVENT) < count + RESERVE:
            collect(self._memory)
        needed = {EVENT: count + RESERVE, Region.INPUT: count}
        self._memory[TABLE + 4 * Region.INPUT + USED] = 0
        self._memory = with_room(self._memory, needed)

    def _words(self, array: Array, type: DataType) -> Words:
        if type == STRING:
            return self._pool.intern_array(array)
        if type in (INT, LONG):
            return integers(array)
        if type in (FLOAT, DOUBLE):
            values = array.fill_null(0.0).to_numpy(zero_copy_only=False)
            return np.ascontiguousarray(values, np.float64).view(np.int64)
        if type == BOOLEAN:
            return integers(array.cast("int8"))
        if is_counted(type):
            return counts_in(array, type)
        encoded = (self._pool.encode(value, type)[0] for value in array.to_pylist())
        return np.fromiter(encoded, dtype=np.int64, count=len(array))

    # -- running --

    def _push(self, step: int, argument: int = 0) -> None:
        self._memory = with_room(self._memory, {Region.STEP: 1})
        entry = TABLE + 4 * Region.STEP
        place = (
            self._memory[entry + BEGIN] + self._memory[entry + USED] * self._memory[entry + WIDTH]
        )
        self._memory[place : place + 2] = (step, argument)
        self._memory[entry + USED] += 1

    def _run(self) -> None:
        if self._ended is not None:  # what it left half done means nothing
            raise RunError(self._ended)
        while True:
            status = run(self._memory)
            if status == Status.DONE:
                return
            if status == Status.GROW:
                self._grow()
            elif status == Status.REHASH:
                self._memory = rehashed(self._memory)
            elif status == Status.ASK:
                try:
                    self._answer()
                except FunctionFailed as failed:
                    self._end(self._failure(failed), failed)
                except RunError as limit:
                    self._end(limits.named(limit, self._asking()))
            elif status == Status.ENDLESS:
                self._end(limits.runaway(self._statement(Head.RUNAWAY), int(self._memory[_CLOCK])))
            elif status == Status.ENDLESS_OUTPUT:
                speaker = self._statement(Head.SPEAKER)
                self._end(limits.endless_output(speaker, int(self._memory[_CLOCK])))

    def _end(self, reason: Diagnostic, cause: Exception | None = None) -> NoReturn:
        self._ended = reason
        raise RunError(reason) from cause

    def _statement(self, word: int) -> ResolvedStatement:
        return self._form.statements[int(self._memory[word])]

    def _asking(self) -> ResolvedStatement:
        """The statement whose step asks: the last on the stack, which is done again."""
        steps = rows_of(self._memory, Region.STEP)
        step, first, second, *_ = steps[-1].tolist()
        if step == StepKind.DISPATCH:
            consumer = rows_of(self._memory, Region.CONSUMER)[second]
            return self._form.statements[int(consumer[ConsumerRow.STATEMENT])]
        running = int(self._memory[Head.D_RUNNING]) if step == StepKind.PROCESS else first
        if step not in (StepKind.PROCESS, StepKind.MATCHED):
            running = int(self._memory[Head.FIRING])
        row = rows_of(self._memory, Region.RUNNING)[max(running, 0)]
        return self._form.statements[int(row[RunningRow.STATEMENT])]

    def _grow(self) -> None:
        """More room for the next steps; rows that nobody has taken need none.

        Those that one cause brings, one after the other, have keys that grow: they wait for its end.
        """
        derived = rows_of(self._memory, Region.CAUSES)[:, 0].max(initial=0)
        if self._memory[_ROWS] >= MANY_ROWS and derived <= MANY_DERIVED:
            self._set_aside()
        if is_short(2 * self._memory.nbytes):  # it is copied
            self._end(limits.outgrown(self._form.statements[largest(self._memory)]))
        self._memory = grown(self._memory)

    def _set_aside(self) -> None:
        self._aside.append(self._rows_table())

    def _forget_values(self) -> None:
        """Gives up the values that nothing refers to any more."""
        if self._pool.in_use > self._most_values:
            state.clean(self._memory, self._pool, self._form)
            self._most_values = 2 * self._pool.in_use + MANY_VALUES

    def _answer(self) -> None:
        site = int(self._memory[Head.SITE])
        if site < 0:
            due = self._form.schedules[-site - 2].after(int(self._memory[Head.CLOCK]))
            bits, is_null = (0, True) if due is None else (due, False)
            self._memory[Head.MEMO_ROW] = NONE
        else:
            bits, is_null = answer(self._memory, self._form.sites, self._pool, self._event)
        if not remember(self._memory, bits, is_null=is_null):
            # With a larger table the same question will be asked again.
            is_lasting = self._memory[Head.MEMO_ROW] != NONE
            self._memory = with_more(self._memory, Region.MEMO if is_lasting else Region.ANSWER)
            if is_lasting:
                forget(self._memory)

    def _failure(self, failed: FunctionFailed) -> Diagnostic:
        """With the event that is being taken; a timer has none."""
        origin = int(self._memory[Head.ORIGIN_EVENT])
        if self._memory[Head.TIMER] != NONE or origin == NONE:
            return failed.at(int(self._memory[Head.CLOCK]))
        event = self._event(origin)
        return failed.at(event.instant, event.type)

    # -- reading --

    def contents(self, texts: Texts, most: int) -> Contents:
        return contents_of(self._form, self._memory, self._rows, texts, most)

    @property
    def memory(self) -> Memory:
        """The memory as it is; `dump` makes it readable."""
        return self._memory

    def _row(self, region: int, row: int) -> int:
        entry = TABLE + 4 * region
        return int(self._memory[entry + BEGIN] + row * self._memory[entry + WIDTH])

    @property
    def _rows(self) -> EventReader:
        return EventReader(self._event, self._events)

    def _event(self, row: int) -> Event:
        place = self._row(EVENT, row)
        name = self._form.types[int(self._memory[place + EventRow.TYPE])]
        values: dict[str, Value] = {}
        for attribute in self.program.types[name].attributes:
            slot = self._form.slots.get((attribute.name, attribute.type))
            if slot is not None:
                values[attribute.name] = self._value(place, slot, attribute.type)
        instant, sequence = (
            self._memory[place + EventRow.INSTANT],
            self._memory[place + EventRow.SEQUENCE],
        )
        return Event(name, int(instant), values, int(sequence))

    def _value(self, place: int, slot: int, type: DataType) -> Value:
        if (int(self._memory[place + EventRow.NULLS + slot // 64]) >> (slot % 64)) & 1:
            return None
        bits = int(self._memory[place + self._memory[Head.SLOTS] + slot])
        return self._pool.decode(bits, type, self._rows)

    def _events(self, link: int) -> list[Event]:
        return [self._event(row) for row in linked(self._memory, link)]

    # -- rows --

    def _take_rows(self) -> pa.Table:
        import pyarrow as pa

        rows = pa.concat_tables([*self._aside, self._rows_table()])
        self._aside = []
        self._forget_values()
        return rows

    def _rows_table(self) -> pa.Table:
        """The rows that lie in the memory, which gives them up."""
        import pyarrow as pa

        rows = rows_of(self._memory, Region.ROW)
        if not len(rows):
            return self._schema.empty_table()
        columns = self._row_columns(rows)
        self._memory[TABLE + 4 * Region.ROW + USED] = 0
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _row_columns(self, rows: Any) -> list[Array]:
        import pyarrow as pa

        return [
            self._chosen(self._form.types, self._row_words(EventRow.TYPE)),
            pa.array(self._row_words(EventRow.INSTANT)).cast(pa.timestamp("us", "UTC")),
            self._chosen(KINDS, rows[:, ResultRow.KIND]),
            self._keys(np.ascontiguousarray(rows[:, ResultRow.KEY])),
            *self._structs(self._row_words(EventRow.TYPE)),
            *([pa.array(self._ranks[rows[:, ResultRow.STATEMENT]])] if self._ranked else []),
        ]

    def _row_words(self, word: int) -> Words:
        """One word of the event of each row."""
        words = np.empty(int(self._memory[TABLE + 4 * Region.ROW + USED]), dtype=np.int64)
        row_words(self._memory, word, words)
        return words

    def _chosen(self, names: Sequence[str], numbers: Words) -> Array:
        """Names by their numbers; mostly it is one name for all."""
        import pyarrow as pa

        first = int(numbers[0])
        if (numbers == first).all():
            return self._repeated.text(names[first], len(numbers))
        places: Array = pa.array(numbers)
        return pa.array(names).take(places)

    def _keys(self, keys: Words) -> Array:
        import pyarrow as pa

        if not self._keyed:
            return self._repeated.no_keys(len(keys))
        lengths = np.empty(len(keys), dtype=np.int64)
        words = np.empty(key_lengths(self._memory, keys, lengths), dtype=np.int64)
        key_words(self._memory, keys, words)
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        values: Array = pa.array(words)
        places: Array = pa.array(offsets)
        return pa.ListArray.from_arrays(places, values)

    def _structs(self, types: Words) -> Iterator[Array]:
        """One column per derived type, null in rows of other types."""
        import pyarrow as pa

        for name, attributes in derived_types(self.program).items():
            is_other = types != self._types[name]
            field = self._schema.field(name)
            members = [
                self._values(slot_name, type, is_other) for slot_name, type in attributes.items()
            ]
            if not members:
                yield pa.array([None if o else {} for o in is_other], field.type)
                continue
            mask = pa.array(is_other) if is_other.any() else None
            yield pa.StructArray.from_arrays(members, fields=list(field.type), mask=mask)

    def _values(self, name: str, type: DataType, is_other: Any) -> Array:
        import pyarrow as pa

        slot = self._form.slots[name, type]
        nulls = np.empty(len(is_other), dtype=bool)
        has_nulls = row_nulls(self._memory, slot, nulls)
        nulls |= is_other
        mask = nulls if has_nulls or is_other.any() else None
        words = self._row_words(int(self._memory[Head.SLOTS]) + slot)
        arrow = arrow_type(type, self.program.types)
        if type in (INT, LONG):
            return pa.array(words, mask=mask).cast(arrow)
        if type in (FLOAT, DOUBLE):
            return pa.array(words.view(np.float64), mask=mask).cast(arrow)
        if type == BOOLEAN:
            return pa.array(words != 0, mask=mask)
        if type == STRING:
            return self._pool.texts(words, mask)
        if is_counted(type):
            return array_of_counts(words, mask, arrow)
        values = [
            None if null else self._pool.decode(word, type, self._rows)
            for word, null in zip(words.tolist(), nulls.tolist(), strict=True)
        ]
        return to_column(values, type, self.program.types)

    # -- saving --

    def save(self) -> bytes:
        return state.save(self._memory, self._pool, self._form)

    def load(self, saved: bytes) -> None:
        self._memory, self._pool = state.load(saved, self._form)
