"""A match of a statement as formulas: its events, what must hold of them, and when.

Events of types that only statements derive satisfy what one of these statements requires, three
statements back; where they are too many, nothing is known of them. Times follow the order of the pattern, its guards and its timers, and the attribute
that holds the time of a type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from cepheid.analysis.lifetimes import KNOWN, longest
from cepheid.analysis.solver import LONGEST, Events, Formula, Solver, SymbolicEvent
from cepheid.core.time import MICROSECONDS, Period, TimeUnit
from cepheid.core.types import DataType, EventTime, is_integral, lineage
from cepheid.expr.tree import Column, Expr, conjuncts
from cepheid.expr.tree import walk as walk_expr
from cepheid.expr.typing import is_aggregated
from cepheid.pattern.tree import (
    Absent,
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
    children,
    walk,
)
from cepheid.program.graph import Graph
from cepheid.program.resolved import OutputColumn, ResolvedStatement

_DEPTH = 3  # how many statements back what feeds a statement is known
_ORIGINS = range(20, 101)  # of how many of them, at least and at most: fewer where many ask
_ASKED = 5_000  # about how many in a program
_DAY = MICROSECONDS["days"]
_FOR_EVER = 50 * 365 * _DAY  # seconds in an int do not wrap around before that


@dataclass(slots=True)
class Match:
    """A match of a statement: its events, what must hold of them, and when it is complete."""

    events: dict[str | None, SymbolicEvent] = field(default_factory=dict)
    facts: list[Formula] = field(default_factory=list)  # types, times, what feeds the statement
    conditions: list[tuple[Expr, Events]] = field(default_factory=list)  # in the order of the text
    bound: list[SymbolicEvent] = field(default_factory=list)  # its events in their order
    end: Formula = None
    is_cut: bool = False  # whether there are more conditions than are looked at


class Feeds:
    """Where the events of each type come from, and where they have their time: once for a program."""

    def __init__(self, graph: Graph, outside: Collection[str] | None = None) -> None:
        """`outside` are types whose events may come from there, by default all that are declared."""
        program = graph.program
        self.types = program.types
        share = _ASKED // max(len(graph.statements), 1)
        self.most_origins = min(max(share, _ORIGINS[0]), _ORIGINS[-1])
        declared = {schema.name for schema in program.tree.schemas}
        every = {*program.input_types, *program.given, *declared}
        self.outside = every if outside is None else set(outside)
        self.in_cycles = {graph.statements[n].target for cycle in graph.cycles for n in cycle}
        self.heirs: dict[str, list[str]] = {}  # the types whose events are of a type
        for name in program.types:
            for ancestor in lineage(name, program.types):
                self.heirs.setdefault(ancestor, []).append(name)
        self._makers: dict[str, list[ResolvedStatement]] = {}
        for statement in graph.statements:
            self._makers.setdefault(statement.target, []).append(statement)

    def makers(self, type: str) -> list[ResolvedStatement] | None:
        """The statements that derive its events; None where they may come from elsewhere, too."""
        heirs = self.heirs.get(type, [])
        if not self.outside.isdisjoint(heirs) or type in self.in_cycles:
            return None
        return [maker for heir in heirs for maker in self._makers.get(heir, ())]

    def time_of(self, type: str) -> EventTime | None:
        """Where the time of all events of a type is; derived ones have that of their cause."""
        heirs = self.heirs.get(type, [])
        rules = {self.types[heir].time for heir in heirs}
        is_derived = any(heir in self._makers for heir in heirs)
        return None if is_derived or len(rules) != 1 else rules.pop()


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a statement before requires of its events, and the mark under which it counts."""

    mark: Formula
    condition: Expr
    statement: ResolvedStatement


