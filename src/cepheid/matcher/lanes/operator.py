"""Statements that take whole batches, side by side, as an operator.

Each statement has a lane, in which its rows are found for all events of a batch; then the rows of
all lanes are put in their order. That can be done where no statement takes what another derives.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from cepheid.core.time import Instant
from cepheid.core.types import lineage
from cepheid.errors import LateEvent
from cepheid.matcher.columns.batches import Batch, Repeated, check_order
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.columns.typed_columns import Array, TypedColumns
from cepheid.matcher.gaps import COMPLEX_EVENT, NotCompiled, left_to_reference
from cepheid.matcher.lanes.chain_lane import ChainLane
from cepheid.matcher.lanes.chain_plan import Chain, chain_of
from cepheid.matcher.lanes.token_lane import TokenLane
from cepheid.matcher.lanes.token_plan import Tokens, tokens_of
from cepheid.matcher.lanes.window_lane import WindowLane
from cepheid.matcher.lanes.window_plan import Window, window_of
from cepheid.matcher.machine.saved_state import format_of
from cepheid.matcher.operator import Operator, derived_types, rows_schema
from cepheid.matcher.vm.lanes import chain_runs as chain
from cepheid.matcher.vm.lanes import token_runs as token
from cepheid.matcher.vm.lanes import window_rows as span
from cepheid.pattern.algebra import Occurrence
from cepheid.program.normal import NormalStatement, normalize
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.seal import Seal
from cepheid.semantics.machine import late_event

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 1 << 17  # events that are looked at together
_SPARE = 1 << 19  # events that may be held beside what is needed
LanePlan: TypeAlias = Chain | Tokens | Window


def lanes_of(program: ResolvedProgram) -> tuple[LanePlan, ...] | None:
    """The statements as what can take whole batches; None if one of them cannot.

    What the machine leaves to the reference semantics is left by lanes, too, but for complex events.
    """
    left = left_to_reference(program)
    taken = {name for statement in program.statements for name in statement.inputs}
    places = ColumnLookup(program)
    found: list[LanePlan] = []
    for statement in normalize(program).statements:
        try:
            plan = _lane_of(statement, places, program)
        except NotCompiled:
            return None
        if plan is None or taken & lineage(statement.resolved.target, program.types):
            return None
        is_complex = isinstance(statement.resolved.pattern, Occurrence)
        if left.get(statement.resolved.name, []) != [COMPLEX_EVENT] * is_complex:
            return None
        found.append(plan)
    return tuple(found)


def uncompiled(program: ResolvedProgram) -> dict[str, NotCompiled]:
    """Of each complex event that cannot take whole batches, why not."""
    found: dict[str, NotCompiled] = {}
    places = ColumnLookup(program)
    for statement in normalize(program).statements:
        try:
            _lane_of(statement, places, program)
        except NotCompiled as reason:
            found[statement.resolved.name] = reason
    return found


def _lane_of(
    statement: NormalStatement, places: ColumnLookup, program: ResolvedProgram
) -> LanePlan | None:
    """How a statement takes whole batches, if it can; NotCompiled if it is a complex event that cannot."""
    found = chain_of(statement, places) or window_of(statement, places)
    if found is None and isinstance(statement.resolved.pattern, Occurrence):
        return tokens_of(statement.resolved, places, program.types)
    return found


class Rows(Protocol):
    """Rows of one statement, in their order."""

    statement: ResolvedStatement
    instants: Words

    def __len__(self) -> int: ...

    @property
    def phases(self) -> Words:
        """0 where a timer brought the row, 1 where an event did."""
        ...

    @property
    def sequences(self) -> Words:
        """Those of these events."""
        ...

    def keys(self) -> Array:
        """Their keys, in the form that the reference semantics defines."""
        ...

    def members(self, pool: Pool) -> list[Array]:
        """The columns of the select list."""
        ...


class Lane(Protocol):
    """One or more statements that run."""

    def start(self, instant: Instant) -> None: ...

    def take(self, batch: Batch, pool: Pool) -> None:
        """Takes events, whose time passes; strings are numbers of the pool."""
        ...

    def pass_time(self, instant: Instant) -> None: ...

    def next_due(self) -> Instant | None: ...

    def take_rows(self, batch: Batch | None) -> Sequence[Rows]:
        """What events of the batch and time have brought since the last call."""
        ...

    @property
    def needed(self) -> int:
        """How much it held when it was last restored or tidied: events, rows, groups."""
        ...

    def pack(self, old: Pool, new: Pool) -> dict[str, Words]:
        """Everything that matters for what is to come, its strings moved to a new pool."""
        ...

    def restore(self, packed: Mapping[str, Words]) -> None: ...

    def tidy(self, old: Pool, new: Pool) -> None:
        """Forgets what does not matter any more; strings are in a new pool from now on."""
        ...


class LanesOperator(Operator):
    """Runs programs all of whose statements take whole batches."""

    def __init__(
        self, program: ResolvedProgram, plans: Sequence[LanePlan], *, keyed: bool = True
    ) -> None:
        self.program = program
        self._inputs = TypedColumns(program)
        self._lanes = _lanes(plans, ColumnLookup(program))
        self._pool = Pool()
        self._clock: Instant | None = None
        self._taken = 0  # events since everything was last restored
        self._rows = _RowMaker(program, keyed=keyed)
        self._seal = Seal("lanes, form 4", format_of(chain, token, span), program)

    # -- time --

    @property
    def clock(self) -> Instant | None:
        return self._clock

    def start(self, instant: Instant) -> None:
        self._clock = instant
        for lane in self._lanes:
            lane.start(instant)

    def next_due(self) -> Instant | None:
        due = [found for lane in self._lanes if (found := lane.next_due()) is not None]
        return min(due, default=None)

    def advance(self, instant: Instant) -> pa.Table:
        if self._clock is None:
            self.start(instant)
        elif instant < self._clock:
            raise LateEvent(late_event(instant, self._clock))
        self._clock = instant
        for lane in self._lanes:
            lane.pass_time(instant)
        return self._take_rows(None)

    # -- events --

    def take(self, events: pa.RecordBatch | pa.Table) -> pa.Table:
        import pyarrow as pa

        if isinstance(events, pa.RecordBatch):
            events = pa.Table.from_batches([events])
        chunks = (events.slice(begin, CHUNK) for begin in range(0, events.num_rows, CHUNK))
        rows = [self._take_chunk(chunk) for chunk in chunks]
        return pa.concat_tables([self._rows.nothing, *rows])

    def _take_chunk(self, events: pa.Table) -> pa.Table:
        batch = Batch(events, self._inputs)
        if self._clock is None:
            self.start(int(batch.instants[0]))
        assert self._clock is not None
        check_order(batch.instants, self._clock)
        for lane in self._lanes:
            lane.take(batch, self._pool)
        self._clock = int(batch.instants[-1])
        rows = self._take_rows(batch)
        self._taken += len(batch)
        if self._taken > sum(lane.needed for lane in self._lanes) + _SPARE:
            self._tidy()
        return rows

    def _tidy(self) -> None:
        """Forgets what is needed no more, strings among it."""
        pool = Pool()
        for lane in self._lanes:
            lane.tidy(self._pool, pool)
        self._pool = pool
        self._taken = 0

    def _take_rows(self, batch: Batch | None) -> pa.Table:
        found = [rows for lane in self._lanes for rows in lane.take_rows(batch)]
        return self._rows.table(found, self._pool)

    # -- state --

    def save(self) -> bytes:
        return self._seal.close(zlib.compress(_to_bytes(self._pack()), 1))

    def load(self, state: bytes) -> None:
        self._restore(_from_bytes(zlib.decompress(self._seal.open(state))))

    def _pack(self) -> dict[str, Words]:
        pool = Pool()
        packed: dict[str, Any] = {
            "clock": np.array([] if self._clock is None else [self._clock], dtype=np.int64)
        }
        for number, lane in enumerate(self._lanes):
            mine = lane.pack(self._pool, pool)
            packed |= {f"{number} {name}": words for name, words in mine.items()}
        packed["pool"] = np.frombuffer(pool.save(), dtype=np.uint8)
        return packed

    def _restore(self, packed: Mapping[str, Words]) -> None:
        self._clock = int(packed["clock"][0]) if len(packed["clock"]) else None
        self._pool = Pool.load(packed["pool"].tobytes())
        self._taken = 0
        for number, lane in enumerate(self._lanes):
            begin = f"{number} "
            lane.restore(
                {n.removeprefix(begin): words for n, words in packed.items() if n.startswith(begin)}
            )


def _to_bytes(arrays: Mapping[str, Words]) -> bytes:
    """What arrays there are, and their bytes; NumPy's own archives take many times as long."""
    described = [(name, words.dtype.str, words.shape) for name, words in arrays.items()]
    header = json.dumps(described).encode()
    return b"".join([len(header).to_bytes(4), header, *(w.tobytes() for w in arrays.values())])


