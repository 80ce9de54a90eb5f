"""The compiled machine as sessions drive it: Python events in and out, or columns in and out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, DataType
from cepheid.errors import LateEvent, RunError
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import columns_of, derived_types
from cepheid.matcher.vm.memory.access import (
    RECORD_HEAD,
    RESULT_HEAD,
    absent_bits,
    load_records,
    rows_of,
    take_results,
)
from cepheid.matcher.vm.memory.free_lists import EVENT
from cepheid.matcher.vm.memory.layout import NONE, TABLE, USED, WIDTH, EventRow, Head, Region
from cepheid.matcher.vm.memory.tables import NEVER, NodeRow, ResultKind, StepKind
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import late_event

if TYPE_CHECKING:
    import pyarrow as pa

_CLOCK = int(Head.CLOCK)
_ROWS = TABLE + 4 * int(Region.ROW) + USED
_NULLS, _INSTANT = int(EventRow.NULLS), int(EventRow.INSTANT)
_EVENT_WIDTH = TABLE + 4 * EVENT + WIDTH
_MATCH, _OLD = int(ResultKind.MATCH), int(ResultKind.OLD)
_FEW = 1024
_INTEGRAL, _TRUTH, _REAL, _TEXT, _NESTED = range(5)
# Where an attribute lies in the record of an event, and as what.
_Place: TypeAlias = tuple[str, int, int, DataType]


@dataclass(frozen=True, slots=True)
class _Result:
    """How the rows of a statement are read.

    Of each column: its name, the word of its null bit, this bit, its own word, its kind and type.
    """

    statement: str
    target: str
    columns: tuple[tuple[str, int, int, int, int, DataType], ...]


class Matcher(MachineOperator):
    """A running program that takes events one by one or many at once, and gives rows as events."""

    def __init__(self, program: ResolvedProgram) -> None:
        super().__init__(program, ranked=True)
        form = self._form
        self._first_slot = int(self._memory[Head.SLOTS])
        self._width = RECORD_HEAD + self._first_slot - _NULLS + len(form.slots)
        self._places = self._places_of_types()
        self._absent = self._absent_of_types()
        targets = derived_types(program)
        self._results = tuple(
            _Result(
                s.name,
                s.target,
                tuple(
                    self._read_as(name, targets[s.target][name])
                    for name in (c.name for c in s.columns)
                ),
            )
            for s in form.statements
        )
        self._found: list[Event] = []  # rows that had to leave the memory before they were taken
        self._in_columns = False  # whether rows leave it as columns
        self._make_records(1)
        self._make_taken(_FEW)  # room for the words of rows

    def _places_of_types(self) -> Mapping[str, tuple[_Place, ...]]:
        places: dict[str, list[_Place]] = {}
        begin = RECORD_HEAD + self._first_slot - _NULLS
        for column in columns_of(self.program):
            slot = self._form.slots[column.attribute, column.data_type]
            place = column.attribute, begin + slot, _kind(column.data_type), column.data_type
            for name in column.types:
                places.setdefault(name, []).append(place)
        return {name: tuple(found) for name, found in places.items()}

    def _read_as(self, name: str, type: DataType) -> tuple[str, int, int, int, int, DataType]:
        slot = self._form.slots[name, type]
        word, bit = _NULLS + slot // 64, _BITS[slot % 64]
        return name, word, bit, self._first_slot + slot, _kind(type), type

    def _absent_of_types(self) -> Mapping[str, tuple[int, ...]]:
        """The null bits of an event of each type that has all its attributes."""
        begin, words = RECORD_HEAD + self._first_slot - _NULLS, self._first_slot - _NULLS
        return {
            name: tuple(absent_bits(words, [place - begin for _, place, _, _ in places]).tolist())
            for name, places in self._places.items()
        }

    # -- events --

    def send(self, event: Event) -> list[Event]:
        """Time passes to the event's instant, then it happens; gives all rows."""
        return self.send_all((event,))

    def send_all(self, events: Sequence[Event]) -> list[Event]:
        """The same for events in the order of their times."""
        self._check_running()
        if not events:
            return []
        memory = self._memory
        before = int(memory[_CLOCK]) if memory[Head.STARTED] else events[0].instant
        for event in events:
            if event.instant < before:
                raise LateEvent(late_event(event.instant, before))
            before = event.instant
        if not memory[Head.STARTED]:
            self.start(events[0].instant)
        if len(events) * self._width > len(self._records):
            self._make_records(len(events))
        base = 0
        for event in events:
            self._write(event, base)
            base += self._width
        if not load_records(self._memory, self._records, len(events)):
            self._make_room(len(events))
            self._grow()
            load_records(self._memory, self._records, len(events))
        return self._rows_so_far()

    def pass_time(self, instant: Instant) -> list[Event]:
        """Time passes, up to and including an instant; gives the rows that time brings."""
        self._check_running()
        clock = self.clock
        if clock is None:
            self.start(instant)
        elif instant < clock:
            raise LateEvent(late_event(instant, clock))
        self._memory[Head.UNTIL] = instant
        self._memory[Head.SPEAKING] = 0
        self._push(StepKind.PASS_TIME)
        rows = self._rows_so_far()
        self._memory[Head.UNTIL] = NEVER
        return rows

    def _check_running(self) -> None:
        """A run that had to end stays ended: what it left half done means nothing."""
        if self._ended is not None:
            raise RunError(self._ended)

    def _rows_so_far(self) -> list[Event]:
        self._run()
        found, self._found = self._found, []
        if self._memory[_ROWS]:
            found += self._take_events()
        self._forget_values()
        return found

    def _set_aside(self) -> None:
        if self._in_columns:
            super()._set_aside()
        else:
            self._found += self._take_events()

    # -- columns --

    def take(self, events: pa.RecordBatch | pa.Table) -> pa.Table:
        self._check_running()
        with self._columns_out():
            return super().take(events)

    def advance(self, instant: Instant) -> pa.Table:
        self._check_running()
        with self._columns_out():
            return super().advance(instant)

    @contextmanager
    def _columns_out(self) -> Iterator[None]:
        self._in_columns = True
        try:
            yield
        finally:
            self._in_columns = False

    # -- records --

    def _make_records(self, count: int) -> None:
        self._records = np.zeros(count * self._width, dtype=np.int64)
        words = self._records.data.cast("B")
        self._integers, self._doubles = words.cast("q"), words.cast("d")

    def _write(self, event: Event, base: int) -> None:
        """An event as `load_records` takes it."""
        integers, doubles, pool = self._integers, self._doubles, self._pool
        integers[base] = self._types.get(event.type, NONE)
        integers[base + 1] = event.instant
        integers[base + 2] = event.sequence
        begin = base + RECORD_HEAD + self._first_slot - _NULLS
        absent = self._absent.get(event.type, ())
        for word, bits in zip(range(base + RECORD_HEAD, begin), absent, strict=False):
            integers[word] = bits
        values = event.values_
        for attribute, place, kind, type in self._places.get(event.type, ()):
            value = values.get(attribute)
            if value is None:
                slot = base + place - begin
                integers[base + RECORD_HEAD + slot // 64] |= _BITS[slot % 64]
            elif kind <= _TRUTH:
                integers[base + place] = value  # type: ignore[assignment]
            elif kind == _REAL:
                doubles[base + place] = value  # type: ignore[assignment]
            elif kind == _TEXT:
                integers[base + place] = pool.intern(value)
            else:
                integers[base + place] = pool.encode(value, type)[0]

    # -- rows --

    def _make_taken(self, count: int) -> None:
        self._taken = np.empty(count, dtype=np.int64)
        self._reals = self._taken.data.cast("B").cast("d")

    def _take_events(self) -> list[Event]:
        count = int(take_results(self._memory, self._taken))
        if count > len(self._taken):
            self._make_taken(2 * count)
            take_results(self._memory, self._taken)
        words = self._taken[:count].tolist()
        width = int(self._memory[_EVENT_WIDTH])
        found, place = [], 0
        while place < count:
            statement, kind, length = words[place : place + RESULT_HEAD]
            key = place + RESULT_HEAD
            event = key + length
            result = self._results[statement]
            found.append(
                Event(
                    result.target,
                    words[event + _INSTANT],
                    self._columns_at(event, words, result),
                    0,
                    result.statement,
                    (),
                    kind == _OLD,
                    kind not in (_MATCH, _OLD),
                    tuple(words[key:event]),
                )
            )
            place = event + width
        return found

    def _columns_at(self, event: int, words: list[int], result: _Result) -> dict[str, Value]:
        """The attributes of a row, in one loop: a call for each would take most of the time of a push."""
        reals, value_of = self._reals, self._pool.value
        values: dict[str, Value] = {}
        for name, nulls, bit, place, kind, type in result.columns:
            if words[event + nulls] & bit:
                values[name] = None
            elif kind == _REAL:
                values[name] = reals[event + place]
            elif kind == _TEXT:
                values[name] = value_of(words[event + place])
            elif kind == _INTEGRAL:
                values[name] = words[event + place]
            elif kind == _TRUTH:
                values[name] = words[event + place] != 0
            else:
                values[name] = self._pool.decode(words[event + place], type, self._rows)
        return values

    # -- what was reached --

    def reached(self) -> dict[str, list[int]]:
        """For each statement with a pattern, how often each of its events and timers was reached."""
        nodes = rows_of(self._memory, Region.NODE)
        return {
            statement.name: [
                int(sum(nodes[n, word] for n in (node, nodes[node, NodeRow.TWIN]) if n != NONE))
                for node, word in steps
            ]
            for statement, steps in zip(self._form.statements, self._form.steps, strict=True)
            if statement.pattern is not None
        }

    def save(self) -> bytes:
        self._check_running()
        return super().save()


def _kind(type: DataType) -> int:
    if type in (INT, LONG):
        return _INTEGRAL
    if type == BOOLEAN:
        return _TRUTH
    if type in (FLOAT, DOUBLE):
        return _REAL
    return _TEXT if type == STRING else _NESTED


# Bit 63 is the sign.
_BITS = (*(1 << bit for bit in range(63)), -(1 << 63))
