"""Chains as an operator: what events satisfy is found for whole batches, runs by compiled code."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.core.time import Instant
from cepheid.core.types import STRING, DataType
from cepheid.errors import LateEvent
from cepheid.expr import tree as expr_tree
from cepheid.io.arrow import arrow_type
from cepheid.matcher.batches import Batch, Repeated, check_order
from cepheid.matcher.chains import Attribute, Chain, column_for, kinds_of, names_in
from cepheid.matcher.inputs import Array, Inputs
from cepheid.matcher.kept import Kept
from cepheid.matcher.operator import Column, Operator, derived_types, rows_schema
from cepheid.matcher.pool import Pool, Words
from cepheid.matcher.predicates import Bits, Values, truth_of
from cepheid.matcher.runs import Runs
from cepheid.matcher.state import layout_of
from cepheid.matcher.vm import chain as vm
from cepheid.matcher.vm.layout import NONE
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import Seal
from cepheid.semantics.machine import late_event
from cepheid.semantics.timers import Stage

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 1 << 16  # events that are looked at together
_SPARE = 1 << 18  # events that may be kept beside those that runs refer to
_TIME, _SEQUENCE = "@time", "@sequence"


class Chained(Operator):
    """Runs programs all of whose statements are chains."""

    def __init__(
        self, program: ResolvedProgram, chains: Sequence[Chain], *, keyed: bool = True
    ) -> None:
        self.program = program
        self._inputs = Inputs(program)
        self._numbers = {name: number for number, name in enumerate(program.types)}
        self._views = [_View(chain, program) for chain in chains]
        self._runs = [Runs(chain) for chain in chains]
        self._needed = {c.name: c for view in self._views for c in view.shown.values()}
        self._pool = Pool()
        self._kept = self._nothing_kept()
        self._referred = 0  # events that runs referred to when last counted
        self._clock: Instant | None = None
        self._rows = _RowMaker(program, self._views, keyed=keyed)
        self._seal = Seal("chains", layout_of(vm), program)

    def _nothing_kept(self) -> Kept:
        has_absence = any(view.chain.ending == "absence" for view in self._views)
        return Kept([*self._needed, *((_TIME, _SEQUENCE) if has_absence else ())])

    # -- time --

    @property
    def clock(self) -> Instant | None:
        return self._clock

    def start(self, instant: Instant) -> None:
        self._clock = instant

    def next_due(self) -> Instant | None:
        due = [found for runs in self._runs if (found := runs.next_due()) is not None]
        return min(due, default=None)

    def advance(self, instant: Instant) -> pa.Table:
        if self._clock is None:
            self.start(instant)
        elif instant < self._clock:
            raise LateEvent(late_event(instant, self._clock))
        self._clock = instant
        for runs in self._runs:
            runs.pass_time(instant)
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
        batch = Batch(events, self._numbers, self._inputs)
        if self._clock is None:
            self.start(int(batch.instants[0]))
        assert self._clock is not None
        check_order(batch.instants, self._clock)
        base = self._kept.count
        self._keep(batch)
        for view, runs in zip(self._views, self._runs, strict=True):
            masks = view.masks(batch, self._pool)
            own, given, lost = view.keys(batch, self._pool)
            runs.follow(masks, batch.instants, own, given, lost, base)
        self._clock = int(batch.instants[-1])
        rows = self._take_rows(batch)
        if self._kept.count > 2 * self._referred + _SPARE:
            self._restore(self._pack())
        return rows

    def _keep(self, batch: Batch) -> None:
        columns = {name: batch.values(column, self._pool) for name, column in self._needed.items()}
        if _TIME in self._kept.names:
            columns[_TIME] = Values(batch.instants, None)
            columns[_SEQUENCE] = Values(batch.sequences, None)
        self._kept.add(columns, len(batch))

    def _take_rows(self, batch: Batch | None) -> pa.Table:
        matches = [runs.take_matches() for runs in self._runs]
        return self._rows.table(matches, batch, self._kept, self._pool)

    # -- state --

    def save(self) -> bytes:
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **self._pack())
        return self._seal.close(zlib.compress(buffer.getvalue(), 1))

    def load(self, state: bytes) -> None:
        with np.load(
            io.BytesIO(zlib.decompress(self._seal.open(state))), allow_pickle=False
        ) as saved:
            self._restore(dict(saved))

    def _pack(self) -> dict[str, Words]:
        """Everything that matters for what is to come, and nothing else."""
        events = np.unique(np.concatenate([runs.events for runs in self._runs]))
        pool = Pool()
        packed: dict[str, Any] = {
            "clock": np.array([] if self._clock is None else [self._clock], dtype=np.int64),
            "count": np.array([len(events)]),
        }
        for name in self._kept.names:
            values = self._kept.of(name, events)
            packed[f"kept {name}"] = self._moved(values, pool, self._needed.get(name))
            packed[f"null {name}"] = np.array([]) if values.nulls is None else values.nulls
        for number, (view, runs) in enumerate(zip(self._views, self._runs, strict=True)):
            head, rows, lists = runs.pack(events)
            self._move_keys(view, rows, lists, pool)
            packed |= {f"head {number}": head, f"runs {number}": rows, f"lists {number}": lists}
        packed["pool"] = np.frombuffer(pool.save(), dtype=np.uint8)
        return packed

    def _moved(self, values: Values, pool: Pool, column: Column | None) -> Words:
        """The same strings in another pool; other words are what they are."""
        if column is None or column.data_type != STRING:
            return values.words
        words, is_set = np.zeros_like(values.words), ~_nulls(values)
        words[is_set] = _moved_strings(values.words[is_set], self._pool, pool)
        return words

    def _move_keys(self, view: _View, rows: Words, lists: Words, pool: Pool) -> None:
        """Runs wait for strings of another pool from now on."""
        links = len(view.chain.links)
        for number in view.string_keys:
            other = view.chain.links[number].other
            assert other is not None
            values = rows[:, vm.R_EVENTS + links + number]
            is_set = rows[:, vm.R_EVENTS + other.link] != NONE
            is_set &= (rows[:, vm.R_LOST] >> number) & 1 == 0
            values[is_set] = _moved_strings(values[is_set], self._pool, pool)
            mine = lists[:, vm.E_LINK] == number
            lists[mine, vm.E_VALUE] = _moved_strings(lists[mine, vm.E_VALUE], self._pool, pool)

    def _restore(self, packed: Mapping[str, Words]) -> None:
        self._clock = int(packed["clock"][0]) if len(packed["clock"]) else None
        self._pool = Pool.load(packed["pool"].tobytes())
        self._kept = self._nothing_kept()
        columns = {}
        for name in self._kept.names:
            nulls = packed[f"null {name}"]
            columns[name] = Values(
                packed[f"kept {name}"], nulls.astype(bool) if len(nulls) else None
            )
        count = int(packed["count"][0])
        self._kept.add(columns, count)
        self._referred = count
        for number, runs in enumerate(self._runs):
            names = (f"{part} {number}" for part in ("head", "runs", "lists"))
            runs.restore(*(packed[name] for name in names))


def _nulls(values: Values) -> Bits:
    return np.zeros(len(values.words), dtype=bool) if values.nulls is None else values.nulls


def _moved_strings(numbers: Words, old: Pool, new: Pool) -> Words:
    known, places = np.unique(numbers, return_inverse=True)
    moved: Words = np.array([new.intern(old.value(int(number))) for number in known], np.int64)
    return moved[places]


class _View:
    """What a chain sees of a batch."""

    def __init__(self, chain: Chain, program: ResolvedProgram) -> None:
        self.chain = chain
        self._program = program
        self._bits = np.zeros(len(program.types) + 1, dtype=np.int64)  # the last: of no known type
        names = list(program.types)
        for number, link in enumerate(chain.links):
            for kind in kinds_of(link.event_type, program):
                self._bits[names.index(kind)] |= 1 << number
        self.shown: dict[Attribute, Column] = {
            attribute: self._column(attribute) for _, _, attribute in chain.columns
        }
        self._tested = {
            (number, name): column_for(link.event_type, name, program)
            for number, link in enumerate(chain.links)
            for name in names_in(link.tests)
        }
        self._own = {
            number: column_for(link.event_type, link.own, program)
            for number, link in enumerate(chain.links)
            if link.own is not None
        }
        self._given = {
            number: self._column(link.other)
            for number, link in enumerate(chain.links)
            if link.other is not None
        }
        self.string_keys = [n for n, c in self._own.items() if c.data_type == STRING]

    def _column(self, attribute: Attribute) -> Column:
        event_type = self.chain.links[attribute.link].event_type
        return column_for(event_type, attribute.name, self._program)

    def masks(self, batch: Batch, pool: Pool) -> Words:
        """For each event, a bit for each link whose event it may be."""
        masks = self._bits[batch.types]
        for number, link in enumerate(self.chain.links):
            for condition in link.tests:
                _take_out(masks, number, ~self._truth(condition, number, batch, pool))
        for number, column in self._own.items():
            nulls = batch.values(column, pool).nulls
            if nulls is not None:
                _take_out(masks, number, nulls)
        return masks

    def _truth(self, condition: expr_tree.Expr, link: int, batch: Batch, pool: Pool) -> Bits:
        def values_of(column: expr_tree.Column) -> Values:
            return batch.values(self._tested[link, column.path[0].name], pool)

        return truth_of(condition, values_of, pool.intern).true

    def keys(self, batch: Batch, pool: Pool) -> tuple[Words, Words, Words]:
        """For each link and event: the value that runs find it by, the one that it gives to runs
        that go on to that link; and for each event a bit for each link to which it gives null."""
        count = len(batch)
        own = np.empty(len(self.chain.links) * count if self._own else 0, dtype=np.int64)
        given, lost = np.empty_like(own), np.zeros(count if self._own else 0, dtype=np.int64)
        for number, column in self._own.items():
            own[number * count : (number + 1) * count] = batch.values(column, pool).words
        for number, column in self._given.items():
            values = batch.values(column, pool)
            given[number * count : (number + 1) * count] = values.words
            if values.nulls is not None:
                lost |= values.nulls.astype(np.int64) << number
        return own, given, lost


def _take_out(masks: Words, link: int, events: Bits) -> None:
    masks &= ~(events.astype(np.int64) << link)


class _RowMaker:
    """Makes tables of matches."""

    def __init__(self, program: ResolvedProgram, views: Sequence[_View], *, keyed: bool) -> None:
        self._program = program
        self._views = views
        self._schema = rows_schema(program)
        self._derived = tuple(derived_types(program))
        self.nothing = self._schema.empty_table()
        self._repeated = Repeated()
        self._keyed = keyed

    def table(
        self, matches: Sequence[Words], batch: Batch | None, kept: Kept, pool: Pool
    ) -> pa.Table:
        """The rows of all statements, in their order."""
        import pyarrow as pa

        found = [
            _Rows(view, mine, batch, kept)
            for view, mine in zip(self._views, matches, strict=True)
            if len(mine)
        ]
        if not found:
            return self.nothing
        order = None if len(found) == 1 else _order(found)
        instants = _arranged(np.concatenate([rows.instants for rows in found]), order)
        columns = [
            self._names(found, order),
            pa.array(instants).cast(pa.timestamp("us", "UTC")),
            self._repeated.text("match", len(instants)),
            self._keys(found, order),
            *self._structs(found, order, kept, pool),
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _names(self, found: Sequence[_Rows], order: Words | None) -> Array:
        import pyarrow as pa

        names = [self._repeated.text(r.view.chain.statement.target, len(r)) for r in found]
        joined: Array = names[0] if len(names) == 1 else pa.concat_arrays(names)
        return joined if order is None else joined.take(pa.array(order))

    def _keys(self, found: Sequence[_Rows], order: Words | None) -> Array:
        import pyarrow as pa

        count = sum(map(len, found))
        if not self._keyed:
            return self._repeated.no_keys(count)
        lists = [rows.keys() for rows in found]
        joined: Array = lists[0] if len(lists) == 1 else pa.concat_arrays(lists)
        return joined if order is None else joined.take(pa.array(order))

    def _structs(
        self, found: Sequence[_Rows], order: Words | None, kept: Kept, pool: Pool
    ) -> Iterator[Array]:
        """One column per derived type, null in rows of other types."""
        import pyarrow as pa

        begins = np.cumsum([0, *map(len, found)])
        for name in self._derived:
            type = self._schema.field(name).type
            mine = [n for n, rows in enumerate(found) if rows.view.chain.statement.target == name]
            packed = [self._struct(found[n], type, kept, pool) for n in mine]
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

    def _struct(self, rows: _Rows, type: pa.StructType, kept: Kept, pool: Pool) -> Array:
        import pyarrow as pa

        members = [
            self._values(kept.of(rows.view.shown[a].name, rows.matches[:, a.link]), t, pool)
            for _, t, a in rows.view.chain.columns
        ]
        if not members:
            return pa.array([{}] * len(rows), type)
        return pa.StructArray.from_arrays(members, fields=list(type))

    def _values(self, values: Values, type: DataType, pool: Pool) -> Array:
        import pyarrow as pa

        if type == STRING:
            return pool.texts(values.words, values.nulls)
        return pa.array(values.words, arrow_type(type, self._program.types), mask=values.nulls)


class _Rows:
    """The rows that the matches of one chain give."""

    def __init__(self, view: _View, matches: Words, batch: Batch | None, kept: Kept) -> None:
        self.view, self.matches = view, matches
        self.rank = view.chain.statement.rank
        self.is_timed = view.chain.ending == "absence"
        links = len(view.chain.links)
        if self.is_timed:
            self.instants, self._armed = matches[:, links], matches[:, links + 1]
            self.sequences = np.zeros(len(matches), dtype=np.int64)
            origins = matches[:, links - 2]
            self._origin = kept.of(_TIME, origins).words, kept.of(_SEQUENCE, origins).words
        else:
            assert batch is not None
            self._places = matches[:, links]
            self.instants = batch.instants[self._places]
            self.sequences = batch.sequences[self._places]

    def __len__(self) -> int:
        return len(self.matches)

    def keys(self) -> Array:
        """Their keys, in the form that the reference semantics defines."""
        import pyarrow as pa

        columns = self._timed_key() if self.is_timed else self._event_key()
        words = np.empty((len(self), len(columns)), dtype=np.int64)
        for place, column in enumerate(columns):
            words[:, place] = column
        offsets = np.arange(len(self) + 1, dtype=np.int32) * len(columns)
        places: Array = pa.array(offsets)
        values: Array = pa.array(words.ravel())
        return pa.ListArray.from_arrays(places, values)

    def _event_key(self) -> tuple[Words | int, ...]:
        rows = np.arange(len(self))
        is_first = np.append(True, self._places[1:] != self._places[:-1])
        numbers = rows - np.maximum.accumulate(np.where(is_first, rows, 0)) + 1
        return self.instants, 1, self.sequences, 1, self.rank, numbers

    def _timed_key(self) -> tuple[Words | int, ...]:
        instants, sequences = self._origin
        timer = (self.instants, 0, 0, 1, self.rank, int(Stage.PATTERN))
        return (*timer, instants, 1, sequences, 0, self._armed, self.rank, 1)


def _order(found: Sequence[_Rows]) -> Words:
    """The places of all rows in their order; those of one statement are in order."""
    ranks = np.concatenate([np.full(len(rows), rows.rank) for rows in found])
    sequences = np.concatenate([rows.sequences for rows in found])
    is_event = np.concatenate([np.full(len(rows), not rows.is_timed) for rows in found])
    instants = np.concatenate([rows.instants for rows in found])
    order: Words = np.lexsort((ranks, sequences, is_event, instants))
    return order


def _arranged(words: Words, order: Words | None) -> Words:
    return words if order is None else words[order]
