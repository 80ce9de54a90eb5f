"""What ends a run in which one cause derives too much, as the reference semantics does."""

from __future__ import annotations

import numpy as np

from cepheid.errors import RunError
from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.order import CAUSE, DEPTH, DEPTH_BITS, RANK_BITS, Order
from cepheid.program.resolved import ResolvedStatement
from cepheid.semantics import limits


class Derivations:
    """Counts what the events and the timers of a batch have led to.

    Of some statements each row is brought by a timer of its own; those of others are a timer's at an
    instant. (Contexts, of which each key has timers, are on the machine: nothing is said of them.)
    """

    def __init__(self, events: int, single_timers: frozenset[int]) -> None:
        self._events = events
        self._counts: Words | None = None
        self._single_timers = single_timers
        self._timed: list[Words] = []
        self._most = 0  # that one cause may have led to
        self._waiting: list[tuple[ResolvedStatement, Order]] = []

    def add(self, statement: ResolvedStatement, order: Order) -> None:
        """RunError where one cause has led to too much. Rows are counted as late as there may be so many."""
        # Where all have come in one way, its numbers among them, each cause has led to one row.
        self._most += len(order) if order.path is None else 1
        self._waiting.append((statement, order))
        if self._most > limits.RUNAWAY:
            for waiting in self._waiting:
                self._count(*waiting)
            self._waiting = []

    def _count(self, statement: ResolvedStatement, order: Order) -> None:
        causes = order.word(CAUSE)
        of_events = causes & 1 == 1
        if of_events.all():
            self._add_events(statement, order)
            return
        self._add_events(statement, order.of(np.flatnonzero(of_events)))
        self._timed.append(self._timers(order.of(np.flatnonzero(~of_events))))
        if sum(words.shape[1] for words in self._timed) > limits.RUNAWAY:
            timers, counts = np.unique(
                np.concatenate(self._timed, axis=1), axis=1, return_counts=True
            )
            is_too_much = counts > limits.RUNAWAY
            if is_too_much.any():
                instant = timers[0, is_too_much.argmax()]  # they are in order: the first
                raise RunError(limits.runaway(statement, int(instant)))

    def _add_events(self, statement: ResolvedStatement, order: Order) -> None:
        causes = order.word(CAUSE) >> 1
        counts = np.bincount(causes, minlength=self._events)
        self._counts = counts if self._counts is None else self._counts + counts
        is_too_much = self._counts > limits.RUNAWAY
        if is_too_much.any():
            place = int(is_too_much.argmax())
            instant = int(order.instants[(causes == place).argmax()])
            raise RunError(limits.runaway(statement, instant))

    def _timers(self, order: Order) -> Words:
        """Of each row the instant of its timer, and which one it is."""
        timers = order.word(DEPTH) & ((1 << DEPTH_BITS) - 1)
        is_single = np.isin(timers >> RANK_BITS, [*self._single_timers])
        return np.stack([order.instants, np.where(is_single, timers, timers >> RANK_BITS)])
