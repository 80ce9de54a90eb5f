"""Obstacles: all minimal sets of parts without which a statement would have given a row.

Lifting a part may also take a row away: what is left may match elsewhere, and use up an event. So sets
are tried one by one, the smaller ones first, and none that contains one that was found. That misses none
up to the size to which it goes, and what it finds has no proper subset that would do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

from cepheid.absence.parts import Kind, Lifted, Part
from cepheid.absence.probe import BudgetSpent, Ran
from cepheid.expr.tree import Column, Expr, walk

Try = Callable[[Lifted], Ran]


@dataclass(frozen=True, slots=True)
class Found:
    """Sets of parts, each with what came without them; and up to which size all were tried."""

    sets: tuple[tuple[Lifted, Ran], ...]
    tried: int
    is_complete: bool  # whether larger sets cannot be minimal, or all were tried


def minimal_sets(
    parts: Sequence[Part],
    variant: Callable[[Lifted], Hashable],
    attempt: Try,
    most: int,
) -> Found:
    """Those of at most `most` parts. Sets that leave the same `variant` are tried once."""
    known: dict[Hashable, Ran] = {}
    found: list[tuple[Lifted, Ran]] = []
    size = 0
    try:
        for size in range(min(most, len(parts)) + 1):
            for chosen in combinations(parts, size):
                lifted = frozenset(chosen)
                if any(smaller <= lifted for smaller, _ in found):
                    continue
                left = variant(lifted)
                if left not in known:
                    known[left] = attempt(lifted)
                if known[left].witnesses:
                    found.append((lifted, known[left]))
    except BudgetSpent:
        return Found(tuple(found), size - 1, is_complete=False)
    return Found(tuple(found), size, is_complete=size == len(parts))


def one_set(parts: Sequence[Part], attempt: Try) -> tuple[Lifted, Ran]:
    """One set of which no part can be spared, whatever its size; what is worst to ask for goes first."""
    lifted = frozenset(parts)
    ran = attempt(lifted)
    for part in sorted(parts, key=lambda part: -weight(part)):
        smaller = lifted - {part}
        try:
            left = attempt(smaller)
        except BudgetSpent:
            continue
        if left.witnesses:
            lifted, ran = smaller, left
    return lifted, ran


_WEIGHTS = {kind: weight for weight, kind in enumerate(Kind)}


def weight(part: Part) -> int:
    """How much it is to ask for; that events belong together is more than what one of them is like."""
    return _WEIGHTS[Kind.SAME if _ties_events(part) else part.kind]


def _ties_events(part: Part) -> bool:
    if part.kind is not Kind.CONDITION or not isinstance(part.node, Expr):
        return False
    return any(isinstance(node, Column) and node.tag is not None for node in walk(part.node))
