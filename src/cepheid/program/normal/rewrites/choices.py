"""`a or (b or c)` and `(a or b) or c` are `a or b or c`.

Why no row changes: sides begin from the last to the first, inner ones included, so that the order is
the same. A side that finishes ends all others, at once or through the choice around it; a truth that
finishes nothing passes through both alike. A choice fails when its last side has failed: the outer
one then fails when the last side of all has. A side that is true while it begins keeps those before
it from beginning, in both.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.program.normal.nodes import AnyOf, Node
from cepheid.program.normal.rewrites.rewrite import Rewrite


def _change(node: AnyOf) -> Node:
    if not any(isinstance(side, AnyOf) for side in node.parts):
        return node
    sides = [p.parts if isinstance(p, AnyOf) else (p,) for p in node.parts]
    return replace(node, parts=tuple(side for inner in sides for side in inner))


FLATTEN_CHOICES = Rewrite("flatten-choices", 1, AnyOf, _change)
