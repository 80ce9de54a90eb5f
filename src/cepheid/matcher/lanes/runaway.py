"""What ends a run in which one cause derives too much, as the reference semantics does."""

from __future__ import annotations

import numpy as np

from cepheid.errors import RunError
from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.order import CAUSE, DEPTH, DEPTH_BITS, INSTANT, RANK_BITS, Order
from cepheid.program.resolved import ResolvedStatement
from cepheid.semantics import limits


class Derivations:
    """Counts what the events and the timers of a batch have led to.

    Of some statements each row is brought by a timer of its own; those of others are a timer's at an
    instant. (Contexts, of which each key has timers, are on the machine: nothing is said of them.)
    """

    def __init__(self, events: int, single_timers: frozenset[int]) -> None:
        self._counts: Words = np.zeros(events, dtype=np.int64)
        self._single_timers = single_timers
        self._timed: list[Words] = []

    def add(self, statement: ResolvedStatement, order: Order) -> None:
        causes = order.words[CAUSE]
        of_events = causes & 1 == 1
        if of_events.all():
            self._add_events(statement, order.instants, causes)
            return
        self._add_events(statement, order.instants[of_events], causes[of_events])
        self._timed.append(self._timers(order.words[:, ~of_events]))
        if sum(words.shape[1] for words in self._timed) > limits.RUNAWAY:
            timers, counts = np.unique(
                np.concatenate(self._timed, axis=1), axis=1, return_counts=True
            )
            is_too_much = counts > limits.RUNAWAY
            if is_too_much.any():
                instant = timers[0, is_too_much.argmax()]  # they are in order: the first
                raise RunError(limits.runaway(statement, int(instant)))

    def _add_events(self, statement: ResolvedStatement, instants: Words, causes: Words) -> None:
        self._counts += np.bincount(causes >> 1, minlength=len(self._counts))
        is_too_much = self._counts > limits.RUNAWAY
        if is_too_much.any():
            place = int(is_too_much.argmax())
            instant = int(instants[(causes >> 1 == place).argmax()])
            raise RunError(limits.runaway(statement, instant))

    def _timers(self, words: Words) -> Words:
        """Of each row the instant of its timer, and which one it is."""
        timers = words[DEPTH] & ((1 << DEPTH_BITS) - 1)
        is_single = np.isin(timers >> RANK_BITS, [*self._single_timers])
        return np.stack([words[INSTANT], np.where(is_single, timers, timers >> RANK_BITS)])
