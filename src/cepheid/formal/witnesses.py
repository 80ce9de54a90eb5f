"""Races that are real: streams for which two orders of the statements give different rows.

Statements of equal priority take an event in the order of the text. If two of them take the same
event, or wait for the same instant, and what they derive meets again in a third one, that one may
see it in either order. For each such statement short streams are run through the reference
semantics under several orders; if its rows differ, the stream is made as short as possible and is
the witness of a warning.

What is seen: differences in what rows say, not in which order rows of one instant stand. A witness
is certain. What is not seen: races that no stream of the few hundred tried ones shows; statements
that depend on a cycle, or on a type without a schema; what nested attributes decide. Many statements
with a common past get fewer streams, those that timers alone move get none: a note tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import TypeAlias

from cepheid.analysis.races import FIX
from cepheid.analysis.retention import speaks_with_time
from cepheid.core.event import Event, Value
from cepheid.core.types import lineage
from cepheid.errors import Diagnostic, RunError, Severity, note
from cepheid.formal.shrink import shortest
from cepheid.formal.streams import Probe, Step, inputs_of
from cepheid.io.encode import encode, to_json
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedStatement
from cepheid.semantics.machine import Machine

TRIES = 500  # streams for statements with a common past
WORK = 15_000  # statements that run in all of them; more statements get fewer streams
_DIGITS = 9  # floats that agree so far differ by the order of a sum, no more

_RECENT = 12  # streams to go on from

Shown: TypeAlias = tuple[object, ...]  # a row as plain data
Rows: TypeAlias = dict[str, Counter[Shown]]  # by the name of the statement
Mark: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Witness:
    """The rows of `statement` for `events` depend on whether `first` or `second` comes first."""

    statement: ResolvedStatement
    first: str
    second: str
    events: tuple[Event, ...]
    rows: int  # with `first` first, as the text has it
    other_rows: int

    @property
    def lines(self) -> tuple[str, ...]:
        """An events file."""
        return tuple(to_json(encode(event)) for event in self.events)


def find(graph: Graph) -> Iterator[Diagnostic]:
    for candidates in _groups(graph):
        search = _Search(graph, candidates)
        yield from map(_finding, search.run())
        yield from search.limits()


def _finding(witness: Witness) -> Diagnostic:
    return Diagnostic(
        "race",
        Severity.WARNING,
        f"the rows of '{witness.statement.name}' depend on whether '{witness.first}' or "
        f"'{witness.second}' takes an event first: {_difference(witness)}",
        witness.statement.tree.span,
        f"{FIX}; `--witness FOLDER` writes the events of the example",
        witness=witness.lines,
    )


def _difference(witness: Witness) -> str:
    events = "1 event gives" if len(witness.events) == 1 else f"{len(witness.events)} events give"
    if witness.rows != witness.other_rows:
        return f"{events} {witness.rows} of them, or {witness.other_rows}"
    return f"{events} them other values"


def witnesses(graph: Graph) -> Iterator[Witness]:
    """One for each statement where a race begins; those that follow from it are left out."""
    for candidates in _groups(graph):
        yield from _Search(graph, candidates).run()


def _groups(graph: Graph) -> list[list[int]]:
    """The statements that may race, those with a common past together."""
    groups: list[tuple[set[int], list[int]]] = []
    causes = _causes(graph)
    for number in range(len(graph.levels)):
        upstream = graph.upstream(number)
        if _may_race(graph, number, upstream, causes):
            past = {*upstream, number}
            related = [group for group in groups if group[0] & past]
            groups = [group for group in groups if not group[0] & past]
            members = [n for _, found in related for n in found]
            groups.append((past.union(*(p for p, _ in related)), [*members, number]))
    return [sorted(members) for _, members in groups]


def _may_race(graph: Graph, number: int, upstream: set[int], causes: Sequence[Set[Mark]]) -> bool:
    """Whether two statements above it are moved by one cause, in an order that is open."""
    seen: set[Mark] = set()
    if all(_is_new(causes[n], seen) for n in upstream):
        return False
    if any(not upstream.isdisjoint(cycle) or number in cycle for cycle in graph.cycles):
        return False
    types = graph.program.types
    return not any(types[name].is_open for name in inputs_of(graph, [*upstream, number]))


def _is_new(causes: Set[Mark], seen: set[Mark]) -> bool:
    is_new = seen.isdisjoint(causes)
    seen |= causes
    return is_new


def _causes(graph: Graph) -> list[set[Mark]]:
    """What moves each statement, beside others of its priority: types of events, and time."""
    types = graph.program.types
    heirs: dict[str, list[str]] = {}
    for name in types:
        for ancestor in lineage(name, types):
            heirs.setdefault(ancestor, []).append(name)
    return [
        {(s.tree.priority, heir) for name in s.inputs for heir in (name, *heirs.get(name, ()))}
        | ({(s.tree.priority,)} if speaks_with_time(s) else set())
        for s in graph.statements
    ]


class _Search:
    """Looks for witnesses for some statements, in the part of the program that leads to them."""

    def __init__(self, graph: Graph, candidates: Sequence[int]) -> None:
        self.graph = graph
        self.candidates = sorted(candidates, key=lambda n: (graph.levels[n], n))
        members = sorted({*candidates, *(u for n in candidates for u in graph.upstream(n))})
        parts = [graph.statements[n] for n in members]
        self.program = graph.program.part([s.name for s in parts])
        self.order = [s.name for s in sorted(parts, key=lambda s: s.rank)]
        self.random = Random(len(members))
        self.probe = Probe(self.program, inputs_of(graph, members), self.random)
        self.tries = min(TRIES, WORK // len(members)) if self.probe.inputs else 0

    def limits(self) -> Iterator[Diagnostic]:
        """What was not looked for, among the candidates that are left."""
        if self.candidates and self.tries < TRIES:
            statement = self.graph.statements[self.candidates[0]]
            others = len(self.candidates) - 1
            also = f" and of {others} others" if others else ""
            why = (
                f"{len(self.order)} statements lead there, so {self.tries} streams were tried, not {TRIES}"
                if self.tries
                else "only timers lead there, and streams of events are what is tried"
            )
            fact = f"races of '{statement.name}'{also} may be missed: {why}"
            yield note("check-limit", fact, statement.tree.span)

    def run(self) -> Iterator[Witness]:
        """Goes on from the streams that led further than those before them."""
        seen: set[Mark] = set()
        kept: list[tuple[Step, ...]] = [()]
        for number in range(self.tries):
            steps = self.probe.vary(self.random.choice(kept[-_RECENT:]))
            marks: set[Mark] = set()
            rows = self._rows(steps, self.order, marks)
            if not marks <= seen:
                seen |= marks
                kept.append(steps)
            other = self._other_order(number)
            found = self._first_difference(rows, self._rows(steps, other, set()))
            if found is not None:
                yield self._witness(found, steps, other)
                explained = [n for n in self.candidates if found in {n, *self.graph.upstream(n)}]
                self.candidates = [n for n in self.candidates if n not in explained]
            if not self.candidates:
                return

    def _other_order(self, number: int) -> list[str]:
        if number % 2 == 0:
            return self.order[::-1]
        return self.random.sample(self.order, len(self.order))

    def _first_difference(self, one: Rows, other: Rows) -> int | None:
        """The first candidate, from the lowest level, whose rows differ."""
        names = ((n, self.graph.statements[n].name) for n in self.candidates)
        return next((n for n, name in names if one.get(name) != other.get(name)), None)

    def _rows(self, steps: Sequence[Step], order: Sequence[str], marks: set[Mark]) -> Rows:
        """The rows of each statement; `marks` gets what tells how far the stream led."""
        machine = Machine(self.program, order=order)
        rows: list[Event] = []
        try:
            for event in self.probe.events(steps):
                rows += machine.take(event)
        except RunError:
            return {}
        marks |= set(_marks(machine, rows))
        found: Rows = {}
        for row in rows:
            found.setdefault(row.statement or "", Counter())[_shown(row)] += 1
        return found

    # Making a witness small.

    def _witness(self, number: int, steps: tuple[Step, ...], other: list[str]) -> Witness:
        statement = self.graph.statements[number]
        steps = self._shortest(statement.name, steps, other)
        before, after = self._exchange(statement.name, steps, other)
        first, second = next((a, b) for a, b in zip(before, after, strict=True) if a != b)
        rows, other_rows = (
            self._rows_of(statement.name, steps, o).total() for o in (before, after)
        )
        if self.order.index(first) > self.order.index(second):
            first, second, rows, other_rows = second, first, other_rows, rows
        events = tuple(self.probe.events(steps))
        return Witness(statement, first, second, events, rows, other_rows)

    def _rows_of(self, name: str, steps: Sequence[Step], order: Sequence[str]) -> Counter[Shown]:
        return self._rows(steps, order, set()).get(name, Counter())

    def _differ(
        self, name: str, steps: Sequence[Step], one: Sequence[str], other: Sequence[str]
    ) -> bool:
        return self._rows_of(name, steps, one) != self._rows_of(name, steps, other)

    def _shortest(
        self, name: str, steps: tuple[Step, ...], other: Sequence[str]
    ) -> tuple[Step, ...]:
        return shortest(steps, lambda fewer: self._differ(name, fewer, self.order, other))

    def _exchange(
        self, name: str, steps: Sequence[Step], other: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Two orders that differ in two neighbours only, and in what comes of the stream."""
        before = list(self.order)
        while True:
            place = next(
                place
                for place, (a, b) in enumerate(pairwise(before))
                if other.index(a) > other.index(b)
            )
            after = [*before]
            after[place], after[place + 1] = before[place + 1], before[place]
            if self._differ(name, steps, before, after):
                return before, after
            before = after


def _marks(machine: Machine, rows: Sequence[Event]) -> Iterator[Mark]:
    """Which steps of patterns were reached, and which statements spoke at one instant."""
    for plan in machine.plans:
        nodes = plan.node.walk() if plan.node is not None else ()
        yield from ((plan.name, place, min(machine.steps[n], 2)) for place, n in enumerate(nodes))
    together: dict[int, set[str | None]] = {}
    for row in rows:
        together.setdefault(row.instant, set()).add(row.statement)
    yield from ((frozenset(names),) for names in together.values())


def _shown(row: Event) -> Shown:
    values = tuple((name, _rounded(value)) for name, value in row.items())
    return row.type, row.instant, row.is_old, values


def _rounded(value: Value) -> str:
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else repr(value)
