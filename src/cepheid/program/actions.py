"""What rules do, as data: steps that change a model, tell events, or call functions.

Names stand for what the rule was told, and for objects that it made. `x.feature` leads from an object
along its features; a value is an expression over such paths, or a path to an object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.core.located import Located
from cepheid.expr.tree import Expr, Ref

Assignment: TypeAlias = Literal["=", "+=", "-="]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(Located):
    """The root of all steps."""


@dataclass(frozen=True, slots=True)
class SetFeature(Action):
    """`set x.feature = value`; of a feature of many values `+=` adds one and `-=` removes it."""

    target: Ref
    value: Expr
    how: Assignment = "="


@dataclass(frozen=True, slots=True)
class FeatureValue(Located):
    """`feature = value` of an object that is made."""

    feature: str
    value: Expr


@dataclass(frozen=True, slots=True)
class CreateObject(Action):
    """`create Class as x in y.feature { feature = value, ... }`"""

    type: str
    name: str | None = None  # for the steps that follow
    container: Ref | None = None
    values: tuple[FeatureValue, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteObject(Action):
    """`delete x`: with all that it contains."""

    object: Ref


@dataclass(frozen=True, slots=True)
class MoveObject(Action):
    """`move x to y.feature`: into another container."""

    object: Ref
    container: Ref


@dataclass(frozen=True, slots=True)
class EmitEvent(Action):
    """`emit event(value, ...)`: it happens when the transaction has ended."""

    event_type: str
    arguments: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class CallFunction(Action):
    """`call f(value, ...)`: a function that was registered, when the transaction has ended."""

    function: str
    arguments: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice(Action):
    """`if condition { ... } else { ... }`: null is not true."""

    condition: Expr
    then: tuple[Action, ...]
    otherwise: tuple[Action, ...] = ()


def steps(body: tuple[Action, ...]) -> Iterator[Action]:
    """All steps of a body, those inside of choices included, in the order of the text."""
    for action in body:
        yield action
        if isinstance(action, Choice):
            yield from steps(action.then)
            yield from steps(action.otherwise)
