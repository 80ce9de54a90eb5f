"""Chains as a lane: what events satisfy is found for whole batches, runs by compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cepheid.core.time import Instant
from cepheid.core.types import STRING
from cepheid.expr.tree import Column as ColumnOfEvent
from cepheid.expr.tree import Expr
from cepheid.matcher.columns.batches import equal_lists
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.contents import Contents, KeptTimer, joined
from cepheid.matcher.lanes.chain_plan import Attribute, Chain
from cepheid.matcher.lanes.chain_state import ChainState
from cepheid.matcher.lanes.eligibility import Sieve, take_out
from cepheid.matcher.lanes.event_history import EventHistory
from cepheid.matcher.lanes.expressions import computed_columns
from cepheid.matcher.lanes.kept import chain_match, steps_of
from cepheid.matcher.lanes.predicates import Bits, Known, Values, truth_of
from cepheid.matcher.lanes.rows import Events, Rows, numbers_of
from cepheid.matcher.operator import Column
from cepheid.matcher.vm.lanes import chain_runs as vm
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.semantics.inspection.parts import Texts
from cepheid.semantics.timers import TimerStage

_TIME, _SEQUENCE = "@time", "@sequence"
_NO_BITS = np.zeros(0, dtype=np.int64)


class ChainLane:
    """All chains of a program: what their rows need of events is kept once."""

    def __init__(self, chains: Sequence[Chain], places: ColumnLookup) -> None:
        self._views = [_View(chain, places) for chain in chains]
        self._runs = [ChainState(chain) for chain in chains]
        self._needed = {c.name: c for view in self._views for c in view.shown.values()}
        self._kept = self._nothing_kept()
        self.needed = 0  # events that runs referred to when last restored

    def _nothing_kept(self) -> EventHistory:
        has_absence = any(view.chain.ending == "absence" for view in self._views)
        return EventHistory([*self._needed, *((_TIME, _SEQUENCE) if has_absence else ())])

    # -- events and time --

    def start(self, instant: Instant) -> None:
        """Chains wait for events, whenever they began to."""

    def next_due(self) -> Instant | None:
        due = [found for runs in self._runs if (found := runs.next_due()) is not None]
        return min(due, default=None)

    def pass_time(self, instant: Instant) -> None:
        for runs in self._runs:
            runs.pass_time(instant)

    def take(self, batch: Events, pool: Pool) -> None:
        base = self._kept.count
        self._keep(batch, pool)
        for view, runs in zip(self._views, self._runs, strict=True):
            masks, keys = view.masks(batch, pool), view.keys(batch, pool)
            runs.follow(masks, batch.instants, keys, view.choice(masks, batch, pool), base)

    def _keep(self, batch: Events, pool: Pool) -> None:
        columns = {name: batch.values(column, pool) for name, column in self._needed.items()}
        if _TIME in self._kept.names:
            columns[_TIME] = Values(batch.instants, None)
            columns[_SEQUENCE] = Values(batch.sequences, None)
        self._kept.add(columns, len(batch))

    def take_rows(self, batch: Events | None, pool: Pool) -> list[Rows]:
        matches = [runs.take_matches() for runs in self._runs]
        return [
            _Matches(view, mine, batch, self._kept).rows(pool)
            for view, mine in zip(self._views, matches, strict=True)
            if len(mine)
        ]

    # -- state --

    def pack(self, old: Pool, new: Pool) -> dict[str, Words]:
        events = self._needed_events()
        packed: dict[str, Any] = {"count": np.array([len(events)])}
        for name, values in self._kept_of(events, old, new).items():
            packed[f"kept {name}"] = values.words
            packed[f"null {name}"] = np.array([]) if values.nulls is None else values.nulls
        for number, (view, runs) in enumerate(zip(self._views, self._runs, strict=True)):
            head, rows, lists = runs.pack(events)
            self._move_keys(view, rows, old, new)
            packed |= {f"head {number}": head, f"runs {number}": rows, f"lists {number}": lists}
        return packed

    def tidy(self, old: Pool, new: Pool) -> None:
        if any(view.string_keys for view in self._views):
            self.restore(self.pack(old, new))
            return
        events = self._needed_events()
        self._keep_only(self._kept_of(events, old, new), len(events))
        for runs in self._runs:
            runs.keep_only(events)

    def _needed_events(self) -> Words:
        """The numbers of all events that runs refer to."""
        is_needed = np.zeros(self._kept.count, dtype=bool)
        for runs in self._runs:
            runs.mark(is_needed)
        return np.flatnonzero(is_needed)

    def _kept_of(self, events: Words, old: Pool, new: Pool) -> dict[str, Values]:
        """What is kept of these events, its strings in another pool."""
        found = {name: self._kept.of(name, events) for name in self._kept.names}
        return {
            name: Values(self._moved(values, old, new, self._needed.get(name)), values.nulls)
            for name, values in found.items()
        }

    def _keep_only(self, columns: Mapping[str, Values], count: int) -> None:
        self._kept = self._nothing_kept()
        self._kept.add(columns, count)
        self.needed = count

    def _moved(self, values: Values, old: Pool, new: Pool, column: Column | None) -> Words:
        """The same strings in another pool; other words are what they are."""
        if column is None or column.data_type != STRING:
            return values.words
        words, is_set = np.zeros_like(values.words), ~_nulls(values)
        words[is_set] = old.moved(values.words[is_set], new)
        return words

    def _move_keys(self, view: _View, rows: Words, old: Pool, new: Pool) -> None:
        """Runs wait for strings of another pool from now on."""
        links = len(view.chain.links)
        for number in view.string_keys:
            other = view.chain.links[number].other
            assert other is not None
            values = rows[:, vm.RunRow.EVENTS + links + number]
            is_set = rows[:, vm.RunRow.EVENTS + other.link] != NONE
            is_set &= (rows[:, vm.RunRow.LOST] >> number) & 1 == 0
            values[is_set] = old.moved(values[is_set], new)

    def restore(self, packed: Mapping[str, Words]) -> None:
        columns = {}
        for name in self._kept.names:
            nulls = packed[f"null {name}"]
            columns[name] = Values(
                packed[f"kept {name}"], nulls.astype(bool) if len(nulls) else None
            )
        self._keep_only(columns, int(packed["count"][0]))
        for number, runs in enumerate(self._runs):
            names = (f"{part} {number}" for part in ("head", "runs", "lists"))
            runs.restore(*(packed[name] for name in names))

    def contents(self, pool: Pool, texts: Texts, most: int) -> Contents:
        parts = zip(self._views, self._runs, strict=True)
        return joined((self._contents_of(*each, pool, texts, most) for each in parts), most)

    def _contents_of(
        self, view: _View, runs: ChainState, pool: Pool, texts: Texts, most: int
    ) -> Contents:
        steps = steps_of(view.chain.statement, texts)
        live = runs.live()
        found = [
            match
            for run in live[:most]
            if (
                match := chain_match(view.chain, run, steps, view.shown, view.own, self._kept, pool)
            )
        ]
        timers = sorted(match.ends for match in found if match.ends is not None)
        name = view.chain.statement.name
        return Contents(
            tuple(found),
            len(live) if len(live) > most else len(found),
            timers=tuple(KeptTimer(due, name) for due in timers),
        )


def _nulls(values: Values) -> Bits:
    return np.zeros(len(values.words), dtype=bool) if values.nulls is None else values.nulls


class _View:
    """What a chain sees of a batch."""

    def __init__(self, chain: Chain, places: ColumnLookup) -> None:
        self.chain = chain
        self._places = places
        sources = (*chain.links, *chain.noise)
        self._sieve = Sieve([(link.event_type, link.tests) for link in sources], places)
        self.shown: dict[Attribute, Column] = {
            attribute: self._column(attribute, places) for attribute in chain.shown.values()
        }
        self.own = {
            number: places.column(link.event_type, link.own)
            for number, link in enumerate(sources)
            if link.own is not None
        }
        self._given = {
            number: self._column(link.other, places)
            for number, link in enumerate(chain.links)
            if link.other is not None
        }
        awaited = {n for n, link in enumerate(chain.links) if link.other is not None}
        self.string_keys = [
            n for n, c in self.own.items() if c.data_type == STRING and n in awaited
        ]
        by_name = {c.name: c for c in (*self.own.values(), *self._given.values())}
        self._keys = tuple(by_name.values())
        self._key_places = self._places_of_keys()

    def _column(self, attribute: Attribute, places: ColumnLookup) -> Column:
        event_type = self.chain.links[attribute.link].event_type
        return places.column(event_type, attribute.name)

    def masks(self, batch: Events, pool: Pool) -> Words:
        """For each event, a bit for each link whose event it may be."""
        masks = self._sieve.masks(batch, pool)
        for number, column in self.own.items():
            nulls = batch.values(column, pool).nulls
            if nulls is not None:
                take_out(masks, number, nulls)
        return masks

    def choice(self, masks: Words, batch: Events, pool: Pool) -> tuple[Words, Words]:
        """For each event a bit for each alternative that it gives to runs, and one for each that it takes.

        An event that takes none is none of the last link.
        """
        choice = self.chain.choice
        if choice is None:
            return _NO_BITS, _NO_BITS
        last = len(self.chain.links) - 1
        gives, takes = np.zeros((2, len(batch)), dtype=np.int64)
        for number, (given, own) in enumerate(choice.alternatives):
            gives |= self._truth(choice.giver, given, batch, pool).astype(np.int64) << number
            takes |= self._truth(last, own, batch, pool).astype(np.int64) << number
        take_out(masks, last, takes == 0)
        return gives, takes

    def _truth(self, link: int, tests: Sequence[Expr], batch: Events, pool: Pool) -> Bits:
        event_type = self.chain.links[link].event_type

        def values_of(known: Known) -> Values:
            assert isinstance(known, ColumnOfEvent)
            return batch.values(self._places.column(event_type, known.path[0].name), pool)

        found = np.ones(len(batch), dtype=bool)
        for test in tests:
            found &= truth_of(test, values_of, pool.intern).true
        return found

    def _places_of_keys(self) -> Words:
        """For each link, which of the keys runs find its event by; then which one they get for it."""
        names = [column.name for column in self._keys]
        links = range(len(self.chain.links))
        found = [columns.get(n) for columns in (self.own, self._given) for n in links]
        return np.array([NONE if c is None else names.index(c.name) for c in found], np.int64)

    def keys(self, batch: Events, pool: Pool) -> tuple[Words, Words, Words]:
        """What `vm.follow` takes: the places of keys, their values, and for each event a bit for
        each link to which it gives null."""
        found = [batch.values(column, pool) for column in self._keys]
        words = np.concatenate([np.empty(0, np.int64), *(values.words for values in found)])
        lost = np.zeros(len(batch) if found else 0, dtype=np.int64)
        for number, column in self._given.items():
            nulls = batch.values(column, pool).nulls
            if nulls is not None:
                lost |= nulls.astype(np.int64) << number
        return self._key_places, words, lost


class _Matches:
    """The matches of one chain, which are its rows."""

    def __init__(
        self, view: _View, matches: Words, batch: Events | None, kept: EventHistory
    ) -> None:
        self._view, self._matches, self._kept = view, matches, kept
        self._batch = batch
        self._is_timed = view.chain.ending == "absence"
        links = len(view.chain.links)
        if self._is_timed:
            self._instants, self._armed = matches[:, links].copy(), matches[:, links + 1]
        else:
            assert batch is not None
            self._events = matches[:, links]
            self._instants = batch.instants[self._events]

    def rows(self, pool: Pool) -> Rows:
        statement = self._view.chain.statement
        values = computed_columns(statement, self._values, pool, self._instants)
        return Rows(statement, self._instants, self._places, values, self._keys)

    def _places(self) -> Words:
        return np.full(len(self._matches), NONE) if self._is_timed else self._events.copy()

    def _values(self, known: Known) -> Values:
        attribute = self._view.chain.shown[known]
        column = self._view.shown[attribute].name
        return self._kept.of(column, self._matches[:, attribute.link])

    def _keys(self) -> Array:
        return equal_lists(
            self._timed_key() if self._is_timed else self._event_key(), len(self._matches)
        )

    def _event_key(self) -> tuple[Words | int, ...]:
        assert self._batch is not None
        sequences, rank = self._batch.sequences[self._events], self._view.chain.statement.rank
        return self._instants, 1, sequences, 1, rank, numbers_of(self._events)

    def _timed_key(self) -> tuple[Words | int, ...]:
        rank = self._view.chain.statement.rank
        origins = self._matches[:, len(self._view.chain.links) - 2]
        armed = (self._kept.of(_TIME, origins).words, 1, self._kept.of(_SEQUENCE, origins).words, 0)
        timer = (self._instants, 0, 0, 1, rank, int(TimerStage.PATTERN))
        return (*timer, *armed, self._armed, rank, 1)
