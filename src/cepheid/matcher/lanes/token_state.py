"""The tokens of one complex event: the arrays of its compiled code, grown, read, packed and restored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cepheid.core.time import Instant
from cepheid.matcher.columns.interning import Words
from cepheid.matcher.lanes.token_plan import Tokens
from cepheid.matcher.lanes.token_rules import ColumnNumbers, TokenRules
from cepheid.matcher.vm.lanes import token_runs as vm
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.pattern.policy import CHRONICLE, IMMEDIATE, STRICT

_FEW = 256
_CONTEXTS = {
    CHRONICLE: vm.TokenContext.CHRONICLE,
    IMMEDIATE: vm.TokenContext.IMMEDIATE,
    STRICT: vm.TokenContext.STRICT,
}


class TokenState:
    """All that one complex event remembers, and the matches that were found and not yet taken."""

    def __init__(self, plan: Tokens, columns: ColumnNumbers, key: int | None) -> None:
        rules = TokenRules(plan, columns)
        self._rules = rules.words
        self._limits = _limits(plan)
        self.slots = vm.TokenRow.REST + len(plan.periods)  # where they begin
        self.width = self.slots + len(plan.slots)
        self._head = np.zeros(len(vm.TokenHead), dtype=np.int64)
        self._head[vm.TokenHead.TYPES] = len(plan.types)
        self._head[vm.TokenHead.ZONES] = len(plan.periods)
        self._head[vm.TokenHead.SLOTS] = len(plan.slots)
        self._head[vm.TokenHead.FINALS] = len(plan.states)
        self._head[vm.TokenHead.UNBOUND] = rules.unbound
        self._head[vm.TokenHead.KEY] = NONE if key is None else key
        policy = replace(plan.statement.policy, is_global=False)
        self._head[vm.TokenHead.CONTEXT] = _CONTEXTS[policy]
        self._found = np.zeros(0, dtype=np.int64)
        self.restore(np.zeros((0, self.width), dtype=np.int64))

    # -- events and time --

    def follow(self, types: Words, instants: Words, values: Words, nulls: Words) -> None:
        self._head[vm.TokenHead.CURSOR] = 0
        while status := int(
            vm.follow(
                self._head,
                self._tokens,
                self._table,
                self._found,
                self._rules,
                types,
                instants,
                values,
                nulls,
            )
        ):
            if status == vm.TokenStatus.MORE_FOUND:
                self._more_found()
            else:
                self.pass_time(int(instants[self._head[vm.TokenHead.CURSOR]]))

    def pass_time(self, instant: Instant) -> None:
        """Forgets the tokens that come too late for all that they wait for."""
        self.restore(self.live(instant))

    def next_due(self) -> Instant | None:
        """When the first token may come too late."""
        rows = self._tokens[: self._head[vm.TokenHead.FRESH]].reshape(-1, self.width)
        rows = rows[rows[:, vm.TokenRow.STATE] != NONE]
        limits = self._limits[rows[:, vm.TokenRow.STATE]]
        ends = rows[:, vm.TokenRow.REST : self.slots][limits]
        return int(ends.min()) + 1 if len(ends) else None

    # -- matches --

    def take_matches(self) -> Words:
        """The matches since the last call, one in a row, as long as no others are found."""
        width = vm.MatchRow.REST + self.width - self.slots
        matches = self._found[: int(self._head[vm.TokenHead.FOUND]) * width]
        self._head[vm.TokenHead.FOUND] = 0
        return matches.reshape(-1, width)

    def _more_found(self) -> None:
        width = vm.MatchRow.REST + self.width - self.slots
        count = max(4 * _FEW, 2 * int(self._head[vm.TokenHead.MOST_FOUND]))
        found = np.empty(count * width, dtype=np.int64)
        found[: len(self._found)] = self._found
        self._found = found
        self._head[vm.TokenHead.MOST_FOUND] = count

    # -- all tokens --

    def live(self, instant: Instant | None) -> Words:
        """A row for each token that is left at an instant, those of a key the oldest first."""
        if instant is None:
            return np.zeros((0, self.width), dtype=np.int64)
        places = np.empty(self._head[vm.TokenHead.LIVE], dtype=np.int64)
        count = vm.list_live(self._head, self._tokens, self._table, self._rules, instant, places)
        rows = self._tokens[: self._head[vm.TokenHead.FRESH]].reshape(-1, self.width)
        found: Words = rows[places[:count] // self.width]
        return found

    def restore(self, rows: Words) -> None:
        """Goes on with tokens as `live` gave them, and room for as many again."""
        room = max(_FEW, 2 * len(rows))
        self._tokens = np.empty(room * self.width, dtype=np.int64)
        self._tokens[: rows.size] = rows.ravel()
        size = 1 << (4 * room).bit_length()
        self._table = np.full(size << vm.ENTRY_BITS, NONE, dtype=np.int64)
        self._head[vm.TokenHead.FREE] = NONE
        self._head[vm.TokenHead.FRESH] = rows.size
        self._head[vm.TokenHead.MOST_TOKENS] = room
        self._head[vm.TokenHead.LIVE] = len(rows)
        self._head[vm.TokenHead.SIZE] = size
        vm.enter(self._head, self._tokens, self._table)


def _limits(plan: Tokens) -> np.ndarray:
    """Whether a zone limits a state."""
    limits = np.zeros((len(plan.states), len(plan.periods)), dtype=bool)
    for number, state in enumerate(plan.states.values()):
        limits[number, [zone for zone, _ in state.late]] = True
    return limits
