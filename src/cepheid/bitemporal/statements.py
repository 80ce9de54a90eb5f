"""The statements of a class over single events: which of them fire, and with which arguments.

An event in a round is a row of a relation: `new_x` and `old_x` for each attribute and time x, `has_new`,
`has_old`, `differs`, `fired` and the number of the round, `now`. Conditions and arguments are
expressions over it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from cepheid.bitemporal.derivation import asked_in
from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.outcome import Firing
from cepheid.bitemporal.repository import Row
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.bitemporal.tables import quoted, value_of
from cepheid.core.event import Value
from cepheid.core.time import Instant, format_instant
from cepheid.core.types import LONG, STRING, TIMESTAMP, DataType
from cepheid.program.resolved import ResolvedClass

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Pair:
    """What was known of an event in the last round, what is known now, and its toggle."""

    key: Key
    old: Row | None
    new: Row | None
    fired: bool = False

    @property
    def expires(self) -> Instant:
        """When the last event behind it does."""
        return max(row.expires for row in (self.old, self.new) if row is not None)

    def differs(self, rounds: Rounds) -> bool:
        if self.old is None or self.new is None:
            return False
        return self.new is not self.old and self.new.differs(self.old, rounds)


@dataclass(frozen=True, slots=True)
class StatementsSql:
    """The statements of a class as expressions over the relation."""

    conditions: tuple[str, ...]
    answers: tuple[str, ...]  # each condition, then its arguments, asked for where it holds
    toggle: str  # as the round leaves it: what sets it goes before what clears it

    @staticmethod
    def of(resolved: ResolvedClass, chronon: int) -> StatementsSql:
        from cepheid.sql.conditions import (
            argument_tree,
            clears_toggle_tree,
            condition_tree,
            sets_toggle_tree,
        )
        from cepheid.sql.transpile import to_sql

        def in_sql(tree: exp.Expr | None) -> str:
            return "0" if tree is None else to_sql(tree, "sqlite")

        conditions, answers = [], []
        for reaction in resolved.reactions:
            # As a value, SQLite works out both sides of AND and OR; as a case, no more than it needs.
            condition = in_sql(condition_tree(reaction.condition, chronon))
            condition = f"CASE WHEN {condition} THEN 1 ELSE 0 END"
            arguments = [in_sql(argument_tree(each, chronon)) for each in reaction.arguments]
            conditions.append(condition)
            answers += [condition, *(f"CASE WHEN {condition} THEN {a} END" for a in arguments)]
        asked = [reaction.condition for reaction in resolved.reactions]
        sets = in_sql(sets_toggle_tree(asked, chronon))
        clears = in_sql(clears_toggle_tree(asked, chronon))
        toggle = f"({sets}) OR (fired AND NOT ({clears}))"
        return StatementsSql(tuple(conditions), tuple(answers), toggle)


class FiringReader:
    """Makes actions of the answers of the statements of a class."""

    def __init__(self, resolved: ResolvedClass) -> None:
        self._name = resolved.declared.name
        # For each statement: its number, where its answer and its arguments are among all answers,
        # its action, and the arguments that are not as SQLite gives them.
        self._reactions: list[tuple[int, int, int, str, list[tuple[int, DataType]]]] = []
        place = 0
        for number, reaction in enumerate(resolved.reactions):
            types = [argument.type for argument in reaction.arguments]
            shown = [(n, type) for n, type in enumerate(types) if type not in (STRING, LONG)]
            following = place + 1 + len(types)
            self._reactions.append((number, place, following, reaction.declared.action, shown))
            place = following

    def read(self, key: Key, answers: Sequence[object], now: Number) -> Iterator[Firing]:
        for number, place, following, action, shown in self._reactions:
            if answers[place]:
                arguments = list(cast("Sequence[Value]", answers[place + 1 : following]))
                for n, type in shown:
                    arguments[n] = argument_value(arguments[n], type)
                yield Firing(now, self._name, key, number, action, tuple(arguments))


class Statements:
    """The statements of one class, asked by SQLite for many events at once."""

    def __init__(
        self, connection: sqlite3.Connection, resolved: ResolvedClass, rounds: Rounds
    ) -> None:
        self._connection = connection
        self._class = resolved
        self._rounds = rounds
        declared = resolved.declared
        self._relation = quoted(f"{declared.name}@pairs")
        self._width = len(declared.attributes) + 2
        names = [*(a.name for a in declared.attributes), "occ", "det"]
        sides = [f"{side}_{name}" for side in ("new", "old") for name in names]
        columns = ["@place", *sides, "has_new", "has_old", "differs", "fired", "now"]
        connection.execute(
            f"CREATE TEMP TABLE {self._relation} ({', '.join(map(quoted, columns))})"
        )
        self._insert = f"INSERT INTO {self._relation} VALUES ({', '.join('?' * len(columns))})"
        self._firings = FiringReader(resolved)
        asked = ", ".join(['"@place"', *StatementsSql.of(resolved, rounds.chronon).answers])
        self._select = f"SELECT {asked} FROM {self._relation}"

    def firings(self, pairs: Sequence[Pair], now: Number) -> Iterator[tuple[Pair, Firing]]:
        """The actions that they call for in a round, in the order of the events."""
        if not pairs or not self._class.reactions:
            return
        self._connection.execute(f"DELETE FROM {self._relation}")
        self._connection.executemany(self._insert, self._rows(pairs, now))
        with asked_in(self._class.declared, "a statement", self._rounds, now):
            found = self._connection.execute(self._select).fetchall()
        for place, *answers in found:
            pair = pairs[place]
            for firing in self._firings.read(pair.key, answers, now):
                yield pair, firing

    def _rows(self, pairs: Iterable[Pair], now: Number) -> Iterator[tuple[object, ...]]:
        empty = (None,) * self._width
        for place, pair in enumerate(pairs):
            old, new = pair.old, pair.new
            yield (
                place,
                *((*new.values, new.occ, new.det) if new else empty),
                *((*old.values, old.occ, old.det) if old else empty),
                new is not None,
                old is not None,
                pair.differs(self._rounds),
                pair.fired,
                now,
            )


def argument_value(value: object, type: DataType) -> Value:
    """As actions have it: times are texts."""
    if type == STRING or value is None:
        return cast("Value", value)
    found = value_of(value, type)
    return format_instant(found) if type == TIMESTAMP and isinstance(found, int) else found


def is_kept(pair: Pair, freezing: int, now: Number, rounds: Rounds) -> bool:
    """Definition 4.10: what changes long after its time does so for want of what was purged."""
    if pair.old is not None and pair.new is not None and not pair.differs(rounds):
        return True
    latest = max(row.occ for row in (pair.old, pair.new) if row is not None)
    return rounds.number(latest + 2 * freezing) >= now
