"""The bodies of rules into canonical VEPL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.expr.printing import print_expr, print_name
from cepheid.expr.tree import Expr
from cepheid.program.actions import (
    Action,
    CallFunction,
    Choice,
    CreateObject,
    DeleteObject,
    EmitEvent,
    MoveObject,
    SetFeature,
)

_INDENT = "    "


def print_body(body: Sequence[Action]) -> str:
    """`{`, the steps on lines of their own, `}`."""
    return "\n".join(["{", *(_INDENT + line for line in _lines(body)), "}"])


def _lines(body: Sequence[Action]) -> Iterator[str]:
    for action in body:
        yield from print_action(action).split("\n")


def print_action(action: Action) -> str:
    match action:
        case SetFeature(target, value, how):
            return f"set {print_expr(target)} {how} {print_expr(value)}"
        case CreateObject():
            return _creation(action)
        case DeleteObject(found):
            return f"delete {print_expr(found)}"
        case MoveObject(found, container):
            return f"move {print_expr(found)} to {print_expr(container)}"
        case EmitEvent(name, arguments):
            return f"emit {print_name(name)}{_arguments(arguments)}"
        case CallFunction(name, arguments):
            return f"call {print_name(name)}({', '.join(map(print_expr, arguments))})"
        case Choice(condition, then, otherwise):
            shown = f"if {print_expr(condition)} {print_body(then)}"
            match otherwise:
                case ():
                    return shown
                case (Choice() as other,):
                    return f"{shown} else {print_action(other)}"
            return f"{shown} else {print_body(otherwise)}"
    raise TypeError(f"no words for {type(action).__name__}")


def _creation(action: CreateObject) -> str:
    shown = f"create {'.'.join(map(print_name, action.type.split('.')))}"
    if action.name is not None:
        shown += f" as {print_name(action.name)}"
    if action.container is not None:
        shown += f" in {print_expr(action.container)}"
    if action.values:
        values = (f"{print_name(v.feature)} = {print_expr(v.value)}" for v in action.values)
        shown += f" {{ {', '.join(values)} }}"
    return shown


def _arguments(arguments: tuple[Expr, ...]) -> str:
    return f"({', '.join(map(print_expr, arguments))})" if arguments else ""
