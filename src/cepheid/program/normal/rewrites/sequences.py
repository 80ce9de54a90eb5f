"""`a -> (b -> c)` and `(a -> b) -> c` are `a -> b -> c`.

Why no row changes: a sequence passes each truth of a part on to a new instance of the next part,
with the same binding, whether the two stand in one sequence or in nested ones; so both have the
same live parts, begun in the same order, and the last parts' truths are the truths of the whole.
The whole is finished, or fails, when nothing in it lives any more: an inner sequence that lives does
so because a part of it does. No condition or limit hangs on an inner sequence, since whatever
guards it would stand between the two. What differs is the order in which a timed-out run of several
branches is told, which only the reference semantics does.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.program.normal.nodes import Node, Sequence
from cepheid.program.normal.rewrites.rewrite import Rewrite


def _change(node: Sequence) -> Node:
    if not any(isinstance(part, Sequence) for part in node.parts):
        return node
    parts = [p.parts if isinstance(p, Sequence) else (p,) for p in node.parts]
    return replace(node, parts=tuple(part for inner in parts for part in inner))


FLATTEN_SEQUENCES = Rewrite("flatten-sequences", 1, Sequence, _change)
