"""Which events can wait too long: for others that they meet, and for what is done with them."""

from __future__ import annotations

from functools import cache
from math import inf

from cepheid.realtime.graph import Consumer, Operator, Supplier, Time, runs_for_one
from cepheid.realtime.prediction.bounds import Bounds

_WITH_GAPS = ("threshold", "statement")  # kinds that make no event of some inputs


class Losses:
    """Whether events wait too long: for others that they meet, and for what is done with them."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._graph = bounds.graph
        self._demand = bounds.demand
        self._suppliers = cache(self._suppliers_of)
        self._beat = cache(self._beat_of)
        self._lag = cache(self._lag_of)

    def due(self, consumer: Consumer) -> float:
        """The longest response that is in time."""
        lags = ((s, self._lag(consumer.input, s)) for s in self._suppliers(consumer.input))
        found = [float(supplier.validity - lag - 1) for supplier, lag in lags if lag is not None]
        if consumer.deadline is not None:
            found.append(consumer.deadline)
        return min(found, default=inf)

    def may_expire(self, consumer: Consumer) -> bool:
        """An event where it is delivered, or where late ones are shed on the way."""
        return any(
            self._expires(name)
            for name in self._behind(consumer.input)
            if name in self._graph.sheds or name == consumer.input
        )

    def losing(self, consumer: Consumer) -> tuple[str, ...]:
        """What is delivered itself needs no ring, unless it is pushed."""
        sources = self._graph.sources
        return tuple(
            name
            for name in self._behind(consumer.input)
            if self._overflows(name)
            and (name != consumer.input or isinstance(sources[name], Supplier))
        )

    def _expires(self, name: str) -> bool:
        bound = self.bounds.of(name)
        for supplier in self._suppliers(name):
            lag = self._lag(name, supplier)
            if bound is None or lag is None or lag + bound >= supplier.validity:
                return True
        return False

    def _overflows(self, name: str) -> bool:
        """An event is pushed or made while as many are needed as the ring has room for."""
        hold = self._hold(name)
        return hold is None or self.bounds.events(name, hold + 1) > self._graph.rings[name]

    def _hold(self, name: str) -> Time | None:
        """How long after its last push an event is needed; None: nothing says for how long."""
        holds = [self.bounds.of(name)]
        for reader in self._demand.readers[name]:
            wait, bound = self._wait(reader, name), self.bounds.of(reader.name)
            holds.append(None if wait is None or bound is None else wait + bound)
        return None if None in holds else max(each for each in holds if each is not None)

    # Which events meet

    def _beat_of(self, name: str) -> Time | None:
        """The time from one event of a source to the next; None where it makes no event of some."""
        source = self._graph.sources[name]
        if isinstance(source, Supplier):
            return source.period
        if source.kind in _WITH_GAPS or not (len({*source.inputs}) == 1 or self._pairs(source)):
            return None
        beat = self._beat(source.inputs[0])
        return None if beat is None else beat * runs_for_one(source)

    def _pairs(self, operator: Operator) -> bool:
        """Whether it uses the first events of all inputs together, then the second ones, and so on."""
        beats = {self._beat(name) for name in operator.inputs}
        if len(beats) > 1 or None in beats or not self.bounds.keeps_order(operator):
            return False
        within = operator.within
        return within is None or all(self._apart(operator, n) <= within for n in operator.inputs)

    def _wait(self, operator: Operator, name: str) -> Time | None:
        """How much later than an event the last one that is used with it is pushed; None: or never."""
        if operator.ready_on == "any" or len({*operator.inputs}) == 1:
            return 0
        apart = self._apart(operator, name)
        if self._pairs(operator):
            return apart
        if operator.within is None or len(operator.inputs) > 2:
            return None
        # It is left out when the other input has an event that begins so much later.
        (other,) = {*operator.inputs} - {name}
        beat = self._beat(other)
        if beat is None or self._beat(name) is None or not self.bounds.keeps_order(operator):
            return None
        return max(apart, operator.within + beat + self._jitter(other))

    def _jitter(self, name: str) -> Time:
        return max(each.jitter for each in self._suppliers(name))

    def _apart(self, operator: Operator, name: str) -> Time:
        """The same where events pair."""
        behind = self._suppliers(name)
        others = (each for each in self._suppliers(operator.name) if each not in behind)
        leads = (min(self._lead(operator, s, other) for s in behind) for other in others)
        return max(0, max(leads, default=0))

    def _lead(self, operator: Operator, one: Supplier, other: Supplier) -> Time:
        """How much later the other supplier can push what is used with an event of one."""
        if one.source or one.trace or other.source or other.trace:
            beats = (self._beat(name) or 0 for name in operator.inputs)
            return max(one.period, other.period, *beats) + other.jitter
        if one.phase is None and other.phase is None:  # they are in step
            return max(0, other.period - one.period) + other.jitter
        latest = other.period if other.phase is None else other.phase
        return latest + other.jitter - (one.phase or 0)

    def _lag_of(self, name: str, supplier: Supplier) -> Time | None:
        """How much earlier than the last push behind an event that of a supplier is; None: or any time."""
        operator = self._graph.sources[name]
        if isinstance(operator, Supplier):
            return 0
        if self._pairs(operator):
            others = (each for each in self._suppliers(name) if each != supplier)
            leads = (self._lead(operator, supplier, other) for other in others)
            return max(0, max(leads, default=0))
        found: Time = 0
        for each in operator.inputs:
            if supplier in self._suppliers(each):
                lag, wait = self._lag(each, supplier), self._wait(operator, each)
                if lag is None or wait is None:
                    return None
                found = max(found, lag + wait)
        return found

    def _behind(self, name: str) -> list[str]:
        """All sources that an event comes from, its own included."""
        found = {name: None}
        for each in reversed(self._demand.operators):
            if each.name in found:
                found.update(dict.fromkeys(each.inputs))
        return list(found)

    def _suppliers_of(self, name: str) -> list[Supplier]:
        behind = {*self._behind(name)}
        return [each for each in self._demand.suppliers if each.name in behind]
