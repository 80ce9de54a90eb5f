"""Statements that take whole batches, as an operator.

Each statement has a lane, in which its rows are found for all events of a batch. Lanes come in the order
of their dependencies: what a statement derives is joined with whatever else others take, in the order
that the reference semantics defines, and so are the rows of all of them in the end.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.core.time import Instant
from cepheid.errors import LateEvent
from cepheid.matcher.columns.batches import Batch, check_order
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.typed_columns import Array, TypedColumns
from cepheid.matcher.contents import Contents, joined
from cepheid.matcher.lanes.chain_plan import Chain
from cepheid.matcher.lanes.filtered_rows import FilteredRows
from cepheid.matcher.lanes.joining import AnyFound, Joining, arrangement_of, found_in, in_turn
from cepheid.matcher.lanes.lane_rows import RowBlock, RowChunk
from cepheid.matcher.lanes.machine_plan import OnMachine
from cepheid.matcher.lanes.order import InputOrder
from cepheid.matcher.lanes.plan import LanesPlan
from cepheid.matcher.lanes.row_keys import RowKeys
from cepheid.matcher.lanes.row_tables import RowTables
from cepheid.matcher.lanes.rows import Rows
from cepheid.matcher.lanes.runaway import Derivations
from cepheid.matcher.lanes.stages import stages_of
from cepheid.matcher.machine.saved_state import format_of
from cepheid.matcher.operator import Operator, row_shapes
from cepheid.matcher.vm.lanes import chain_runs as chain
from cepheid.matcher.vm.lanes import token_runs as token
from cepheid.matcher.vm.lanes import window_rows as span
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import Seal
from cepheid.semantics.machine import late_event

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.semantics.inspection.parts import Texts

CHUNK = 1 << 17  # events that are looked at together
_FEWER = 1 << 14  # the same as long as each may bring many rows
_FEWEST = 1 << 10  # the same where very many statements follow each other
_STEPS = 1 << 21  # words for the order of what they bring, if it is one row of each statement
_SPARE = 1 << 19  # events that may be held beside what is needed
_NOTHING = np.zeros(0, dtype=np.int64)


class LanesOperator(Operator):
    """Runs programs all of whose statements take whole batches."""

    def __init__(
        self,
        program: ResolvedProgram,
        plan: LanesPlan,
        *,
        keyed: bool = True,
        ranked: bool = False,
    ) -> None:
        self.program = program
        self._plan = plan
        self._inputs = TypedColumns(program)
        self._stages = stages_of(program, plan)
        self._lanes = [stage.lane for stage in self._stages]
        self._pool = Pool()
        self._clock: Instant | None = None
        self._taken = 0  # events since everything was last restored, derived ones among them
        self._tables = RowTables(program, keyed=keyed, ranked=ranked)
        self._shapes = row_shapes(program)
        self._joined = frozenset(kind for stage in self._stages for kind in stage.kinds)
        self._few = _few_events(plan.levels)
        self._size = self._few if plan.forwarded else CHUNK
        self._single_timers = frozenset(
            one.statement.rank for one in plan.statements if isinstance(one, Chain | OnMachine)
        )
        self._seal = Seal("lanes, form 6", format_of(chain, token, span), program)

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
        return self._table(self._advanced(instant), None)

    def advance_chunk(self, instant: Instant) -> RowChunk:
        """The same as columns of each statement."""
        return self._chunk(self._advanced(instant))

    def _advanced(self, instant: Instant) -> list[AnyFound]:
        if self._clock is None:
            self.start(instant)
        elif instant < self._clock:
            raise LateEvent(late_event(instant, self._clock))
        self._clock = instant
        return self._found(None, instant)

    # -- events --

    def take(self, events: pa.RecordBatch | pa.Table) -> pa.Table:
        import pyarrow as pa

        if isinstance(events, pa.RecordBatch):
            events = pa.Table.from_batches([events])
        rows = [self._table(found, batch) for batch, found in self._taken_from(events)]
        return pa.concat_tables([self._tables.nothing, *rows])

    def take_chunks(self, events: pa.Table) -> list[RowChunk]:
        """The same as columns of each statement."""
        return [self._chunk(found) for _, found in self._taken_from(events)]

    def _taken_from(self, events: pa.Table) -> Iterator[tuple[Batch, list[AnyFound]]]:
        begin = 0
        while begin < events.num_rows:
            batch = Batch(events.slice(begin, self._size), self._inputs)
            begin += len(batch)
            if self._clock is None:
                self.start(int(batch.instants[0]))
            assert self._clock is not None
            check_order(batch.instants, self._clock)
            self._clock = int(batch.instants[-1])
            found = self._found(batch, self._clock)
            count = sum(len(each.rows) for each in found)
            self._size = _better_size(len(batch), count, self._few)
            yield batch, found
            self._taken += len(batch) + (count if self._joined else 0)
            if self._taken > sum(lane.needed for lane in self._lanes) + _SPARE:
                self._tidy()

    def _found(self, batch: Batch | None, until: Instant) -> list[AnyFound]:
        """All rows of a batch, or of time that passes, statement by statement."""
        instants = _NOTHING if batch is None else batch.instants
        joining = Joining(batch, InputOrder(instants, self._plan.levels))
        derivations = Derivations(len(instants), self._single_timers)
        found: list[AnyFound] = []
        for stage in self._stages:
            events = joining.events(stage.kinds) if stage.kinds else batch
            if events is not None and len(events):
                stage.lane.take(events, self._pool)
            if events is not batch or batch is None:
                stage.lane.pass_time(until)
            for rows in stage.lane.take_rows(events, self._pool):
                found.append(together := found_in(rows, events, joining.input))
                if self._joined.isdisjoint(rows.targets):
                    continue
                for each in together.apart():
                    if each.rows.statement.target in self._joined:
                        derivations.add(each.rows.statement, each.order)
                        joining.add(each)
        return in_turn(found)

    def _tidy(self) -> None:
        """Forgets what is needed no more, strings among it."""
        pool = Pool()
        for lane in self._lanes:
            lane.tidy(self._pool, pool)
        self._pool = pool
        self._taken = 0

    def _table(self, together: Sequence[AnyFound], batch: Batch | None) -> pa.Table:
        found = [each for some in together for each in some.apart()]

        def keys() -> list[Array]:
            known = RowKeys(batch)
            return [known.of(each) for each in found]

        arrangement = arrangement_of(found)
        order = None if arrangement is None else arrangement.order
        return self._tables.table([each.rows for each in found], order, self._pool, keys)

    def _chunk(self, found: Sequence[AnyFound]) -> RowChunk:
        arrangement = arrangement_of(found)
        begins = np.cumsum([0, *(len(each.rows) for each in found)])
        blocks = (
            self._block(each.rows, None if arrangement is None else arrangement.places[begin:end])
            for each, (begin, end) in zip(found, pairwise(begins.tolist()), strict=True)
        )
        return RowChunk(int(begins[-1]), tuple(blocks), self._pool)

    def _block(self, rows: Rows | FilteredRows, places: Words | None) -> RowBlock:
        shapes = [self._shapes[rank] for rank in rows.ranks]
        codes = rows.codes if isinstance(rows, FilteredRows) and len(shapes) > 1 else None
        return RowBlock(shapes, codes, places, rows.instants, rows.values)

    # -- state --

    def save(self) -> bytes:
        return self._seal.close(zlib.compress(_to_bytes(self._pack()), 1))

    def load(self, state: bytes) -> None:
        self._restore(_from_bytes(zlib.decompress(self._seal.open(state))))

    def contents(self, texts: Texts, most: int) -> Contents:
        return joined((lane.contents(self._pool, texts, most) for lane in self._lanes), most)

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


def _few_events(levels: int) -> int:
    """The more statements follow each other, the more rows an event brings, and the more words each has."""
    return max(min(_FEWER, _STEPS // max(levels, 1) ** 2), min(_FEWEST, _FEWER))


def _better_size(events: int, rows: int, few: int) -> int:
    """How many events to look at together, so that what they bring fits into the caches."""
    return CHUNK if 2 * rows < events else few if rows > 4 * events else max(events, few)
