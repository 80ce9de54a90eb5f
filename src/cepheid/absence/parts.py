"""The parts of a statement that can stand in the way of a row, each of which can be lifted.

A part is named by where it stands in the resolved statement. What lifting it means is said in
`patterns`, `forms` and `statements`; parts that a pattern needs to make sense, as what a `not`
consists of, are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from cepheid.errors import Span
from cepheid.expr.tree import Expr, conjuncts
from cepheid.pattern.tree import (
    Absent,
    At,
    Atom,
    Every,
    EveryDistinct,
    FollowedBy,
    Interval,
    IntervalOf,
    Pattern,
    While,
    Within,
    WithinOf,
    children,
    walk,
)

Path: TypeAlias = tuple[int, ...]


class Kind(StrEnum):
    """What a part is; those that are least to ask for come first."""

    CONDITION = "condition"  # a conjunct that an event must satisfy
    WHERE = "where"
    HAVING = "having"
    WHILE = "while"
    TIMER = "timer"  # a period that ends a pattern, or must pass
    COUNT = "count"  # at most so many matches
    NOT = "not"
    KEY = "key"  # of a context
    DISTINCT = "distinct"  # a key that was seen before
    ONCE = "once"  # a step is made once only
    SAME = "same"  # a parameter that stands for one value
    TAKEN = "taken"  # events belong to one match only
    NOISE = "noise"  # events that fit nowhere end what has begun
    ONLY = "only"  # one partial match at a time
    WINDOW = "window"
    OUTPUT = "output"
    LIMIT = "limit"
    STREAM = "stream"  # only rows that leave
    MISSING = "missing"  # an event that did not come


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a statement: its kind, and where it stands."""

    kind: Kind
    path: Path = ()  # in the pattern
    index: int = 0  # of a conjunct
    name: str = ""  # of a type or a parameter
    span: Span | None = field(default=None, compare=False)
    node: Expr | Pattern | None = field(default=None, compare=False, repr=False)


Lifted: TypeAlias = frozenset[Part]
REPEATING = (Every, EveryDistinct)
TIMERS = (Interval, IntervalOf, At)


def parts_of_condition(
    condition: Expr | None, kind: Kind, path: Path = (), name: str = ""
) -> Iterator[Part]:
    for index, conjunct in enumerate(conjuncts(condition)):
        yield Part(kind, path, index, name, conjunct.span, conjunct)


def parts_of_pattern(pattern: Pattern) -> Iterator[Part]:
    """Those of EPL's operators."""
    yield from _steps_made_once(pattern)
    yield from _walk(pattern, ())


def _steps_made_once(pattern: Pattern) -> Iterator[Part]:
    spine = spine_of(pattern)
    if spine is not None:
        path, sequence = spine
        for place, step in enumerate(sequence.parts):
            is_made_once = not isinstance(step, (*REPEATING, *TIMERS, Absent))
            if is_made_once and not (place and _can_fail(step)):
                yield Part(Kind.ONCE, (*path, place), span=step.span, node=step)
    elif not isinstance(pattern, REPEATING):
        yield Part(Kind.ONCE, (), span=pattern.span, node=pattern)


def _can_fail(step: Pattern) -> bool:
    """Whether `every` would begin it anew not only when it has been made."""
    return any(isinstance(node, Within | WithinOf | While | Absent) for node in walk(step))


def spine_of(pattern: Pattern) -> tuple[Path, FollowedBy] | None:
    """The sequence that a pattern consists of, under one `every` at most."""
    if isinstance(pattern, FollowedBy):
        return (), pattern
    if isinstance(pattern, Every) and isinstance(pattern.child, FollowedBy):
        return (0,), pattern.child
    return None


def _walk(pattern: Pattern, path: Path) -> Iterator[Part]:
    yield from _own_parts(pattern, path)
    if not isinstance(pattern, Absent):
        for place, child in enumerate(children(pattern)):
            yield from _walk(child, (*path, place))


def _own_parts(pattern: Pattern, path: Path) -> Iterator[Part]:
    match pattern:
        case Atom(_, _, condition):
            yield from parts_of_condition(condition, Kind.CONDITION, path)
            yield Part(Kind.MISSING, path, span=pattern.span, node=pattern)
        case Interval() | IntervalOf() | At():
            yield Part(Kind.TIMER, path, span=pattern.span, node=pattern)
        case Within() | WithinOf():
            yield Part(Kind.TIMER, path, span=pattern.span, node=pattern)
            if pattern.most is not None:
                yield Part(Kind.COUNT, path, span=pattern.span, node=pattern)
        case While(_, condition):
            yield from parts_of_condition(condition, Kind.WHILE, path)
        case EveryDistinct():
            yield Part(Kind.DISTINCT, path, span=pattern.span, node=pattern)
        case Absent():
            yield Part(Kind.NOT, path, span=pattern.span, node=pattern)
