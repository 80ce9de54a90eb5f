"""Which tags a pattern binds, and which are bound where one of its conditions is evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import singledispatchmethod

from cepheid.core.types import ArrayType, DataType, EventRef, EventType, is_numeric, is_open
from cepheid.errors import Diagnostic, error
from cepheid.expr.tree import Expr
from cepheid.expr.typing import Scope, resolve, resolve_condition
from cepheid.pattern import tree

Bound = Mapping[str, DataType]


@dataclass(frozen=True, slots=True)
class ResolvedPattern:
    pattern: tree.Pattern
    tags: Bound  # bound, or null, when the whole pattern is true


def resolve_pattern(
    pattern: tree.Pattern, types: Mapping[str, EventType], problems: list[Diagnostic]
) -> ResolvedPattern:
    """The pattern with every condition resolved against what is bound at its place."""
    _check_tags(pattern, problems)
    all_tags = frozenset(a.tag for a in tree.atoms(pattern) if a.tag)
    resolved, bound = _Resolver(types, all_tags, problems).visit(pattern, {})
    return ResolvedPattern(resolved, bound)


def _check_tags(pattern: tree.Pattern, problems: list[Diagnostic]) -> None:
    for atom in _used_twice(pattern):
        fact = f"tag '{atom.tag}' is used twice in one pattern"
        problems.append(error("duplicate-name", fact, atom.span, _OWN_TAG))


_OWN_TAG = "give each event its own tag"


def _used_twice(pattern: tree.Pattern) -> Iterator[tree.Atom]:
    """The atoms whose tag another one has. Sides of `and` and `or` may share one, but for `not`."""
    may_share = isinstance(pattern, tree.AllOf | tree.AnyOf)
    seen: dict[str, bool] = {}  # whether all that have a tag may share it
    for child in tree.children(pattern):
        yield from _used_twice(child)
        shares = may_share and not isinstance(child, tree.Absent)
        for tag, atom in {a.tag: a for a in tree.atoms(child) if a.tag is not None}.items():
            if tag in seen and not (shares and seen[tag]):
                yield atom
            seen[tag] = shares and seen.get(tag, True)


@dataclass(frozen=True, slots=True)
class _Resolver:
    types: Mapping[str, EventType]
    all_tags: frozenset[str]
    problems: list[Diagnostic]

    def scope(self, bound: Bound, place: str, atom: tree.Atom | None = None) -> Scope:
        own = frozenset((atom.tag or atom.event_type, atom.event_type)) if atom else frozenset()
        return Scope(
            types=self.types,
            tags=bound,
            current=EventRef(atom.event_type) if atom else None,
            current_names=own,
            later_tags=self.all_tags - bound.keys() - own,
            no_aggregates=place,
        )

    def condition(self, expr: Expr | None, scope: Scope) -> Expr | None:
        return None if expr is None else resolve_condition(expr, scope, self.problems)

    @singledispatchmethod
    def visit(self, pattern: tree.Pattern, bound: Bound) -> tuple[tree.Pattern, Bound]:
        """The resolved pattern, and what is bound once it is true."""
        raise TypeError(f"no rule which tags the operator {type(pattern).__name__} binds")

    @visit.register(tree.Interval)
    @visit.register(tree.At)
    def _(self, timer: tree.Interval | tree.At, bound: Bound) -> tuple[tree.Pattern, Bound]:
        return timer, bound

    @visit.register
    def _(self, timer: tree.IntervalOf, bound: Bound) -> tuple[tree.Pattern, Bound]:
        return replace(timer, amounts=self.amounts(timer, bound)), bound

    @visit.register
    def _(self, pattern: tree.WithinOf, bound: Bound) -> tuple[tree.Pattern, Bound]:
        amounts = self.amounts(pattern, bound)
        child, bound = self.visit(pattern.child, bound)
        return replace(pattern, child=child, amounts=amounts), bound

    def amounts(self, timer: tree.IntervalOf | tree.WithinOf, bound: Bound) -> tuple[Expr, ...]:
        """Those of a period, which are numbers."""
        scope = self.scope(bound, "in a period")
        found = tuple(resolve(amount, scope, self.problems) for amount in timer.amounts)
        for amount in found:
            if not is_open(amount.type) and not is_numeric(amount.type):
                fact = f"a period is told by numbers, not by {amount.type}"
                self.problems.append(error("type-mismatch", fact, amount.span or timer.span))
        return found

    @visit.register
    def _(self, atom: tree.Atom, bound: Bound) -> tuple[tree.Pattern, Bound]:
        condition = self.condition(atom.condition, self.scope(bound, "in a filter", atom))
        resolved = replace(atom, condition=condition)
        if atom.tag is None:
            return resolved, bound
        return resolved, {**bound, atom.tag: EventRef(atom.event_type)}

    @visit.register(tree.Every)
    @visit.register(tree.Within)
    def _(self, pattern: tree.Every | tree.Within, bound: Bound) -> tuple[tree.Pattern, Bound]:
        child, bound = self.visit(pattern.child, bound)
        return replace(pattern, child=child), bound

    @visit.register
    def _(self, pattern: tree.EveryDistinct, bound: Bound) -> tuple[tree.Pattern, Bound]:
        before = bound
        child, bound = self.visit(pattern.child, bound)
        own = tuple(tag for tag in bound if tag not in before)
        scope = replace(self.scope(bound, "in every-distinct"), implied=own)
        keys = tuple(resolve(key, scope, self.problems) for key in pattern.keys)
        return replace(pattern, child=child, keys=keys), bound

    @visit.register
    def _(self, pattern: tree.While, bound: Bound) -> tuple[tree.Pattern, Bound]:
        child, bound = self.visit(pattern.child, bound)
        scope = self.scope(bound, "in while")
        condition = resolve_condition(pattern.condition, scope, self.problems)
        return replace(pattern, child=child, condition=condition), bound

    @visit.register
    def _(self, pattern: tree.FollowedBy, bound: Bound) -> tuple[tree.Pattern, Bound]:
        parts = []
        for part in pattern.parts:
            resolved, bound = self.visit(part, bound)
            parts.append(resolved)
        return replace(pattern, parts=tuple(parts)), bound

    @visit.register(tree.AllOf)
    @visit.register(tree.AnyOf)
    def _(self, pattern: tree.AllOf | tree.AnyOf, bound: Bound) -> tuple[tree.Pattern, Bound]:
        # The sides start together: none sees what another binds.
        visited = [self.visit(part, bound) for part in pattern.parts]
        after: dict[str, DataType] = {}
        for part, tags in visited:
            for tag, type in tags.items():
                if after.setdefault(tag, type) != type:
                    fact = f"tag '{tag}' is {after[tag]} on one side and {type} on another"
                    self.problems.append(error("duplicate-name", fact, part.span, _OWN_TAG))
        return replace(pattern, parts=tuple(part for part, _ in visited)), after

    @visit.register
    def _(self, pattern: tree.Absent, bound: Bound) -> tuple[tree.Pattern, Bound]:
        child, _ = self.visit(pattern.child, bound)
        return replace(pattern, child=child), bound

    @visit.register
    def _(self, pattern: tree.Repeat, bound: Bound) -> tuple[tree.Pattern, Bound]:
        child, inside = self.visit(pattern.child, bound)
        arrays = {
            tag: type if isinstance(type, ArrayType) else ArrayType(type)
            for tag, type in inside.items()
            if tag not in bound
        }
        until, after = (None, bound)
        if pattern.until is not None:
            until, after = self.visit(pattern.until, bound)
        return replace(pattern, child=child, until=until), {**after, **arrays}
