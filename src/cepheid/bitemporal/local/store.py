"""What is known of the events of one class, and what is remembered of them, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.local.layout import DUE, EXPIRES, INCEPT, Layout
from cepheid.bitemporal.local.maintenance import STATE
from cepheid.bitemporal.repository import Known, Row
from cepheid.bitemporal.rounds import Number
from cepheid.bitemporal.tables import RowReader, cells, column_names, quoted
from cepheid.core.time import Instant


@dataclass(frozen=True, slots=True)
class Marks:
    """The toggle of an event, and the number of the round by which it is looked at again."""

    fired: bool = False
    due: Number | None = None
    expires: Instant = 0  # when the last event behind it does, as far as was seen

    @property
    def say_nothing(self) -> bool:
        return not self.fired and self.due is None


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


class ClassStore:
    """The tables of a class that stay."""

    def __init__(self, connection: sqlite3.Connection, layout: Layout) -> None:
        self._layout = layout
        self._reader = RowReader(layout.declared)
        # Nothing that is asked here calls a function of ours, which alone could fail.
        self._cursor = connection.cursor(sqlite3.Cursor)

    # Subscribed events

    def known_of_affected(self) -> dict[Key, Known]:
        """What is known of the keys that may change, where anything is."""
        layout, width = self._layout, len(self._layout.key)
        incept = f"coalesce(t.{quoted(INCEPT)}, g.{quoted(INCEPT)})"
        names = ", ".join(f"t.{quoted(name)}" for name in column_names(layout.declared))
        found = self._cursor.execute(
            f"SELECT {layout.keys('k')}, {incept}, {names}{self._of_affected}"
            f" WHERE {incept} IS NOT NULL"
        )
        return {
            self._reader.plain_key(each[:width]): Known(
                each[width], None if each[-1] is None else self._reader.row(each[width + 1 :])
            )
            for each in found
        }

    @property
    def _of_affected(self) -> str:
        layout = self._layout
        return (
            f" FROM {layout.affected} k"
            f" LEFT JOIN {layout.known} t ON {layout.same_key('k', 't')} AND t.{quoted(STATE)} = 0"
            f" LEFT JOIN {layout.gone} g ON {layout.same_key('k', 'g')}"
        )

    def retract(self, events: Iterable[tuple[Key, Instant]]) -> None:
        """Remembers of events without a row when they were first told to occur."""
        marks = self._layout.signs(len(self._layout.key) + 1)
        rows = ((*key, incept) for key, incept in events)
        self._cursor.executemany(
            f"INSERT OR REPLACE INTO {self._layout.gone} VALUES ({marks})", rows
        )

    def bring_back(self, keys: Iterable[Key]) -> None:
        """What was retracted has a row again."""
        self._cursor.executemany(
            f"DELETE FROM {self._layout.gone} WHERE {self._layout.at_key}", keys
        )

    # Windows

    def begun_before(self, incept: Instant) -> tuple[str, tuple[Instant]]:
        """The query for the keys of known events that were first told to occur before an instant."""
        before = f"{quoted(INCEPT)} < ? AND {quoted(STATE)} = 0"
        return f"SELECT {self._layout.keys()} FROM {self._layout.known} WHERE {before}", (incept,)

    def forget_retracted(self, incept: Instant) -> list[Key]:
        """Forgets those of which no row is left, and gives their keys."""
        gone, before = self._layout.gone, f"{quoted(INCEPT)} < ?"
        sql = f"SELECT {self._layout.keys()} FROM {gone} WHERE {before}"
        found = self._cursor.execute(sql, (incept,)).fetchall()
        self._cursor.execute(f"DELETE FROM {gone} WHERE {before}", (incept,))
        return [self._reader.plain_key(each) for each in found]

    def first_incept(self) -> Instant | None:
        """When the first of its subscribed events was told to occur."""
        if not self._layout.is_subscribed:
            return None
        tables = self._layout.known, self._layout.gone
        found = [self._one(f"SELECT MIN({quoted(INCEPT)}) FROM {table}") for table in tables]
        return min((incept for incept in found if incept is not None), default=None)

    def first_expiry(self) -> Instant | None:
        """When the first marks are dropped."""
        found: Instant | None = self._one(f"SELECT MIN({EXPIRES}) FROM {self._layout.marks}")
        return found

    def drop_marks_before(self, expires: Instant) -> list[tuple[Key, bool]]:
        """Drops the marks of events of which nothing is left; gives their keys and toggles."""
        marks, width = self._layout.marks, len(self._layout.key)
        sql = f"SELECT {self._layout.keys()}, fired FROM {marks} WHERE {EXPIRES} < ?"
        found = self._cursor.execute(sql, (expires,)).fetchall()
        self._cursor.execute(f"DELETE FROM {marks} WHERE {EXPIRES} < ?", (expires,))
        return [(self._reader.plain_key(each[:width]), bool(each[width])) for each in found]

    # When to look again

    def next_due(self) -> Number | None:
        marks = self._layout.marks
        found: Number | None = self._one(f"SELECT MIN({DUE}) FROM {marks} WHERE {DUE} IS NOT NULL")
        return found

    def _one(self, sql: str) -> Any:
        return self._cursor.execute(sql).fetchone()[0]

    # What is kept elsewhere

    def kept_of_affected(self) -> list[Kept]:
        """What there is of the keys that were named, in their order."""
        return self._kept(self._layout.affected)

    def all_kept(self) -> list[Kept]:
        """What there is of all events."""
        layout = self._layout
        tables = [layout.known, layout.marks, *([layout.gone] if layout.is_subscribed else [])]
        return self._kept(f"({' UNION '.join(f'SELECT {layout.keys()} FROM {t}' for t in tables)})")

    def _kept(self, keys: str) -> list[Kept]:
        return [self._kept_event(found) for found in self._cursor.execute(self._look_up(keys))]

    def _look_up(self, keys: str) -> str:
        layout, incept = self._layout, quoted(INCEPT)
        columns = [layout.keys("k"), "m.fired", f"m.{DUE}", f"m.{EXPIRES}"]
        columns.append(f"coalesce(r.{incept}, g.{incept})" if layout.is_subscribed else "NULL")
        columns += [f"r.{quoted(name)}" for name in (STATE, *column_names(layout.declared))]
        known = f"{layout.same_key('k', 'r')} AND r.{quoted(STATE)} = 0"
        joins = f" LEFT JOIN {layout.known} r ON {known}"
        joins += f" LEFT JOIN {layout.marks} m ON {layout.same_key('k', 'm')}"
        if layout.is_subscribed:
            joins += f" LEFT JOIN {layout.gone} g ON {layout.same_key('k', 'g')}"
        order = ", ".join(map(str, range(1, len(layout.key) + 1)))
        return f"SELECT {', '.join(columns)} FROM {keys} k{joins} ORDER BY {order}"

    def _kept_event(self, found: Sequence[Any]) -> Kept:
        width = len(self._layout.key)
        fired, due, expires, incept, state = found[width : width + 5]
        marks = NOTHING if fired is None else Marks(bool(fired), due, expires)
        row = None if state is None else self._reader.row(found[width + 5 :])
        return Kept(self._reader.plain_key(found[:width]), row, incept, marks)

    def load(self, events: Iterable[Kept]) -> None:
        """Takes in what was kept of events that it knows nothing of."""
        kept, layout, run = list(events), self._layout, self._cursor.executemany
        signs = layout.signs(len(layout.columns))
        run(f"INSERT INTO {layout.known} VALUES ({signs}, 0)", self._rows(kept))
        signs = layout.signs(len(layout.key) + 3)
        marks = (
            (*each.key, each.marks.fired, each.marks.due, each.marks.expires)
            for each in kept
            if not each.marks.say_nothing
        )
        run(f"INSERT INTO {layout.marks} VALUES ({signs})", marks)
        if layout.is_subscribed:
            self.retract((e.key, e.incept) for e in kept if e.row is None and e.incept is not None)

    def _rows(self, kept: Iterable[Kept]) -> Iterator[tuple[object, ...]]:
        for each in kept:
            if each.row is not None:
                own = (each.incept,) if self._layout.is_subscribed else ()
                yield (*cells(each.row), *own)
