"""How the events of each statement can be split, and why."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from cepheid.analysis.keys import Split, split_of
from cepheid.cli.sheet import Column, Sheet
from cepheid.program.resolved import ResolvedStatement
from cepheid.verbs import Program


def text(program: Program) -> Iterator[RenderableType]:
    sheet = Sheet([Column("statement"), Column("splits by"), Column("because")], is_spaced=True)
    resolved = program.resolve()
    for statement in resolved.statements:
        split = split_of(statement, resolved.types)
        sheet.add(statement.name, _key(split), split.reason)
    yield sheet


def _key(split: Split) -> str:
    if split.by is None:
        return "nothing: one part sees all events"
    if not split.by:
        return "anything"
    keys = {name: ", ".join(".".join(p) for p in paths) for name, paths in split.by.items()}
    if len(set(keys.values())) == 1:
        return next(iter(keys.values()))
    return "\n".join(f"{key} of {name}" for name, key in keys.items())


def data(program: Program) -> list[dict[str, object]]:
    resolved = program.resolve()
    return [_described(s, split_of(s, resolved.types)) for s in resolved.statements]


def _described(statement: ResolvedStatement, split: Split) -> dict[str, object]:
    key = None
    if split.by is not None:
        key = {name: [".".join(path) for path in paths] for name, paths in split.by.items()}
    return {
        "name": statement.name,
        "output": statement.target,
        "inputs": list(statement.inputs),
        "key": key,
        "key_reason": split.reason,
    }
