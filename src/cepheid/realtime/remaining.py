"""How long the way of an event still takes, so that no work goes into what cannot be in time any more."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from cepheid.realtime.graph import Graph, Time


def remaining(graph: Graph, times: Mapping[str, Time]) -> dict[str, Time]:
    """Of each source, the time from an event of it to the first delivery, if nothing else were to do.

    It is never too long: what other events of a run need may have been done before. `times` are those of
    operators.
    """

    @cache
    def rest(name: str) -> Time:
        if graph.takers[name]:
            return 0
        readers = (each.name for each, _ in graph.readers[name])
        return min(times[each] + rest(each) for each in readers if each in graph.levels)

    return {name: rest(name) for name in graph.levels}
