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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.filtered_rows import FilteredRows
from cepheid.matcher.lanes.rows import Rows, numbers_of
from cepheid.matcher.vm.lanes.causes import sort_by_cause
from cepheid.matcher.vm.lanes.sort_ties import sort_ties
from cepheid.matcher.vm.memory.layout import NONE

CAUSE, INSTANT, DEPTH, STEPS = range(4)
DEPTH_BITS, RANK_BITS = 48, 32
_STEP_BITS = 40
Word: TypeAlias = Words | int  # of each event, or one for all


class Order:
    """The places of some events: columns of words, each of which is found when it is asked for.

    A word that all events share may stand for the column; most steps are of that kind.
    """

    def __init__(self, count: int, levels: int, find: Callable[[int], Word]) -> None:
        self._count = count
        self.levels = levels
        self._find = find
        self._words: dict[int, Word] = {}

    def __len__(self) -> int:
        return self._count

    def word(self, number: int) -> Words:
        """The word of each event."""
        found = self.brief(number)
        return np.full(self._count, found) if isinstance(found, int) else found

    def brief(self, number: int) -> Word:
        """The same, or the one that all of them share."""
        found = self._words.get(number)
        if found is None:
            found = self._words[number] = self._find(number)
        return found

    @property
    def instants(self) -> Words:
        return self.word(INSTANT)

    @property
    def depths(self) -> Words:
        """How many statements have brought each."""
        found: Words = self.word(DEPTH) >> DEPTH_BITS
        return found

    @property
    def timers(self) -> tuple[Words, Words]:
        """Of what timers brought, the rank of their statement, and the place among its rows."""
        found = self.word(DEPTH) & ((1 << DEPTH_BITS) - 1)
        return found >> RANK_BITS, found & ((1 << RANK_BITS) - 1)

    def step(self, depth: int, places: Words) -> tuple[Words, Words]:
        """Of some that lie deeper, the rank of a statement on the way, and the number among its rows."""
        found = self.word(STEPS + depth)[places]
        return found >> _STEP_BITS, found & ((1 << _STEP_BITS) - 1)

    def of(self, places: Words) -> Order:
        return Order(len(places), self.levels, lambda number: _at(self.brief(number), places))


def _at(word: Word, places: Words) -> Word:
    return word if isinstance(word, int) else word[places]


@dataclass(frozen=True, slots=True)
class InputOrder:
    """The events of the input of a batch, whose order is that of their places.

    `levels` is how many statements may be on the way from an event to a row.
    """

    instants: Words
    levels: int

    def of(self, places: Words) -> Order:
        """The order of some events of the input."""

        def find(number: int) -> Word:
            if number == CAUSE:
                return 2 * places + 1
            return self.instants[places] if number == INSTANT else 0

        return Order(len(places), self.levels, find)

    def of_rows(self, rows: Rows, parents: Order | None) -> Order:
        """The order of rows that events brought, or timers; without parents, events of the input."""
        is_timed = rows.places == NONE
        if not is_timed.any():
            return self._derived(rows, parents)
        timed = self._timed(rows)
        if is_timed.all():
            return timed
        derived = self._derived(rows, parents)
        return Order(
            len(rows), self.levels, lambda n: np.where(is_timed, timed.brief(n), derived.brief(n))
        )

    def of_filtered(self, rows: FilteredRows, parents: Order | None) -> Order:
        """The same for rows of filters, to which others may have led from the input."""
        if parents is not None:  # filters one after the other begin at the input
            ranks = [_step(route.statement.rank) for route in rows.routes]
            return self._deeper(parents.of(rows.places), lambda: _of_each(ranks, rows.codes))
        origin = self.of(rows.places)

        def find(number: int) -> Word:
            if number == DEPTH:
                depths = [len(route.statements) << DEPTH_BITS for route in rows.routes]
                return _of_each(depths, rows.codes)
            if number < STEPS:
                return origin.brief(number)
            ways = [route.statements[number - STEPS : number - STEPS + 1] for route in rows.routes]
            return _of_each([_step(way[0].rank) if way else 0 for way in ways], rows.codes)

        return Order(len(rows), self.levels, find)

    def _derived(self, rows: Rows, parents: Order | None) -> Order:
        origin = self.of(rows.places) if parents is None else parents.of(rows.places)
        return self._deeper(origin, lambda: _step(rows.statement.rank, numbers_of(rows.places)))

    def _deeper(self, origin: Order, find_steps: Callable[[], Word]) -> Order:
        """The order of rows, each of which one of some events has brought."""

        def find(number: int) -> Word:
            if number == DEPTH:
                return origin.brief(DEPTH) + (1 << DEPTH_BITS)
            before = origin.brief(number)
            if number < STEPS:
                return before
            is_next = origin.brief(DEPTH) >> DEPTH_BITS == number - STEPS
            if isinstance(is_next, bool):
                return find_steps() if is_next else before
            return np.where(is_next, find_steps(), before)

        return Order(len(origin), self.levels, find)

    def _timed(self, rows: Rows) -> Order:
        def find(number: int) -> Word:
            if number == CAUSE:
                return 2 * np.searchsorted(self.instants, rows.instants)
            if number == INSTANT:
                return rows.instants
            if number == DEPTH:
                timers = (rows.statement.rank << RANK_BITS) + np.arange(len(rows))
                return (1 << DEPTH_BITS) + timers
            return 0

        return Order(len(rows), self.levels, find)


