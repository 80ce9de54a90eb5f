"""What events do to tokens, as the words that compiled code reads (`vm.lanes.token_runs`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.subsets import Loss, Pairs, Step, TokenState, Ways
from cepheid.matcher.lanes.token_plan import Tokens
from cepheid.matcher.vm.memory.layout import NONE

ColumnNumbers = Mapping[tuple[str, str], int]  # by types and attributes


class TokenRules:
    """The rules of one complex event."""

    def __init__(self, plan: Tokens, columns: ColumnNumbers) -> None:
        self._plan = plan
        self._columns = columns
        self._numbers: dict[Ways, int] = {(): NONE}
        self._numbers |= {ways: n for n, ways in enumerate((*plan.states, *plan.finals))}
        self._slots = {name: slot for slot, name in enumerate(plan.slots)}
        width = 1 + 2 * len(plan.types)
        self._words: list[int] = [NONE] * (len(plan.states) * width)
        for number, state in enumerate(plan.states.values()):
            self._add_state(number * width, state)
        self.unbound = len(self._words)
        self._words += map(self._unbound, plan.finals)

    @property
    def words(self) -> Words:
        return np.array(self._words, dtype=np.int64)

    def _add_state(self, place: int, state: TokenState) -> None:
        limits = [word for zone, ways in state.late for word in (zone, self._numbers[ways])]
        self._add(place, [len(state.late), *limits] if state.late else [])
        for number, one in enumerate(self._plan.types):
            name = one.event_type
            if name in state.steps:
                self._add(place + 1 + 2 * number, [*self._step(name, state.steps[name])])
            if name in state.losses:
                losses = state.losses[name]
                words = [word for loss in losses for word in self._loss(name, loss)]
                self._add(place + 2 + 2 * number, [len(losses), *words])

    def _add(self, place: int, words: list[int]) -> None:
        if words:
            self._words[place] = len(self._words)
            self._words += words

    def _step(self, event_type: str, step: Step) -> Iterator[int]:
        compared, bound = (self._pairs(event_type, pairs) for pairs in (step.compared, step.bound))
        for outcome in (step.later, step.early):
            yield from (int(outcome.is_used), self._numbers[outcome.ways])
        yield from (len(step.held), len(compared) // 2, len(bound) // 2, len(step.entered))
        yield from (*step.held, *compared, *bound)
        for zone in step.entered:
            yield from (zone, self._plan.periods[zone])

    def _loss(self, event_type: str, loss: Loss) -> Iterator[int]:
        compared = self._pairs(event_type, loss.compared)
        yield from (self._numbers[loss.ways], len(compared) // 2, *compared)

    def _pairs(self, event_type: str, pairs: Pairs) -> list[int]:
        """Slots, and the columns that have their values; what nobody asks for has none."""
        return [
            word
            for name, attribute in pairs
            if name in self._slots
            for word in (self._slots[name], self._columns[event_type, attribute])
        ]

    def _unbound(self, ways: Ways) -> int:
        [(_, bound)] = ways
        return sum(1 << slot for name, slot in self._slots.items() if name not in bound)
