"""Bounds where one processor does everything.

A busy time begins when nothing of a priority, or of a higher one, is to do. Each operator that needs all
inputs lacks one of them then, and has at most a ring of the others; this bounds how often it runs. Up to a
delivery, all is done that pushes of higher priorities bring until then, but of pushes of the same priority
only what those bring that came no later: the InputQ is in order, and comes after the PendingQ.
"""

from __future__ import annotations

from cepheid.realtime.graph import Level, Supplier, Time
from cepheid.realtime.prediction.bounds import Bounds
from cepheid.realtime.prediction.demand import Demand, pushes_in, worker


class OneProcessor(Bounds):
    """By busy times, which begin when nothing of a priority or a higher one is to do."""

    def __init__(self, demand: Demand) -> None:
        super().__init__(demand)
        self._found: dict[str, Time | None] = {}

    def _can_overtake(self, name: str, reader: str) -> bool:
        return False

    def of(self, name: str) -> Time | None:
        if name not in self._found:
            self._found[name] = self._longest(name)
        return self._found[name]

    def _longest(self, name: str) -> Time | None:
        """Of responses whose last push comes at any time since the processor became busy."""
        level = self.demand.jobs[name].level
        busy = self._settled(lambda end: self._end(level, end, end))
        if busy is None:
            return None
        longest = end = 0
        for pushed in self._pushed(level, busy):
            while (later := self._end(level, max(end, pushed + 1), pushed + 1, name)) > end:
                end = later
            longest = max(longest, end - pushed)
        return longest

    def _pushed(self, level: Level, busy: Time) -> list[Time]:
        """When one more push can have come; in between, responses only become shorter."""
        found = {0}
        for each in self.demand.suppliers:
            if self.graph.levels[each.name] <= level:
                found.update(range(-each.jitter % each.period, busy, each.period))
        return sorted(found)

    def _end(self, level: Level, until: Time, before: Time, delivered: str | None = None) -> Time:
        """When all is done that is pushed up to a time, and at this priority before another one."""

        def pushes(supplier: Supplier) -> int:
            is_higher = self.graph.levels[supplier.name] < level
            return pushes_in(supplier, until if is_higher else before)

        rank, waiting = worker(level), self.graph.rings.__getitem__
        work = self.demand.work(rank, pushes, waiting=waiting, delivered=delivered)
        return self.demand.blocking(rank, 1) + work
