"""How long the events of each type from outside matter to the whole program.

A note for each such type that a statement takes: rows that come later than this after an event do
not depend on it. An event matters to a statement for a while (see `retention`), and what the
statement derives from it matters to others; along such a path the times add up, and the longest
path counts. It is named; where there is no bound, so are the statements that set none, with the
reason of the first.

What is seen: guards, timers, time windows and batches, and conditions on the attribute that holds
the time of a type, where it counts whole units: `b.ts - a.ts <= 5`, `a.ts + 5 > b.ts`,
`b.ts between a.ts and a.ts + 5`, in the steps of `every a=A -> ...` and in a `where` behind which
there is no window. What is not seen: such conditions inside `or` of patterns, repetitions and
`while`, on times that are floats or texts, or on types that statements derive; that conditions keep
an event out of the longest path; that events of a type stop coming. So an event may matter for less
time, never for more, but for what `retention` does not count. How long an engine keeps an event is
another question: see `state`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.analysis.lifetimes import Bound, add
from cepheid.analysis.matches import Feeds, longest_run
from cepheid.analysis.retention import Retention, retention_of
from cepheid.core.time import Period
from cepheid.core.types import lineage
from cepheid.errors import Diagnostic, Span, note
from cepheid.program.graph import Graph
from cepheid.program.statements import span_of_type


@dataclass(frozen=True, slots=True)
class Reach:
    """How long events matter to a statement, which is the last of a path that they take."""

    span: Bound
    path: tuple[int, ...]
    for_ever: str | None = None  # why, where it is this statement that sets no bound


def find(graph: Graph) -> Iterator[Diagnostic]:
    for name, reaches in horizons(graph).items():
        if reaches:
            yield _finding(graph, name, reaches)


def horizons(graph: Graph) -> dict[str, tuple[Reach, ...]]:
    """For each type from outside how long its events matter to each statement that they reach."""
    feeds = Feeds(graph)
    retentions = [retention_of(s, longest_run(feeds, s)) for s in graph.statements]
    return {
        name: tuple(_reaches(graph, retentions, name).values())
        for name in graph.program.input_types
    }


def _finding(graph: Graph, name: str, reaches: Sequence[Reach]) -> Diagnostic:
    endless = [reach for reach in reaches if reach.for_ever is not None]
    longest = max((reach for reach in reaches if reach.span), key=_longer, default=None)
    how_long = _for_a_while(graph, longest) if longest else "at their own instant only"
    hint = f"otherwise {how_long}" if endless and longest else None
    if endless:
        how_long = _for_ever(graph, endless)
    return note("retention", f"events of {name} can matter {how_long}", _place(graph, name), hint)


def _for_ever(graph: Graph, endless: Sequence[Reach]) -> str:
    first, *others = (_name(graph, reach.path[-1]) for reach in endless)
    also = f"; also to {_listed(others)}" if others else ""
    return f"for ever to {first}: {endless[0].for_ever}{also}"


def _for_a_while(graph: Graph, reach: Reach) -> str:
    assert reach.span is not None
    *through, last = (_name(graph, number) for number in reach.path)
    way = f", through {_listed(through)}" if through else ""
    return f"for {Period(reach.span)} to {last}{way}"


def _name(graph: Graph, number: int) -> str:
    return f"'{graph.statements[number].name}'"


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _place(graph: Graph, name: str) -> Span | None:
    """Where a type is declared, or else first taken."""
    program = graph.program
    declared = (schema.span for schema in program.tree.schemas if schema.name == name)
    taken = (span_of_type(s.tree, name) for s in graph.statements if name in s.inputs)
    return next(declared, None) or next(taken, None)


# Paths.


def _reaches(graph: Graph, retentions: Sequence[Retention], name: str) -> dict[int, Reach]:
    """The statements that events of a type matter to, directly or through what they derive."""
    reaches: dict[int, Reach] = {}
    for component in graph.components:
        into = {n: list(_ways(graph, retentions[n], name, n, reaches)) for n in component}
        longest = {n: max(ways, key=_longer) for n, ways in into.items() if ways}
        if component in graph.cycles and longest:
            longest = _around(component, retentions, longest)
        reaches |= longest
    return reaches


def _ways(
    graph: Graph, retention: Retention, name: str, number: int, reaches: Mapping[int, Reach]
) -> Iterator[Reach]:
    """How events of a type come to a statement, from outside or from those before it."""
    types, statements = graph.program.types, graph.statements
    sources = [(lineage(name, types), Reach(0, ()))]
    sources += [
        (lineage(statements[maker].target, types), reaches[maker])
        for maker in graph.producers[number]
        if maker in reaches
    ]
    for kinds, before in sources:
        for taken, span in retention.spans.items():
            if taken in kinds:
                reason = retention.for_ever.get(taken)
                yield Reach(add((before.span, span)), (*before.path, number), reason)


def _longer(reach: Reach) -> tuple[bool, bool, int]:
    return reach.for_ever is not None, reach.span is None, reach.span or 0


def _around(
    cycle: tuple[int, ...], retentions: Sequence[Retention], longest: Mapping[int, Reach]
) -> dict[int, Reach]:
    """All statements of a cycle are reached, by what takes its time again and again, or none."""
    if any(span != 0 for n in cycle for span in retentions[n].spans.values()):
        return {n: Reach(None, (n,), "what it derives comes back to it") for n in cycle}
    far = max(longest.values(), key=_longer)
    onward = {n: Reach(far.span, (*far.path, n)) for n in cycle}
    return {n: max(longest.get(n, onward[n]), onward[n], key=_longer) for n in cycle}
