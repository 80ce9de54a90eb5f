"""Which statement derives what from what."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from cepheid.core.types import lineage
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.verbs import Program

_DEEPEST = 12  # levels of a tree, which must leave room for its texts


def text(program: Program) -> Iterator[RenderableType]:
    """A tree per input type, continued where it gets too deep; then what only cycles lead to."""
    resolved = program.resolve()
    derived = {statement.target for statement in resolved.statements}
    inputs = [name for name in resolved.types if name not in derived]
    told: set[str] = set()
    for name in [*inputs, *resolved.types]:
        if name not in told:
            roots = [(name, "input" if name in inputs else "derived from itself")]
            told.add(name)
            while roots:
                yield _tree(resolved, *roots.pop(0), told, roots)


def _tree(
    resolved: ResolvedProgram,
    name: str,
    label: str,
    told: set[str],
    continued: list[tuple[str, str]],
) -> Tree:
    """What follows from a type, each type once."""
    root = Tree(Text.assemble((name, "bold"), (f" ({label})", "dim")), guide_style="dim")
    waiting = [(root, name, 1)]
    while waiting:
        branch, type, depth = waiting.pop()
        followed = []
        for statement in _readers(resolved, type):
            if statement.target in told:
                branch.add(_label(statement, " (see elsewhere)"))
            elif depth == _DEEPEST:
                branch.add(_label(statement, " (see below)"))
                continued.append((statement.target, "continued"))
            else:
                followed.append((branch.add(_label(statement)), statement.target, depth + 1))
            told.add(statement.target)
        waiting.extend(reversed(followed))
    return root


def _readers(resolved: ResolvedProgram, type: str) -> list[ResolvedStatement]:
    """The statements that take events of the type, also as events of an ancestor."""
    names = lineage(type, resolved.types)
    return [s for s in resolved.statements if names & set(s.inputs)]


def _label(statement: ResolvedStatement, note: str = "") -> Text:
    maker = f" by {statement.name}" if statement.name != statement.target else ""
    return Text.assemble((statement.target, "bold"), maker, (note, "dim"))


def draw(program: Program) -> str:
    from cepheid.drawing.graph import to_svg

    return to_svg(program.graph())


def data(program: Program) -> dict[str, object]:
    return program.graph().to_json()
