"""A program at a glance."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from cepheid.cli.stages.statements import context_of, window_of
from cepheid.cli.terminal.console import counted
from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.program.resolved import ResolvedStatement
from cepheid.verbs import Program


def text(program: Program) -> Iterator[RenderableType]:
    resolved = program.resolve()
    inputs = ", ".join(resolved.input_types) or "none"
    size = counted(len(resolved.statements), "statement")
    yield Text(f"{size}, {counted(len(resolved.types), 'event type')}")
    yield Text.assemble(("input: ", "bold"), inputs)
    facts = [_facts(statement) for statement in resolved.statements]
    labels = [label for label in _LABELS if any(fact[label] for fact in facts)]
    table = TextTable([Column("statement"), *map(Column, labels)])
    for statement, fact in zip(resolved.statements, facts, strict=True):
        table.add(statement.name, *(fact[label] for label in labels))
    yield table


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
    return {
        "inputs": list(resolved.input_types),
        "types": list(resolved.types),
        "statements": [
            {**_facts(s), "name": s.name, "reads": list(s.inputs)} for s in resolved.statements
        ],
    }
