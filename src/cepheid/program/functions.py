"""Python functions of a program: its calls by name get what they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from cepheid.errors import Diagnostic, ProgramError, declared_twice, error
from cepheid.expr.python import PythonFunction
from cepheid.expr.tree import Call, walk
from cepheid.program.resolved import ResolvedStatement

_Tree = TypeVar("_Tree")
Functions = Mapping[str, PythonFunction]


def bound(tree: _Tree, functions: Functions, statement: str | None = None) -> _Tree:
    """The tree of a declaration whose calls have their functions, which know who calls them."""
    named = {name: replace(each, statement=statement) for name, each in functions.items()}
    found: _Tree = _bound(tree, named)
    return found


def _bound(value: Any, functions: Functions) -> Any:
    if isinstance(value, tuple):
        items = [_bound(item, functions) for item in value]
        is_same = all(new is old for new, old in zip(items, value, strict=True))
        return value if is_same else tuple(items)
    if not is_dataclass(value):
        return value
    changed: dict[str, Any] = {}
    for field in fields(value):
        old = getattr(value, field.name)
        new = _bound(old, functions)
        if new is not old:
            changed[field.name] = new
    if isinstance(value, Call) and value.function in functions:
        changed["python"] = functions[value.function]
    return replace(value, **changed) if changed else value


def python_calls(statement: ResolvedStatement) -> Iterator[Call]:
    """Where a statement calls functions of Python, each once."""
    seen = set()
    for _, expr in statement.expressions:
        for node in walk(expr):
            if isinstance(node, Call) and node.python is not None and node not in seen:
                seen.add(node)
                yield node


def twice_named(functions: Iterable[PythonFunction]) -> list[Diagnostic]:
    """Functions that share a name, and are not the same."""
    seen: dict[str, PythonFunction] = {}
    return [
        declared_twice(f"the function '{f.name}'", None, None)
        for f in functions
        if (first := seen.setdefault(f.name, f)) != f or first.apply is not f.apply
    ]


def given(wanted: Sequence[str], functions: Iterable[PythonFunction]) -> tuple[PythonFunction, ...]:
    """The functions that a saved program wants; ProgramError where one is missing or another."""
    known = {function.name: function for function in functions}
    by_text = {str(function): function for function in known.values()}
    for text in wanted:
        if text not in by_text:
            other = known.get(text.partition("(")[0])
            fact = f"the program calls the function {text}"
            if other is not None:
                fact += f"; the one given is {other}"
            raise ProgramError(error("unknown-function", fact, hint="give it with functions=[...]"))
    return tuple(known.values())
