"""Statements that the compiled machine runs, as a lane: events go into its memory, rows come out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.core.time import Instant
from cepheid.matcher.columns.batches import values_in
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.contents import Contents
from cepheid.matcher.lanes.predicates import Values
from cepheid.matcher.lanes.rows import Events, Rows
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import columns_within, derived_types
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.semantics.inspection.parts import Texts

_PHASE, _SEQUENCE = 1, 2  # words of a key


class MachineLane:
    """Some statements that take the same events, and derive types of their own.

    What they take has numbers in its order, whoever derived it: these stand for sequences in the machine,
    and so tell which event has brought a row.
    """

    needed = 0  # the machine forgets by itself

    def __init__(self, program: ResolvedProgram, statements: Sequence[ResolvedStatement]) -> None:
        part = program.part([statement.name for statement in statements])
        self._statements = {statement.target: statement for statement in statements}
        self._machine = MachineOperator(part)
        self._columns = columns_within(program, part).columns
        self._types = derived_types(part)
        self._kinds = part.consumed_types
        self._taken = 0  # events so far
        self._first = 0  # of them, before the batch
        self._found: list[pa.Table] = []

    # -- events and time --

    def start(self, instant: Instant) -> None:
        self._machine.start(instant)

    def next_due(self) -> Instant | None:
        return self._machine.next_due()

    def pass_time(self, instant: Instant) -> None:
        self._found.append(self._machine.advance(instant))

    def take(self, batch: Events, pool: Pool) -> None:
        self._first, self._taken = self._taken, self._taken + len(batch)
        self._found.append(self._machine.take(self._table(batch, pool)))

    def _table(self, batch: Events, pool: Pool) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        codes = batch.by_type({name: 1 + n for n, name in enumerate(self._kinds)}) - 1
        is_taken = codes >= 0
        names: Array = pa.array(self._kinds, pa.string())
        mask = None if is_taken.all() else ~is_taken
        indices: Array = pa.array(np.maximum(codes, 0).astype(np.int32), mask=mask)
        found: dict[str, Any] = {
            "@type": pa.DictionaryArray.from_arrays(indices, names),
            "@time": pa.array(batch.instants),
            "@sequence": pa.array(np.arange(self._first, self._taken)),
        }
        for name, columns in self._columns.items():
            first, *others = (batch.array(column, pool) for column in columns)
            found[name] = pc.coalesce(first, *others) if others else first
        return pa.table(found)

    def take_rows(self, batch: Events | None, pool: Pool) -> list[Rows]:
        import pyarrow as pa

        found, self._found = pa.concat_tables(self._found), []
        if not found.num_rows:
            return []
        keys: Array = found["@key"].combine_chunks()
        begins = keys.offsets.to_numpy()[:-1] - int(keys.offsets[0].as_py())
        words = keys.flatten().to_numpy()
        is_timed = words[begins + _PHASE] == 0
        places = np.where(is_timed, NONE, words[begins + _SEQUENCE] - self._first)
        instants = found["@time"].cast(pa.int64()).to_numpy()
        targets = np.array(found["@type"].to_pylist(), dtype=object)
        some = (
            (statement, np.flatnonzero(targets == name))
            for name, statement in self._statements.items()
        )
        return [
            Rows(
                statement,
                instants[mine],
                partial(places.take, mine),
                self._values(statement.target, found, mine, pool),
            )
            for statement, mine in some
            if len(mine)
        ]

    def _values(
        self, target: str, found: pa.Table, places: Words, pool: Pool
    ) -> tuple[Values, ...]:
        rows: Array = found[target].combine_chunks().take(places)
        members = rows.flatten()
        types = self._types[target].values()
        return tuple(values_in(m, type, pool) for m, type in zip(members, types, strict=True))

    # -- state --

    def pack(self, old: Pool, new: Pool) -> dict[str, Words]:
        state: Any = np.frombuffer(self._machine.save(), dtype=np.uint8)
        return {"machine": state, "taken": np.array([self._taken])}

    def restore(self, packed: Mapping[str, Words]) -> None:
        self._machine.load(packed["machine"].tobytes())
        self._taken = int(packed["taken"][0])

    def tidy(self, old: Pool, new: Pool) -> None:
        """It has strings of its own."""

    def contents(self, pool: Pool, texts: Texts, most: int) -> Contents:
        return self._machine.contents(texts, most)
