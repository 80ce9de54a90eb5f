"""Which statement, and which class, derives what from what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from cepheid.core.types import lineage
from cepheid.program.resolved import ResolvedProgram
from cepheid.verbs import Program

_DEEPEST = 12  # levels of a tree, which must leave room for its texts


def text(program: Program) -> Iterator[RenderableType]:
    """A tree per input type, continued where it gets too deep; then what only cycles lead to."""
    resolved = program.resolve()
    derived = {s.target for s in resolved.statements} | {
        c.name for c in resolved.classes if c.reads
    }
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
        for step in _steps(resolved, type):
            if step.target in told:
                branch.add(_label(step, " (see elsewhere)"))
            elif depth == _DEEPEST:
                branch.add(_label(step, " (see below)"))
                continued.append((step.target, "continued"))
            else:
                followed.append((branch.add(_label(step)), step.target, depth + 1))
            told.add(step.target)
        waiting.extend(reversed(followed))
    return root


@dataclass(frozen=True, slots=True)
class _Step:
    """What a statement or a class derives."""

    target: str
    maker: str | None  # unless it is called the same


def _steps(resolved: ResolvedProgram, type: str) -> Iterator[_Step]:
    """What takes events of the type, also as events of an ancestor."""
    names = lineage(type, resolved.types)
    for each in resolved.classes:
        if names & set(each.reads):
            yield _Step(each.name, None)
    for s in resolved.statements:
        if names & set(s.inputs):
            yield _Step(s.target, s.name if s.name != s.target else None)


def _label(step: _Step, note: str = "") -> Text:
    maker = f" by {step.maker}" if step.maker else ""
    return Text.assemble((step.target, "bold"), maker, (note, "dim"))


def draw(program: Program) -> str:
    from cepheid.drawing.graph import to_svg

    return to_svg(program.graph())


def data(program: Program) -> dict[str, object]:
    return program.graph().to_json()
