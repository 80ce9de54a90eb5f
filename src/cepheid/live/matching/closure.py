"""Transitive closure of a relation of two columns, under edges that come and go, in any graph.

An edge that comes connects all that reaches its start with all that its end reaches. When edges go,
the pairs that a path over one of them connected are suspects; a suspect is kept if a step leads to
it from its source, or from a kept node that the source reaches, over edges that are left (delete
and rederive). Work is bounded by the pairs that are suspects or new, and the edges at them.
"""

from __future__ import annotations

from typing import Any

from cepheid.live.matching.relations import Columns, Index, Relation


class Closure(Relation):
    def __init__(self, steps: Relation) -> None:
        super().__init__(2)
        self.steps = steps
        self.reached: dict[Any, dict[Any, None]] = {}  # by source; each way in the order of arrival
        self.sources: dict[Any, dict[Any, None]] = {}  # by target
        self._steps_from = steps.find((0,))
        self._steps_to = steps.find((1,))
        for start, end in list(steps.find(())(())):
            self._insert(start, end)
        self.delta = {}

    def find(self, columns: Columns) -> Index:
        reached, sources = self.reached, self.sources
        match columns:
            case ():
                return lambda _: ((a, b) for a, ends in reached.items() for b in ends)
            case (0,):
                return lambda key: [(key[0], b) for b in reached.get(key[0], ())]
            case (1,):
                return lambda key: [(a, key[0]) for a in sources.get(key[0], ())]
        return lambda key: (key,) if key[1] in reached.get(key[0], ()) else ()

    def settle(self) -> None:
        gone = [edge for edge, weight in self.steps.delta.items() if weight < 0]
        if gone:
            self._delete(gone)
        for (start, end), weight in self.steps.delta.items():
            if weight > 0:
                self._insert(start, end)
        if self.delta:
            self.delta = {pair: weight for pair, weight in self.delta.items() if weight}

    def _insert(self, start: Any, end: Any) -> None:
        if end in self.reached.get(start, ()):
            return
        ends = [end, *self.reached.get(end, ())]
        for source in [start, *self.sources.get(start, ())]:
            known = self.reached.get(source, {})
            for target in ends:
                if target not in known:
                    self._add(source, target)
                    known = self.reached[source]

    def _delete(self, gone: list[Any]) -> None:
        suspects: dict[Any, dict[Any, None]] = {}
        for start, end in gone:
            ends = [end, *self.reached.get(end, ())]
            for source in [start, *self.sources.get(start, ())]:
                suspects.setdefault(source, {}).update(dict.fromkeys(ends))
        for source, doubted in suspects.items():
            for target in self._without_kept(source, doubted):
                self._remove(source, target)

    def _without_kept(self, source: Any, suspects: dict[Any, None]) -> dict[Any, None]:
        """The suspects that the source no longer reaches.

        New edges may be among those that lead to one: what they connect is not lost either.
        """
        reached = self.reached[source]
        lost = {target: None for target in suspects if target in reached}
        kept = [target for target in lost if self._has_way(source, target, reached, lost)]
        for target in kept:
            lost.pop(target, None)
        while kept:
            for _, follower in self._steps_from((kept.pop(),)):
                if follower in lost:
                    del lost[follower]
                    kept.append(follower)
        return lost

    def _has_way(
        self, source: Any, target: Any, reached: dict[Any, None], lost: dict[Any, None]
    ) -> bool:
        return any(
            step is source or (step in reached and step not in lost)
            for step, _ in self._steps_to((target,))
        )

    def _add(self, source: Any, target: Any) -> None:
        self.reached.setdefault(source, {})[target] = None
        self.sources.setdefault(target, {})[source] = None
        self._note(source, target, 1)

    def _remove(self, source: Any, target: Any) -> None:
        for index, key, value in ((self.reached, source, target), (self.sources, target, source)):
            del index[key][value]
            if not index[key]:
                del index[key]
        self._note(source, target, -1)

    def _note(self, source: Any, target: Any, weight: int) -> None:
        self.delta[source, target] = self.delta.get((source, target), 0) + weight
