"""The runs of one chain: the arrays of its compiled code, grown, read, packed and restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cepheid.matcher.chains import Chain
from cepheid.matcher.pool import Words
from cepheid.matcher.vm import chain as vm
from cepheid.matcher.vm.layout import NONE

_FEW = 256
_LINKS_OF_RUNS = (vm.R_NEXT, vm.R_BEFORE, vm.R_LATER, vm.R_EARLIER)


class Runs:
    """All that one chain remembers, and the matches that were found and not yet taken."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        links = len(chain.links)
        self.width = vm.R_EVENTS + 2 * links
        self._head = np.zeros(vm.OTHERS + links, dtype=np.int64)
        self._head[[vm.FREE, vm.FIRST_DUE, vm.LAST_DUE]] = NONE
        self._head[vm.LINKS] = links
        self._head[vm.PERIOD] = NONE if chain.period is None else chain.period
        self._head[vm.IS_ABSENCE] = chain.ending == "absence"
        self._head[vm.OTHERS :] = [
            NONE if link.other is None else link.other.link for link in chain.links
        ]
        self._runs = np.zeros(0, dtype=np.int64)
        self._table = _empty_table(_FEW)
        self._head[vm.SIZE] = _FEW
        self._found = np.zeros(0, dtype=np.int64)
        self._more_runs()
        self._more_found()

    # -- events and time --

    def follow(
        self, masks: Words, instants: Words, own: Words, given: Words, lost: Words, base: int
    ) -> None:
        """Takes a batch of events, of which the first has the number `base`."""
        self._head[vm.CURSOR], self._head[vm.BASE] = 0, base
        if len(self.chain.links) == 1:
            self._match_alone(np.flatnonzero(masks), base)
        elif self.chain.repeats_whole:
            self._until_done(
                lambda: vm.follow_one(self._head, self._runs, self._found, masks, own, given, lost)
            )
        else:
            self._until_done(
                lambda: vm.follow(
                    self._head,
                    self._runs,
                    self._table,
                    self._found,
                    masks,
                    instants,
                    own,
                    given,
                    lost,
                )
            )

    def _match_alone(self, places: Words, base: int) -> None:
        """Each event is a match."""
        self._found = np.column_stack([places + base, places, np.zeros_like(places)]).ravel()
        self._head[[vm.FOUND, vm.MOST_FOUND]] = len(places)

    def pass_time(self, instant: int) -> None:
        self._until_done(
            lambda: vm.pass_time(self._head, self._runs, self._table, self._found, instant)
        )

    def next_due(self) -> int | None:
        first = int(self._head[vm.FIRST_DUE])
        return None if first == NONE else int(self._runs[first + vm.R_DUE])

    def _until_done(self, step: Callable[[], Any]) -> None:
        more = {
            vm.MORE_RUNS: self._more_runs,
            vm.MORE_ENTRIES: self._more_entries,
            vm.MORE_FOUND: self._more_found,
        }
        while (status := int(step())) != vm.DONE:
            more[status]()

    # -- matches --

    def take_matches(self) -> Words:
        """The matches since the last call, one in a row."""
        links = len(self.chain.links) + vm.M_BEHIND
        matches = self._found[: int(self._head[vm.FOUND]) * links].copy()
        self._head[vm.FOUND] = 0
        return matches.reshape(-1, links)

    # -- room --

    def _more_runs(self) -> None:
        before = int(self._head[vm.MOST_RUNS])
        after = max(_FEW, 2 * before)
        runs = np.full(after * self.width, NONE, dtype=np.int64)
        runs[: len(self._runs)] = self._runs
        free = np.arange(before, after) * self.width
        runs[free + vm.R_NEXT] = np.append(free[1:], self._head[vm.FREE])
        self._runs = runs
        self._head[vm.FREE] = free[0]
        self._head[vm.MOST_RUNS] = after

    def _more_entries(self) -> None:
        """A table for the lists that are not empty; they may be fewer than it had entries."""
        filled = int((self._table[vm.E_FIRST :: vm.E_WIDTH] != NONE).sum())
        wanted = 4 * (filled + int(self._head[vm.LIVE]) + 1)
        self._rehash(self._table, max(_FEW, 1 << wanted.bit_length()))

    def _rehash(self, table: Words, size: int) -> None:
        fresh = _empty_table(size)
        self._head[vm.SIZE] = size
        vm.rehash(self._head, self._runs, table, fresh)
        self._table = fresh

    def _more_found(self) -> None:
        links = len(self.chain.links) + vm.M_BEHIND
        count = int(self._head[vm.MOST_FOUND])
        count = max(4 * _FEW, 2 * count, 2 * int(self._head[vm.LIVE]))
        found = np.empty(count * links, dtype=np.int64)
        found[: len(self._found)] = self._found
        self._found = found
        self._head[vm.MOST_FOUND] = count

    # -- the state between two batches --

    @property
    def events(self) -> Words:
        """The numbers of all events that runs refer to, some of them more than once."""
        bound = self._rows()[:, vm.R_EVENTS : vm.R_EVENTS + len(self.chain.links)]
        found: Words = bound[bound != NONE]
        return found

    def _rows(self) -> Words:
        rows = self._runs.reshape(-1, self.width)
        live: Words = rows[rows[:, vm.R_LOST] != NONE]
        return live

    def pack(self, events: Words) -> tuple[Words, Words, Words]:
        """Single words, live runs and lists; of the events only these are left, in their order."""
        rows = self._runs.reshape(-1, self.width)
        live = np.flatnonzero(rows[:, vm.R_LOST] != NONE)
        places = np.full(len(rows), NONE, dtype=np.int64)
        places[live] = np.arange(len(live)) * self.width
        packed = rows[live]
        for word in _LINKS_OF_RUNS:
            packed[:, word] = self._moved(packed[:, word], places)
        bound = packed[:, vm.R_EVENTS : vm.R_EVENTS + len(self.chain.links)]
        bound[bound != NONE] = np.searchsorted(events, bound[bound != NONE])
        lists = self._table.reshape(-1, vm.E_WIDTH)
        lists = lists[lists[:, vm.E_FIRST] != NONE]
        for word in (vm.E_FIRST, vm.E_LAST):
            lists[:, word] = self._moved(lists[:, word], places)
        head = self._head.copy()
        for word in (vm.FIRST_DUE, vm.LAST_DUE):
            head[word] = self._moved(head[word : word + 1], places)[0]
        return head, packed, lists

    def _moved(self, links: Words, places: Words) -> Words:
        moved: Words = np.where(links == NONE, NONE, places[np.maximum(links, 0) // self.width])
        return moved

    def restore(self, head: Words, rows: Words, lists: Words) -> None:
        """Goes on from what `pack` gave."""
        self._head[:] = head
        self._head[vm.FREE] = NONE
        self._head[vm.MOST_RUNS] = len(rows)
        self._head[vm.LIVE] = 0 if self.chain.repeats_whole else len(rows)
        self._head[[vm.FOUND, vm.MOST_FOUND]] = 0
        self._runs = rows.ravel().copy()
        self._found = np.zeros(0, dtype=np.int64)
        self._more_runs()
        self._more_found()
        wanted = 4 * (len(rows) + 1)
        self._rehash(np.ascontiguousarray(lists).ravel(), max(_FEW, 1 << wanted.bit_length()))


def _empty_table(size: int) -> Words:
    return np.full(size * vm.E_WIDTH, NONE, dtype=np.int64)
