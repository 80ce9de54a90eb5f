"""What all bounds have in common: how many events there can be, and whether they come in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache

from cepheid.realtime.graph import Operator, Supplier, Time
from cepheid.realtime.prediction.demand import Demand, made_by, pushes_in


class Bounds(ABC):
    """How long responses of sources take: from the last push behind an event until it is handed on."""

    def __init__(self, demand: Demand) -> None:
        self.demand = demand
        self.graph = demand.graph
        self.runs = cache(self._runs)
        self.come_in_order = cache(self._come_in_order)

    @abstractmethod
    def of(self, name: str) -> Time | None: ...

    def _settled(self, end: Callable[[Time], Time]) -> Time | None:
        """The first time up to which all is done; None where there seems to be none."""
        time = 1
        while (later := end(time)) > time:
            time = later
            if self.demand.is_endless(time):
                return None
        return time

    @abstractmethod
    def _can_overtake(self, name: str, reader: str) -> bool:
        """Whether an event of a source can come to a reader before an earlier one."""

    def _come_in_order(self, name: str, reader: str) -> bool:
        """Whether a reader gets the events of a source in the order of the last pushes behind them."""
        source = self.graph.sources[name]
        is_made_so = isinstance(source, Supplier) or self.keeps_order(source)
        return is_made_so and not self._can_overtake(name, reader)

    def keeps_order(self, operator: Operator) -> bool:
        """Whether the last pushes behind its runs are in order."""
        if operator.ready_on == "any" and len(operator.inputs) > 1:
            return False
        return all(self.come_in_order(each, operator.name) for each in operator.inputs)

    def events(self, name: str, length: Time) -> int:
        """How many can have their last push in a time of this length, without its end."""
        source, runs = self.graph.sources[name], self.runs(name, length)
        return runs if isinstance(source, Supplier) else made_by(source, runs)

    def _runs(self, name: str, length: Time) -> int:
        """The same of runs; of suppliers, of pushes.

        The last push is behind one of the inputs. Where its events come in order, those of all later runs
        were pushed in this time as well: one such input counts for all.
        """
        source = self.graph.sources[name]
        if isinstance(source, Supplier):
            return pushes_in(source, length)
        if source.ready_on == "any":
            return sum(self.events(each, length) for each in source.inputs)
        counts = {each: self.events(each, length) for each in source.inputs}
        ordered = [
            counts.pop(each)
            for each in source.inputs
            if each in counts and self.come_in_order(each, name)
        ]
        most = max(ordered, default=0) + sum(counts.values())
        if source.within is None:
            return most
        near = length + source.within  # where all events that are used have their last push
        return min(most, *(self.events(each, near) for each in source.inputs))
