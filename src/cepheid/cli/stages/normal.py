"""The normal form of each statement's source: what it waits for, and what happens then."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from cepheid.program.normal.nodes import Awaited, Node, Wait, children
from cepheid.program.normal.printing import conditions, headline
from cepheid.verbs import Program
from cepheid.verbs.pipeline import normalize


def text(program: Program) -> Iterator[RenderableType]:
    for statement in normalize(program.resolve()).statements:
        tree = Tree(Text(statement.resolved.name, "bold"), guide_style="dim")
        _add(tree, statement.source)
        yield tree


def _add(tree: Tree, node: Node) -> None:
    branch = tree.add(Text(headline(node)))
    if isinstance(node, Wait) and node.event is not None:
        for name, texts in conditions(node.event).items():
            branch.add(Text.assemble((f"{name}: ", "dim"), ", ".join(texts)))
    for child in children(node):
        _add(branch, child)


def data(program: Program) -> list[dict[str, object]]:
    return [
        {"name": statement.resolved.name, "source": _described(statement.source)}
        for statement in normalize(program.resolve()).statements
    ]


def _described(node: Node) -> dict[str, object]:
    return {
        "node": type(node).__name__,
        "does": headline(node),
        "file": node.span.file if node.span else None,
        "line": node.span.line if node.span else None,
        "event": _described_event(node.event) if isinstance(node, Wait) and node.event else None,
        "parts": [_described(child) for child in children(node)],
    }


def _described_event(event: Awaited) -> dict[str, object]:
    return {"type": event.event_type, "tag": event.tag, "conditions": conditions(event)}
