"""A window as a lane: its rows lie in a growing table, compiled code moves a span over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from cepheid.core.time import Instant
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, STRING, DataType
from cepheid.expr.tree import Aggregate
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.compiling.window_lowering import SHAPES, aggregate_words, describe_window
from cepheid.matcher.contents import Contents, KeptRow, KeptTimer, KeptWindow
from cepheid.matcher.lanes.eligibility import Sieve
from cepheid.matcher.lanes.expressions import computed_columns
from cepheid.matcher.lanes.kept import values_of
from cepheid.matcher.lanes.predicates import Known, Values
from cepheid.matcher.lanes.rows import Events, Rows
from cepheid.matcher.lanes.window_plan import Window, argument_of, together
from cepheid.matcher.operator import Column
from cepheid.matcher.vm.lanes import window_rows as vm
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.matcher.vm.memory.tables import (
    NEVER,
    AggregateKind,
    AggregateRow,
    WindowKind,
    WindowRow,
)
from cepheid.semantics.inspection.parts import Texts

_FEW = 256
_NUMBERS_OF_ROWS = [
    vm.WindowHead.FIRST_ROW,
    vm.WindowHead.GATHERED,
    vm.WindowHead.CURSOR,
    vm.WindowHead.END,
]
_EVENT_KEY, _TIMER_KEY = 6, 18  # words of the keys of results


class WindowLane:
    """A window that runs, for all statements that have the same one."""

    def __init__(self, windows: Sequence[Window], places: ColumnLookup) -> None:
        self._statements = [window.statement for window in windows]
        self.window = window = together(windows)
        self._sieve = Sieve([(window.event_type, window.tests)], places)
        self._columns = [places.column(window.event_type, a) for a in window.attributes]
        self._head = _head(window)
        self._extremes = [
            (number, int(words[AggregateRow.OWNER]))
            for number, words in enumerate(self._aggregates)
            if words[AggregateRow.KIND] in (AggregateKind.LEAST, AggregateKind.GREATEST)
        ]
        self._start: Instant = 0
        self._taken = _Taken(0, np.zeros(0, dtype=np.int64))
        self.needed = 0  # rows and groups when last restored
        self._rows = np.empty((_FEW, self._head[vm.WindowHead.WIDTH]), dtype=np.int64)
        self._groups = self._fresh_groups(_FEW)
        self._head[[vm.WindowHead.GROUPS, vm.WindowHead.MOST_GROUPS]] = int(not window.keys), _FEW
        self._found = np.empty((vm.StreamResult.VALUES + len(self._aggregates), 0), dtype=np.int64)
        self._rehash()

    @property
    def _aggregates(self) -> Words:
        return self._head[vm.WindowHead.HEAD_WIDTH :].reshape(-1, AggregateRow.WIDTH)

    # -- events and time --

    def start(self, instant: Instant) -> None:
        self._start = instant

    def next_due(self) -> Instant | None:
        first = int(self._head[vm.WindowHead.FIRST_ROW])
        if (
            self._head[vm.WindowHead.KIND] == WindowKind.TIME
            and first < self._head[vm.WindowHead.CURSOR]
        ):
            return int(self._rows[first, vm.StreamRow.INSTANT] + self._head[vm.WindowHead.LIMIT])
        return (
            None if self._head[vm.WindowHead.DUE] == NEVER else int(self._head[vm.WindowHead.DUE])
        )

    def pass_time(self, instant: Instant) -> None:
        self._follow(instant)

    def take(self, batch: Events, pool: Pool) -> None:
        places = np.flatnonzero(self._sieve.masks(batch, pool) != 0)
        self._make_room(len(places))
        self._taken = _Taken(int(self._head[vm.WindowHead.END]), places)
        values, nulls = self._words_of(batch, pool)
        rows = self._rows.reshape(-1)
        vm.add_rows(self._head, rows, places, batch.instants, batch.sequences, values, nulls)
        self._follow(int(batch.instants[-1]))

    def _words_of(self, batch: Events, pool: Pool) -> tuple[Words, Words]:
        """The attributes of all events, a row for each, and for each event bits of those that are null."""
        words = np.empty((len(self._columns), len(batch)), dtype=np.int64)
        nulls = np.empty(0, dtype=np.int64)
        for slot, column in enumerate(self._columns):
            values = batch.values(column, pool)
            words[slot] = _words(values.words)
            if values.nulls is not None:
                words[slot, values.nulls] = 0
                nulls = nulls if len(nulls) else np.zeros(len(batch), dtype=np.int64)
                nulls |= values.nulls.astype(np.int64) << slot
        return words, nulls

    def _follow(self, until: Instant) -> None:
        self._more_found(2 * int(self._head[vm.WindowHead.END] - self._head[vm.WindowHead.CURSOR]))
        more = {
            vm.WindowStatus.MORE_GROUPS: self._more_groups,
            vm.WindowStatus.MORE_FOUND: self._more_found,
        }
        while (
            status := vm.follow(
                self._head,
                self._rows.reshape(-1),
                self._groups.reshape(-1),
                self._table,
                self._found.reshape(-1),
                until,
            )
        ) != vm.WindowStatus.DONE:
            more[status]()

    def take_rows(self, batch: Events | None, pool: Pool) -> list[Rows]:
        del batch
        found = self._found[:, : int(self._head[vm.WindowHead.FOUND])]
        self._head[vm.WindowHead.FOUND] = 0
        if not found.size:
            return []
        instants = found[vm.StreamResult.INSTANT].copy()
        places = partial(self._taken.places_of, found[vm.StreamResult.CAUSE])
        values_of = cache(partial(self._values, found, _in_one_piece(found[vm.StreamResult.ROW])))
        return [
            Rows(
                statement,
                instants,
                places,
                computed_columns(statement, values_of, pool, instants),
                partial(self._keys, found, statement.rank),
            )
            for statement in self._statements
        ]

    # -- room --

    def _make_room(self, count: int) -> None:
        """For so many rows more; those that have left give way."""
        first, end = int(self._head[vm.WindowHead.FIRST_ROW]), int(self._head[vm.WindowHead.END])
        if end + count <= len(self._rows):
            return
        rows = self._rows[first:end]
        room = max(2 * len(rows) + count, _FEW)
        if room > len(self._rows):
            self._rows = np.empty((room, self._rows.shape[1]), dtype=np.int64)
        self._rows[: len(rows)] = rows
        self._move_links(self._rows[: len(rows)], self._groups, first)
        self._head[_NUMBERS_OF_ROWS] -= first

    def _more_found(self, count: int = 0) -> None:
        filled = int(self._head[vm.WindowHead.FOUND])
        wanted = filled + max(count, int(self._head[vm.WindowHead.WANTED]))
        if wanted > self._found.shape[1]:
            found = np.empty((len(self._found), max(_FEW, 2 * wanted)), dtype=np.int64)
            found[:, :filled] = self._found[:, :filled]
            self._found = found
            self._head[vm.WindowHead.MOST_FOUND] = found.shape[1]

    def _more_groups(self) -> None:
        count = len(self._groups)
        self._groups = np.concatenate([self._groups, self._fresh_groups(count)])
        self._head[vm.WindowHead.MOST_GROUPS] = 2 * count
        self._rehash()

    def _fresh_groups(self, count: int) -> Words:
        groups = np.zeros((count, self._head[vm.WindowHead.GROUP_WIDTH]), dtype=np.int64)
        for place in self._places_of_extremes():
            groups[:, place : place + 2] = NONE
        return groups

    def _places_of_extremes(self) -> list[int]:
        """Where groups have the first and the last row of an extreme."""
        begin = vm.StreamGroup.KEYS + len(self.window.keys)
        return [begin + 2 * number for number, _ in self._extremes]

    def _rehash(self) -> None:
        self._head[vm.WindowHead.SIZE] = 1 << (4 * len(self._groups) - 1).bit_length()
        self._table = np.full(self._head[vm.WindowHead.SIZE], NONE, dtype=np.int64)
        vm.rehash(self._head, self._groups.reshape(-1), self._table)

    # -- results --

    def _keys(self, found: Words, rank: int) -> Array:
        """The keys of results."""
        import pyarrow as pa

        count = found.shape[1]
        events = int((found[vm.StreamResult.CAUSE] != NONE).sum())
        words = np.empty(_EVENT_KEY * events + _TIMER_KEY * (count - events), dtype=np.int64)
        ends = np.zeros(count + 1, dtype=np.int32)
        vm.write_keys(
            self._head,
            self._found.reshape(-1),
            self._rows.reshape(-1),
            rank,
            self._start,
            words,
            ends,
        )
        places: Array = pa.array(ends)
        values: Array = pa.array(words)
        return pa.ListArray.from_arrays(places, values)

    def _values(self, found: Words, rows: Words | slice, known: Known) -> Values:
        """What the select list looks at, for all results."""
        if isinstance(known, Aggregate):
            place = self.window.aggregates.index(known)
            words, nulls = (
                found[vm.StreamResult.VALUES + place].copy(),
                found[vm.StreamResult.NULLS],
            )
        else:
            place = self.window.attributes.index(known.path[0].name)
            words = self._rows[rows, vm.StreamRow.VALUES + place].copy()
            nulls = self._rows[rows, vm.StreamRow.NULLS]
        is_null = (nulls >> place) & 1 != 0 if nulls.any() else None
        return _shown_values(Values(words, is_null), known.type)

    # -- the state between two batches --

    def pack(self, old: Pool, new: Pool) -> dict[str, Words]:
        first, end = int(self._head[vm.WindowHead.FIRST_ROW]), int(self._head[vm.WindowHead.END])
        rows = self._rows[first:end].copy()
        groups = self._groups[: int(self._head[vm.WindowHead.GROUPS])]
        is_used = groups[:, vm.StreamGroup.SIZE] > 0
        is_used[rows[:, vm.StreamRow.GROUP]] = True
        is_used[: int(not self.window.keys)] = True
        groups = groups[is_used]
        rows[:, vm.StreamRow.GROUP] = (np.cumsum(is_used) - 1)[rows[:, vm.StreamRow.GROUP]]
        self._move_links(rows, groups, first)
        for slot, column in enumerate(self._columns):
            if column.data_type == STRING:
                _move_strings(rows, vm.StreamRow.NULLS, vm.StreamRow.VALUES, slot, old, new)
                if slot < len(self.window.keys):
                    _move_strings(groups, vm.StreamGroup.NULLS, vm.StreamGroup.KEYS, slot, old, new)
        start = np.array([self._start], dtype=np.int64)
        return {"start": start, "head": self._head.copy(), "rows": rows, "groups": groups}

    def _move_links(self, rows: Words, groups: Words, first: int) -> None:
        """Rows get smaller numbers, where they are linked, too."""
        linked = [rows[:, links : links + 2] for _, links in self._extremes]
        linked += [groups[:, place : place + 2] for place in self._places_of_extremes()]
        for numbers in linked:
            numbers[numbers != NONE] -= first
            numbers[numbers < 0] = NONE  # rows that have left

    def restore(self, packed: Mapping[str, Words]) -> None:
        rows, groups = packed["rows"], packed["groups"]
        self._start = int(packed["start"][0])
        self._head[:] = packed["head"]
        self._head[_NUMBERS_OF_ROWS] -= packed["head"][vm.WindowHead.FIRST_ROW]
        self._head[[vm.WindowHead.FOUND, vm.WindowHead.WANTED]] = 0
        self._head[vm.WindowHead.MOST_FOUND] = self._found.shape[1]
        self._rows = np.ascontiguousarray(rows)
        self._head[vm.WindowHead.GROUPS] = len(groups)
        self._head[vm.WindowHead.MOST_GROUPS] = len(groups) + _FEW
        self._groups = np.concatenate([groups, self._fresh_groups(_FEW)])
        self.needed = len(rows) + len(groups)
        self._rehash()

    def tidy(self, old: Pool, new: Pool) -> None:
        self.restore(self.pack(old, new))

    def contents(self, pool: Pool, texts: Texts, most: int) -> Contents:
        first, end = int(self._head[vm.WindowHead.FIRST_ROW]), int(self._head[vm.WindowHead.END])
        rows = self._rows[max(first, end - most) : end][::-1]
        leaves: Sequence[Instant | None] = [None] * len(rows)
        if self._head[vm.WindowHead.KIND] == WindowKind.TIME:
            leaves = (rows[:, vm.StreamRow.INSTANT] + self._head[vm.WindowHead.LIMIT]).tolist()
        known = values_of(dict(self._columns_of(rows)), pool) if self._columns else [{}] * len(rows)
        kept = tuple(map(KeptRow, known, leaves))
        due = self.next_due()
        tree = self.window.statement.tree.window
        text = "" if tree is None else texts.window(tree)
        names = [statement.name for statement in self._statements]
        return Contents(
            windows=tuple(KeptWindow(name, text, kept, end - first) for name in names),
            timers=() if due is None else tuple(KeptTimer(due, name) for name in names),
        )

    def _columns_of(self, rows: Words) -> Iterator[tuple[str, tuple[Column, Values]]]:
        """What is known of some rows, by the names of attributes."""
        for slot, column in enumerate(self._columns):
            is_null = (rows[:, vm.StreamRow.NULLS] >> slot) & 1 != 0
            values = Values(rows[:, vm.StreamRow.VALUES + slot].copy(), is_null)
            yield column.attribute, (column, _shown_values(values, column.data_type))


def _head(window: Window) -> Words:
    """The single words of a window's compiled code, and its aggregates."""
    described = [NONE] * WindowRow.WIDTH
    describe_window(described, window.statement.tree.window)
    rows_leave = described[WindowRow.KIND] != WindowKind.UNLIMITED
    width = vm.StreamRow.VALUES + len(window.attributes)
    aggregates: list[int] = []
    for aggregate in window.aggregates:
        argument = argument_of(aggregate)
        slot = NONE if argument is None else window.attributes.index(argument)
        words = aggregate_words(aggregate, slot, NONE, rows_leave=rows_leave)
        if words[AggregateRow.KIND] in (AggregateKind.LEAST, AggregateKind.GREATEST):
            words[AggregateRow.OWNER], width = width, width + 2
        aggregates += words
    head = np.zeros(vm.WindowHead.HEAD_WIDTH + len(aggregates), dtype=np.int64)
    head[vm.WindowHead.HEAD_WIDTH :] = aggregates
    head[vm.WindowHead.KIND] = described[WindowRow.KIND]
    head[vm.WindowHead.LIMIT] = described[WindowRow.SIZE] or described[WindowRow.PERIOD]
    head[vm.WindowHead.SHAPE] = SHAPES[window.statement.shape]
    head[vm.WindowHead.KEYS] = len(window.keys)
    head[vm.WindowHead.AGGREGATES] = len(window.aggregates)
    head[vm.WindowHead.WIDTH] = width
    head[vm.WindowHead.GROUP_WIDTH] = (
        vm.StreamGroup.KEYS + len(window.keys) + 2 * len(window.aggregates)
    )
    head[vm.WindowHead.ANCHOR] = described[WindowRow.REFERENCE]
    head[vm.WindowHead.DUE] = NEVER
    return head


