"""Whether a graph keeps its deadlines, said before it runs: bounds that no schedule of the machine exceeds.

A *response* is the time from the last push behind an event to its delivery. All that time the event's own way
through the graph waits or is at work, so that no processor begins anything less important: it only ends
what it has begun, a job or a step of one.

One processor: a busy time begins when nothing of a priority, or of a higher one, is to do. Each operator that
needs all inputs lacks one of them then, and has at most a ring of the others; this bounds how often it runs.
Up to a delivery, all is done that pushes of higher priorities bring until then, but of pushes of the same
priority only what those bring that came no later: the InputQ is in order, and comes after the PendingQ.

Several processors, or operators in processes of their own: a busy time begins when there is work for fewer
than all processors. What is left of so few events then is what the most expensive ones bring. From then on
all processors are at work, except while the way itself is, or an earlier run of an operator on it. How many
of these are not done yet follows from the responses, which bound each other; the least ones that do are the
bounds. Where there are none, there is no bound, for lower priorities neither.

What is assumed: a run takes no longer than the times say, and makes at most one event. Suppliers push as the
graph says; those that push what comes from an address or a file are at most a period apart. Where events meet,
functions of users make one each time. What `within` leaves out is left out on purpose, and not lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from heapq import nlargest
from math import inf
from types import MappingProxyType

from cepheid.realtime.calibration import Cost, Times
from cepheid.realtime.graph import Consumer, Graph, Level, Operator, Supplier, Time, in_order

_ENDLESS = 2_000  # pushes before all work is done; a graph that busy has no bound
_HALVINGS = 12  # until a factor is known well enough
_WITH_GAPS = ("threshold", "statement")  # kinds that make no event of some inputs


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
    demand = _Demand(graph, times)
    losses = _Losses(_bounds(demand, processors))
    worst = sum(demand.shares(lambda cost: cost.worst).values()) / processors

    @cache
    def at_rate(factor: float) -> _Bounds:
        return _bounds(_Demand(_faster(graph, factor), times), processors)

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


def _pushes(supplier: Supplier, length: Time) -> int:
    """At most so many in a time of this length, without its end."""
    return -(-(length + supplier.jitter) // supplier.period) if length > 0 else 0


def _every(operator: Operator) -> int:
    """How many runs it takes to make an event."""
    every = operator.parameters.get("every") if operator.kind == "resample" else None
    return every if isinstance(every, int) else 1


def _made(operator: Operator, runs: int) -> int:
    return -(-runs // _every(operator))


# The order in which jobs go: workers of a priority, its movers, workers of the next one.
def _worker(level: Level) -> int:
    return 2 * level


def _mover(level: Level) -> int:
    return 2 * level + 1


@dataclass(frozen=True, slots=True)
class _Job:
    """A Take or a run."""

    level: Level
    steps: int
    step: Cost

    @property
    def worst(self) -> Time:
        return self.steps * self.step.worst


def _some(cost: Cost) -> Cost:
    """At least a nanosecond at worst: what is pushed at the instant when a job would begin goes first."""
    return replace(cost, worst=max(1, cost.worst))


class _Demand:
    """What is to do for the events of each source that anybody wants."""

    def __init__(self, graph: Graph, times: Times) -> None:
        self.graph = graph
        self.move = _some(times.move)
        levels = graph.levels
        self.suppliers = [each for each in graph.suppliers if each.name in levels]
        self.operators = [each for each in in_order(graph) if each.name in levels]
        take = _some(times.take)
        self.jobs = {each.name: _Job(levels[each.name], 1, take) for each in self.suppliers}
        self.jobs |= {
            each.name: _Job(levels[each.name], each.steps, _some(times.step(each)))
            for each in self.operators
        }
        self.readers = {
            name: [each for each, _ in graph.readers[name] if each.name in levels]
            for name in self.jobs
        }
        self.blocking = cache(self._blocking_of)
        # How often each event is moved.
        self.moves = {
            name: sum(levels[each.name] > levels[name] for each in readers)
            for name, readers in self.readers.items()
        }

    def _blocking_of(self, rank: int, processors: int) -> Time:
        """The longest less important jobs that can be at work on so many processors, together."""
        found: list[Time] = []
        for name, job in self.jobs.items():
            is_supplier = isinstance(self.graph.sources[name], Supplier)
            if _worker(job.level) > rank:
                found += [job.step.worst] * (processors if is_supplier else 1)
            if _mover(job.level) > rank and self.moves[name]:
                found += [self.move.worst] * processors
        return sum(nlargest(processors, found))

    def shares(self, of: Callable[[Cost], Time]) -> dict[Level, float]:
        """How much of one processor's time each priority takes in the long run."""
        made = {each.name: 1 / each.period for each in self.suppliers}
        runs = dict(made)
        for each in self.operators:
            rates = [made[name] for name in each.inputs]
            runs[each.name] = sum(rates) if each.ready_on == "any" else min(rates)
            made[each.name] = runs[each.name] / _every(each)
        found = dict.fromkeys(sorted({job.level for job in self.jobs.values()}), 0.0)
        for name, job in self.jobs.items():
            found[job.level] += runs[name] * job.steps * of(job.step)
            found[job.level] += made[name] * self.moves[name] * of(self.move)
        return found

    def work(
        self,
        rank: int,
        pushes: Callable[[Supplier], int],
        *,
        waiting: Callable[[str], float],
        begun: Mapping[str, int] = MappingProxyType({}),
        delivered: str | None = None,
    ) -> Time:
        """How long all takes that so many pushes bring and that is at least this important.

        An operator that is not ready at first lacks an input, and has events of others `waiting`; one that
        is has `begun` with so many runs. What follows from the event that is delivered comes later.
        """
        made, work = dict[str, int](), 0
        for name, job in self.jobs.items():
            if _worker(job.level) > rank:
                continue
            source, runs = self.graph.sources[name], begun.get(name, 0)
            if isinstance(source, Supplier):
                runs += pushes(source)
                made[name] = runs - (name == delivered)
            else:
                runs += _runs(source, made, waiting)
                made[name] = _made(source, runs - (name == delivered))
            work += runs * job.worst
            if _mover(job.level) <= rank:
                work += made[name] * self.moves[name] * self.move.worst
        return work

    def is_endless(self, length: Time) -> bool:
        return sum(_pushes(each, length) for each in self.suppliers) > _ENDLESS


