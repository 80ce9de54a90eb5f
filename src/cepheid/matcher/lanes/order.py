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
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias

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
Path: TypeAlias = tuple[int, ...]


class Order:
    """The places of some events: columns of words, each of which is found when it is asked for.

    A word that all events share may stand for the column; most steps are of that kind.
    """

    def __init__(
        self,
        count: int,
        levels: int,
        find: Callable[[int], Word],
        find_path: Callable[[Order], Path | None] = lambda _: None,
    ) -> None:
        self._count = count
        self.levels = levels
        self._find = find
        self._find_path = find_path
        self._words: dict[int, Word] = {}

    @cached_property
    def path(self) -> Path | None:
        """The steps that all events share on their ways from the input; None where they do not, or by chance."""
        return self._find_path(self)

    @property
    def turn(self) -> tuple[bool, int, Path]:
        """What orders are sorted by, so that those with paths lie as their events of one cause do."""
        path = self.path
        return (True, 0, ()) if path is None else (False, len(path), path)

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
        """That of the events at some places."""

        def find(number: int) -> Word:
            return _at(self.brief(number), places)

        return Order(len(places), self.levels, find, lambda _: self.path)


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

        return Order(len(places), self.levels, find, lambda _: ())

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
            ranks = [_only_step(route.statement.rank) for route in rows.routes]
            return self._deeper(parents.of(rows.places), lambda: _of_each(ranks, rows.codes))
        origin = self.of(rows.places)

        def find(number: int) -> Word:
            if number == DEPTH:
                depths = [len(route.statements) << DEPTH_BITS for route in rows.routes]
                return _of_each(depths, rows.codes)
            if number < STEPS:
                return origin.brief(number)
            ways = [route.statements[number - STEPS : number - STEPS + 1] for route in rows.routes]
            return _of_each([_only_step(way[0].rank) if way else 0 for way in ways], rows.codes)

        def find_path(order: Order) -> Path | None:
            del order
            match rows.routes:
                case [route]:
                    return tuple(_only_step(statement.rank) for statement in route.statements)
            return None

        return Order(len(rows), self.levels, find, find_path)

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

        def find_path(order: Order) -> Path | None:
            if origin.path is None:
                return None
            step = order.brief(STEPS + len(origin.path))
            return (*origin.path, step) if isinstance(step, int) else None

        return Order(len(origin), self.levels, find, find_path)

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


def _step(rank: int, numbers: Word) -> Word:
    return (rank << _STEP_BITS) + numbers


def _only_step(rank: int) -> int:
    """Of a statement that gives one row of an event."""
    return (rank << _STEP_BITS) + 1


def _of_each(words: Sequence[Word], codes: Words) -> Word:
    """Of each row the word that its code stands for."""
    return words[0] if len(set(words)) == 1 else np.array(words)[codes]


class Arrangement(NamedTuple):
    """Of the events of some orders, one behind the other, which one comes where."""

    order: Words  # the events as they come
    places: Words  # of each event the place to which it comes


def merged(orders: Sequence[Order]) -> tuple[Order, Words]:
    """Some orders as one; and of each event of it, which one it is of all, one behind the other."""
    order = arranged(orders).order

    def find(number: int) -> Word:
        shared = _shared(orders, number)
        return _joined(orders, [number])[0][order] if shared is None else shared

    return Order(len(order), orders[0].levels, find), order


def arranged(orders: Sequence[Order]) -> Arrangement:
    """The events of some orders, each of which is in order, in the order of all of them.

    It is found soonest where those with paths are sorted by their turns.
    """
    order, places = np.empty((2, sum(map(len, orders))), dtype=np.int64)
    if not len(order):
        return Arrangement(order, places)
    levels = orders[0].levels
    words = range(STEPS, STEPS + levels)
    if all(map(_is_timeless, orders)):  # two words say which event and how deep
        buckets = _buckets(orders)
    else:
        buckets, words = _joined(orders, [CAUSE])[0], range(INSTANT, STEPS + levels)
    ends, owners = np.zeros((2, int(buckets.max()) + 2), dtype=np.int64)
    if not sort_by_cause(buckets, _ends_in_turn(orders), owners, ends, order, places):
        return Arrangement(order, places)
    ranks = _joined(orders, [word for word in words if _shared(orders, word) is None])
    if not sort_ties(buckets[order], ranks, order):
        order = np.lexsort((*ranks[::-1], buckets))
    places[order] = np.arange(len(order))
    return Arrangement(order, places)


def _is_timeless(order: Order) -> bool:
    """Whether no timer is among the causes of events."""
    return order.path is not None or bool((order.word(CAUSE) & 1).all())


def _buckets(orders: Sequence[Order]) -> Words:
    found = np.empty(sum(map(len, orders)), dtype=np.int64)
    begin = 0
    for order in orders:
        mine = found[begin : begin + len(order)]
        np.multiply(order.word(CAUSE) >> 1, order.levels + 1, out=mine)
        mine += order.brief(DEPTH) >> DEPTH_BITS
        begin += len(order)
    return found


def _ends_in_turn(orders: Sequence[Order]) -> Words:
    """Where orders end, one behind the other; such as lie in turn with the next one are one with it."""
    ends = np.cumsum([len(order) for order in orders])
    turns = [order.turn for order in orders]
    is_apart = [one >= other or other[0] for one, other in pairwise(turns)]
    found: Words = ends[[*is_apart, True]]
    return found


def _shared(orders: Sequence[Order], word: int) -> int | None:
    """A word that all events of some orders share; None where there is none, or by chance."""
    first = orders[0].brief(word)
    if not isinstance(first, int):
        return None
    others = (order.brief(word) for order in orders[1:])
    return first if all(isinstance(one, int) and one == first for one in others) else None


def _joined(orders: Sequence[Order], words: Sequence[int]) -> Words:
    """Some words of the events of all orders, one order behind the other."""
    joined = np.empty((len(words), sum(map(len, orders))), dtype=np.int64)
    begin = 0
    for order in orders:
        for row, word in zip(joined, words, strict=True):
            row[begin : begin + len(order)] = order.brief(word)
        begin += len(order)
    return joined