def _step(rank: int, numbers: Word = 1) -> Word:
    return (rank << _STEP_BITS) + numbers


def _of_each(words: Sequence[Word], codes: Words) -> Word:
    """Of each row the word that its code stands for."""
    return words[0] if len(set(words)) == 1 else np.array(words)[codes]


def merged(orders: Sequence[Order]) -> tuple[Order, Words]:
    """Some orders as one; and of each event of it, which one it is of all, one behind the other."""
    places = arranged(orders)

    def find(number: int) -> Words:
        words: Words = _joined(orders, [number])[0]
        return words[places]

    return Order(len(places), orders[0].levels, find), places


def arranged(orders: Sequence[Order]) -> Words:
    """The places of the events of some orders, each of which is in order, in the order of all of them."""
    causes = _joined(orders, [CAUSE])[0]
    places = np.empty(len(causes), dtype=np.int64)
    if not len(places):
        return places
    levels = orders[0].levels
    words = range(STEPS, STEPS + levels)
    if (causes & 1).all():  # where no timer is among them, two words say which event and how deep
        buckets = (causes >> 1) * (levels + 1) + (_joined(orders, [DEPTH])[0] >> DEPTH_BITS)
    else:
        buckets, words = causes, range(INSTANT, STEPS + levels)
    ends, owners = np.zeros((2, int(buckets.max()) + 2), dtype=np.int64)
    begins = np.cumsum([len(order) for order in orders])
    if not sort_by_cause(buckets, begins, owners, ends, places):
        return places
    ranks = _joined(orders, [word for word in words if _tells_apart(orders, word)])
    if sort_ties(buckets[places], ranks, places):
        return places
    found: Words = np.lexsort((*ranks[::-1], buckets))
    return found


def _tells_apart(orders: Sequence[Order], word: int) -> bool:
    first = orders[0].brief(word)
    return not isinstance(first, int) or any(
        not isinstance(found := order.brief(word), int) or found != first for order in orders
    )


def _joined(orders: Sequence[Order], words: Sequence[int]) -> Words:
    """Some words of the events of all orders, one order behind the other."""
    joined = np.empty((len(words), sum(map(len, orders))), dtype=np.int64)
    begin = 0
    for order in orders:
        for row, word in zip(joined, words, strict=True):
            row[begin : begin + len(order)] = order.brief(word)
        begin += len(order)
    return joined
