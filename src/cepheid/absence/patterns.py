"""EPL's patterns without some of their parts.

What is left is a pattern like any other, whose meaning is that of the reference semantics:

- a conjunct, a guard or a `not` that is lifted is left out; a period that ends a pattern never ends;
- a step that is made once is made again and again: `a -> b` becomes `every a -> b`, or `a -> every b`;
- an event that did not come, or a timer, is imagined. It comes as soon as it is awaited, so that the
  step is left out, with all conjuncts elsewhere that look at it. The last step is the row's own: it
  comes in the time that was asked for, as an event of a type that nothing else has (`ASKED`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepheid.absence.parts import REPEATING, Kind, Lifted, Part, Path, spine_of
from cepheid.core.time import Period
from cepheid.expr.tree import And, Column, Expr, conjuncts, walk
from cepheid.pattern.tree import (
    Absent,
    AllOf,
    AnyOf,
    At,
    Atom,
    Every,
    EveryDistinct,
    FollowedBy,
    Interval,
    IntervalOf,
    Pattern,
    Repeat,
    While,
    Within,
    WithinOf,
    children,
    expressions,
)
from cepheid.pattern.tree import walk as tree_of

ASKED = "|asked"  # the type of the events that stand for what could have come in the time asked for
NEVER_OVER = Period(10**18)  # longer than the calendar


def without(
    condition: Expr | None, kind: Kind, path: Path, lifted: Lifted, gone: frozenset[str | None]
) -> Expr | None:
    """A condition without the conjuncts that are lifted, or look at what is imagined."""
    found = conjuncts(condition)
    left = [
        each
        for index, each in enumerate(found)
        if Part(kind, path, index) not in lifted and not looks_at(each, gone)
    ]
    if len(left) == len(found):
        return condition
    return And(tuple(left), type=left[0].type) if len(left) > 1 else next(iter(left), None)


def looks_at(expr: Expr, tags: frozenset[str | None]) -> bool:
    return any(isinstance(node, Column) and node.tag in tags for node in walk(expr))


def hidden_tag(path: Path) -> str:
    """What an atom without a tag is called, so that a match tells its event, too."""
    return "|" + ".".join(map(str, path))


def tag_of(atom: Atom, path: Path) -> str:
    return atom.tag or hidden_tag(path)


def lift_pattern(pattern: Pattern, lifted: Lifted) -> tuple[Pattern, frozenset[str | None]]:
    """What is left of a pattern, and the tags that nothing binds any more."""
    tags = frozenset(atom.tag for _, atom in atom_paths(pattern) if atom.tag)
    gone: frozenset[str | None] = frozenset()
    while True:
        left = _Lifting(lifted, gone, spine_of(pattern)).of(pattern, (), is_last=True)
        left = left or Atom(ASKED)
        unbound = tags - {atom.tag for _, atom in atom_paths(left)}
        if unbound <= gone:
            return left, gone
        gone |= unbound


def at_path(pattern: Pattern, path: Path) -> Pattern:
    for place in path:
        pattern = list(children(pattern))[place]
    return pattern


@dataclass(frozen=True, slots=True)
class _Lifting:
    """`of` gives what is left of a part; None where nothing is left to wait for.

    `is_last` says that a match ends where the part does.
    """

    lifted: Lifted
    gone: frozenset[str | None]
    spine: tuple[Path, FollowedBy] | None

    def has(self, kind: Kind, path: Path) -> bool:
        return Part(kind, path) in self.lifted

    def of(self, pattern: Pattern, path: Path, is_last: bool) -> Pattern | None:
        left = self._left(pattern, path, is_last)
        if not path and left is not None and self.has(Kind.ONCE, path) and self.spine is None:
            return _repeated(left)
        return left

    def _left(self, pattern: Pattern, path: Path, is_last: bool) -> Pattern | None:
        match pattern:
            case Atom():
                return self._atom(pattern, path, is_last)
            case Interval() | IntervalOf() | At():
                return self._timer(pattern, path, is_last)
            case FollowedBy(parts):
                return self._sequence(parts, path, is_last, spread=False)
            case Every():
                return self._every(pattern.child, path, is_last)
            case EveryDistinct(keys, child):
                return self._distinct(pattern, keys, self.of(child, (*path, 0), is_last), path)
            case AllOf(parts):
                return self._all_of(parts, path, is_last)
            case AnyOf(parts):
                return self._any_of(parts, path, is_last)
            case Absent():
                return None if self.has(Kind.NOT, path) or self._is_vague(pattern) else pattern
            case Repeat():
                return self._repeat(pattern, path, is_last)
            case Within() | WithinOf():
                return self._within(pattern, self.of(pattern.child, (*path, 0), is_last), path)
            case While(child, condition):
                return self._while(self.of(child, (*path, 0), is_last), condition, path)
        raise TypeError(f"no rule how to lift parts of {type(pattern).__name__}")

    def _atom(self, atom: Atom, path: Path, is_last: bool) -> Pattern | None:
        if self.has(Kind.MISSING, path):
            return Atom(ASKED) if is_last else None
        condition = without(atom.condition, Kind.CONDITION, path, self.lifted, self.gone)
        return replace(atom, tag=tag_of(atom, path), condition=condition)

    def _timer(
        self, timer: Interval | IntervalOf | At, path: Path, is_last: bool
    ) -> Pattern | None:
        is_untold = isinstance(timer, IntervalOf) and self._is_untold(timer.amounts)
        if self.has(Kind.TIMER, path) or is_untold:
            return Atom(ASKED) if is_last else None
        return timer

    def _is_untold(self, amounts: Sequence[Expr]) -> bool:
        return any(looks_at(amount, self.gone) for amount in amounts)

    def _is_vague(self, absent: Absent) -> bool:
        """Whether what is imagined says what must not come: then nothing must not."""
        conditions = (each for node in tree_of(absent) for each in expressions(node))
        return any(looks_at(each, self.gone) for each in conditions)

    def _every(self, child: Pattern, path: Path, is_last: bool) -> Pattern | None:
        if isinstance(child, FollowedBy) and self._is_spread(path, child.parts):
            return self._sequence(child.parts, (*path, 0), is_last, spread=True)
        left = self.of(child, (*path, 0), is_last)
        return None if left is None else _repeated(left)

    def _is_spread(self, path: Path, parts: Sequence[Pattern]) -> bool:
        """Whether a step of `every (a -> b)` may be made again while a match is under way."""
        steps = ((*path, 0, place) for place in range(len(parts)))
        return not path and any(self.has(Kind.ONCE, step) for step in steps)

    def _sequence(
        self, parts: Sequence[Pattern], path: Path, is_last: bool, *, spread: bool
    ) -> Pattern | None:
        """What follows an imagined `every a` is repeated in its stead."""
        left: list[Pattern | None] = [None] * len(parts)
        ends = is_last
        for place in reversed(range(len(parts))):
            left[place] = self.of(parts[place], (*path, place), ends)
            ends = ends and left[place] is None
        steps: list[Pattern] = []
        again = spread
        for place, step in enumerate(left):
            again = again or self.has(Kind.ONCE, (*path, place))
            if step is None:
                again = again or isinstance(parts[place], REPEATING)
            else:
                steps.append(_repeated(step) if again else step)
                again = False
        return FollowedBy(tuple(steps)) if len(steps) > 1 else next(iter(steps), None)

    def _distinct(
        self, pattern: EveryDistinct, keys: Sequence[Expr], child: Pattern | None, path: Path
    ) -> Pattern | None:
        if child is None:
            return None
        told = tuple(key for key in keys if not looks_at(key, self.gone))
        if self.has(Kind.DISTINCT, path) or not told:
            return _repeated(child)
        return replace(pattern, keys=told, child=child)

    def _all_of(self, parts: Sequence[Pattern], path: Path, is_last: bool) -> Pattern | None:
        left = [self.of(part, (*path, place), is_last) for place, part in enumerate(parts)]
        sides = [side for side in left if side is not None]
        if all(isinstance(side, Absent) for side in sides):
            return None
        return AllOf(tuple(sides)) if len(sides) > 1 else sides[0]

    def _any_of(self, parts: Sequence[Pattern], path: Path, is_last: bool) -> Pattern | None:
        sides = [self.of(part, (*path, place), is_last) for place, part in enumerate(parts)]
        if None in sides:
            return None
        return AnyOf(tuple(side for side in sides if side is not None))

    def _repeat(self, repeat: Repeat, path: Path, is_last: bool) -> Pattern | None:
        body = self.of(repeat.child, (*path, 0), is_last=False)
        if repeat.until is None:
            if body is None:
                return Atom(ASKED) if is_last else None
            return replace(repeat, child=body)
        end = self.of(repeat.until, (*path, 1), is_last)
        if end is not None:
            return end if body is None else replace(repeat, child=body, until=end)
        if body is None or not repeat.low:
            return None
        return Repeat(body, repeat.low, repeat.low)

    def _within(
        self, guard: Within | WithinOf, child: Pattern | None, path: Path
    ) -> Pattern | None:
        if child is None:
            return None
        most = None if self.has(Kind.COUNT, path) else guard.most
        is_untold = isinstance(guard, WithinOf) and self._is_untold(guard.amounts)
        if self.has(Kind.TIMER, path) or is_untold:
            return Within(child, NEVER_OVER, most, span=guard.span)
        return replace(guard, child=child, most=most)

    def _while(self, child: Pattern | None, condition: Expr, path: Path) -> Pattern | None:
        left = without(condition, Kind.WHILE, path, self.lifted, self.gone)
        return child if child is None or left is None else While(child, left)


def _repeated(pattern: Pattern) -> Pattern:
    is_so = isinstance(pattern, REPEATING) or pattern == Atom(ASKED)
    return pattern if is_so else Every(pattern)


def atom_paths(pattern: Pattern, path: Path = ()) -> list[tuple[Path, Atom]]:
    """All atoms that a match consists of, each with where it stands."""
    if isinstance(pattern, Atom):
        return [(path, pattern)]
    if isinstance(pattern, Absent):
        return []
    found = enumerate(children(pattern))
    return [each for place, child in found for each in atom_paths(child, (*path, place))]
