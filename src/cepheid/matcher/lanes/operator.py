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
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cepheid.core.time import Instant
from cepheid.errors import LateEvent
from cepheid.matcher.columns.batches import Batch, check_order
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import lookup_of
from cepheid.matcher.columns.typed_columns import TypedColumns
from cepheid.matcher.lanes.chain_lane import ChainLane
from cepheid.matcher.lanes.chain_plan import Chain
from cepheid.matcher.lanes.joined_batch import DerivedPart, InputPart, JoinedBatch, Part
from cepheid.matcher.lanes.lane_rows import RowBlock, RowChunk
from cepheid.matcher.lanes.machine_lane import MachineLane
from cepheid.matcher.lanes.machine_plan import OnMachine
from cepheid.matcher.lanes.order import InputOrder, Order, arranged
from cepheid.matcher.lanes.plan import LanePlan, LanesPlan
from cepheid.matcher.lanes.row_tables import RowTables
from cepheid.matcher.lanes.rows import Events, Rows
from cepheid.matcher.lanes.runaway import Derivations
from cepheid.matcher.lanes.single_lane import SingleLane
from cepheid.matcher.lanes.single_plan import Single
from cepheid.matcher.lanes.token_lane import TokenLane
from cepheid.matcher.lanes.token_plan import Tokens
from cepheid.matcher.lanes.window_lane import WindowLane
from cepheid.matcher.lanes.window_plan import Window, is_shared
from cepheid.matcher.machine.saved_state import format_of
from cepheid.matcher.operator import Operator, row_shapes
from cepheid.matcher.vm.lanes import chain_runs as chain
from cepheid.matcher.vm.lanes import token_runs as token
from cepheid.matcher.vm.lanes import window_rows as span
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.seal import Seal
from cepheid.semantics.machine import late_event

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 1 << 17  # events that are looked at together
_FEWER = 1 << 14  # the same as long as each may bring many rows
_FEWEST = 1 << 10
_STEPS = 1 << 21  # words for the order of what they bring, if it is one row of each level
_SPARE = 1 << 19  # events that may be held beside what is needed
_NOTHING = np.zeros(0, dtype=np.int64)


class Lane(Protocol):
    """One or more statements that run."""

    def start(self, instant: Instant) -> None: ...

    def take(self, batch: Events, pool: Pool) -> None:
        """Takes events, whose time passes; strings are numbers of the pool."""
        ...

    def pass_time(self, instant: Instant) -> None: ...

    def next_due(self) -> Instant | None: ...

    def take_rows(self, batch: Events | None, pool: Pool) -> Sequence[Rows]:
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


@dataclass(frozen=True, slots=True)
class _Stage:
    """A lane, and the types whose events it takes where others derive some of them."""

    lane: Lane
    kinds: frozenset[str] = frozenset()


