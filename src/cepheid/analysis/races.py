"""Dependent statements whose order nothing but the text decides.

A statement Q that takes what P derives may miss it, in engines that take statements in any order,
unless P has the higher priority. Here derived events queue, so that Q sees each of them; what may
still depend on the order is in which turn Q sees the events of several statements. So a dependent
pair without priorities is a note; only a stream for which two orders give different rows is a
reason to warn, and `formal.witnesses` looks for one.

What is seen: direct dependence, through types and their ancestors. What is not seen: whether the
order matters. Pairs inside a cycle are left to the cycle's own finding, as no order suits them.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.errors import Diagnostic, note
from cepheid.program.graph import Graph
from cepheid.program.statements import span_of_type

FIX = "`cepheid check --fix-priorities` writes priorities by level"


def find(graph: Graph) -> Iterator[Diagnostic]:
    makers: dict[int, list[int]] = {}
    for maker, number in open_pairs(graph):
        makers.setdefault(number, []).append(maker)
    for number, found in sorted(makers.items()):
        statement = graph.statements[number]
        names = ", ".join(f"'{graph.statements[n].name}'" for n in found)
        have = "has" if len(found) == 1 else "have"
        fact = f"'{statement.name}' depends on {names}, which {have} no higher priority"
        span = next((s for n in statement.inputs if (s := span_of_type(statement.tree, n))), None)
        yield note("no-priority", fact, span or statement.tree.span, FIX)


def open_pairs(graph: Graph) -> Iterator[tuple[int, int]]:
    """P and Q where Q depends on P, P has no higher priority, and they form no cycle."""
    home = {n: component for component in graph.components for n in component}
    for maker, number in graph.pairs:
        priority = graph.statements[maker].tree.priority
        if home[maker] != home[number] and priority <= graph.statements[number].tree.priority:
            yield maker, number


def priorities_by_level(graph: Graph) -> tuple[int, ...]:
    """A priority for each statement, in the order of the text; no two are equal.

    They fall from level to level; in a level the statements keep the order that they have.
    """
    count = len(graph.statements)
    turns = sorted(range(count), key=lambda n: (graph.levels[n], graph.statements[n].rank))
    given = {n: count - turn for turn, n in enumerate(turns)}
    return tuple(given[n] for n in range(count))


def has_open_order(graph: Graph) -> bool:
    """Whether priorities leave open who comes first, where others depend on it."""
    feeding = {maker for maker, _ in graph.pairs}
    given = {graph.statements[n].tree.priority for n in feeding}
    return len(given) < len(feeding) or any(True for _ in open_pairs(graph))
