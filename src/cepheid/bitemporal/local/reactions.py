"""The statements of one class over the pairs of a round: actions, toggles, and when to look again."""

from __future__ import annotations

import sqlite3

from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.local.agenda import due_sql
from cepheid.bitemporal.local.layout import DUE, Layout
from cepheid.bitemporal.outcome import Firing
from cepheid.bitemporal.rounds import Number
from cepheid.bitemporal.statements import FiringReader, StatementsSql
from cepheid.bitemporal.tables import HIDDEN, RowReader, quoted
from cepheid.program.resolved import ResolvedClass


class Reactions:
    """What statements say of all pairs at once."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        layout: Layout,
        resolved: ResolvedClass,
        chronon: int,
        freezing: int | None,
    ) -> None:
        self._cursor = connection.cursor()
        self._layout = layout
        self._reader = RowReader(layout.declared)
        self._firings = FiringReader(resolved)
        sql = StatementsSql.of(resolved, chronon)
        self._select = self._selecting(sql, chronon, freezing)
        self._toggled = self._toggling(sql)
        self._mark = self._marking(sql, resolved, chronon)

    def _selecting(self, sql: StatementsSql, chronon: int, freezing: int | None) -> str:
        holds = " OR ".join(f"({condition})" for condition in sql.conditions)
        kept = "" if freezing is None else f" AND {_is_kept_sql(chronon, freezing)}"
        return (
            f"SELECT {self._layout.pair_keys}, {', '.join(sql.answers)} FROM {self._layout.pairs}"
            f" WHERE ({holds}){kept} ORDER BY {self._layout.pair_keys}"
        )

    def _toggling(self, sql: StatementsSql) -> str:
        toggled = f"SELECT {self._layout.pair_keys}, fired, ({sql.toggle}) AS is_set"
        return (
            f"SELECT {self._layout.pair_keys}, is_set"
            f" FROM ({toggled} FROM {self._layout.pairs}) WHERE is_set <> fired"
        )

    def _marking(self, sql: StatementsSql, resolved: ResolvedClass, chronon: int) -> str:
        conditions = [reaction.condition for reaction in resolved.reactions]
        holds = " OR ".join(f"({condition})" for condition in sql.conditions)
        is_steady = f'("@same" AND is_set = fired AND NOT ({holds}))'
        due = due_sql(conditions, chronon, fired="is_set", is_steady=is_steady)
        new, old = (quoted(f"{side}_{HIDDEN[-1]}") for side in ("new", "old"))
        expires = f"max(coalesce({new}, {old}), coalesce({old}, {new}))"
        seen = f'CASE WHEN fired THEN max(coalesce("@until", 0), {expires}) ELSE {expires} END'
        toggled = f"SELECT *, ({sql.toggle}) AS is_set FROM {self._layout.pairs}"
        keys = self._layout.pair_keys
        found = f"SELECT {keys}, is_set, {due} AS due, {seen} AS seen FROM ({toggled})"
        return (
            f"INSERT INTO {self._layout.marks} SELECT {keys}, is_set, due, seen FROM ({found})"
            " WHERE is_set OR due IS NOT NULL"
        )

    def firings(self, now: Number) -> list[Firing]:
        """The actions that a round calls for, in the order of keys and statements."""
        width, key_of, read = len(self._layout.key), self._reader.plain_key, self._firings.read
        return [
            firing
            for found in self._cursor.execute(self._select).fetchall()
            for firing in read(key_of(found[:width]), found[width:], now)
        ]

    def toggled(self) -> list[tuple[Key, bool]]:
        """The events whose toggle is set or cleared, before `mark` notes it."""
        return [
            (self._reader.plain_key(key), bool(is_set))
            for *key, is_set in self._cursor.execute(self._toggled).fetchall()
        ]

    def mark(self, now: Number) -> None:
        """Notes toggles, and when events have to be looked at again."""
        layout, execute = self._layout, self._cursor.execute
        looked_at = f'SELECT {layout.pair_keys} FROM {layout.pairs} WHERE "@until" IS NOT NULL'
        execute(f"DELETE FROM {layout.marks} WHERE ({layout.keys()}) IN ({looked_at})")
        execute(self._mark)
        # Of what is left that was due, nothing is known any more.
        past = f"WHERE {DUE} IS NOT NULL AND {DUE} <= ?"
        execute(f"DELETE FROM {layout.marks} {past} AND NOT fired", (now,))
        execute(f"UPDATE {layout.marks} SET {DUE} = NULL {past}", (now,))


def _is_kept_sql(chronon: int, freezing: int) -> str:
    """Definition 4.10: what changes long after its time does so for want of what was purged."""
    latest = "max(coalesce(new_occ, old_occ), coalesce(old_occ, new_occ))"
    is_recent = f"{latest} + {2 * freezing} >= now * {chronon}"
    return f"((has_new AND has_old AND NOT differs) OR {is_recent})"