class LanesOperator(Operator):
    """Runs programs all of whose statements take whole batches."""

    def __init__(self, program: ResolvedProgram, plan: LanesPlan, *, keyed: bool = True) -> None:
        self.program = program
        self._plan = plan
        self._inputs = TypedColumns(program)
        self._stages = _stages(program, plan)
        self._lanes = [stage.lane for stage in self._stages]
        self._pool = Pool()
        self._clock: Instant | None = None
        self._taken = 0  # events since everything was last restored, derived ones among them
        self._tables = RowTables(program, keyed=keyed)
        self._shapes = row_shapes(program)
        self._few = max(min(_FEWER, _STEPS // max(plan.levels, 1) ** 2), min(_FEWEST, _FEWER))
        self._size = self._few if plan.forwarded else CHUNK
        self._single_timers = frozenset(
            one.statement.rank for one in plan.statements if isinstance(one, Chain | OnMachine)
        )
        self._seal = Seal("lanes, form 5", format_of(chain, token, span), program)

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
        return self._table(self._advanced(instant))

    def advance_chunk(self, instant: Instant) -> RowChunk:
        """The same as columns of each statement."""
        return self._chunk(self._advanced(instant))

    def _advanced(self, instant: Instant) -> list[Found]:
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
        rows = [self._table(found) for found in self._taken_from(events)]
        return pa.concat_tables([self._tables.nothing, *rows])

    def take_chunks(self, events: pa.Table) -> list[RowChunk]:
        """The same as columns of each statement."""
        return [self._chunk(found) for found in self._taken_from(events)]

    def _taken_from(self, events: pa.Table) -> Iterator[list[Found]]:
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
            yield found
            self._taken += len(batch) + (count if self._plan.forwarded else 0)
            if self._taken > sum(lane.needed for lane in self._lanes) + _SPARE:
                self._tidy()

    def _found(self, batch: Batch | None, until: Instant) -> list[Found]:
        """All rows of a batch, or of time that passes, statement by statement."""
        instants = _NOTHING if batch is None else batch.instants
        joining = _Joining(batch, InputOrder(instants, self._plan.levels))
        derivations = Derivations(len(instants), self._single_timers)
        found: list[Found] = []
        for stage in self._stages:
            events = joining.events(stage.kinds) if stage.kinds else batch
            if events is not None and len(events):
                stage.lane.take(events, self._pool)
            if events is not batch or batch is None:
                stage.lane.pass_time(until)
            for rows in stage.lane.take_rows(events, self._pool):
                each = Found(rows, events, joining.input)
                found.append(each)
                if rows.statement.target in self._plan.forwarded:
                    derivations.add(rows.statement, each.order)
                    joining.add(each)
        return found

    def _tidy(self) -> None:
        """Forgets what is needed no more, strings among it."""
        pool = Pool()
        for lane in self._lanes:
            lane.tidy(self._pool, pool)
        self._pool = pool
        self._taken = 0

    def _table(self, found: Sequence[Found]) -> pa.Table:
        return self._tables.table([each.rows for each in found], order_of(found), self._pool)

    def _chunk(self, found: Sequence[Found]) -> RowChunk:
        order = order_of(found)
        begins = np.cumsum([0, *(len(each.rows) for each in found)])
        places = np.empty(begins[-1], dtype=np.int64)
        if order is not None:
            places[order] = np.arange(len(order))
        blocks = (
            RowBlock(
                self._shapes[each.rows.statement.rank],
                None if order is None else places[begin:end],
                each.rows.instants,
                each.rows.values,
            )
            for each, (begin, end) in zip(found, pairwise(begins.tolist()), strict=True)
        )
        return RowChunk(int(begins[-1]), tuple(blocks), self._pool)

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


def _better_size(events: int, rows: int, few: int) -> int:
    """How many events to look at together, so that what they bring fits into the caches."""
    return CHUNK if 2 * rows < events else few if rows > 4 * events else max(events, few)


class Found:
    """Rows of a statement, with their order as soon as someone asks for it."""

    def __init__(self, rows: Rows, events: Events | None, input: InputOrder) -> None:
        self.rows = rows
        self._events = events
        self._input = input

    @cached_property
    def order(self) -> Order:
        parents = self._events.order if isinstance(self._events, JoinedBatch) else None
        return self._input.of_rows(self.rows, parents)


def order_of(found: Sequence[Found]) -> Words | None:
    """The places of the rows of all statements in their order; None where they lie in it."""
    if len(found) < 2:
        return None
    return arranged([each.order for each in found])


class _Joining:
    """What statements have derived from a batch so far, joined for those that take it."""

    def __init__(self, batch: Batch | None, input: InputOrder) -> None:
        self.input = input
        self._batch = batch
        self._derived: dict[str, list[DerivedPart]] = {}
        self._joined: dict[frozenset[str], JoinedBatch | None] = {}

    def add(self, found: Found) -> None:
        self._derived.setdefault(found.rows.statement.target, []).append(
            DerivedPart(found.rows, found.order)
        )

    def events(self, kinds: frozenset[str]) -> JoinedBatch | None:
        """All events of some types; those that take the same ones share their columns."""
        if kinds not in self._joined:
            parts: list[Part] = [part for kind in kinds for part in self._derived.get(kind, ())]
            if self._batch is not None and self._batch.has_any(kinds):
                places = np.flatnonzero(self._batch.by_type(dict.fromkeys(kinds, 1)))
                parts.append(InputPart(self._batch, places, self.input.of(places)))
            self._joined[kinds] = JoinedBatch(parts) if parts else None
        return self._joined[kinds]


def _stages(program: ResolvedProgram, plan: LanesPlan) -> list[_Stage]:
    """The lanes, each after those that derive what it takes. Statements over the same events share one
    where they are of a kind that can."""
    taken = [_taken(program, plan, one) for one in plan.statements]
    found: list[tuple[frozenset[str], list[LanePlan]]] = []
    for one, kinds in zip(plan.statements, taken, strict=True):
        some = (plans for their, plans in found if their == kinds and _can_share(plans[0], one))
        mine = next(some, None)
        if mine is None:
            found.append((kinds, [one]))
        else:
            mine.append(one)
    return [_Stage(lane, kinds) for kinds, plans in found for lane in _lanes(program, plans)]


def _can_share(one: LanePlan, other: LanePlan) -> bool:
    """Whether two statements over the same events run in one lane."""
    if isinstance(one, Window) and isinstance(other, Window):
        return is_shared(one, other)
    return type(one) is type(other) and isinstance(one, Single | Chain | OnMachine)


def _taken(program: ResolvedProgram, plan: LanesPlan, one: LanePlan) -> frozenset[str]:
    """The types whose events a statement takes; none where all of them come from outside."""
    places = lookup_of(program)
    inputs = one.statement.inputs
    arriving = frozenset((*inputs, *(kind for name in inputs for kind in places.kinds_of(name))))
    return arriving if arriving & plan.forwarded else frozenset()


def _lanes(program: ResolvedProgram, plans: Sequence[LanePlan]) -> Iterator[Lane]:
    places = lookup_of(program)
    match plans[0]:
        case Single():
            yield SingleLane([one for one in plans if isinstance(one, Single)], places)
        case Chain():
            yield ChainLane([one for one in plans if isinstance(one, Chain)], places)
        case Tokens() as one:
            yield TokenLane(one, places)
        case Window():
            yield WindowLane([one for one in plans if isinstance(one, Window)], places)
        case OnMachine():
            together: list[dict[str, ResolvedStatement]] = []  # of different targets
            for statement in (one.statement for one in plans):
                apart = (some for some in together if statement.target not in some)
                mine = next(apart, None)
                if mine is None:
                    together.append(mine := {})
                mine[statement.target] = statement
            for some in together:
                yield MachineLane(program, [*some.values()])