class World:
    """Describes matches and events as formulas."""

    def __init__(self, feeds: Feeds) -> None:
        self.feeds = feeds
        self.types = feeds.types
        self.solver = Solver()
        self.origins = 0  # statements that were asked what they derive
        self.required: list[Requirement] = []  # of them
        self.left_open: set[str] = set()  # types of which too many statements derive events

    def match(self, statement: ResolvedStatement, depth: int = _DEPTH) -> Match:
        found = Match()
        begin = self.solver.instant()
        if statement.pattern is None:
            assert statement.event_type is not None
            event = self._event(statement.event_type, found, depth)
            found.events[None] = event
            found.end = event.instant
            _add(found, statement.condition, {None: event})
        else:
            sure = {id(atom) for atom in _surely_bound(statement.pattern)}
            found.end = self._pattern(statement.pattern, begin, found, sure, depth)
        _add(found, statement.where, found.events)
        if statement.having is not None and not is_aggregated(statement.having):
            _add(found, statement.having, found.events)
        return found

    def facts(self, match: Match) -> list[Formula]:
        """What holds besides the conditions of a match: its own facts, and what is required before."""
        return [*match.facts, *(required.mark for required in self.required)]

    # Patterns.

    def _pattern(
        self, pattern: Pattern, begin: Formula, match: Match, sure: set[int], depth: int
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
                sides = [p for p in pattern.parts if not isinstance(p, Absent)]
                ends = [self._pattern(p, begin, match, sure, depth) for p in sides] or [begin]
                match.facts += [end >= side for side in ends]
                match.facts.append(self.solver.z3.Or(*(end == side for side in ends)))
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

    def _event(self, type: str, match: Match, depth: int) -> SymbolicEvent:
        event = SymbolicEvent(self.solver.instant())
        match.bound.append(event)
        self._bind_time(type, event, match)
        makers = self.feeds.makers(type) if depth > 0 else None
        event.is_open = makers is None and not event.attributes
        if makers is not None and self.origins + len(makers) > self.feeds.most_origins:
            self.left_open.add(type)
        elif makers is not None:
            self.origins += len(makers)
            origins = [self._origin(maker, event, depth - 1) for maker in makers]
            match.facts.append(self.solver.z3.Or(*origins))
        return event

    def _bind_time(self, type: str, event: SymbolicEvent, match: Match) -> None:
        """The attribute that holds the time counts whole units of it."""
        rule = self.feeds.time_of(type)
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
        held = [self._mark(maker, expr, events) for expr, events in match.conditions]
        equal = [
            self.solver.same(
                self.solver.attribute(event, column.name, self._type_of(maker, column)),
                self.solver.term(column.expr, match.events),
            )
            for column in maker.columns
            if not is_aggregated(column.expr)
        ]
        return z3.And(*match.facts, *held, *equal, event.instant >= match.end)

    def _mark(self, maker: ResolvedStatement, condition: Expr, events: Events) -> Formula:
        mark = self.solver.z3.Bool(f"required_{len(self.required)}")
        self.required.append(Requirement(mark, condition, maker))
        return self.solver.z3.Implies(mark, self.solver.holds(condition, events))

    def _type_of(self, maker: ResolvedStatement, column: OutputColumn) -> DataType:
        """That of the attribute, which may hold the values of other statements, too."""
        return self.types[maker.target].find(column.name) or column.expr.type


def _surely_bound(pattern: Pattern) -> Iterator[Atom]:
    """The events that every match has."""
    if isinstance(pattern, Atom):
        yield pattern
    elif isinstance(pattern, FollowedBy | AllOf | Every | EveryDistinct | While | Within):
        for child in children(pattern):
            yield from _surely_bound(child)


def longest_run(feeds: Feeds, statement: ResolvedStatement) -> int | None:
    """How long after its first event a match can be complete, if conditions on the time say so.

    The end is exclusive, like that of `timer:within`. A `where` counts only where a match that it
    refuses leaves no trace: it comes after the window.
    """
    pattern, tree = statement.pattern, statement.tree
    if pattern is None or not all(isinstance(part, KNOWN) for part in walk(pattern)):
        return None
    if next(_surely_bound(pattern), None) is not next(atoms(pattern), None):
        return None
    if tree.window is not None or tree.output is not None:
        statement = replace(statement, where=None, having=None)
    if not _tests_time(statement, feeds):
        return None
    world = World(feeds)
    match = world.match(statement, depth=0)
    held = [world.solver.holds(expr, events) for expr, events in match.conditions]
    lasts = match.end - match.bound[0].instant
    last = world.solver.most(lasts, [*match.facts, *held, lasts <= _FOR_EVER])
    return None if last is None or last >= _FOR_EVER else last + 1


def _tests_time(statement: ResolvedStatement, feeds: Feeds) -> bool:
    """Whether an attribute that holds a time is part of a condition, as far as names tell."""
    assert statement.pattern is not None
    parts = list(atoms(statement.pattern))
    rules = [feeds.time_of(part.event_type) for part in parts]
    names = {rule.attribute for rule in rules if rule is not None}
    conditions = [*(part.condition for part in parts), statement.where, statement.having]
    return any(
        isinstance(expr, Column) and expr.is_attribute and expr.path[0].name in names
        for condition in conditions
        if condition is not None
        for expr in walk_expr(condition)
    )


def _add(match: Match, condition: Expr | None, events: Events) -> None:
    parts = conjuncts(condition)
    match.is_cut = match.is_cut or len(match.conditions) + len(parts) > LONGEST
    known = dict(events)
    match.conditions += [(part, known) for part in parts[: LONGEST - len(match.conditions)]]


def _shortest(period: Period) -> int:
    return period.microseconds + period.months * 28 * _DAY
