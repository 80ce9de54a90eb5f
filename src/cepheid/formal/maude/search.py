"""Searching all sequences of inputs, the shortest first.

Maude computes where each input leads from each state; states that are equal are followed once. Time
ends where the search ends, so what only time brings is found, too. The states are those of the
statements behind what is looked for, as far as some input can satisfy them.

Without an order (`find_difference`), Maude tries every order of the statements that have one priority,
for each event anew; what the search follows then are sets of states that the same inputs lead to.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from cepheid.analysis.possible import possible_part
from cepheid.analysis.retention import speaks_with_time
from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.errors import RunError, error
from cepheid.formal.maude.environment import Environment
from cepheid.formal.maude.process import Maude
from cepheid.formal.maude.specify import Specification, specify
from cepheid.formal.streams import Step
from cepheid.io.encode import to_json, trace_records
from cepheid.program.graph import part_behind

_SLACK = 500  # megabytes that one step may take, on top of those that a search may keep

Watch: TypeAlias = Callable[[int, int], None]  # hears how many events are tried, and states seen


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a search gives up."""

    seconds: float = 60.0
    megabytes: int = 2_000
    traces: int = 1  # how many are wanted


@dataclass(frozen=True, slots=True)
class Trace:
    """A sequence of inputs; `until` is when time has brought what was looked for, if it had to."""

    events: tuple[Event, ...]
    until: Instant | None
    rows: tuple[Event, ...]  # what was looked for

    def lines(self) -> list[str]:
        """As a file of events that runs again."""
        return _lines(self.events, self.until)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The shortest traces to an event, all of one length, and how much was seen."""

    traces: tuple[Trace, ...]
    states: int
    length: int  # of the longest sequences that were tried
    impossible: tuple[str, ...] = ()  # statements behind the event that no input can satisfy


@dataclass(frozen=True, slots=True)
class Difference:
    """A sequence of inputs, and two different results that it may have."""

    events: tuple[Event, ...]
    until: Instant | None
    one: tuple[Event, ...]
    other: tuple[Event, ...]

    def lines(self) -> list[str]:
        """As a file of events that runs again."""
        return _lines(self.events, self.until)


@dataclass(frozen=True, slots=True)
class OrderAnswer:
    """A shortest sequence whose results depend on the order of statements, if any, and how much was seen."""

    difference: Difference | None
    states: int
    length: int  # of the longest sequences that were tried


def _lines(events: Sequence[Event], until: Instant | None) -> list[str]:
    """Time passes at the end if need be."""
    return [to_json(record) for record in trace_records(events, end=until)]


@dataclass(frozen=True, slots=True)
class _Node:
    """States that a sequence of inputs leads to; one, unless the order is open."""

    states: frozenset[int]
    clock: Instant
    input: Step | None = None
    before: _Node | None = None

    @property
    def inputs(self) -> list[tuple[Step, Instant]]:
        found: list[tuple[Step, Instant]] = []
        node = self
        while node.before is not None and node.input is not None:
            found.append((node.input, node.clock))
            node = node.before
        return found[::-1]


@dataclass(frozen=True, slots=True)
class _Choice:
    """An input at an instant, or none: then time passes up to it."""

    input: Step | None
    clock: Instant
    term: str


@dataclass
class _Search:
    environment: Environment
    end: Instant
    limits: Limits
    watch: Watch
    maude: Maude
    specification: Specification
    began: float = field(default_factory=time.monotonic)
    seen: set[frozenset[int]] = field(default_factory=set)
    level: list[_Node] = field(default_factory=list)  # what is to be followed next
    terms: dict[tuple[Step, Instant], str] = field(default_factory=dict)
    length: int = 0  # of the sequences that are being followed

    def levels(self) -> Iterator[list[_Node]]:
        """All nodes that are to be followed, those of one length together, the shortest first."""
        self.maude.ask("limit", megabytes=self.limits.megabytes + _SLACK)
        start = self.environment.start
        root = frozenset({int(self.maude.ask("begin", start=start)["state"])})
        self.seen.add(root)
        self.level = [_Node(root, start)]
        while self.level:
            current, self.level = self.level, []
            yield current
            self.length += 1

    def follow(self, node: _Node, states: frozenset[int], input: Step, clock: Instant) -> None:
        if states not in self.seen:
            self.seen.add(states)
            self.level.append(_Node(states, clock, input, node))

    @cached_property
    def waits(self) -> bool:
        """Whether time alone may bring rows."""
        return any(map(speaks_with_time, self.environment.program.statements))

    def ask(self, state: int, inputs: Sequence[str]) -> list[list[dict[str, Any]]]:
        self.watch(self.length, len(self.seen))
        left = self.limits.seconds - (time.monotonic() - self.began)
        try:
            answer = self.maude.ask("step", left, state=state, inputs=inputs)
        except TimeoutError:
            raise self._stopped(f"{self.limits.seconds:g} seconds") from None
        except RunError:
            if not self.maude.has_ended:
                raise
            raise self._stopped(f"it took {self.limits.megabytes:,} MB") from None
        if answer["memory"] > self.limits.megabytes:
            raise self._stopped(f"it took {self.limits.megabytes:,} MB")
        outcomes: list[list[dict[str, Any]]] = answer["outcomes"]
        return outcomes

    def _stopped(self, why: str) -> RunError:
        fact = (
            f"the search was stopped after {why}: all sequences of up to {self.length} events were"
            f" tried, {len(self.seen):,} states seen"
        )
        hint = "name fewer values or gaps, a shorter time, or raise --seconds or --megabytes"
        return RunError(error("search-limit", fact, hint=hint))

    def choices(self, node: _Node) -> list[_Choice]:
        """What may come next before the end, and that nothing comes any more."""
        inputs = self.environment.inputs if self.length else self.environment.first
        found = []
        for input in inputs:
            clock = node.clock + input.gap
            if clock <= self.end:
                found.append(_Choice(input, clock, self._term(input, clock)))
        if self.waits:
            found.append(_Choice(None, self.end, f"until({self.end})"))
        return found

    def _term(self, input: Step, clock: Instant) -> str:
        known = self.terms.get((input, clock))
        if known is None:
            event = self.environment.event(input, clock)
            is_taken = self.specification.takes(event)
            known = self.specification.event_term(event) if is_taken else f"until({clock})"
            self.terms[input, clock] = known
        return known

    def trace(self, node: _Node, choice: _Choice) -> tuple[Event, ...]:
        inputs = node.inputs + ([(choice.input, choice.clock)] if choice.input else [])
        return tuple(
            self.environment.event(input, clock, number)
            for number, (input, clock) in enumerate(inputs)
        )


def no_watch(length: int, states: int) -> None:
    """For those who need not know."""


def find(
    environment: Environment,
    goal: str,
    end: Instant,
    limits: Limits | None = None,
    watch: Watch = no_watch,
) -> SearchAnswer:
    """The shortest sequences of inputs that lead to an event of a type, if there are any."""
    behind = environment.part(part_behind(goal, environment.program))
    environment, impossible = _possible(behind)
    if not any(s.target == goal for s in environment.program.statements):
        return SearchAnswer((), 0, 0, impossible)
    specification = specify(environment.program)
    with Maude() as maude:
        maude.load(specification, by_rules=False)
        limits = limits or Limits()
        search = _Search(environment, end, limits, watch, maude, specification)
        traces = _find(search, goal)
        return SearchAnswer(tuple(traces), len(search.seen), search.length, impossible)


def _possible(environment: Environment) -> tuple[Environment, tuple[str, ...]]:
    """Without the statements that no input can satisfy, and their names."""
    events = [environment.event(input, environment.start) for input in environment.first]
    kept = possible_part(environment.program, events)
    names = {s.name for s in kept.statements}
    dropped = (s.name for s in environment.program.statements if s.name not in names)
    return environment.part(kept), tuple(dropped)


def _find(search: _Search, goal: str) -> list[Trace]:
    for level in search.levels():
        found = [trace for node in level for trace in _traces(search, node, goal)]
        if found:
            shortest = min(len(trace.events) for trace in found)
            return [t for t in found if len(t.events) == shortest][: search.limits.traces]
    return []


def _traces(search: _Search, node: _Node, goal: str) -> Iterator[Trace]:
    """The sequences that lead from a node to the goal in one step; the others are to be followed."""
    choices = search.choices(node)
    (state,) = node.states
    for choice, (outcome,) in zip(
        choices, search.ask(state, [c.term for c in choices]), strict=True
    ):
        rows = _matching(search, outcome["rows"], goal)
        events = search.trace(node, choice) if rows else ()
        if events and choice.input is None:
            first = tuple(row for row in rows if row.instant == rows[0].instant)
            yield Trace(events, rows[0].instant, first)
        elif events:
            yield Trace(events, None, rows)
        elif choice.input is not None:
            search.follow(node, frozenset({outcome["state"]}), choice.input, choice.clock)


def _matching(search: _Search, rows: str, goal: str) -> tuple[Event, ...]:
    if not any(constant in rows for constant in search.specification.deriving(goal)):
        return ()
    return tuple(row for row in search.specification.rows(rows) if row.type == goal)


def find_difference(
    environment: Environment,
    end: Instant,
    limits: Limits | None = None,
    watch: Watch = no_watch,
) -> OrderAnswer:
    """A shortest sequence of inputs whose results depend on the order of the statements."""
    environment, _ = _possible(environment)
    specification = specify(environment.program)
    with Maude() as maude:
        maude.load(specification, any_order=True)
        search = _Search(environment, end, limits or Limits(), watch, maude, specification)
        return OrderAnswer(_difference(search), len(search.seen), search.length)


def _difference(search: _Search) -> Difference | None:
    for level in search.levels():
        for node in level:
            found = _difference_from(search, node)
            if found is not None:
                return found
    return None


def _difference_from(search: _Search, node: _Node) -> Difference | None:
    choices = search.choices(node)
    terms = [choice.term for choice in choices]
    answers = [search.ask(state, terms) for state in sorted(node.states)]
    for choice, *of_states in zip(choices, *answers, strict=True):
        outcomes = [outcome for outcomes in of_states for outcome in outcomes]
        results = _different(search, [outcome["rows"] for outcome in outcomes])
        if results is not None:
            until = search.end if choice.input is None else None
            return Difference(search.trace(node, choice), until, *results)
        if choice.input is not None:
            states = frozenset(int(outcome["state"]) for outcome in outcomes)
            search.follow(node, states, choice.input, choice.clock)
    return None


def _different(
    search: _Search, results: Sequence[str]
) -> tuple[tuple[Event, ...], tuple[Event, ...]] | None:
    """Two results with different rows, in whatever order those stand."""
    first: tuple[Event, ...] | None = None
    for text in dict.fromkeys(results):
        rows = tuple(search.specification.rows(text))
        if first is None:
            first = rows
        elif _counted(first) != _counted(rows):
            return first, rows
    return None


def _counted(rows: Sequence[Event]) -> Counter[str]:
    return Counter(f"{row.statement} {row!r}" for row in rows)
