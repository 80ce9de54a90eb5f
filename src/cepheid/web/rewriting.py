"""Trees that mean the same and take less time: `//a` in one step instead of two."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, cast

from cepheid.core.located import Located
from cepheid.web.notation import FUNCTIONS, Type
from cepheid.web.tree import (
    DESCENDANTS,
    AttributeMarker,
    Binary,
    Call,
    Expr,
    Filtered,
    Literal,
    Negate,
    Part,
    Path,
    Predicate,
    Star,
    Step,
    Wrapper,
    all_parts,
)

T = TypeVar("T", bound=Located)


def shortened(tree: T) -> T:
    """The tree with short paths everywhere."""
    return cast("T", _shortened(tree))


def _shortened(tree: Located) -> Located:
    match tree:
        case Wrapper(path=path):
            return replace(tree, path=shortened(path))
        case Path(parts=parts, start=start):
            start = None if start is None else shortened(start)
            return replace(tree, parts=_joined(tuple(map(shortened, parts))), start=start)
        case Star(path=path):
            return replace(tree, path=shortened(path))
        case Step(qualifiers=qualifiers):
            return replace(tree, qualifiers=tuple(map(shortened, qualifiers)))
        case Predicate(condition=condition):
            return replace(tree, condition=shortened(condition))
        case AttributeMarker(value=value):
            return replace(tree, value=shortened(value))
        case Negate(operand=operand):
            return replace(tree, operand=shortened(operand))
        case Filtered(subject=subject, predicates=predicates):
            inner = tuple(map(shortened, predicates))
            return replace(tree, subject=shortened(subject), predicates=inner)
        case Call(arguments=arguments):
            return replace(tree, arguments=tuple(map(shortened, arguments)))
        case Binary(left=left, right=right):
            return replace(tree, left=shortened(left), right=shortened(right))
    return tree


def _joined(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    found: list[Part] = []
    for part in parts:
        if found and found[-1] == DESCENDANTS and _takes_any_child(part):
            assert isinstance(part, Step)
            found[-1] = replace(part, axis="descendant")
        else:
            found.append(part)
    return tuple(found)


def _takes_any_child(part: Part) -> bool:
    """Whether a step takes children wherever they stand among the others."""
    return isinstance(part, Step) and part.axis == "child" and not _counts_positions(part)


def _counts_positions(step: Step) -> bool:
    predicates = [each.condition for each in step.qualifiers if isinstance(each, Predicate)]
    return any(_may_be_number(each) or _asks_position(each) for each in predicates)


def _may_be_number(tree: Expr) -> bool:
    """A number as a predicate is a position; so may be what a variable holds."""
    match tree:
        case Path() | Filtered() | Literal():
            return False
        case Call(name=name):
            return name not in FUNCTIONS or FUNCTIONS[name].gives is Type.NUMBER
        case Binary(operator=operator):
            return operator in ("+", "-", "*", "div", "mod")
    return True


def _asks_position(tree: Expr) -> bool:
    """Those of inner predicates are others, but who looks that closely gains little."""
    return any(isinstance(p, Call) and p.name in ("position", "last") for p in all_parts(tree))
