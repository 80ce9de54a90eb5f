"""Partial matches as tokens on the automata of complex events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cepheid.semantics.inspection.description import Inspection


def tokens_of(inspection: Inspection) -> Mapping[str, Mapping[int, int]]:
    """By statement and state, how many partial matches stand there; those of the engine `automaton`.

    One whose events may belong together in several ways stands in several states.
    """
    found: dict[str, Counter[int]] = {}
    for state in inspection.statements:
        for match in state.partial:
            ways = match.parts or (match,)
            for number in {way.state for way in ways if match.since is not None}:
                if number is not None:
                    found.setdefault(state.statement, Counter())[number] += 1
    return found