def _runs(operator: Operator, made: Mapping[str, int], waiting: Callable[[str], float]) -> int:
    """At most, when its inputs make so many events and it is not ready at first."""
    if operator.ready_on == "any":
        return sum(made[name] for name in operator.inputs)
    most = max(made[name] for name in operator.inputs)
    return int(min(most, *(made[name] + waiting(name) for name in operator.inputs)))


class _Bounds(ABC):
    """How long responses of sources take: from the last push behind an event until it is handed on."""

    def __init__(self, demand: _Demand) -> None:
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
        return runs if isinstance(source, Supplier) else _made(source, runs)

    def _runs(self, name: str, length: Time) -> int:
        """The same of runs; of suppliers, of pushes.

        The last push is behind one of the inputs. Where its events come in order, those of all later runs
        were pushed in this time as well: one such input counts for all.
        """
        source = self.graph.sources[name]
        if isinstance(source, Supplier):
            return _pushes(source, length)
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


def _bounds(demand: _Demand, processors: int) -> _Bounds:
    if processors > 1 or any(each.isolate == "process" for each in demand.operators):
        return _SeveralProcessors(demand, processors)
    return _OneProcessor(demand)


class _OneProcessor(_Bounds):
    """By busy times, which begin when nothing of a priority or a higher one is to do."""

    def __init__(self, demand: _Demand) -> None:
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
            return _pushes(supplier, until if is_higher else before)

        rank, waiting = _worker(level), self.graph.rings.__getitem__
        work = self.demand.work(rank, pushes, waiting=waiting, delivered=delivered)
        return self.demand.blocking(rank, 1) + work


class _SeveralProcessors(_Bounds):
    """By times that begin when there is work for fewer than all processors."""

    def __init__(self, demand: _Demand, processors: int) -> None:
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
            is_bounded = self._settle(names, self._done, _worker(level))
            if not is_bounded or not self._settle(moving, self._moved, _mover(level)):
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
            return self.demand.work(rank, lambda s: _pushes(s, until), waiting=self._waiting)

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
            if _worker(job.level) <= rank:
                count = max(1, self.runs(name, self._done[name]))
                if isinstance(self.graph.sources[name], Supplier):
                    found += [self._following(name, 1, rank)] * min(fewer, count)
                elif name in self._isolated:
                    elsewhere += self._following(name, count, rank)
                else:
                    found.append(self._following(name, count, rank))
            if _mover(job.level) <= rank and demand.moves[name]:
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


class _Losses:
    """Whether events wait too long: for others that they meet, and for what is done with them."""

    def __init__(self, bounds: _Bounds) -> None:
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
        return None if beat is None else beat * _every(source)

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
