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
from itertools import permutations

from cepheid.analysis.matches import Match, World
from cepheid.errors import Diagnostic, note, warning
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Expr
from cepheid.pattern.tree import Atom, Every, FollowedBy, Pattern, atoms
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedStatement


def find(graph: Graph) -> Iterator[Diagnostic]:
    for statement in graph.statements:
        yield from _Judge(graph, statement).run()
    yield from _implied(graph)


# One statement.


class _Judge:
    def __init__(self, graph: Graph, statement: ResolvedStatement) -> None:
        self.statement = statement
        self.world = World(graph)
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
    alike: dict[tuple[str | None, ...], list[ResolvedStatement]] = {}
    for statement in graph.statements:
        steps = _steps(statement)
        if steps is not None:
            alike.setdefault(steps, []).append(statement)
    for statements in alike.values():
        if len(statements) > 1:
            yield from _implied_among(graph, statements)


def _implied_among(graph: Graph, statements: list[ResolvedStatement]) -> Iterator[Diagnostic]:
    """Each pair once, also where each implies the other."""
    world = World(graph)
    matches = {s.name: world.match(s, depth=0) for s in statements}
    told: set[frozenset[str]] = set()
    for one, other in permutations(statements, 2):
        pair = frozenset((one.name, other.name))
        if pair not in told and _implies(world, matches[one.name], matches[other.name]):
            told.add(pair)
            fact = f"every match of '{one.name}' is one of '{other.name}', too"
            yield note("implied", fact, one.tree.span, "perhaps one of them is enough")


def _steps(statement: ResolvedStatement) -> tuple[str | None, ...] | None:
    """The types of its events in order; None for what cannot be compared with others.

    What counts rows cannot, nor can `where` over several events: it tests a match that is there
    already, where a filter waits for another event.
    """
    tree = statement.tree
    counts = (tree.window, tree.output, tree.limit, statement.having, statement.context)
    chain = _chain(statement.pattern) if statement.pattern is not None else []
    is_long = statement.pattern is not None and len(chain) != 1
    if any(counts) or (is_long and (not chain or statement.where is not None)):
        return None
    return tuple(atom.event_type for atom in chain) or (statement.event_type,)


def _chain(pattern: Pattern) -> list[Atom]:
    """The events of `every a=A -> b=B -> ...`, or of `every a=A`; none for other patterns."""
    first, *rest = pattern.parts if isinstance(pattern, FollowedBy) else (pattern,)
    if not (isinstance(first, Every) and isinstance(first.child, Atom)):
        return []
    if not all(isinstance(part, Atom) for part in rest):
        return []
    return list(atoms(pattern))


def _implies(world: World, one: Match, other: Match) -> bool:
    """Whether the conditions of one match are at least those of the other, for the same events."""
    if not other.conditions:
        return False  # it is there to take everything
    solver = world.solver
    held = [*one.facts, *(solver.holds(expr, events) for expr, events in one.conditions)]
    required = [solver.holds(expr, events) for expr, events in other.conditions]
    same = [
        solver.same(solver.attribute(a, name, term.type), solver.attribute(b, name, term.type))
        for a, b in zip(one.bound, other.bound, strict=True)
        for name, term in {**a.attributes, **b.attributes}.items()
    ]
    return not solver.can_hold([*held, *same, solver.z3.Not(solver.z3.And(*required))])
