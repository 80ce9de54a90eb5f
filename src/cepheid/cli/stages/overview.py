"""A program at a glance."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from cepheid.cli.stages.statements import context_of, window_of
from cepheid.cli.stages.types import class_kind
from cepheid.cli.terminal.console import counted
from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.program.resolved import ResolvedClass, ResolvedProgram, ResolvedStatement
from cepheid.verbs import Program


def text(program: Program) -> Iterator[RenderableType]:
    resolved = program.resolve()
    inputs = ", ".join(_inputs(resolved)) or "none"
    statements, classes = len(resolved.statements), len(resolved.classes)
    sizes = [
        *([counted(statements, "statement")] if statements or not classes else []),
        *([counted(classes, "class", "classes")] if classes else []),
        counted(len(resolved.types), "event type"),
    ]
    yield Text(", ".join(sizes))
    yield Text.assemble(("input: ", "bold"), inputs)
    if classes:
        yield _classes(resolved)
    if statements or not classes:
        yield _statements(resolved)


def _statements(resolved: ResolvedProgram) -> TextTable:
    facts = [_facts(statement) for statement in resolved.statements]
    labels = [label for label in _LABELS if any(fact[label] for fact in facts)]
    table = TextTable([Column("statement"), *map(Column, labels)])
    for statement, fact in zip(resolved.statements, facts, strict=True):
        table.add(statement.name, *(fact[label] for label in labels))
    return table


def _inputs(resolved: ResolvedProgram) -> list[str]:
    return [name for name in resolved.input_types if class_kind(resolved, name) != "complex"]


def _classes(resolved: ResolvedProgram) -> TextTable:
    names = ("class", "is", "reads", "key", "actions")
    table = TextTable([Column(name) for name in names])
    for each in resolved.classes:
        actions = dict.fromkeys(reaction.action for reaction in each.declared.reactions)
        kind = class_kind(resolved, each.name) or ""
        table.add(
            each.name, kind, ", ".join(each.reads), ", ".join(each.declared.key), ", ".join(actions)
        )
    return table


_LABELS = ("reads", "derives", "window", "context")


def _facts(statement: ResolvedStatement) -> dict[str, str]:
    return {
        "reads": ", ".join(statement.inputs),
        "derives": statement.target,
        "window": window_of(statement.tree.window),
        "context": context_of(statement),
    }


def data(program: Program) -> dict[str, object]:
    resolved = program.resolve()
    classes = [_described(c, class_kind(resolved, c.name)) for c in resolved.classes]
    return {
        "inputs": _inputs(resolved),
        "types": list(resolved.types),
        "statements": [
            {**_facts(s), "name": s.name, "reads": list(s.inputs)} for s in resolved.statements
        ],
        **({"classes": classes} if classes else {}),
    }


def _described(each: ResolvedClass, kind: str | None) -> dict[str, object]:
    declared = each.declared
    return {
        "name": declared.name,
        "kind": kind,
        "reads": list(each.reads),
        "key": list(declared.key),
        "actions": list(dict.fromkeys(reaction.action for reaction in declared.reactions)),
    }
