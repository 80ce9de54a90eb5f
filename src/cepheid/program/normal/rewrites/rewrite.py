"""What a rewrite is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cepheid.program.normal.nodes import Node, with_children

N = TypeVar("N", bound=Node)


@dataclass(frozen=True, slots=True)
class Rewrite(Generic[N]):
    """`change` gets nodes of a kind, their parts changed already, and gives what replaces them.

    `version` grows whenever the rewrite gives something else than before: saved states hold live
    runs of what it gave.
    """

    name: str
    version: int
    kind: type[N]
    change: Callable[[N], Node]

    def __call__(self, node: Node) -> Node:
        changed = with_children(node, self)
        return self.change(changed) if isinstance(changed, self.kind) else changed
