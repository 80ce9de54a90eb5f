"""Complex events as a lane: types, checks and columns for whole batches, tokens by compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cepheid.core.event import Value
from cepheid.core.time import Instant
from cepheid.core.types import DOUBLE, FLOAT, STRING, DataType, is_counted
from cepheid.io.arrow import arrow_type
from cepheid.matcher.columns.batches import equal_lists
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.contents import Contents, KeptEvent, KeptMatch, KeptTimer
from cepheid.matcher.lanes.eligibility import Sieve
from cepheid.matcher.lanes.predicates import Values
from cepheid.matcher.lanes.rows import Events, Rows
from cepheid.matcher.lanes.token_plan import Tokens
from cepheid.matcher.lanes.token_state import TokenState
from cepheid.matcher.operator import Column
from cepheid.matcher.vm.lanes import token_runs as vm
from cepheid.semantics.inspection.parts import Texts


class TokenLane:
    """One complex event that runs."""

    def __init__(self, plan: Tokens, places: ColumnLookup) -> None:
        self._plan = plan
        self._view = _View(plan, places)
        self._tokens = TokenState(plan, self._view.numbers, self._view.key)
        self._clock: Instant | None = None
        self.needed = 0  # tokens when last restored

    # -- events and time --

    def start(self, instant: Instant) -> None:
        """Complex events wait for events, whenever they began to."""

    def next_due(self) -> Instant | None:
        return self._tokens.next_due()

    def pass_time(self, instant: Instant) -> None:
        self._clock = instant
        due = self.next_due()
        if due is not None and due <= instant:
            self._tokens.pass_time(instant)

    def take(self, batch: Events, pool: Pool) -> None:
        values, nulls = self._view.values(batch, pool)
        self._tokens.follow(self._view.types(batch, pool), batch.instants, values, nulls)
        self._clock = int(batch.instants[-1])

    def take_rows(self, batch: Events | None, pool: Pool) -> list[Rows]:
        matches = self._tokens.take_matches()
        if not len(matches):
            return []
        assert batch is not None
        return [_rows(self._plan, matches, batch)]

    # -- state --

    def pack(self, old: Pool, new: Pool) -> dict[str, Words]:
        rows = self._tokens.live(self._clock)
        if self._view.has_text_key:
            rows[:, vm.TokenRow.KEY] = old.moved(rows[:, vm.TokenRow.KEY], new)
        for slot in self._view.text_slots:
            values = rows[:, self._tokens.slots + slot]
            is_set = (rows[:, vm.TokenRow.NULLS] >> slot) & 1 == 0
            values[is_set] = old.moved(values[is_set], new)
        clock = [] if self._clock is None else [self._clock]
        return {"tokens": rows, "clock": np.array(clock, dtype=np.int64)}

    def restore(self, packed: Mapping[str, Words]) -> None:
        self._clock = int(packed["clock"][0]) if len(packed["clock"]) else None
        self._tokens.restore(packed["tokens"])
        self.needed = len(packed["tokens"])

    def tidy(self, old: Pool, new: Pool) -> None:
        self.restore(self.pack(old, new))

    def contents(self, pool: Pool, texts: Texts, most: int) -> Contents:
        rows = self._tokens.live(self._clock)
        found = tuple(self._match(row, pool) for row in rows[:most])
        due, name = self.next_due(), self._plan.statement.name
        timers = () if due is None else (KeptTimer(due, name),)
        return Contents(found, len(rows), timers=timers)

    def _match(self, row: Words, pool: Pool) -> KeptMatch:
        """A token with the parameters that it carries; its events are not kept."""
        plan, number = self._plan, int(row[vm.TokenRow.STATE])
        state = list(plan.states.values())[number]
        zones = [int(row[vm.TokenRow.REST + zone]) for zone, _ in state.late]
        types = {slot: type for _, type, slot in plan.columns if slot is not None}
        carried = {}
        for slot, parameter in enumerate(plan.slots):
            if (int(row[vm.TokenRow.NULLS]) >> slot) & 1 == 0:
                word = row[self._tokens.slots + slot : self._tokens.slots + slot + 1]
                carried[parameter] = self._value(word, slot, types.get(slot), pool)
        key = int(row[vm.TokenRow.KEY])
        keys: tuple[Value, ...] = ()
        if self._view.key is not None:
            keys = (pool.value(key) if self._view.has_text_key else key,)
        event = (KeptEvent(plan.statement.target, values=carried),) if carried else ()
        return KeptMatch(
            plan.statement.name, event, tuple(state.steps), min(zones, default=None), keys
        )

    def _value(self, word: Words, slot: int, type: DataType | None, pool: Pool) -> Value:
        if slot in self._view.text_slots:
            return pool.value(int(word[0]))
        if type in (FLOAT, DOUBLE):
            return float(word.view(np.float64)[0])
        return int(word[0])


class _View:
    """What a complex event sees of a batch: the types of its events, and columns of their values."""

    def __init__(self, plan: Tokens, places: ColumnLookup) -> None:
        self._sieve = Sieve([(one.event_type, one.tests) for one in plan.types], places)
        columns = {pair: places.column(*pair) for pair in plan.pairs}
        self._columns = {column.name: column for column in columns.values()}
        names = [*self._columns]
        self.numbers = {pair: names.index(column.name) for pair, column in columns.items()}
        # Of each part of the key, the columns that have it, one for each type.
        self._keys = [
            [
                places.column(one.event_type, attribute)
                for one, attribute in zip(plan.types, part, strict=True)
            ]
            for part in zip(*(one.key for one in plan.types), strict=True)
        ]
        self.key = len(names) if self._keys else None
        self.has_text_key = len(self._keys) > 1 or any(
            column.data_type == STRING for part in self._keys for column in part
        )
        of_texts = {
            name
            for pair, names_ in plan.pairs.items()
            if columns[pair].data_type == STRING
            for name in names_
        }
        self.text_slots = [slot for slot, name in enumerate(plan.slots) if name in of_texts]

    def types(self, batch: Events, pool: Pool) -> Words:
        """For each event one more than the number of its type; 0 where it does not exist."""
        bits = self._sieve.masks(batch, pool)
        return np.frexp(bits.astype(np.float64))[1].astype(np.int64)

    def values(self, batch: Events, pool: Pool) -> tuple[Words, Words]:
        """The words of all columns, one after the other, the key behind them; and for each event a bit
        for each that is null."""
        found = [batch.values(column, pool) for column in self._columns.values()]
        if self._keys:
            found.append(self._key_values(batch, pool))
        nulls = np.zeros(len(batch), dtype=np.int64)
        for number, values in enumerate(found):
            if values.nulls is not None:
                nulls |= values.nulls.astype(np.int64) << number
        words = [np.empty(0, np.int64), *(_words(values) for values in found)]
        return np.concatenate(words), nulls

    def _key_values(self, batch: Events, pool: Pool) -> Values:
        """The keys of all events; one of several parts is a text."""
        parts = [self._key_part(columns, batch, pool) for columns in self._keys]
        if len(parts) == 1:
            return parts[0]
        nulls = np.zeros(len(batch), dtype=bool)
        for part in parts:
            nulls |= False if part.nulls is None else part.nulls
        words = np.column_stack([part.words for part in parts])
        known, places = np.unique(words[~nulls], axis=0, return_inverse=True)
        is_text = [columns[0].data_type == STRING for columns in self._keys]
        texts = (
            repr([pool.value(n) if is_one else n for n, is_one in zip(row, is_text, strict=True)])
            for row in known.tolist()
        )
        numbers = np.array([pool.intern(text) for text in texts], dtype=np.int64)
        found = np.zeros(len(batch), dtype=np.int64)
        found[~nulls] = numbers[places.ravel()]
        return Values(found, nulls)

    def _key_part(self, columns: Sequence[Column], batch: Events, pool: Pool) -> Values:
        """A part of the keys, which may be in a column for each type."""
        if len({column.name for column in columns}) == 1:
            return batch.values(columns[0], pool)
        types = self.types(batch, pool)
        words, nulls = np.zeros(len(batch), dtype=np.int64), np.zeros(len(batch), dtype=bool)
        for number, column in enumerate(columns, 1):
            values, mine = batch.values(column, pool), types == number
            words[mine] = values.words[mine]
            if values.nulls is not None:
                nulls[mine] = values.nulls[mine]
        return Values(words, nulls)


def _words(values: Values) -> Words:
    """Values as words that can be kept: those of doubles are their bits."""
    if values.words.dtype.kind == "f":
        return values.words.astype(np.float64).view(np.int64)
    return values.words.astype(np.int64)


def _rows(plan: Tokens, matches: Words, batch: Events) -> Rows:
    """The rows that matches give."""
    places = matches[:, vm.MatchRow.PLACE].copy()
    instants = batch.instants[places]
    values = tuple(_shown(matches, type, slot) for _, type, slot in plan.columns)

    def keys() -> Array:
        sequences = batch.sequences[places]
        return equal_lists((instants, 1, sequences, 1, plan.statement.rank, 1), len(places))

    return Rows(plan.statement, instants, lambda: places, values, keys)


def _shown(matches: Words, type: DataType, slot: int | None) -> Values:
    if slot is None:
        return Values(np.zeros(len(matches), dtype=np.int64), np.ones(len(matches), dtype=bool))
    words = np.ascontiguousarray(matches[:, vm.MatchRow.REST + slot])
    nulls = ((matches[:, vm.MatchRow.NULLS] >> slot) & 1).astype(bool)
    if type in (FLOAT, DOUBLE):
        words = words.view(np.float64)
    if type != STRING and not is_counted(type):
        words = np.where(nulls, 0, words).astype(arrow_type(type, {}).to_pandas_dtype())
    return Values(words, nulls if nulls.any() else None)
