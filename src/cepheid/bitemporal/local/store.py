"""What is known of the events of one class, in SQLite.

While a round lasts, the rows that it changes stand beside their successors, told apart by their
state; what changed is in a table of its own. Toggles, and when an event has to be looked at again,
have another, by key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.local.maintenance import STATE, affected_of, delta_of
from cepheid.bitemporal.repository import Known, Row
from cepheid.bitemporal.rounds import Number
from cepheid.bitemporal.tables import RowReader, column_names, definition, quoted
from cepheid.core.time import Instant
from cepheid.program.classes import EventClass, SubscribedClass

Delta: TypeAlias = dict[Key, tuple[Row | None, Row | None]]  # what was known, what is known


@dataclass(frozen=True, slots=True)
class Marks:
    """The toggle of an event, and the number of the round by which it is looked at again."""

    fired: bool = False
    due: Number | None = None
    expires: Instant = 0  # when the last event behind it does, as far as was seen


NOTHING = Marks()


@dataclass(frozen=True, slots=True)
class Kept:
    """All that a store has of one event; nothing of it where it is forgotten."""

    key: Key
    row: Row | None = None
    incept: Instant | None = None  # of subscribed events
    marks: Marks = NOTHING

    @property
    def is_forgotten(self) -> bool:
        return self.row is None and self.incept is None and self.marks == NOTHING

    @property
    def known(self) -> Known | None:
        return None if self.incept is None else Known(self.incept, self.row)


class ClassStore:
    """The table of a class and what belongs to it."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        declared: EventClass,
        indexes: Iterable[Sequence[str]],
        *,
        is_read: bool,
    ) -> None:
        self._connection = connection
        # Nothing that is asked here calls a function of ours, which alone could fail.
        self._cursor = connection.cursor(sqlite3.Cursor)
        self._reader = RowReader(declared)
        self._class = declared
        self._is_read = is_read  # by queries of other classes
        self.touched: set[Key] | None = None  # keys of what changed, where someone asks for them
        self._table = quoted(declared.name)
        self._known = quoted(f"{declared.name}@known")
        self._marks = quoted(f"{declared.name}@marks")
        self._affected = f"temp.{quoted(affected_of(declared.name))}"
        self._key = ", ".join(map(quoted, declared.key))
        self._at_key = " AND ".join(f"{quoted(name)} = ?" for name in declared.key)
        self._columns = ", ".join(map(quoted, column_names(declared)))
        self._look_up = cache(self._looking_up)  # of its own: it goes with the store
        self._create(indexes)

    def _create(self, indexes: Iterable[Sequence[str]]) -> None:
        execute, name = self._cursor.execute, self._class.name
        state = quoted(STATE)
        made = definition(name, self._class, f", {state} INTEGER NOT NULL")
        execute(made.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
        self._index("@key", self._key)
        self._index("@moving", f"{state}) WHERE ({state} > 0")
        for columns in indexes:
            if tuple(columns) == self._class.key[: len(columns)]:
                continue  # the key has it
            self._index("@" + "+".join(columns), ", ".join(map(quoted, columns)))
        execute(
            f"CREATE TEMP VIEW {quoted(delta_of(name))} AS"
            f" SELECT {self._columns} FROM main.{self._table} INDEXED BY {quoted(name + '@moving')}"
            f" WHERE {state} > 0"
        )
        execute(f"CREATE TEMP TABLE {quoted(affected_of(name))} ({self._key})")
        more = f"PRIMARY KEY ({self._key})) WITHOUT ROWID"
        execute(
            f"CREATE TABLE IF NOT EXISTS {self._marks} ({self._key}, fired INTEGER NOT NULL,"
            f" due INTEGER, expires INTEGER NOT NULL, {more}"
        )
        execute(
            f"CREATE INDEX IF NOT EXISTS {quoted(name + '@due')} ON {self._marks} (due)"
            " WHERE due IS NOT NULL"
        )
        if isinstance(self._class, SubscribedClass):
            execute(
                f"CREATE TABLE IF NOT EXISTS {self._known} ({self._key}, incept INTEGER, {more}"
            )

    def _index(self, name: str, columns: str) -> None:
        full = quoted(f"{self._class.name}{name}")
        self._cursor.execute(f"CREATE INDEX IF NOT EXISTS {full} ON {self._table} ({columns})")

    def index_expiry(self) -> None:
        """For windows, which ask what expires first."""
        on_known = f"ON {self._known} (incept)"
        on_marks = f"ON {self._marks} (expires)"
        for name, place in (("@incept", on_known), ("@expires", on_marks)):
            if place is on_known and not isinstance(self._class, SubscribedClass):
                continue
            full = quoted(f"{self._class.name}{name}")
            self._cursor.execute(f"CREATE INDEX IF NOT EXISTS {full} {place}")

    # Rows

    def row(self, key: Key) -> Row | None:
        """What is known now."""
        sql = f"SELECT {self._columns} FROM {self._table} WHERE {self._at_key} AND {quoted(STATE)} < 2"
        found = self._cursor.execute(sql, key).fetchone()
        return None if found is None else self._reader.row(found)

    def rows(self) -> Iterator[tuple[Key, Row]]:
        sql = f"SELECT {self._columns} FROM {self._table} WHERE {quoted(STATE)} < 2"
        for found in self._cursor.execute(sql).fetchall():
            row = self._reader.row(found)
            yield self._reader.key(row), row

    def change(self, delta: Delta) -> None:
        """Puts what is known in the place of what was known, and keeps that until the round is settled."""
        self._touch(delta)
        state = quoted(STATE)
        gone = [key for key, (old, _) in delta.items() if old is not None]
        come = [_cells(new) for _, new in delta.values() if new is not None]
        at_key = f"{self._at_key} AND {state} = 0"
        marks = ", ".join("?" * (len(column_names(self._class))))
        run = self._cursor.executemany
        if not self._is_read:
            run(f"DELETE FROM {self._table} WHERE {at_key}", gone)
            run(f"INSERT INTO {self._table} VALUES ({marks}, 0)", come)
            return
        run(f"UPDATE {self._table} SET {state} = 2 WHERE {at_key}", gone)
        run(f"INSERT INTO {self._table} VALUES ({marks}, 1)", come)

    def settle(self) -> None:
        """Forgets what was known before."""
        if not self._is_read:
            return
        state, execute = quoted(STATE), self._cursor.execute
        execute(f"DELETE FROM {self._table} WHERE {state} > 0 AND {state} = 2")
        execute(f"UPDATE {self._table} SET {state} = 0 WHERE {state} > 0")

    def affect(self, keys: Iterable[Key]) -> None:
        """Names the keys that are derived anew."""
        marks = ", ".join("?" * len(self._class.key))
        self._cursor.execute(f"DELETE FROM {self._affected}")
        self._cursor.executemany(f"INSERT INTO {self._affected} VALUES ({marks})", keys)

    # What is remembered of subscribed events

    def remember(self, events: Mapping[Key, Known]) -> None:
        self._touch(events)
        marks = ", ".join("?" * (len(self._class.key) + 1))
        rows = ((*key, known.incept) for key, known in events.items())
        self._cursor.executemany(f"INSERT OR REPLACE INTO {self._known} VALUES ({marks})", rows)

    def began_before(self, incept: Instant) -> list[Key]:
        """The events that were first told to occur before an instant."""
        sql = f"SELECT {self._key} FROM {self._known} WHERE incept < ?"
        return self._cursor.execute(sql, (incept,)).fetchall()

    def forget(self, keys: Sequence[Key]) -> None:
        self._touch(keys)
        self._cursor.executemany(f"DELETE FROM {self._known} WHERE {self._at_key}", keys)

    # Toggles, and when to look again

    def mark(self, marks: Mapping[Key, Marks]) -> None:
        """Sets marks; those that say nothing are not kept."""
        self._touch(marks)
        kept = [
            (*k, m.fired, m.due, m.expires)
            for k, m in marks.items()
            if m.fired or m.due is not None
        ]
        gone = [key for key, m in marks.items() if not m.fired and m.due is None]
        signs = ", ".join("?" * (len(self._class.key) + 3))
        run = self._cursor.executemany
        run(f"INSERT OR REPLACE INTO {self._marks} VALUES ({signs})", kept)
        run(f"DELETE FROM {self._marks} WHERE {self._at_key}", gone)

    def due(self, number: Number) -> list[Key]:
        """The events that have to be looked at by a round."""
        sql = f"SELECT {self._key} FROM {self._marks} WHERE due IS NOT NULL AND due <= ?"
        return self._cursor.execute(sql, (number,)).fetchall()

    def next_due(self) -> Number | None:
        found: Number | None = self._one(
            f"SELECT MIN(due) FROM {self._marks} WHERE due IS NOT NULL"
        )
        return found

    def first_incept(self) -> Instant | None:
        """When the first of its subscribed events was told to occur."""
        if not self._is_subscribed:
            return None
        found: Instant | None = self._one(f"SELECT MIN(incept) FROM {self._known}")
        return found

    def first_expiry(self) -> Instant | None:
        """When the first marks are dropped."""
        found: Instant | None = self._one(f"SELECT MIN(expires) FROM {self._marks}")
        return found

    def _one(self, sql: str) -> Any:
        return self._cursor.execute(sql).fetchone()[0]

    def drop_marks_before(self, expires: Instant) -> list[Key]:
        """Drops the marks of events of which nothing is left; gives those whose toggle was set."""
        sql = f"SELECT {self._key}, fired FROM {self._marks} WHERE expires < ?"
        found = self._cursor.execute(sql, (expires,)).fetchall()
        self._cursor.execute(f"DELETE FROM {self._marks} WHERE expires < ?", (expires,))
        self._touch(tuple(key) for *key, _ in found)
        return [tuple(key) for *key, fired in found if fired]

    # What there is of events

    def _touch(self, keys: Iterable[Key]) -> None:
        if self.touched is not None:
            self.touched.update(keys)

    def kept_of(self, keys: Iterable[Key]) -> list[Kept]:
        """What there is of some events, in the order of their keys."""
        self.affect(keys)
        return self.kept_of_affected()

    def kept_of_affected(self) -> list[Kept]:
        return self._kept(self._affected)

    def all_kept(self) -> list[Kept]:
        """What there is of all events."""
        tables = [self._table, self._marks, *([self._known] if self._is_subscribed else [])]
        return self._kept(f"({' UNION '.join(f'SELECT {self._key} FROM {t}' for t in tables)})")

    def _kept(self, keys: str) -> list[Kept]:
        return [self._kept_event(found) for found in self._cursor.execute(self._look_up(keys))]

    def _looking_up(self, keys: str) -> str:
        columns = [f"k.{quoted(name)}" for name in self._class.key]
        columns += ["m.fired", "m.due", "m.expires", "e.incept" if self._is_subscribed else "NULL"]
        columns += [f"r.{quoted(name)}" for name in (STATE, *column_names(self._class))]
        joins = f" LEFT JOIN {self._table} r ON {self._same_key('r')} AND r.{quoted(STATE)} < 2"
        joins += f" LEFT JOIN {self._marks} m ON {self._same_key('m')}"
        if self._is_subscribed:
            joins += f" LEFT JOIN {self._known} e ON {self._same_key('e')}"
        order = ", ".join(map(str, range(1, len(self._class.key) + 1)))
        return f"SELECT {', '.join(columns)} FROM {keys} k{joins} ORDER BY {order}"

    @property
    def _is_subscribed(self) -> bool:
        return isinstance(self._class, SubscribedClass)

    def _same_key(self, alias: str) -> str:
        return " AND ".join(f"k.{quoted(n)} = {alias}.{quoted(n)}" for n in self._class.key)

    def _kept_event(self, found: Sequence[Any]) -> Kept:
        width = len(self._class.key)
        fired, due, expires, incept, state = found[width : width + 5]
        marks = NOTHING if fired is None else Marks(bool(fired), due, expires)
        row = None if state is None else self._reader.row(found[width + 5 :])
        return Kept(self._reader.plain_key(found[:width]), row, incept, marks)

    def load(self, events: Iterable[Kept]) -> None:
        """Takes in what was kept of events that it knows nothing of."""
        kept = list(events)
        marks = ", ".join("?" * len(column_names(self._class)))
        rows = (_cells(each.row) for each in kept if each.row is not None)
        self._cursor.executemany(f"INSERT INTO {self._table} VALUES ({marks}, 0)", rows)
        self.mark({each.key: each.marks for each in kept})
        begun = {e.key: Known(e.incept, e.row) for e in kept if e.incept is not None}
        if begun:
            self.remember(begun)


def _cells(row: Row) -> tuple[object, ...]:
    return (*row.values, row.occ, row.det, row.expires)
