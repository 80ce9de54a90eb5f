"""Short streams of events that are likely to make a program do something.

Values are those that the program itself compares attributes with, and their neighbours; gaps are
its periods. `Probe.vary` changes a stream a little: whoever keeps the variants that lead further
reaches deep into a pattern in a few hundred tries. The first streams are those that the solver finds,
and, where rows are counted, as many copies as the program counts up to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import cast

from cepheid.analysis.examples import Example, examples_for
from cepheid.analysis.lifetimes import longest
from cepheid.core.event import Event, Value
from cepheid.core.time import BEGIN, MICROSECONDS, Instant, Period, TimeUnit, format_instant
from cepheid.core.types import (
    BOOLEAN,
    FLOAT,
    STRING,
    DataType,
    EventType,
    is_integral,
    is_numeric,
    lineage,
)
from cepheid.expr.tree import Aggregate, Binary, Column, Expr, InList, InRange, Literal, walk
from cepheid.io.records import Decoder, record_from
from cepheid.pattern.tree import Interval, Within
from cepheid.pattern.tree import expressions as expressions_in
from cepheid.pattern.tree import walk as walk_pattern
from cepheid.program.graph import Graph, graph_of
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import TimeBatch, TimeWindow

LONGEST = 6  # events of a stream
_USUAL = 0.6  # how often an attribute has the first of its values, so that keys agree
MOST_COPIES = 300  # of an event in a stream
_SEEDED = 12  # statements for which the solver looks for events
_COPIED = 3  # events that are tried in many copies
_LIKE_ANOTHER = 0.6  # how often a new event is a variant of another


@dataclass(frozen=True, slots=True)
class Step:
    """An event to be: its type, how long after the one before it comes, and its attributes."""

    type: str
    gap: int  # microseconds
    values: tuple[tuple[str, object], ...]

    def event(self, types: Mapping[str, EventType], instant: Instant, sequence: int = 0) -> Event:
        """The event at an instant; InputError where its type has no such values."""
        fields = {"@type": self.type, "@time": format_instant(instant), **dict(self.values)}
        event = Decoder(types, extra="error").decode(record_from(fields, None), sequence)
        assert isinstance(event, Event)
        return event


@dataclass(frozen=True)
class Probe:
    """Makes streams for a program whose inputs are `inputs`; the same ones for the same seed."""

    program: ResolvedProgram
    inputs: tuple[str, ...]
    random: Random

    def events(self, steps: Sequence[Step]) -> list[Event]:
        instant, events = BEGIN, []
        for sequence, step in enumerate(steps):
            instant += step.gap
            events.append(step.event(self.program.types, instant, sequence))
        return events

    def vary(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The stream with one more event, one less, or an event that differs in one thing."""
        if self._seeds:
            return self._seeds.pop()
        changed = list(steps)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            place = self.random.randrange(len(changed) + 1)
            choice = self.random.random()
            if place == len(changed) or (choice < 0.2 and len(changed) < LONGEST):
                changed.insert(place, self._step(changed))
            elif choice < 0.3:
                del changed[place]
            else:
                changed[place] = self._other(changed[place])
        return tuple(changed[: max(LONGEST, len(steps))])

    def _step(self, others: Sequence[Step]) -> Step:
        """A new event, or one much like another: patterns follow one thing over time."""
        if others and self.random.random() < _LIKE_ANOTHER:
            return self._other(self._other(self.random.choice(others)))
        type = self.random.choice(self.inputs)
        values = tuple((name, self._value(name)) for name in self._attributes(type))
        return Step(type, self._gap(), values)

    def _other(self, step: Step) -> Step:
        names = self._attributes(step.type)
        if not names or self.random.random() < 0.2:
            return Step(step.type, self._gap(), step.values)
        chosen = self.random.choice(names)
        values = dict(step.values) | {chosen: self.random.choice(self._pools[chosen])}
        return Step(step.type, step.gap, tuple(values.items()))

    def _gap(self) -> int:
        return self.random.choice((self._gaps[0], self.random.choice(self._gaps)))

    def _value(self, name: str) -> Value:
        pool = self._pools[name]
        return pool[0] if self.random.random() < _USUAL else self.random.choice(pool)

    def _attributes(self, type: str) -> list[str]:
        """Those that get a value; the time comes from the event itself, nested ones are null."""
        found = self.program.types[type]
        time = found.time.attribute if found.time else None
        return [a.name for a in found.attributes if a.name != time and a.name in self._pools]

    # Where to begin.

    @cached_property
    def _seeds(self) -> list[tuple[Step, ...]]:
        """Streams to try first, from the last to the first."""
        graph = graph_of(self.program)
        found: dict[tuple[Step, ...], None] = {}
        for statement in self.program.statements[-_SEEDED:]:
            for events in examples_for(graph, statement):
                if events and all(event.type in self.inputs for event in events):
                    found[self._steps(events)] = None
        ones = [steps for steps in found if len(steps) == 1] or [(self._step([]),)]
        copies = [steps * count for steps in ones[:_COPIED] for count in self._counts()]
        return [*copies, *found]

    def _steps(self, events: Sequence[Example]) -> tuple[Step, ...]:
        steps, before = [], events[0].instant
        for event in events:
            given = {name: v for name, v in event.values if name in self._attributes(event.type)}
            values = {name: self._pools[name][0] for name in self._attributes(event.type)} | given
            steps.append(Step(event.type, event.instant - before, tuple(values.items())))
            before = event.instant
        return tuple(steps)

    def _counts(self) -> list[int]:
        """What the program counts up to, and one more: the largest first, so that few are tried first."""
        every = [expr for s in self.program.statements for expr in expressions(s)]
        counted = {
            column.name
            for s in self.program.statements
            for column in s.columns
            if any(isinstance(e, Aggregate) for e in walk(column.expr))
        }
        found = {
            value + more
            for expr in every
            for node in walk(expr)
            if isinstance(node, Binary)
            if any(isinstance(e, Aggregate) for e in walk(node)) or counted & set(_names(node))
            for _, value in _comparisons(node)
            if isinstance(value, int) and LONGEST <= value < MOST_COPIES
            for more in (0, 1)
        }
        return sorted(found, reverse=True)

    # What to choose from.

    @cached_property
    def _gaps(self) -> list[int]:
        """In whole units of the event time, which an attribute may have to hold."""
        times = [t.time for n in self.inputs if (t := self.program.types[n]).time]
        units = [MICROSECONDS[cast("TimeUnit", time.unit)] for time in times if time]
        unit = max(MICROSECONDS["seconds"], *units, 0)
        periods = {p for s in self.program.statements for p in _periods(s)}
        spans = {longest(p) for p in periods}
        return [unit, 0, *sorted({max(s // unit // k, 1) * unit for s in spans for k in (1, 2)})]

    @cached_property
    def _pools(self) -> dict[str, list[Value]]:
        compared: dict[str, list[Value]] = {}
        numbers: list[Value] = []
        computed: set[str] = set()
        for expr in (e for s in self.program.statements for e in expressions(s)):
            for names, value in _comparisons(expr):
                for name in names:
                    compared.setdefault(name, []).append(value)
                if isinstance(value, int | float) and not isinstance(value, bool):
                    numbers.append(value)
            computed |= {n for e in walk(expr) if isinstance(e, Aggregate) for n in _names(e)}
        pools: dict[str, list[Value]] = {}
        for type in self.inputs:
            for attribute in self.program.types[type].attributes:
                near = numbers if attribute.name in computed else []
                pool = _pool(attribute.type, compared.get(attribute.name, near))
                if pool:
                    pools[attribute.name] = [*pools.get(attribute.name, []), *pool]
        return pools


def _pool(type: DataType, own: Sequence[Value]) -> list[Value]:
    """Values of the type: those it is compared with and their neighbours, else a few."""
    if type == BOOLEAN:
        return [True, False]
    if type == STRING:
        return [*dict.fromkeys(v for v in own if isinstance(v, str)), "a", "b"]
    if not is_numeric(type):
        return []
    near = [n for v in own if isinstance(v, int | float) for n in (v, v + 1, v - 1)]
    chosen = near or [1, 2]
    if is_integral(type):
        return list(dict.fromkeys(int(n) for n in chosen))
    return list(dict.fromkeys(float(n) for n in chosen if type != FLOAT or abs(n) < 1e30))


def _comparisons(expr: Expr) -> Iterator[tuple[list[str], Value]]:
    """The attributes that are compared with a literal, and the literal."""
    for node in walk(expr):
        if isinstance(node, Binary | InList | InRange):
            names = _names(node)
            yield from ((names, c.value) for c in walk(node) if isinstance(c, Literal))


def _names(expr: Expr) -> list[str]:
    return [e.path[-1].name for e in walk(expr) if isinstance(e, Column) and e.path]


def expressions(statement: ResolvedStatement) -> Iterator[Expr]:
    """All that a statement computes or tests."""
    parts = walk_pattern(statement.pattern) if statement.pattern is not None else ()
    for part in parts:
        yield from expressions_in(part)
    clauses = (statement.condition, statement.where, statement.having, statement.output_when)
    yield from (clause for clause in clauses if clause is not None)
    yield from (column.expr for column in statement.columns)


def _periods(statement: ResolvedStatement) -> Iterator[Period]:
    parts = walk_pattern(statement.pattern) if statement.pattern is not None else ()
    for part in parts:
        if isinstance(part, Within | Interval):
            yield part.period
    if isinstance(statement.tree.window, TimeWindow | TimeBatch):
        yield statement.tree.window.period
    output = statement.tree.output
    if output is not None:
        yield from (p for p in (output.every, output.after) if isinstance(p, Period))


def inputs_of(graph: Graph, members: Sequence[int]) -> tuple[str, ...]:
    """The types from outside that some statements take, also as events of an ancestor."""
    types = graph.program.types
    taken = {name for n in members for name in graph.statements[n].inputs}
    return tuple(n for n in graph.program.input_types if taken & lineage(n, types))
