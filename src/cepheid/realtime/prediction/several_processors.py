"""Bounds where several processors work, or operators in processes of their own.

A busy time begins when there is work for fewer than all processors. What is left of so few events then is
what the most expensive ones bring. From then on all processors are at work, except while the way of the event
itself is, or an earlier run of an operator on it. How many of these are not done yet follows from the
responses, which bound each other; the least ones that do are the bounds. Where there are none, there is no
bound, for lower priorities neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from heapq import nlargest
from math import inf

from cepheid.realtime.graph import Operator, Supplier, Time
from cepheid.realtime.prediction.bounds import Bounds
from cepheid.realtime.prediction.demand import Demand, mover, pushes_in, worker


class SeveralProcessors(Bounds):
    """By times that begin when there is work for fewer than all processors."""

    def __init__(self, demand: Demand, processors: int) -> None:
        super().__init__(demand)
        self._processors = processors
        self._isolated = [each.name for each in demand.operators if each.isolate == "process"]
        # After a run its processor is free for what follows, unless that was none of these.
        self._blockers = processors if self._isolated else processors - 1
        self._following = cache(self._following_of)
        self._done: dict[str, Time] = {}  # Takes and runs, by when
        self._moved: dict[str, Time] = {}
        for level in sorted({job.level for job in demand.jobs.values()}):
            names = [name for name, job in demand.jobs.items() if job.level == level]
            moving = [name for name in names if demand.moves[name]]
            is_bounded = self._settle(names, self._done, worker(level))
            if not is_bounded or not self._settle(moving, self._moved, mover(level)):
                return

    def of(self, name: str) -> Time | None:
        return self._done.get(name)

    def _can_overtake(self, name: str, reader: str) -> bool:
        """Two Takes or two Moves at a time can end in any order."""
        levels, found = self.graph.levels, list[Time | None]()
        if isinstance(self.graph.sources[name], Supplier):
            found.append(self._done.get(name))
        if levels[name] < levels[reader]:
            found.append(self._moved.get(name))
        return any(each is None or self.events(name, each) > 1 for each in found)

    def _settle(self, names: Sequence[str], found: dict[str, Time], rank: int) -> bool:
        """Finds the least responses that bound each other; False where there are none."""
        found.update(dict.fromkeys(names, 0))

        @cache
        def work(until: Time) -> Time:
            return self.demand.work(rank, lambda s: pushes_in(s, until), waiting=self._waiting)

        alone = self._alone(rank, work)
        is_settled = False
        while not is_settled:
            is_settled = True
            self.runs.cache_clear()
            self.come_in_order.cache_clear()
            begun = self._begun(rank)
            for name in names:
                way = partial(self._way, name, rank, is_moved=found is self._moved)
                together = self._together(way, begun, work)
                if alone is None and together is None:
                    for each in names:
                        del found[each]
                    return False
                response = min(each for each in (alone, together) if each is not None)
                if response > found[name]:
                    found[name], is_settled = response, False
        return True

    def _alone(self, rank: int, work: Callable[[Time], Time]) -> Time | None:
        """As long as one processor would need; if nothing is done elsewhere, one is always at work."""
        blocked = self.demand.blocking(rank, 1)
        return None if self._isolated else self._settled(lambda end: blocked + work(end))

    def _together(
        self, way: Callable[[Time], Time], begun: Time, work: Callable[[Time], Time]
    ) -> Time | None:
        processors = self._processors
        return self._settled(lambda end: -(-(begun + way(end) + work(end)) // processors))

    def _waiting(self, name: str) -> float:
        """What is moved while it is overwritten comes to wait, too."""
        return self.graph.rings[name] + self._processors

    def _begun(self, rank: int) -> Time:
        """What is left of events for which fewer than all processors have jobs at work or ready."""
        demand, fewer = self.demand, self._processors - 1
        found, elsewhere = list[Time](), 0
        for name, job in demand.jobs.items():
            if worker(job.level) <= rank:
                count = max(1, self.runs(name, self._done[name]))
                if isinstance(self.graph.sources[name], Supplier):
                    found += [self._following(name, 1, rank)] * min(fewer, count)
                elif name in self._isolated:
                    elsewhere += self._following(name, count, rank)
                else:
                    found.append(self._following(name, count, rank))
            if mover(job.level) <= rank and demand.moves[name]:
                count = max(1, self.events(name, self._moved[name]))
                for reader in demand.readers[name]:
                    if demand.jobs[reader.name].level > job.level:
                        moved = demand.move.worst + self._following(reader.name, 1, rank)
                        found += [moved] * min(fewer, count)
        return elsewhere + sum(nlargest(fewer, found))

    def _following_of(self, name: str, runs: int, rank: int) -> Time:
        """So many runs, and all that they lead to."""
        return self.demand.work(rank, lambda _: 0, waiting=lambda _: inf, begun={name: runs})

    def _way(self, name: str, rank: int, length: Time, *, is_moved: bool) -> Time:
        """What processors may leave undone while the jobs behind an event are at work, one after the other.

        One processor does the job, which is counted as work. Before each job, all but the one that is free
        then may have begun something less important; all of them before the first.
        """
        jobs, alone = self.demand.jobs, self._processors - 1
        blocked = self.demand.blocking(rank, self._blockers)
        carried = alone * self.demand.move.worst + blocked

        @cache
        def way(name: str) -> Time:
            source, job = self.graph.sources[name], jobs[name]
            own = alone * job.worst + job.steps * blocked
            if isinstance(source, Supplier):
                return own
            before = (
                way(each) + (carried if jobs[each].level < job.level else 0)
                for each in source.inputs
            )
            return max(before) + own * self._unfinished(source, length)

        first = self.demand.blocking(rank, self._processors) - blocked
        return first + way(name) + (carried if is_moved else 0)

    def _unfinished(self, operator: Operator, length: Time) -> int:
        """How many of its runs a run can wait for, itself included."""
        since = self._done[operator.name] + (0 if self.keeps_order(operator) else length)
        return max(1, self.runs(operator.name, since))