def _from_bytes(saved: bytes) -> dict[str, Words]:
    begin = 4 + int.from_bytes(saved[:4])
    arrays: dict[str, Words] = {}
    for name, dtype, shape in json.loads(saved[4:begin]):
        words = np.frombuffer(saved, dtype, math.prod(shape), begin)
        arrays[name] = words.reshape(shape).copy()  # where compiled code may write
        begin += words.nbytes
    return arrays


def _lanes(plans: Sequence[LanePlan], places: ColumnLookup) -> list[Lane]:
    chains = [plan for plan in plans if isinstance(plan, Chain)]
    lanes: list[Lane] = [
        WindowLane(plan, places) if isinstance(plan, Window) else TokenLane(plan, places)
        for plan in plans
        if not isinstance(plan, Chain)
    ]
    return [*lanes, ChainLane(chains, places)] if chains else lanes


class _RowMaker:
    """Makes tables of rows."""

    def __init__(self, program: ResolvedProgram, *, keyed: bool) -> None:
        self._schema = rows_schema(program)
        self._derived = tuple(derived_types(program))
        self.nothing = self._schema.empty_table()
        self._repeated = Repeated()
        self._keyed = keyed

    def table(self, found: Sequence[Rows], pool: Pool) -> pa.Table:
        """The rows of all statements, in their order."""
        import pyarrow as pa

        if not found:
            return self.nothing
        order = None if len(found) == 1 else _order(found)
        instants = _arranged(np.concatenate([rows.instants for rows in found]), order)
        columns = [
            self._names(found, order),
            pa.array(instants).cast(pa.timestamp("us", "UTC")),
            self._repeated.text("match", len(instants)),
            self._keys(found, order),
            *self._structs(found, order, pool),
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _names(self, found: Sequence[Rows], order: Words | None) -> Array:
        import pyarrow as pa

        names = [self._repeated.text(rows.statement.target, len(rows)) for rows in found]
        joined: Array = names[0] if len(names) == 1 else pa.concat_arrays(names)
        return joined if order is None else joined.take(pa.array(order))

    def _keys(self, found: Sequence[Rows], order: Words | None) -> Array:
        import pyarrow as pa

        count = sum(map(len, found))
        if not self._keyed:
            return self._repeated.no_keys(count)
        lists = [rows.keys() for rows in found]
        joined: Array = lists[0] if len(lists) == 1 else pa.concat_arrays(lists)
        return joined if order is None else joined.take(pa.array(order))

    def _structs(self, found: Sequence[Rows], order: Words | None, pool: Pool) -> Iterator[Array]:
        """One column per derived type, null in rows of other types."""
        import pyarrow as pa

        begins = np.cumsum([0, *map(len, found)])
        for name in self._derived:
            type = self._schema.field(name).type
            mine = [n for n, rows in enumerate(found) if rows.statement.target == name]
            packed = [self._struct(found[n], type, pool) for n in mine]
            if order is None and mine:
                yield packed[0]
                continue
            places = np.full(begins[-1], -1, dtype=np.int64)
            done = 0
            for number in mine:
                count = len(found[number])
                places[begins[number] : begins[number + 1]] = np.arange(done, done + count)
                done += count
            places = _arranged(places, order)
            joined = pa.concat_arrays(packed) if packed else pa.array([], type)
            yield joined.take(pa.array(places, mask=places < 0))

    def _struct(self, rows: Rows, type: pa.StructType, pool: Pool) -> Array:
        import pyarrow as pa

        members = rows.members(pool)
        if not members:
            return pa.array([{}] * len(rows), type)
        return pa.StructArray.from_arrays(members, fields=list(type))


def _order(found: Sequence[Rows]) -> Words:
    """The places of all rows in their order; those of one statement are in order."""
    ranks = np.concatenate([np.full(len(rows), rows.statement.rank) for rows in found])
    sequences = np.concatenate([rows.sequences for rows in found])
    phases = np.concatenate([rows.phases for rows in found])
    instants = np.concatenate([rows.instants for rows in found])
    order: Words = np.lexsort((ranks, sequences, phases, instants))
    return order


def _arranged(words: Words, order: Words | None) -> Words:
    return words if order is None else words[order]
