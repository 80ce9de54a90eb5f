"""A statement without some of its parts, over the events that it took: the rows that it would have given.

It runs alone, in the reference semantics. What other statements derive is held fixed, and so is what it
took of its own. In the time that was asked for there are events of a type that nothing else has, before
and after each real one, for what is imagined to come then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cepheid.absence.forms import key_of
from cepheid.absence.parts import Kind, Lifted, Part
from cepheid.absence.patterns import ASKED
from cepheid.absence.question import Question
from cepheid.absence.recording import row_streams
from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.core.types import EventType
from cepheid.errors import RunError
from cepheid.expr.tree import Aggregate, Column, Expr, children
from cepheid.pattern.algebra import Occurrence, walk_taken
from cepheid.pattern.tree import Pattern, Within, WithinOf
from cepheid.program.resolved import OutputColumn, ResolvedProgram, ResolvedStatement
from cepheid.semantics.contexts import Key, OccurrencePlan, PartialMatch, PartialMatches, Way
from cepheid.semantics.machine import Machine
from cepheid.semantics.pattern import Binding, Root, TimerLive
from cepheid.semantics.pattern import Within as LiveWithin
from cepheid.semantics.selection import Key as PartitionKey
from cepheid.semantics.selection import Output
from cepheid.semantics.statement import CompiledStatement, Running
from cepheid.semantics.timers import Timer
from cepheid.semantics.windows import Row


class BudgetSpent(Exception):
    """No more can be tried."""


@dataclass(slots=True)
class Budget:
    """How much may still be done: an event offered to something that waits for it counts one."""

    left: int

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise BudgetSpent


@dataclass(frozen=True, slots=True)
class Started:
    """A `where timer:within` that began."""

    guard: Within | WithinOf
    begin: Binding  # what was bound by then
    instant: Instant


@dataclass(frozen=True, slots=True)
class Witness:
    """A row that a statement would have given without some of its parts, and what it consists of."""

    instant: Instant
    binding: Binding
    causes: tuple[Event, ...]
    values: Mapping[Expr, Value] = field(default_factory=dict)  # that `having` looks at

    @property
    def length(self) -> Instant:
        """How far its events are apart."""
        instants = [event.instant for event in self.causes]
        return max(instants) - min(instants) if instants else 0


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a partial match came: what it has, which leaf it waits for, or when its time was over."""

    binding: Binding
    awaits: Pattern | None
    ended: Instant | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a variant."""

    witnesses: Sequence[Witness]
    started: Sequence[Started]
    reached: Sequence[Reached]


class Probe(Machine):
    """A machine for one statement, whose rows go nowhere."""

    def __init__(
        self,
        program: ResolvedProgram,
        statement: ResolvedStatement,
        question: Question,
        budget: Budget,
        shared: bool,
        shown: Sequence[Expr] = (),
    ) -> None:
        self.shared = shared
        self.whole = program
        types = {**program.types, ASKED: EventType(ASKED, ())}
        super().__init__(replace(program, types=types, statements=(statement,)))
        self.question = question
        self.budget = budget
        self.shown = shown
        self.bindings: dict[tuple[int, ...], Binding] = {}
        self.witnesses: list[Witness] = []
        self.started_guards: list[Started] = []
        self.timeouts: list[Reached] = []

    def partition(self, plan: CompiledStatement, key: PartitionKey) -> Running:
        found = self.running.get((plan.rank, key))
        if found is None:
            found = self.running[plan.rank, key] = _Watched(plan, self)
            found.start()
        return found

    def dispatch(self, event: Event) -> None:
        """What is asked for has no key of a context: it comes to all."""
        plan = self.plans[0]
        if event.type != ASKED or plan.statement.context is None or not self.running:
            super().dispatch(event)
            return
        self.key = event.key
        for running in tuple(self.running.values()):
            running.take(event)

    def emit(self, plan: CompiledStatement, new: Iterable[Output], old: Iterable[Output]) -> None:
        wanted = row_streams(plan.statement, self.whole)
        outputs = [*new] if wanted != {"rstream"} else []
        outputs += old if wanted != {"istream"} else ()
        if not self.question.covers(self.key):
            return
        for output in outputs:
            binding = self.bindings.get(_identity(output.causes), {})
            values = output.values[len(output.values) - len(self.shown) :]
            causes = tuple(event for event in output.causes if event.type != ASKED)
            self.witnesses.append(
                Witness(self.clock, binding, causes, dict(zip(self.shown, values, strict=True)))
            )

    def run(self, start: Instant, events: Sequence[Event]) -> Ran:
        self.start(start)
        for event in _with_asked(events, self.question):
            self.budget.spend(1)
            self.take(event)
        self.advance(max(self.question.last, self.clock))
        return Ran(self.witnesses, self.started_guards, [*self.timeouts, *self._waiting()])

    def _waiting(self) -> Iterator[Reached]:
        """What waits at the end, in the order in which it began to."""
        for running in self.running.values():
            if isinstance(running.root, PartialMatches):
                for match in (match for mine in running.root.by_key.values() for match in mine):
                    yield Reached(dict(enumerate_events(match.events)), None)
            for atoms in running.listeners.values():
                for atom in atoms:
                    if atom.begin and not atom.node.forbidden:
                        yield Reached(atom.begin, atom.node.tree)
        for armed in self.timers.values():
            if isinstance(armed.timer, TimerLive) and armed.timer.begin:
                yield Reached(armed.timer.begin, armed.timer.node.tree)


class _Watched(Running):
    """A running statement that notes what its matches bind, and counts what it does."""

    __slots__ = ()
    engine: Probe

    def _root(self) -> Root | PartialMatches | None:
        if self.plan.occurrence is not None:
            return _Matches(_keyed(self.plan.occurrence, self.plan), self, self.engine)
        return Running._root(self)

    def take(self, event: Event) -> None:
        names = self.plan.lineage[event.type]
        self.engine.budget.spend(sum(len(self.listeners.get(name, ())) for name in names))
        super().take(event)

    def arm(self, timer: Timer, due: Instant) -> None:
        if isinstance(timer, LiveWithin):
            guard = timer.node.tree
            assert isinstance(guard, Within | WithinOf)
            self.engine.started_guards.append(Started(guard, timer.begin, self.now))
        super().arm(timer, due)

    def timed_out(self, binding: Binding) -> None:
        self.engine.timeouts.append(Reached(binding, None, self.now))
        super().timed_out(binding)

    def matched(self, binding: Binding) -> None:
        self.engine.bindings[_identity(Row(tags=binding).causes)] = binding
        super().matched(binding)


class _Matches(PartialMatches):
    """Partial matches of a variant: what is asked for is no noise; with `shared`, an event may be used
    by any number of them, and be left out by each."""

    __slots__ = ("probe",)

    def __init__(self, plan: OccurrencePlan, host: Running, probe: Probe) -> None:
        super().__init__(plan, host)
        self.probe = probe

    def take(self, event: Event) -> None:
        self.probe.budget.spend(sum(map(len, self.by_key.values())))
        if event.type != ASKED:
            super().take(event)
            return
        keys = tuple(self.by_key) or ((),)
        for key in keys:
            mine = self.by_key.pop(key, [])
            used = [match.offer(event) for match in mine]
            if not any(used):
                self._begin(mine, key, event)
            self._settle(key, mine)

    def _take(self, key: Key, event: Event) -> None:
        if not self.probe.shared:
            super()._take(key, event)
            return
        mine = self.by_key.pop(key, [])
        used: list[PartialMatch] = []
        for match in mine:
            used += self._using(event, key, match)
            match.miss(event)
        used += self._using(event, key, PartialMatch(self, key))
        self._settle(key, [*mine, *used])

    def _using(self, event: Event, key: Key, match: PartialMatch) -> list[PartialMatch]:
        other = self._copy(key, match, match.ways)
        return self._apart(key, other) if other.offer(event) else []

    def _apart(self, key: Key, match: PartialMatch) -> list[PartialMatch]:
        """What is complete, and what can go on, are matches of their own."""
        going_on = tuple(way for way in match.ways if way.result is None)
        if match.result is None or not going_on:
            return [match]
        return [match, self._copy(key, match, going_on)]

    def _copy(self, key: Key, match: PartialMatch, ways: tuple[Way, ...]) -> PartialMatch:
        other = PartialMatch(self, key)
        other.ways, other.events = ways, match.events
        return other

    def wake(self, match: PartialMatch) -> None:
        if not self.probe.shared:
            super().wake(match)
            return
        match.armed_for = None
        match.wake(self.host.now)
        mine = self.by_key.pop(match.key)
        apart = self._apart(match.key, match)
        self._settle(match.key, [*mine, *(each for each in apart if each is not match)])


def _keyed(plan: OccurrencePlan, statement: CompiledStatement) -> OccurrencePlan:
    """What is asked for has no parameters, and yet belongs to every key."""
    pattern = statement.statement.pattern
    assert isinstance(pattern, Occurrence)
    key = () if plan.policy.is_global else key_of(pattern.form)
    unkeyed = {
        taken.atom.event_type
        for taken in walk_taken(pattern.form)
        if not {name for name, _ in taken.parameters}.issuperset(key)
    }
    heirs = (name for name, kinds in statement.lineage.items() if not unkeyed.isdisjoint(kinds))
    return replace(plan, key=key, unkeyed=frozenset(heirs) - {ASKED})


def enumerate_events(events: Sequence[Event]) -> Iterator[tuple[str, Event]]:
    """Events without tags: they are called by their types, and numbered where these are the same."""
    counts: Counter[str] = Counter()
    for event in events:
        counts[event.type] += 1
        count = counts[event.type]
        yield event.type if count == 1 else f"{event.type} {count}", event


def _identity(causes: Iterable[Event]) -> tuple[int, ...]:
    return tuple(map(id, causes))


def _with_asked(events: Sequence[Event], question: Question) -> Iterator[Event]:
    """The events, and before and after each in the time asked for what is imagined to come then."""

    def asked(instant: Instant, sequence: int) -> Event:
        return Event(ASKED, instant, {}, key=(instant, 1, sequence, 1 << 40))

    yet_to_come = True
    for event in events:
        if question.event is None and yet_to_come and event.instant >= question.first:
            yield asked(question.first, -1)
            yet_to_come = False
        yield event
        if question.covers(event.key):
            yield asked(event.instant, event.key[2])
            yet_to_come = False
    if question.event is not None:
        yield from [asked(question.first, question.event.key[2])] if yet_to_come else ()
        return
    if yet_to_come:
        yield asked(question.first, -1)
    yield asked(question.last, 1 << 40)


def try_without(
    program: ResolvedProgram,
    statement: ResolvedStatement,
    lifted: Lifted,
    question: Question,
    start: Instant,
    events: Sequence[Event],
    budget: Budget,
    shown: Sequence[Expr] = (),
) -> Ran:
    """Runs what is left of a statement, which `statement` is; a run that ends with an error gives no row."""
    columns = tuple(OutputColumn(f"|{n}", expr) for n, expr in enumerate(shown))
    if columns:
        statement = replace(statement, columns=(*statement.columns, *columns))
    shared = Part(Kind.TAKEN) in lifted
    probe = Probe(program, statement, question, budget, shared, shown)
    try:
        return probe.run(start, events)
    except RunError:
        return Ran((), (), ())


def looked_at(expr: Expr) -> tuple[Expr, ...]:
    """What an expression takes its value from: attributes, and aggregates as a whole."""
    found: dict[Expr, None] = {}

    def note(node: Expr) -> None:
        if isinstance(node, Column | Aggregate):
            found[node] = None
            return
        for child in children(node):
            note(child)

    note(expr)
    return tuple(found)
