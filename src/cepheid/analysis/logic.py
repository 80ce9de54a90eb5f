"""What no event can satisfy, what every event satisfies, and what another pattern says already.

- A statement can *never match* if its conditions contradict each other, the types of their values,
  the times that guards and timers leave, or what the statements that feed it require.
- A part of a condition is *always true* if every event that reaches it satisfies it.
- A statement is *implied* by another if each of its matches is one of the other's too: for single
  events, and for `every a=A -> b=B -> ...` of the same types step by step.

What is seen: conditions on attributes that are numbers, texts, Booleans or null, over the events of
one match and three statements back; instants, where an attribute of whole units holds the time.
What is not seen: what the solver takes for unknown (functions, arithmetic on floats, `like`,
regular expressions, nested attributes, aggregates); repetitions; what `or` and `not` inside a
pattern add; types that are declared or come from outside, whose events may have any values.
A finding is certain; a program without one may still have contradictions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import cast

from cepheid.analysis.keys import surely_bound
from cepheid.analysis.lifetimes import longest
from cepheid.analysis.solver import Events, Formula, Solver, SymbolicEvent
from cepheid.core.time import MICROSECONDS, Period, TimeUnit
from cepheid.core.types import DataType, is_integral, lineage
from cepheid.errors import Diagnostic, note, warning
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Expr, conjuncts
from cepheid.expr.typing import is_aggregated
from cepheid.pattern.tree import (
    AllOf,
    Atom,
    Every,
    EveryDistinct,
    FollowedBy,
    Interval,
    Pattern,
    While,
    Within,
    atoms,
)
from cepheid.program.graph import Graph
from cepheid.program.resolved import OutputColumn, ResolvedStatement

_DEPTH = 3  # how many statements back what feeds a statement is known
_DAY = MICROSECONDS["days"]


def find(graph: Graph) -> Iterator[Diagnostic]:
    for statement in graph.statements:
        yield from _Judge(graph, statement).run()
    yield from _implied(graph)


@dataclass(slots=True)
class _Match:
    """A match of a statement: its events, what must hold of them, and when it is complete."""

    events: dict[str | None, SymbolicEvent] = field(default_factory=dict)
    facts: list[Formula] = field(default_factory=list)  # types, times, what feeds the statement
    conditions: list[tuple[Expr, Events]] = field(default_factory=list)  # in the order of the text
    bound: list[SymbolicEvent] = field(default_factory=list)  # its events in their order
    end: Formula = None


class _World:
    """Describes matches and events as formulas."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.types = graph.program.types
        self.solver = Solver()
        program = graph.program
        declared = {schema.name for schema in program.tree.schemas}
        self.outside = {*program.input_types, *program.given, *declared}

    def match(self, statement: ResolvedStatement, depth: int = _DEPTH) -> _Match:
        found = _Match()
        begin = self.solver.instant()
        if statement.pattern is None:
            assert statement.event_type is not None
            event = self._event(statement.event_type, found, depth)
            found.events[None] = event
            found.end = event.instant
            _add(found, statement.condition, {None: event})
        else:
            sure = {id(atom) for atom in surely_bound(statement.pattern)}
            found.end = self._pattern(statement.pattern, begin, found, sure, depth)
        _add(found, statement.where, found.events)
        if statement.having is not None and not is_aggregated(statement.having):
            _add(found, statement.having, found.events)
        return found

    # Patterns.

    def _pattern(
        self, pattern: Pattern, begin: Formula, match: _Match, sure: set[int], depth: int
    ) -> Formula:
        """When a pattern that starts at `begin` is true; its events become part of the match."""
        end = self.solver.instant()
        match.facts.append(end >= begin)
        match pattern:
            case Atom() if id(pattern) in sure:
                event = self._event(pattern.event_type, match, depth)
                match.facts.append(event.instant == end)
                if pattern.tag is not None:
                    match.events[pattern.tag] = event
                _add(match, pattern.condition, {**match.events, None: event})
            case FollowedBy():
                for part in pattern.parts:
                    begin = self._pattern(part, begin, match, sure, depth)
                match.facts.append(end == begin)
            case AllOf():
                for part in pattern.parts:
                    match.facts.append(end >= self._pattern(part, begin, match, sure, depth))
            case Every() | EveryDistinct():
                again = self.solver.instant()
                match.facts.append(again >= begin)
                match.facts.append(end == self._pattern(pattern.child, again, match, sure, depth))
            case While():
                match.facts.append(end == self._pattern(pattern.child, begin, match, sure, depth))
            case Within():
                match.facts.append(end == self._pattern(pattern.child, begin, match, sure, depth))
                match.facts.append(end <= begin + longest(pattern.period))
            case Interval():
                match.facts.append(end >= begin + _shortest(pattern.period))
        return end

    # Events.

    def _event(self, type: str, match: _Match, depth: int) -> SymbolicEvent:
        event = SymbolicEvent(self.solver.instant())
        match.bound.append(event)
        self._bind_time(type, event, match)
        heirs = [name for name in self.types if type in lineage(name, self.types)]
        if depth > 0 and self.outside.isdisjoint(heirs) and not self._in_cycle(type):
            makers = [s for s in self.graph.statements if s.target in heirs]
            origins = [self._origin(maker, event, depth - 1) for maker in makers]
            match.facts.append(self.solver.z3.Or(*origins))
        return event

    def _in_cycle(self, type: str) -> bool:
        return any(self.graph.statements[n].target == type for c in self.graph.cycles for n in c)

    def _bind_time(self, type: str, event: SymbolicEvent, match: _Match) -> None:
        """The attribute that holds the time counts whole units of it."""
        rule = self.types[type].time
        found = self.types[type].find(rule.attribute) if rule else None
        if rule is not None and found is not None and is_integral(found):
            unit = MICROSECONDS[cast("TimeUnit", rule.unit)]
            term = self.solver.attribute(event, rule.attribute, found)
            low = term.value * unit
            match.facts += [low <= event.instant, event.instant < low + unit]
            match.facts.append(self.solver.z3.Not(term.null))

    def _origin(self, maker: ResolvedStatement, event: SymbolicEvent, depth: int) -> Formula:
        """That an event is a row of a statement."""
        z3 = self.solver.z3
        match = self.match(maker, depth)
        held = [self.solver.holds(expr, events) for expr, events in match.conditions]
        equal = [
            self.solver.same(
                self.solver.attribute(event, column.name, self._type_of(maker, column)),
                self.solver.term(column.expr, match.events),
            )
            for column in maker.columns
            if not is_aggregated(column.expr)
        ]
        return z3.And(*match.facts, *held, *equal, event.instant >= match.end)

    def _type_of(self, maker: ResolvedStatement, column: OutputColumn) -> DataType:
        """That of the attribute, which may hold the values of other statements, too."""
        return self.types[maker.target].find(column.name) or column.expr.type


