"""What a round changes of the events of one class: from what is known of some keys to pairs.

Rows as they were stand beside their successors until the round is settled, for other classes that
are derived from them; `@state` tells them apart.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.local.layout import DUE, EXPIRES, Layout
from cepheid.bitemporal.local.maintenance import STATE
from cepheid.bitemporal.rounds import Number
from cepheid.bitemporal.statements import Pair
from cepheid.bitemporal.tables import RowReader, quoted
from cepheid.sql.conditions import differs_tree
from cepheid.sql.tables import table
from cepheid.sql.transpile import to_sql


class Changes:
    """The tables of a round, of one class."""

    def __init__(
        self, connection: sqlite3.Connection, layout: Layout, chronon: int, *, is_read: bool
    ) -> None:
        self._layout = layout
        self._reader = RowReader(layout.declared)
        self._asking = connection.cursor()  # for queries of classes, which may fail
        self._cursor = connection.cursor(sqlite3.Cursor)
        self._is_read = is_read  # by queries of other classes
        self._is_replaced = False  # whether rows as they were are still there
        self.are_any = False
        for statement in layout.temporary():
            self._cursor.execute(statement)
        declared = layout.declared
        differs = differs_tree(table(declared.name, declared.attributes), chronon)
        self._compare = self._comparing(to_sql(differs, "sqlite"))
        self._look = self._looking()

    # Which events, and what is known of them now

    def affect(self, keys: Iterable[Key]) -> None:
        """Names the keys that may change."""
        layout = self._layout
        self._cursor.execute(f"DELETE FROM {layout.affected}")
        marks = layout.signs(len(layout.key))
        self._cursor.executemany(f"INSERT INTO {layout.affected} VALUES ({marks})", keys)

    def affect_found(self, sql: str, values: Sequence[object] = ()) -> int:
        """Names the keys that a query finds; says how many."""
        self._cursor.execute(f"DELETE FROM {self._layout.affected}")
        return self._asking.execute(f"INSERT INTO {self._layout.affected} {sql}", values).rowcount

    def affect_all(self) -> None:
        """Names all keys, of what was known and of what is."""
        keys, state = self._layout.keys(), quoted(STATE)
        known = f"SELECT {keys} FROM {self._layout.known} WHERE {state} = 0"
        self.affect_found(f"{known} UNION SELECT {keys} FROM {self._layout.derived}")

    @property
    def is_a_key_incomplete(self) -> bool:
        """Whether a part of a key that may change is null."""
        null = " OR ".join(f"{quoted(name)} IS NULL" for name in self._layout.key)
        sql = f"SELECT 1 FROM {self._layout.affected} WHERE {null} LIMIT 1"
        return self._cursor.execute(sql).fetchone() is not None

    def derive(self, rows: Iterable[Sequence[object]]) -> None:
        """Says what is known of the keys that may change; of the others nothing is."""
        marks = self._layout.signs(len(self._layout.columns))
        self._cursor.execute(f"DELETE FROM {self._layout.derived}")
        self._cursor.executemany(f"INSERT INTO {self._layout.derived} VALUES ({marks})", rows)

    def derive_found(self, sql: str) -> bool:
        """The same, of what a query finds; False where not all rows have a key of their own, and times."""
        self._cursor.execute(f"DELETE FROM {self._layout.derived}")
        try:
            self._asking.execute(f"INSERT INTO {self._layout.derived} {sql}")
        except sqlite3.IntegrityError:
            return False
        return True

    # What differs

    def compare(self, now: Number, *, may_differ: bool = True) -> None:
        """Finds what changed, and puts it into the place of what was known."""
        self.are_any = may_differ and self._cursor.execute(self._compare, (now,)).rowcount > 0
        if self.are_any:
            self._replace()

    def _comparing(self, differs: str) -> str:
        layout = self._layout
        names = {"d": "new", "t": "old"}
        sides = [
            f"{side}.{quoted(name)} AS {quoted(f'{names[side]}_{name}')}"
            for side in names
            for name in layout.columns
        ]
        keys = [f"k.{quoted(name)} AS {quoted(f'key_{name}')}" for name in layout.key]
        state = quoted(STATE)
        found = (
            f"SELECT {', '.join([*keys, *sides])}, m.fired, m.{EXPIRES}"
            f" FROM {layout.affected} k"
            f" LEFT JOIN {layout.derived} d ON {layout.same_key('k', 'd')}"
            f" LEFT JOIN {layout.known} t ON {layout.same_key('k', 't')} AND t.{state} = 0"
            f" LEFT JOIN {layout.marks} m ON {layout.same_key('k', 'm')}"
            f" WHERE ({layout.all('d')}) IS NOT ({layout.all('t')})"
        )
        has_new, has_old = "new_occ IS NOT NULL", "old_occ IS NOT NULL"
        return (
            f"INSERT INTO {layout.pairs} SELECT {layout.pair_keys},"
            f" {layout.side('new')}, {layout.side('old')}, {has_new}, {has_old},"
            f" {has_new} AND {has_old} AND ({differs}), coalesce(fired, 0), ?, {EXPIRES}, 0"
            f" FROM ({found})"
        )

    def _replace(self) -> None:
        layout, state, execute = self._layout, quoted(STATE), self._cursor.execute
        own = f"({layout.keys()}) IN (SELECT {layout.pair_keys} FROM {layout.pairs} WHERE has_old)"
        if self._is_read:
            changed = f"UPDATE {layout.known} SET {state} = 1 WHERE {own} AND {state} = 0"
        else:
            changed = f"DELETE FROM {layout.known} WHERE {own} AND {state} = 0"
        self._is_replaced = execute(changed).rowcount > 0 and self._is_read
        new = f"SELECT {layout.side('new')}, 0 FROM {layout.pairs} WHERE has_new"
        execute(f"INSERT INTO {layout.known} {new}")

    def settle(self) -> None:
        """Forgets what was known before."""
        layout, state = self._layout, quoted(STATE)
        if self._is_replaced:
            own = f"SELECT {layout.pair_keys} FROM {layout.pairs} WHERE has_old"
            self._cursor.execute(
                f"DELETE FROM {layout.known} WHERE ({layout.keys()}) IN ({own}) AND {state} = 1"
            )
        self._cursor.execute(f"DELETE FROM {layout.pairs}")
        self._is_replaced = self.are_any = False

    # What else a round looks at

    def note_silent(self) -> None:
        """What changed before the round began is looked at in it."""
        layout = self._layout
        self._cursor.execute(f"DELETE FROM {layout.silent}")
        keys = f"SELECT {layout.pair_keys} FROM {layout.pairs}"
        self._cursor.execute(f"INSERT INTO {layout.silent} {keys}")

    def look_again(self, now: Number) -> None:
        """Adds the events that did not change and are looked at nevertheless: their time has come."""
        layout = self._layout
        due = f"SELECT 1 FROM {layout.marks} WHERE {DUE} IS NOT NULL AND {DUE} <= ?"
        any_ = f"SELECT EXISTS ({due}) OR EXISTS (SELECT 1 FROM {layout.silent})"
        if self._cursor.execute(any_, (now,)).fetchone()[0]:
            self._cursor.execute(self._look, (now, now))

    def _looking(self) -> str:
        layout, state = self._layout, quoted(STATE)
        asked = (
            f"SELECT {layout.keys()} FROM {layout.marks} WHERE {DUE} IS NOT NULL AND {DUE} <= ?"
            f" UNION SELECT {layout.keys()} FROM {layout.silent}"
            f" EXCEPT SELECT {layout.pair_keys} FROM {layout.pairs}"
        )
        return (
            f"INSERT INTO {layout.pairs} SELECT {layout.keys('k')}, {layout.all('t')},"
            f" {layout.all('t')}, 1, 1, 0, coalesce(m.fired, 0), ?, m.{EXPIRES}, 1"
            f" FROM ({asked}) k CROSS JOIN {layout.known} t"
            f" LEFT JOIN {layout.marks} m ON {layout.same_key('k', 'm')}"
            f" WHERE {layout.same_key('k', 't')} AND t.{state} = 0"
        )

    # As rows

    def pairs(self) -> list[Pair]:
        """What changed, and what else is looked at."""
        sql = (
            f"SELECT {self._layout.pair_keys}, {self._layout.side('new')},"
            f" {self._layout.side('old')}, has_new, has_old, fired FROM {self._layout.pairs}"
        )
        return [self._pair(found) for found in self._cursor.execute(sql)]

    def _pair(self, found: Sequence[Any]) -> Pair:
        places, width = len(self._layout.key), len(self._layout.columns)
        has_new, has_old, fired = found[-3:]
        sides = found[places : places + width], found[places + width : -3]
        new, old = (
            self._reader.row(side) if is_there else None
            for side, is_there in zip(sides, (has_new, has_old), strict=True)
        )
        return Pair(self._reader.plain_key(found[:places]), old, new, bool(fired))

    def keys(self) -> list[Key]:
        sql = f"SELECT {self._layout.pair_keys} FROM {self._layout.pairs}"
        return [self._reader.plain_key(found) for found in self._cursor.execute(sql)]
