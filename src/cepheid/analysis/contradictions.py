"""What no event can satisfy, and what every event satisfies.

- A statement can *never match* if its conditions contradict each other, the types of their values,
  the times that guards and timers leave, or what the statements that feed it require. The finding
  names a few conditions that cannot hold together.
- A part of a condition is *always true* if every event that reaches it satisfies it.

What is seen: conditions on attributes that are numbers, texts, Booleans or null, over the events of
one match and three statements back; instants, where an attribute of whole units holds the time.
What is not seen: what the solver takes for unknown (functions, arithmetic on floats, `like`,
regular expressions, nested attributes, aggregates); repetitions; what `or` and `not` inside a
pattern add; types that are declared or come from outside, whose events may have any values; what
is too long, of which a note tells. Comparisons with null are left to `nulls`.
A finding is certain; a program without one may still have contradictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.analysis import implications
from cepheid.analysis.matches import Feeds, Match, World
from cepheid.analysis.nulls import is_null_comparison
from cepheid.analysis.solver import LONGEST, Events, Formula
from cepheid.errors import Diagnostic, Span, note, warning
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import And, Binary, Column, Expr, InList, InRange, Like, Not, Or, walk
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedStatement


def find(graph: Graph) -> Iterator[Diagnostic]:
    feeds = Feeds(graph)
    possible = []
    for statement in graph.statements:
        judge = _Judge(feeds, statement)
        yield from judge.run()
        if judge.can_match:
            possible.append(statement)
    yield from implications.find(feeds, possible)


class _Judge:
    def __init__(self, feeds: Feeds, statement: ResolvedStatement) -> None:
        self.statement = statement
        self.world = World(feeds)
        self.solver = self.world.solver
        self.can_match = True

    def run(self) -> Iterator[Diagnostic]:
        match = self.world.match(self.statement)
        held = [self.solver.holds(expr, events) for expr, events in match.conditions]
        facts = self.world.facts(match)
        self.can_match = self.solver.can_hold([*facts, *held])
        if not self.can_match:
            yield from self._never(match, held, facts)
            return
        for (part, events), true in zip(match.conditions, held, strict=True):
            if not _may_be_null(part, events) and not self.solver.can_hold(
                [*facts, self.solver.z3.Not(true)]
            ):
                fact = f"`{print_expr(part)}` is true of every event that comes here"
                yield note("always-true", fact, part.span or self.statement.tree.span)
        yield from self._limits(match)

    # Contradictions.

    def _never(
        self, match: Match, held: Sequence[Formula], facts: Sequence[Formula]
    ) -> Iterator[Diagnostic]:
        fact = f"'{self.statement.name}' can never match"
        if not self.solver.can_hold([*facts]):
            hint = "its guards and timers leave no time for its events, or nothing feeds it"
            yield warning("never-matches", fact, self.statement.tree.span, hint)
            return
        last = self._first_impossible(held, facts)
        part = match.conditions[last][0]
        if is_null_comparison(part):
            return
        span = part.span or self.statement.tree.span
        others = list(self._others(match, held[: last + 1], span))
        if others:
            why = f"`{print_expr(part)}` contradicts {_listed(others)}"
            yield warning("never-matches", f"{fact}: {why}", span)
            return
        why = f"`{print_expr(part)}` is true of no event that comes here"
        hint = (
            "the order of its events, guards and timers leave no time for it"
            if self.solver.can_hold([held[last]])
            else "no value that its attributes can have makes it true"
        )
        yield warning("never-matches", f"{fact}: {why}", span, hint)

    def _first_impossible(self, held: Sequence[Formula], facts: Sequence[Formula]) -> int:
        """The first condition, in the order of the text, that cannot hold with those before it."""
        low, high = 0, len(held) - 1
        while low < high:
            middle = (low + high) // 2
            if self.solver.can_hold([*facts, *held[: middle + 1]]):
                low = middle + 1
            else:
                high = middle
        return low

    def _others(self, match: Match, held: Sequence[Formula], span: Span | None) -> Iterator[str]:
        """The conditions that contradict the last one, here and in the statements before."""
        required = self.world.required
        formulas = [*held, *(r.mark for r in required)]
        for place in self.solver.clash(formulas, match.facts):
            if place < len(held) - 1:
                part = match.conditions[place][0]
                yield f"`{print_expr(part)}`{_where(part.span, span)}"
            elif place >= len(held):
                before = required[place - len(held)]
                condition = print_expr(before.condition)
                place_of = _where(before.condition.span or before.statement.tree.span, span)
                yield f"`{condition}` of '{before.statement.name}'{place_of}"

    # Limits.

    def _limits(self, match: Match) -> Iterator[Diagnostic]:
        reasons = []
        if match.is_cut:
            reasons.append(f"it has more than {LONGEST} conditions")
        if any(_is_long(node) for part, _ in match.conditions for node in walk(part)):
            reasons.append(f"a list or an `or` has more than {LONGEST} parts")
        if self.world.left_open:
            types = ", ".join(f"'{name}'" for name in sorted(self.world.left_open))
            reasons.append(
                f"more than {self.world.feeds.most_origins} statements lead to its events of {types}"
            )
        if reasons:
            fact = f"contradictions of '{self.statement.name}' may be missed: {'; '.join(reasons)}"
            yield note("check-limit", fact, self.statement.tree.span)


def _may_be_null(condition: Expr, events: Events) -> bool:
    """Whether it is plain that a null makes it untrue: then no solver needs to be asked."""
    match condition:
        case Not(operand):
            return _may_be_null(operand, events)
        case Binary(operator, left, right) if operator not in ("is", "is not"):
            sides: tuple[Expr, ...] = (left, right)
        case InList(operand) | InRange(operand) | Like(operand):
            sides = (operand,)
        case _:
            return False
    attributes = (s for s in sides if isinstance(s, Column) and s.is_attribute)
    return any(a.tag in events and events[a.tag].is_open for a in attributes)


def _is_long(expr: Expr) -> bool:
    match expr:
        case And() | Or():
            return len(expr.operands) > LONGEST
        case InList():
            return len(expr.items) > LONGEST
    return False


def _where(place: Span | None, here: Span | None) -> str:
    if place is None:
        return ""
    other_file = place.file if here is None or place.file != here.file else None
    return f" ({other_file}, line {place.line})" if other_file else f" (line {place.line})"


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