def _add(match: _Match, condition: Expr | None, events: Events) -> None:
    match.conditions += [(part, dict(events)) for part in conjuncts(condition)]


def _shortest(period: Period) -> int:
    return period.microseconds + period.months * 28 * _DAY


# One statement.


class _Judge:
    def __init__(self, graph: Graph, statement: ResolvedStatement) -> None:
        self.statement = statement
        self.world = _World(graph)
        self.solver = self.world.solver

    def run(self) -> Iterator[Diagnostic]:
        match = self.world.match(self.statement)
        if not self.solver.can_hold(match.facts):
            yield self._never(None)
            return
        held = list(match.facts)
        notes = []
        for part, events in match.conditions:
            term = self.solver.term(part, events)
            true = self.solver.is_true(term)
            if not self.solver.can_hold([*held, true]):
                yield self._never(part)
                return
            if not self.solver.can_hold([*match.facts, self.solver.z3.Not(true)]):
                fact = f"`{print_expr(part)}` is true of every event that comes here"
                notes.append(note("always-true", fact, part.span or self.statement.tree.span))
            held.append(true)
        yield from notes

    def _never(self, part: Expr | None) -> Diagnostic:
        fact = f"'{self.statement.name}' can never match"
        if part is None:
            hint = "its guards and timers leave no time for its events, or nothing feeds it"
            return warning("never-matches", fact, self.statement.tree.span, hint)
        hint = "it contradicts what its events must satisfy before"
        fact = f"{fact}: `{print_expr(part)}` is true of no event that comes here"
        return warning("never-matches", fact, part.span or self.statement.tree.span, hint)


# Two statements.


def _implied(graph: Graph) -> Iterator[Diagnostic]:
    told: set[frozenset[str]] = set()
    for one, other in permutations(graph.statements, 2):
        pair = frozenset((one.name, other.name))
        if pair not in told and _steps(one) == _steps(other) and _implies(graph, one, other):
            told.add(pair)
            fact = f"every match of '{one.name}' is one of '{other.name}', too"
            yield note("implied", fact, one.tree.span, "perhaps one of them is enough")


def _steps(statement: ResolvedStatement) -> tuple[object, ...] | None:
    """The form of statements that can be compared: their types in order, and what counts rows."""
    tree = statement.tree
    counts = (tree.window, tree.output, tree.limit, statement.having)
    if any(part is not None for part in counts) or statement.context is not None:
        return (statement.name,)
    if statement.pattern is None:
        return ("", statement.event_type)
    chain = _chain(statement.pattern)
    return ("", *(a.event_type for a in chain)) if chain else (statement.name,)


def _chain(pattern: Pattern) -> list[Atom]:
    """The events of `every a=A -> b=B -> ...`, or of `every a=A`; none for other patterns."""
    first, *rest = pattern.parts if isinstance(pattern, FollowedBy) else (pattern,)
    if not (isinstance(first, Every) and isinstance(first.child, Atom)):
        return []
    if not all(isinstance(part, Atom) for part in rest):
        return []
    return list(atoms(pattern))


def _implies(graph: Graph, one: ResolvedStatement, other: ResolvedStatement) -> bool:
    """Whether the conditions of one, step by step, are at least those of the other.

    The other statement is asked about the same events, under its own tags. Conditions in `where`
    look at a match that is there already, which only single events give to both alike.
    """
    is_single = len(_steps(one) or ()) == 2  # a mark and one type
    if not is_single and (one.where is not None or other.where is not None):
        return False
    world = _World(graph)
    solver = world.solver
    mine, yours = world.match(one, depth=0), world.match(other, depth=0)
    if not yours.conditions:
        return False  # it is there to take everything
    held = [*mine.facts, *(solver.holds(expr, events) for expr, events in mine.conditions)]
    required = [solver.holds(expr, events) for expr, events in yours.conditions]
    same = [
        solver.same(solver.attribute(a, name, term.type), solver.attribute(b, name, term.type))
        for a, b in zip(mine.bound, yours.bound, strict=True)
        for name, term in {**a.attributes, **b.attributes}.items()
    ]
    return not solver.can_hold([*held, *same, solver.z3.Not(solver.z3.And(*required))])