def _in_one_piece(rows: Words) -> Words | slice:
    """Rows that follow each other, as most do, are quicker taken together."""
    first, last = int(rows[0]), int(rows[-1])
    is_whole = last - first + 1 == len(rows) and bool((np.diff(rows) == 1).all())
    return slice(first, last + 1) if is_whole else rows


def _words(values: Any) -> Any:
    """Values of any scalar type as what words are made of."""
    is_real = values.dtype.kind == "f"
    return np.ascontiguousarray(values, dtype=np.float64).view(np.int64) if is_real else values


def _shown_values(values: Values, type: DataType) -> Values:
    """Words as values of a type; strings stay numbers."""
    words: Any = values.words
    if type in (FLOAT, DOUBLE):
        words = words.view(np.float64)
        words = words.astype(np.float32) if type == FLOAT else words
    elif type == BOOLEAN:
        words = words != 0
    elif type == INT:
        words = words.astype(np.int32)
    return Values(words, values.nulls)


def _move_strings(table: Words, nulls: int, begin: int, slot: int, old: Pool, new: Pool) -> None:
    is_set = (table[:, nulls] >> slot) & 1 == 0
    table[is_set, begin + slot] = old.moved(table[is_set, begin + slot], new)


class _Taken(NamedTuple):
    """The rows that the events of a batch have become: the first of them, and the places of all."""

    first: int
    places: Words

    def places_of(self, rows: Words) -> Words:
        """The places of the events of rows, NONE where there is none."""
        is_event = rows != NONE
        if is_event.all():
            return self.places[rows - self.first]
        found = np.full(len(rows), NONE, dtype=np.int64)
        found[is_event] = self.places[rows[is_event] - self.first]
        return found
