"""The order of everything that happens while a batch of input is taken.

The reference semantics defines it by keys (`semantics.machine`): whatever statements derive from an
event is taken before the next event of the input, what is derived directly first, in the order of the
events that it comes from, of the ranks of statements, and of the rows of each. Timers of one instant
come before its events, and what they lead to in the same way behind them all.

Here a place in this order is a column of words, compared from the first to the last:

    CAUSE     twice the place of an event of the input, and one; of a timer, twice that of the next event
    INSTANT   tells apart the timers between two events
    DEPTH     how many statements have brought it; below, for a timer's rows, the place of the timer
    steps     a word for each statement on the way: its rank, and the number among its rows of one event

These words say what the keys of the reference say, but for timers: one statement's rows lie in their
order already, and which statement comes first is a matter of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.rows import Rows, numbers_of
from cepheid.matcher.vm.lanes.causes import sort_by_cause
from cepheid.matcher.vm.lanes.sort_ties import sort_ties
from cepheid.matcher.vm.memory.layout import NONE

CAUSE, INSTANT, DEPTH, STEPS = range(4)
DEPTH_BITS, RANK_BITS = 48, 32
_STEP_BITS = 40


@dataclass(frozen=True, slots=True)
class Order:
    """The places of some events, each a column of `words`."""

    words: Words

    def __len__(self) -> int:
        return int(self.words.shape[1])

    @property
    def instants(self) -> Words:
        found: Words = self.words[INSTANT]
        return found

    def of(self, places: Words) -> Order:
        return Order(self.words.take(places, axis=1))


@dataclass(frozen=True, slots=True)
class InputOrder:
    """The events of the input of a batch, whose order is that of their places.

    `levels` is how many statements may be on the way from an event to a row.
    """

    instants: Words
    levels: int

    def of(self, places: Words) -> Order:
        """The order of some events of the input."""
        words = np.zeros((STEPS + self.levels, len(places)), dtype=np.int64)
        words[CAUSE] = 2 * places + 1
        words[INSTANT] = self.instants[places]
        return Order(words)

    def of_rows(self, rows: Rows, parents: Order | None) -> Order:
        """The order of rows that events brought, or timers; without parents, events of the input."""
        is_timed = rows.places == NONE
        if not is_timed.any():
            return self._derived(rows, parents)
        words = self._derived(rows, parents).words if not is_timed.all() else None
        timed = self._timed(rows).words
        if words is not None:
            timed[:, ~is_timed] = words[:, ~is_timed]
        return Order(timed)

    def _derived(self, rows: Rows, parents: Order | None) -> Order:
        found = self.of(rows.places) if parents is None else parents.of(rows.places)
        words = found.words
        steps = (rows.statement.rank << _STEP_BITS) + numbers_of(rows.places)
        depths = words[DEPTH] >> DEPTH_BITS
        words[DEPTH] += 1 << DEPTH_BITS
        first = int(depths[0])
        if (depths == first).all():
            words[STEPS + first] = steps
        else:
            words[STEPS + depths, np.arange(len(rows))] = steps
        return found

    def _timed(self, rows: Rows) -> Order:
        words = np.zeros((STEPS + self.levels, len(rows)), dtype=np.int64)
        words[CAUSE] = 2 * np.searchsorted(self.instants, rows.instants)
        words[INSTANT] = rows.instants
        timers = (rows.statement.rank << RANK_BITS) + np.arange(len(rows))
        words[DEPTH] = (1 << DEPTH_BITS) + timers
        return Order(words)


def merged(orders: Sequence[Order]) -> tuple[Order, Words]:
    """Some orders as one; and of each event of it, which one it is of all, one behind the other."""
    places = arranged(orders)
    words = np.concatenate([order.words for order in orders], axis=1)
    return Order(words.take(places, axis=1)), places


def arranged(orders: Sequence[Order]) -> Words:
    """The places of the events of some orders in the order of all of them."""
    causes, depths = _joined(orders, CAUSE), _joined(orders, DEPTH)
    if (causes & 1).all():  # where no timer is among them, two words say which event and how deep
        levels = len(orders[0].words) - STEPS
        buckets = (causes >> 1) * (levels + 1) + (depths >> DEPTH_BITS)
        ranks = [_joined(orders, STEPS + level) for level in range(levels)]
    else:
        buckets = causes
        rest = range(STEPS, len(orders[0].words))
        ranks = [_joined(orders, INSTANT), depths, *(_joined(orders, word) for word in rest)]
    places = np.empty(len(causes), dtype=np.int64)
    if not len(places):
        return places
    sort_by_cause(buckets, np.zeros(int(buckets.max()) + 2, dtype=np.int64), places)
    if sort_ties(buckets[places], np.stack(ranks), places):
        return places
    found: Words = np.lexsort((*reversed(ranks), buckets))
    return found


def _joined(orders: Sequence[Order], word: int) -> Words:
    return np.concatenate([order.words[word] for order in orders])
