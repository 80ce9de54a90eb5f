"""Many runs of one program: each begins afresh, and of its rows only the number is asked for.

To make a program ready takes longer than to run it over a few thousand events, and so does making a
table of its rows. `RowCounts` do the first once and the second never.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.matcher.columns.batches import Batch
from cepheid.matcher.columns.interning import Words
from cepheid.matcher.gaps import left_to_reference
from cepheid.matcher.lanes.filtered_rows import FilteredRows
from cepheid.matcher.lanes.joining import AnyFound
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.lanes.plan import LanesPlan, lanes_of
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.reference import ReferenceOperator
from cepheid.matcher.vm.memory.access import rows_of, with_room
from cepheid.matcher.vm.memory.layout import CAPACITY, REGIONS, TABLE, USED, Region
from cepheid.matcher.vm.memory.tables import ResultKind, ResultRow
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine

if TYPE_CHECKING:
    import pyarrow as pa


class RowCounts(Protocol):
    """Counts the rows of runs; those of remove streams are none."""

    def run(self, events: pa.Table, start: Instant, end: Instant) -> Words:
        """How many rows each statement gives for events between two instants, in text order."""
        ...


def open_row_counts(program: ResolvedProgram) -> RowCounts:
    if left_to_reference(program):
        return _Interpreted(program)
    lanes = lanes_of(program)
    return _Compiled(program) if lanes is None else _Lanes(program, lanes)


class _Compiled(MachineOperator):
    def __init__(self, program: ResolvedProgram) -> None:
        super().__init__(program, keyed=False)
        self._fresh = self._memory.copy()
        places = {statement.name: n for n, statement in enumerate(program.statements)}
        self._order = np.array([places[s.name] for s in self._form.statements], dtype=np.int64)
        self._counts = np.zeros(len(places), dtype=np.int64)
        self._nothing = self._schema.empty_table()

    def run(self, events: pa.Table, start: Instant, end: Instant) -> Words:
        self._counts[:] = 0
        if len(self._memory) == len(self._fresh):
            np.copyto(self._memory, self._fresh)
        else:
            self._memory = self._fresh.copy()
        self._ended = None
        self.start(start)
        self.take(events)
        self.advance(end)
        self._keep_room()
        return self._counts.copy()

    def _keep_room(self) -> None:
        """What one run needed, the next ones have from the beginning."""
        if len(self._memory) > len(self._fresh):
            entries = range(TABLE, TABLE + 4 * REGIONS, 4)
            needed = (self._memory[n + CAPACITY] - self._fresh[n + USED] for n in entries)
            self._fresh = with_room(self._fresh, dict(enumerate(map(int, needed))))

    def _take_rows(self) -> pa.Table:
        rows = rows_of(self._memory, Region.ROW)
        if len(rows):
            statements = rows[rows[:, ResultRow.KIND] == ResultKind.MATCH, ResultRow.STATEMENT]
            self._counts += np.bincount(self._order[statements], minlength=len(self._counts))
            self._memory[TABLE + 4 * Region.ROW + USED] = 0
        return self._nothing


class _Lanes(LanesOperator):
    def __init__(self, program: ResolvedProgram, plan: LanesPlan) -> None:
        super().__init__(program, plan, keyed=False)
        self._fresh = self._pack()
        self._places = {statement.rank: n for n, statement in enumerate(program.statements)}
        self._counts = np.zeros(len(program.statements), dtype=np.int64)

    def run(self, events: pa.Table, start: Instant, end: Instant) -> Words:
        self._counts[:] = 0
        self._restore(self._fresh)
        self.start(start)
        self.take(events)
        self.advance(end)
        return self._counts.copy()

    def _table(self, together: Sequence[AnyFound], batch: Batch | None) -> pa.Table:
        del batch  # rows are counted, and no more
        for rows in (found.rows for found in together):
            if isinstance(rows, FilteredRows):
                places = np.array([self._places[rank] for rank in rows.ranks])[rows.codes]
                self._counts += np.bincount(places, minlength=len(self._counts))
            else:
                self._counts[self._places[rows.statement.rank]] += len(rows)
        return self._tables.nothing


class _Interpreted(ReferenceOperator):
    def run(self, events: pa.Table, start: Instant, end: Instant) -> Words:
        places = {statement.name: n for n, statement in enumerate(self.program.statements)}
        machine = Machine(self.program)
        machine.start(start)
        rows: list[Event] = []
        for item in self._decoder.decode(events):
            rows += machine.take(item) if isinstance(item, Event) else machine.advance(item)
        rows += machine.advance(end)
        counted = [places[row.statement or ""] for row in rows if not row.is_old]
        found: Words = np.bincount(np.array(counted, dtype=np.int64), minlength=len(places))
        return found
