"""What a rewrite is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepheid.program.normal.nodes import Node, with_children


@dataclass(frozen=True, slots=True)
class Rewrite:
    """`change` gets a node whose parts have been changed already, and gives what replaces it.

    `version` grows whenever the rewrite gives something else than before: saved states hold live
    runs of what it gave.
    """

    name: str
    version: int
    change: Callable[[Node], Node]

    def __call__(self, node: Node) -> Node:
        return self.change(with_children(node, self))
