"""Waits that follow each other in a sequence are a line.

Why no row changes: a wait is over with its first truth, or fails. So of the waits of a line, a run
is in exactly one at a time, and the line is true and finished when the last of them is, and fails
when the one at hand does; that is what a sequence of them does. That a sequence may be cut into
sequences, and these put in one another, is what `flatten-sequences` says.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from cepheid.program.normal.nodes import Line, Node, Sequence, Wait
from cepheid.program.normal.rewrites.rewrite import Rewrite


def _change(node: Sequence) -> Node:
    parts: list[Node] = []
    for is_wait, group in groupby(node.parts, lambda part: isinstance(part, Wait)):
        members = list(group)
        parts += [_line(members)] if is_wait and len(members) > 1 else members
    if len(parts) == 1 and isinstance(parts[0], Line):
        return replace(parts[0], span=node.span)
    return node if len(parts) == len(node.parts) else replace(node, parts=tuple(parts))


def _line(members: list[Node]) -> Line:
    return Line(tuple(m for m in members if isinstance(m, Wait)), span=members[0].span)


JOIN_LINES = Rewrite("join-lines", 1, Sequence, _change)
