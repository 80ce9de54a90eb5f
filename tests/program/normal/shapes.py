"""Patterns in which a rewrite finds something to do, at random places of random patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cepheid.core.event import Event
from cepheid.expr.tree import And, Expr, Or
from cepheid.pattern import tree
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine
from tests.semantics.drive import Shown, end_of, show
from tests.semantics.generators import (
    ALL,
    INPUTS,
    PERIODS,
    PatternMaker,
    Scope,
    attribute,
    comparison,
    one_of,
)

Shape: TypeAlias = Callable[[DrawFn, Scope], tree.Pattern]
MAKER = PatternMaker(INPUTS[:2], ALL)


def nested_sequence(draw: DrawFn, scope: Scope) -> tree.Pattern:
    first, second, third = (MAKER.draw(draw, scope, 1) for _ in range(3))
    if draw(st.booleans()):
        return tree.FollowedBy((first, tree.FollowedBy((second, third))))
    return tree.FollowedBy((tree.FollowedBy((first, second)), third))


def nested_choice(draw: DrawFn, scope: Scope) -> tree.Pattern:
    inner = tree.AnyOf(MAKER.sides(draw, scope, 1))
    other = MAKER.draw(draw, scope.below(), 1)
    return tree.AnyOf((inner, other) if draw(st.booleans()) else (other, inner))


def limited_event(draw: DrawFn, scope: Scope) -> tree.Pattern:
    atom = MAKER.atom(draw, scope)
    return tree.Within(atom, one_of(draw, *PERIODS), one_of(draw, None, 1, 2))


def absent_event(draw: DrawFn, scope: Scope) -> tree.Pattern:
    absence = tree.Absent(MAKER.atom(draw, scope.below()))
    sides = (tree.Interval(one_of(draw, *PERIODS)), absence)
    return tree.AllOf(sides if draw(st.booleans()) else sides[::-1])


def joined_conditions(draw: DrawFn, scope: Scope) -> tree.Pattern:
    """`and` in `and`, and `or`, over the event, nulls and events before."""
    before = MAKER.atom(draw, scope)

    def one() -> Expr:
        return comparison(draw, attribute(one_of(draw, "k", "v")), scope)

    choice = Or((one(), one())) if draw(st.booleans()) else one()
    condition = And((one(), And((choice, one()))))
    after = MAKER.atom(draw, scope)
    assert isinstance(after, tree.Atom)
    return tree.FollowedBy((before, replace(after, condition=condition)))


def period(draw: DrawFn, scope: Scope) -> tree.Pattern:
    return tree.Interval(one_of(draw, *PERIODS))


def waits(draw: DrawFn, scope: Scope) -> tree.Pattern:
    makers: list[Shape] = [MAKER.atom, period, limited_event, absent_event]
    parts = [MAKER.atom(draw, scope), *(one_of(draw, *makers)(draw, scope) for _ in range(2))]
    return tree.FollowedBy(tuple(parts))


SHAPES: Mapping[str, Shape] = {
    "flatten-sequences": nested_sequence,
    "flatten-choices": nested_choice,
    "set-deadlines": limited_event,
    "await-absence": absent_event,
    "split-conditions": joined_conditions,
    "join-lines": waits,
}


@st.composite
def patterns_with(draw: DrawFn, shape: Shape) -> tree.Pattern:
    """The shape alone, or inside of something that makes something of its truths and failures."""
    scope = Scope()
    place = one_of(draw, *range(8))
    scope.everies = 0 if place == 1 else 1
    if place == 0:
        return shape(draw, scope)
    if place == 1:
        return tree.Every(shape(draw, scope))
    if place == 2:
        first = tree.Every(MAKER.atom(draw, scope))
        return tree.FollowedBy((first, shape(draw, scope)))
    if place == 3:
        return tree.FollowedBy((shape(draw, scope), MAKER.leaf(draw, scope)))
    if place == 4:
        found = shape(draw, scope.below())
        return tree.Every(tree.AnyOf((found, MAKER.leaf(draw, scope.below()))))
    if place == 5:
        found = shape(draw, scope.below())
        return tree.AllOf((MAKER.leaf(draw, scope.below()), found))
    if place == 6:
        found = shape(draw, scope.below())
        until = MAKER.leaf(draw, scope.below())
        return tree.Repeat(found, one_of(draw, None, 1), None, until)
    guarded = tree.FollowedBy((tree.Every(MAKER.atom(draw, scope)), shape(draw, scope)))
    return tree.Within(guarded, one_of(draw, *PERIODS))


def rows_of(program: ResolvedProgram, stream: list[Event]) -> list[Shown]:
    machine = Machine(program, trace=True)
    machine.start(0)
    rows = [row for event in stream for row in machine.take(event)]
    return [show(row) for row in (*rows, *machine.advance(end_of(stream)))]
