"""Programs that say the same in different words give the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cepheid.core.event import Event
from cepheid.core.time import MICROSECONDS, Period
from cepheid.expr.tree import Binary
from cepheid.pattern import tree
from cepheid.program.tree import (
    KeepAll,
    LengthWindow,
    ProgramTree,
    Statement,
    TimeWindow,
    Window,
)
from tests.effort import examples
from tests.semantics.drive import Shown, per_instant, run
from tests.semantics.generators import (
    ALL,
    SCHEMAS,
    UNUSED,
    Features,
    PatternMaker,
    Scope,
    number,
    select_everything,
    statements,
    streams,
)

LONG = Period(MICROSECONDS["days"])
TRUE = Binary("=", number(1), number(1))
NOW = tree.Interval(Period())
laws = examples(80)


@st.composite
def several_patterns(draw: DrawFn, count: int) -> tuple[tree.Pattern, ...]:
    """Patterns that can follow each other: later ones see what earlier ones bind."""
    scope, maker = Scope(), PatternMaker(("A", "B", "C"), ALL)
    return tuple(maker.draw(draw, scope, 2) for _ in range(count))


def rows(pattern: tree.Pattern, stream: list[Event]) -> list[Shown]:
    return run(select_everything(pattern), stream)


def repeatable(pattern: tree.Pattern) -> tree.Pattern:
    """Every, where there is none inside: two of them would double with each match."""
    everies = (tree.Every, tree.EveryDistinct)
    has_every = any(isinstance(node, everies) for node in tree.walk(pattern))
    return pattern if has_every else tree.Every(pattern)


def equal(one: tree.Pattern, other: tree.Pattern, stream: list[Event]) -> bool:
    """Whether two patterns match alike, by themselves and under every."""
    return rows(one, stream) == rows(other, stream) and rows(repeatable(one), stream) == rows(
        repeatable(other), stream
    )


@laws
@given(several_patterns(3), streams())
def test_a_sequence_may_be_grouped_in_any_way(
    parts: tuple[tree.Pattern, ...], stream: list[Event]
) -> None:
    first, second, third = parts
    flat = tree.FollowedBy(parts)
    left = tree.FollowedBy((tree.FollowedBy((first, second)), third))
    right = tree.FollowedBy((first, tree.FollowedBy((second, third))))
    assert equal(flat, left, stream)
    assert equal(flat, right, stream)


NEUTRAL: dict[str, Callable[[tree.Pattern], tree.Pattern]] = {
    "a guard that never ends": lambda p: tree.Within(p, LONG),
    "a condition that always holds": lambda p: tree.While(p, TRUE),
    "a step of no time": lambda p: tree.FollowedBy((p, NOW)),
    "a first step of no time": lambda p: tree.FollowedBy((NOW, p)),
}


@pytest.mark.parametrize("wrapping", NEUTRAL)
@laws
@given(patterns=several_patterns(1), stream=streams())
def test_what_adds_nothing_changes_nothing(
    wrapping: str, patterns: tuple[tree.Pattern], stream: list[Event]
) -> None:
    (pattern,) = patterns
    assert equal(pattern, NEUTRAL[wrapping](pattern), stream)


@laws
@given(several_patterns(1), streams())
def test_what_is_true_already_adds_nothing_to_and(
    patterns: tuple[tree.Pattern], stream: list[Event]
) -> None:
    (pattern,) = patterns
    if isinstance(pattern, tree.Absent):
        return  # `and` ends with an absence that has nothing to wait for, `not` alone does not
    assert equal(pattern, tree.AllOf((pattern, NOW)), stream)
    assert equal(pattern, tree.AllOf((NOW, pattern)), stream)


@laws
@given(several_patterns(1), streams())
def test_what_never_happens_adds_nothing_to_or(
    patterns: tuple[tree.Pattern], stream: list[Event]
) -> None:
    (pattern,) = patterns
    assert rows(pattern, stream) == rows(tree.AnyOf((pattern, tree.Atom(UNUSED))), stream)


@st.composite
def two_sides(draw: DrawFn) -> tuple[tree.Pattern, ...]:
    return PatternMaker(("A", "B", "C"), ALL).sides(draw, Scope(), 2)


@laws
@given(two_sides(), streams())
def test_the_sides_of_and_may_change_places_where_none_can_fail(
    sides: tuple[tree.Pattern, ...], stream: list[Event]
) -> None:
    # One event may complete one side and end the other: then the one that listened first decides.
    can_fail = (tree.Absent, tree.While, tree.Within, tree.Repeat)
    assume(not any(isinstance(node, can_fail) for side in sides for node in tree.walk(side)))
    forth, back = tree.AllOf(sides), tree.AllOf(sides[::-1])
    assert without_order(rows(forth, stream)) == without_order(rows(back, stream))


def without_order(found: list[Shown]) -> dict[int, Counter[Shown]]:
    """Rows of one instant in any order, and their columns and causes too."""
    return per_instant(
        row._replace(values=tuple(sorted(row.values)), causes=tuple(sorted(row.causes)))
        for row in found
    )


HOLDING_ALL: list[Window] = [LengthWindow(1000), TimeWindow(LONG)]


@pytest.mark.parametrize("window", HOLDING_ALL, ids=str)
@laws
@given(statement=statements(features=Features(contexts=False)), stream=streams())
def test_a_window_that_is_large_enough_keeps_everything(
    window: Window, statement: Statement, stream: list[Event]
) -> None:
    kept = replace(statement, window=KeepAll())
    large = replace(statement, window=window)
    found = run(ProgramTree((*SCHEMAS, large)), stream)
    assert found == run(ProgramTree((*SCHEMAS, kept)), stream)
