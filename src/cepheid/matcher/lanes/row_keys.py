"""The keys of rows in the form that the reference semantics defines.

A key begins with that of an event of the input, or of a row that a timer brought, and goes on with a rank and a
number for each statement on the way from there. The words of an order say all of this but for timers, whose
rows know their keys where no one has derived what brought them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.matcher.columns.interning import Words
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.lanes.joining import Found
from cepheid.matcher.lanes.order import CAUSE, Order
from cepheid.matcher.lanes.rows import Events
from cepheid.matcher.vm.memory.layout import NONE

_OF_EVENT, _DEPTH = 4, 3  # how long the key of an event is, and where it says the depth


class _Lists(NamedTuple):
    """Lists of words: where each begins, and how long it is."""

    words: Words
    begins: Words
    sizes: Words


class RowKeys:
    """The keys of what statements find in a batch, or as time passes; each after those whose rows it takes."""

    def __init__(self, input: Events | None) -> None:
        self._input = input
        self._timed: dict[
            int, _Lists
        ] = {}  # of rows that timers brought, by the rank of their statement

    def of(self, found: Found) -> Array:
        rows = found.rows
        if rows.keys is None or found.events is not self._input:
            return _extended(*self._origins(found.order), found.order)
        keys = rows.keys()
        if (rows.places == NONE).any():
            self._timed[rows.statement.rank] = _lists_in(keys)
        return keys

    def _origins(self, order: Order) -> tuple[_Lists, Words]:
        """The keys from which those of rows go on, and how deep each of them is."""
        is_timed = order.word(CAUSE) & 1 == 0
        events = self._events_among(order, ~is_timed)
        begins, sizes = np.empty((2, len(order)), dtype=np.int64)
        begins[~is_timed] = _OF_EVENT * np.arange(len(order) - is_timed.sum())
        sizes[~is_timed] = _OF_EVENT
        words, known = [events], len(events)
        ranks, numbers = order.timers
        for rank in np.unique(ranks[is_timed]).tolist():
            lists, mine = self._timed[rank], np.flatnonzero(is_timed & (ranks == rank))
            begins[mine] = known + lists.begins[numbers[mine]]
            sizes[mine] = lists.sizes[numbers[mine]]
            words.append(lists.words)
            known += len(lists.words)
        return _Lists(np.concatenate(words), begins, sizes), is_timed.astype(np.int64)

    def _events_among(self, order: Order, is_event: Words) -> Words:
        """The keys of the events of the input that led to rows, one behind the other."""
        causes = order.word(CAUSE)[is_event] >> 1
        keys = np.zeros((len(causes), _OF_EVENT), dtype=np.int64)
        if len(causes):
            assert self._input is not None
            keys[:, 0] = order.instants[is_event]
            keys[:, 1] = 1
            keys[:, 2] = self._input.sequences[causes]
        return keys.ravel()


def _extended(origins: _Lists, known: Words, order: Order) -> Array:
    """Keys that go on with the steps of an order, but for those which are known already."""
    import pyarrow as pa

    depths, sizes = order.depths, origins.sizes
    ends = np.cumsum([0, *(sizes + 2 * (depths - known))])
    words = np.empty(ends[-1], dtype=np.int64)
    places = _counted(sizes)
    words[np.repeat(ends[:-1], sizes) + places] = origins.words[
        np.repeat(origins.begins, sizes) + places
    ]
    words[ends[:-1] + _DEPTH] = depths
    for depth in range(int(depths.max(initial=0))):
        rows = np.flatnonzero((depths > depth) & (known <= depth))
        begins = ends[rows] + sizes[rows] + 2 * (depth - known[rows])
        words[begins], words[begins + 1] = order.step(depth, rows)
    begins_of_all: Array = pa.array(ends.astype(np.int32))
    values: Array = pa.array(words)
    return pa.ListArray.from_arrays(begins_of_all, values)


def _lists_in(keys: Array) -> _Lists:
    ends = keys.offsets.to_numpy().astype(np.int64)
    return _Lists(keys.values.to_numpy(), ends[:-1], np.diff(ends))


def _counted(sizes: Words) -> Words:
    """For each of some lists the places of its words."""
    begins = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) - np.repeat(begins, sizes)
