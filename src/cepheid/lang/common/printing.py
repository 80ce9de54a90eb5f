"""Prints annotations, which look alike in all languages."""

from __future__ import annotations

from typing import Any

from cepheid.expr.notation import IDENTIFIER
from cepheid.expr.printing import print_string
from cepheid.program.tree import Annotation, Scalar


def print_annotation(annotation: Annotation) -> str:
    if not annotation.arguments:
        return f"@{annotation.name}"
    arguments = ", ".join(
        _value(value) if name is None else f"{_argument_name(name)}={_value(value)}"
        for name, value in annotation.arguments
    )
    return f"@{annotation.name}({arguments})"


def _argument_name(name: str) -> str:
    return name if IDENTIFIER.fullmatch(name) else f"`{name}`"


def _value(value: Scalar | tuple[Scalar, ...]) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(map(_value, value)) + "}"
    if isinstance(value, str):
        return print_string(value)
    constants: dict[Any, str] = {None: "null", True: "true", False: "false"}
    return constants[value] if value is None or isinstance(value, bool) else repr(value)
