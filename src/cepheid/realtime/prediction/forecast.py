"""Whether a graph keeps its deadlines, said before it runs: bounds that no schedule of the machine exceeds.

A *response* is the time from the last push behind an event to its delivery. All that time the event's own way
through the graph waits or is at work, so that no processor begins anything less important: it only ends
what it has begun, a job or a step of one.

What is assumed: a run takes no longer than the times say, and makes at most one event. Suppliers push as the
graph says; those that push what comes from an address or a file are at most a period apart. Where events meet,
functions of users make one each time. What `within` leaves out is left out on purpose, and not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from math import inf

from cepheid.realtime.calibration import Times
from cepheid.realtime.graph import Consumer, Graph, Level, Time
from cepheid.realtime.prediction.bounds import Bounds
from cepheid.realtime.prediction.demand import Demand
from cepheid.realtime.prediction.losses import Losses
from cepheid.realtime.prediction.one_processor import OneProcessor
from cepheid.realtime.prediction.several_processors import SeveralProcessors

_HALVINGS = 12  # until a factor is known well enough


@dataclass(frozen=True)
class Forecast:
    """What a consumer has to expect."""

    consumer: Consumer
    bound: Time | None  # of responses, where there is one
    may_expire: bool  # events, before they are delivered
    losing: tuple[str, ...]  # sources behind it that may have no room for an event
    find_limit: Callable[[], float] = field(repr=False, compare=False)

    @cached_property
    def limit(self) -> float:
        """The factor on all rates up to which its events are in time; it takes a while to find."""
        return self.find_limit()

    @property
    def is_timely(self) -> bool:
        """No event comes after the deadline."""
        deadline = self.consumer.deadline
        return self.bound is not None and (deadline is None or self.bound <= deadline)

    @property
    def holds(self) -> bool:
        """Nothing is late, and nothing is lost."""
        return self.is_timely and not self.may_expire and not self.losing


@dataclass(frozen=True, slots=True)
class Prediction:
    consumers: Mapping[str, Forecast]
    processors: int
    utilisation: Mapping[Level, float]  # the share of all processors' time that a priority takes

    @property
    def load(self) -> float:
        return sum(self.utilisation.values())

    @property
    def saturation(self) -> float:
        """The factor on all rates at which processors have no time left."""
        return 1 / self.load if self.load else inf

    @property
    def holds(self) -> bool:
        return all(each.holds for each in self.consumers.values())


def predict(graph: Graph, times: Times, processors: int = 1) -> Prediction:
    """UsageError where these are the times of another graph."""
    demand = Demand(graph, times)
    losses = Losses(bounds_of(demand, processors))
    worst = sum(demand.shares(lambda cost: cost.worst).values()) / processors

    @cache
    def at_rate(factor: float) -> Bounds:
        return bounds_of(Demand(_faster(graph, factor), times), processors)

    def limit(consumer: Consumer) -> float:
        if not worst:  # nothing takes any time
            return inf
        due, low, high = losses.due(consumer), 0.0, 1 / worst
        for _ in range(_HALVINGS):
            factor = (low + high) / 2
            bound = at_rate(factor).of(consumer.input)
            low, high = (factor, high) if bound is not None and bound <= due else (low, factor)
        return low

    forecasts = {
        each.name: Forecast(
            each,
            losses.bounds.of(each.input),
            losses.may_expire(each),
            losses.losing(each),
            partial(limit, each),
        )
        for each in graph.consumers
    }
    shares = demand.shares(lambda cost: cost.mean)
    utilisation = {level: share / processors for level, share in shares.items()}
    return Prediction(forecasts, processors, utilisation)


def _faster(graph: Graph, factor: float) -> Graph:
    """All suppliers push more often, with the jitter that they have."""
    suppliers = (replace(s, period=max(1, round(s.period / factor))) for s in graph.suppliers)
    return replace(graph, suppliers=tuple(suppliers))


def bounds_of(demand: Demand, processors: int) -> Bounds:
    if processors > 1 or any(each.isolate == "process" for each in demand.operators):
        return SeveralProcessors(demand, processors)
    return OneProcessor(demand)
