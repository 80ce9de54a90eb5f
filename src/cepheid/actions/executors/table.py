"""Appends rows to a table: a CSV file, or a table of an SQLite database.

A row has the key and the time of its action, and then either the columns that the settings give, or action,
cause and arguments. In SQLite the key is the primary key: a row that is there already is left alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cepheid.actions.action import Action, encode_line
from cepheid.actions.delivery import DeliveryFailed
from cepheid.actions.executors.appending import append_once
from cepheid.actions.settings import Settings
from cepheid.core.templates import Template, shown
from cepheid.core.time import format_instant

CSV, SQLITE = (".csv",), (".sqlite", ".sqlite3", ".db")


@dataclass(frozen=True, slots=True)
class Table:
    path: Path
    columns: tuple[tuple[str, Template], ...] = ()
    table: str = "actions"  # in a database

    @classmethod
    def read(cls, settings: Settings) -> Table:
        path = settings.path("path")
        if path.suffix.lower() not in (*CSV, *SQLITE):
            known = ", ".join((*CSV, *SQLITE))
            settings.wrong("path", f"'{path}' does not say what it is (known suffixes: {known})")
        columns = settings.templates("columns")
        for name in {"key", "time"} & {name.lower() for name, _ in columns}:
            settings.wrong("columns", f"every table has a column '{name}'")
        is_file = path.suffix.lower() in CSV
        made = cls(path, columns, "" if is_file else settings.text("table", "actions"))
        if is_file and (fact := made.other_header()):
            settings.wrong("path", fact)
        return made

    @property
    def _is_csv(self) -> bool:
        return self.path.suffix.lower() in CSV

    @property
    def header(self) -> list[str]:
        named = [name for name, _ in self.columns]
        return ["key", "time", *(named or ("action", "cause", "arguments"))]

    def other_header(self) -> str | None:
        """What is wrong with a file that is there."""
        try:
            with self.path.open(encoding="utf-8", newline="") as file:
                found = next(csv.reader(file), None)
        except (OSError, ValueError):
            return None  # delivering will tell
        if found is None or found == self.header:
            return None
        return f"'{self.path}' has the columns {', '.join(found)}, not {', '.join(self.header)}"

    def row(self, action: Action) -> list[object]:
        own: list[object] = [action.key, format_instant(action.instant)]
        if self.columns:
            return own + [_plain(value.value(action.names)) for _, value in self.columns]
        return [*own, action.name, _plain(dict(action.cause)), _plain(dict(action.arguments))]

    def deliver(self, action: Action, now: float) -> None:
        deliver: Callable[[Action], None] = self._append if self._is_csv else self._insert
        deliver(action)

    def describe(self, action: Action) -> str:
        return f"row of '{self.path}': {_csv_line(self.row(action)).decode().rstrip()}"

    def _append(self, action: Action) -> None:
        if not self.path.exists() or self.path.stat().st_size < len(self._header_line):
            append_once(self.path, self._header_line)
        append_once(self.path, _csv_line(self.row(action)))

    @property
    def _header_line(self) -> bytes:
        return _csv_line(list(self.header))

    def _insert(self, action: Action) -> None:
        import sqlite3
        from contextlib import closing

        row = self.row(action)
        names = ", ".join(map(_quoted, self.header))
        kinds = f"{_quoted('key')} TEXT PRIMARY KEY, " + ", ".join(map(_quoted, self.header[1:]))
        places = ", ".join("?" * len(row))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path)) as database, database:
                database.execute(f"CREATE TABLE IF NOT EXISTS {_quoted(self.table)} ({kinds})")
                into = f"INSERT OR IGNORE INTO {_quoted(self.table)} ({names}) VALUES ({places})"
                database.execute(into, row)
        except (sqlite3.Error, OverflowError) as problem:
            raise DeliveryFailed(f"SQLite: {problem}") from None


def _plain(value: object) -> object:
    """What a cell holds: lists and records as JSON."""
    if value is None or isinstance(value, str | int | float):
        return value
    return encode_line(value).decode().rstrip("\n")


def _csv_line(row: list[object]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([_cell(value) for value in row])
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: object) -> str:
    return "" if value is None else shown(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
