"""The runs of one chain: the arrays of its compiled code, grown, read, packed and restored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.chain_plan import Chain
from cepheid.matcher.lanes.predicates import Bits
from cepheid.matcher.vm.lanes import chain_runs as vm
from cepheid.matcher.vm.lanes.value_table import ValueEntry
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.pattern.policy import CHRONICLE, IMMEDIATE, STRICT

_FEW = 256
_CONTEXTS = {
    replace(policy, is_global=is_global): context
    for policy, context in (
        (CHRONICLE, vm.ChainContext.CHRONICLE),
        (IMMEDIATE, vm.ChainContext.IMMEDIATE),
        (STRICT, vm.ChainContext.STRICT),
    )
    for is_global in (False, True)
}
_LINKS_OF_RUNS = (vm.RunRow.NEXT, vm.RunRow.LATER, vm.RunRow.EARLIER)


class ChainState:
    """All that one chain remembers, and the matches that were found and not yet taken."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        links = len(chain.links)
        self.width = vm.RunRow.EVENTS + 2 * links
        self._head = np.zeros(vm.ChainHead.OTHERS + links, dtype=np.int64)
        self._head[[vm.ChainHead.FREE, vm.ChainHead.FIRST_DUE, vm.ChainHead.LAST_DUE]] = NONE
        self._head[vm.ChainHead.LINKS] = links
        self._head[vm.ChainHead.PERIOD] = NONE if chain.period is None else chain.period
        self._head[vm.ChainHead.IS_ABSENCE] = chain.ending == "absence"
        self._head[vm.ChainHead.GIVER] = NONE if chain.choice is None else chain.choice.giver
        self._head[vm.ChainHead.OTHERS :] = [
            NONE if link.other is None else link.other.link for link in chain.links
        ]
        bits = (ValueEntry.LISTS + links - 2).bit_length()
        self._head[vm.ChainHead.ENTRY_BITS], self._entry_width = bits, 1 << bits
        self._runs = np.zeros(0, dtype=np.int64)
        self._table = self._empty_table(_FEW)
        self._head[vm.ChainHead.SIZE] = _FEW
        self._found = np.zeros(0, dtype=np.int64)
        self._more_runs()
        self._more_found()
        self._begin_only_run()

    def _begin_only_run(self) -> None:
        """Where the whole chain repeats, there is one run, which is free or not."""
        if self.chain.has_one_run and not self._head[vm.ChainHead.FRESH]:
            self._head[vm.ChainHead.FRESH] = self.width
            self._runs[: self.width] = NONE

    # -- events and time --

    def follow(
        self,
        masks: Words,
        instants: Words,
        keys: tuple[Words, Words, Words],
        choice: tuple[Words, Words],
        base: int,
    ) -> None:
        """Takes a batch of events, of which the first has the number `base`."""
        self._head[vm.ChainHead.CURSOR], self._head[vm.ChainHead.BASE] = 0, base
        if (context := self.chain.context) is not None:
            values = keys[1]
            self._until_done(
                lambda: vm.follow_context(
                    self._head,
                    self._runs,
                    self._table,
                    self._found,
                    masks,
                    values,
                    _CONTEXTS[context],
                )
            )
        elif self.chain.repeats_whole and not self.chain.has_one_run:
            values = keys[1]
            self._until_done(
                lambda: vm.follow_each(
                    self._head, self._runs, self._table, self._found, masks, values
                )
            )
        elif self.chain.repeats_whole:
            self._until_done(
                lambda: vm.follow_one(self._head, self._runs, self._found, masks, *keys)
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
                    *keys,
                    *choice,
                )
            )

    def pass_time(self, instant: int) -> None:
        self._until_done(lambda: vm.pass_time(self._head, self._runs, self._found, instant))

    def next_due(self) -> int | None:
        first = int(self._head[vm.ChainHead.FIRST_DUE])
        return None if first == NONE else int(self._runs[first + vm.RunRow.DUE])

    def _until_done(self, step: Callable[[], Any]) -> None:
        more: dict[int, Callable[[], None]] = {
            vm.ChainStatus.MORE_RUNS: self._more_runs,
            vm.ChainStatus.MORE_ENTRIES: self._more_entries,
            vm.ChainStatus.MORE_FOUND: self._more_found,
        }
        while (status := int(step())) != vm.ChainStatus.DONE:
            more[status]()

    # -- matches --

    def take_matches(self) -> Words:
        """The matches since the last call, one in a row, as long as no others are found."""
        links = len(self.chain.links) + vm.MATCH_TAIL
        matches = self._found[: int(self._head[vm.ChainHead.FOUND]) * links]
        self._head[vm.ChainHead.FOUND] = 0
        return matches.reshape(-1, links)

    # -- room --

    def _more_runs(self) -> None:
        before = int(self._head[vm.ChainHead.MOST_RUNS])
        after = max(_FEW, 2 * before)
        runs = np.empty(after * self.width, dtype=np.int64)
        used = int(self._head[vm.ChainHead.FRESH])
        runs[:used] = self._runs[:used]
        self._runs = runs
        self._head[vm.ChainHead.MOST_RUNS] = after

    def _more_entries(self) -> None:
        """A table for the values that are awaited; they may be fewer than it had entries."""
        self._enter(self._lists())

    def _lists(self) -> Words:
        """Of all lists in which runs wait, the link and the first run."""
        vm.cut(self._head, self._runs, self._table)
        firsts = self._table.reshape(-1, self._entry_width)[:, ValueEntry.LISTS :]
        entries, places = np.nonzero(firsts != NONE)
        return np.column_stack([places + 1, firsts[entries, places]])

    def _enter(self, lists: Words) -> None:
        """A table in which these lists have room, and those that runs may go on to at once."""
        moved = int(self._head[vm.ChainHead.LIVE]) if len(self.chain.links) > 2 else 0
        size = max(_FEW, 1 << (3 * (len(lists) + moved + 1)).bit_length())
        self._table = self._empty_table(size)
        self._head[vm.ChainHead.SIZE] = size
        vm.enter(self._head, self._runs, lists.ravel(), self._table)

    def _more_found(self) -> None:
        links = len(self.chain.links) + vm.MATCH_TAIL
        count = int(self._head[vm.ChainHead.MOST_FOUND])
        count = max(4 * _FEW, 2 * count, 2 * int(self._head[vm.ChainHead.LIVE]))
        found = np.empty(count * links, dtype=np.int64)
        found[: len(self._found)] = self._found
        self._found = found
        self._head[vm.ChainHead.MOST_FOUND] = count

    # -- the state between two batches --

    def mark(self, is_needed: Bits) -> None:
        """Marks the numbers of all events that runs refer to."""
        is_needed[self._bound()[self._is_bound()]] = True

    def keep_only(self, events: Words) -> None:
        """Only these events are kept: their numbers are those of their places from now on."""
        bound, is_bound = self._bound(), self._is_bound()
        bound[is_bound] = np.searchsorted(events, bound[is_bound])

    def _bound(self) -> Words:
        """Of all runs that were ever used, the numbers of their events."""
        return self._used()[:, vm.RunRow.EVENTS : vm.RunRow.EVENTS + len(self.chain.links)]

    def _is_bound(self) -> Bits:
        is_live = self._used()[:, vm.RunRow.LOST] != NONE
        is_bound: Bits = (self._bound() != NONE) & is_live[:, None]
        return is_bound

    def live(self) -> Words:
        """The runs that go on, one in a row."""
        rows = self._used()
        found: Words = rows[rows[:, vm.RunRow.LOST] != NONE]
        return found

    def _used(self) -> Words:
        return self._runs[: self._head[vm.ChainHead.FRESH]].reshape(-1, self.width)

    def pack(self, events: Words) -> tuple[Words, Words, Words]:
        """Single words, live runs and lists, in which events have their places among those that are kept."""
        lists = self._lists()
        rows = self._used()
        live = np.flatnonzero(rows[:, vm.RunRow.LOST] != NONE)
        places = np.full(len(rows) + 1, NONE, dtype=np.int64)  # one more, as there may be none
        places[live] = np.arange(len(live)) * self.width
        packed = rows[live]
        for word in _LINKS_OF_RUNS:
            packed[:, word] = self._moved(packed[:, word], places)
        bound = packed[:, vm.RunRow.EVENTS : vm.RunRow.EVENTS + len(self.chain.links)]
        bound[bound != NONE] = np.searchsorted(events, bound[bound != NONE])
        lists[:, 1] = self._moved(lists[:, 1], places)
        head = self._head.copy()
        for end in (vm.ChainHead.FIRST_DUE, vm.ChainHead.LAST_DUE):
            head[end] = self._moved(head[end : end + 1], places)[0]
        return head, packed, lists

    def _moved(self, links: Words, places: Words) -> Words:
        moved: Words = np.where(links == NONE, NONE, places[np.maximum(links, 0) // self.width])
        return moved

    def restore(self, head: Words, rows: Words, lists: Words) -> None:
        """Goes on from what `pack` gave."""
        self._head[:] = head
        self._head[vm.ChainHead.FREE] = NONE
        self._head[vm.ChainHead.FRESH] = rows.size
        self._head[vm.ChainHead.MOST_RUNS] = len(rows)
        self._head[vm.ChainHead.LIVE] = 0 if self.chain.has_one_run else len(rows)
        self._head[[vm.ChainHead.FOUND, vm.ChainHead.MOST_FOUND]] = 0
        self._runs = rows.ravel()
        self._found = np.zeros(0, dtype=np.int64)
        self._more_runs()
        self._more_found()
        self._begin_only_run()
        self._enter(lists)

    def _empty_table(self, size: int) -> Words:
        return np.full(size * self._entry_width, NONE, dtype=np.int64)
