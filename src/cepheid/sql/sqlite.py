"""SQLite with the functions that queries of transpile.py call."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Self

from cepheid.errors import RunError, error
from cepheid.sql.functions import AGGREGATES, FUNCTIONS, Function

_PRAGMAS = (
    "PRAGMA case_sensitive_like = ON",
    "PRAGMA temp_store = MEMORY",
)
_FILE_PRAGMAS = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL")


class Connection(sqlite3.Connection):
    """A connection whose queries fail with a RunError that says what the values did."""

    problem: Exception | None = None

    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or Cursor)

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
        return self.cursor().executemany(sql, parameters)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """SQLite says only that a function failed; the function has noted why."""
        self.problem = None
        try:
            yield
        except sqlite3.Error as failure:
            if self.problem is None and "overflow" not in str(failure):
                raise
            fact = str(self.problem or "an integer does not fit into 64 bits")
            raise RunError(error("sql-failed", fact)) from None

    def note(self, function: Function) -> Function:
        """The function, which leaves its problem with the connection."""

        @wraps(function)
        def noting(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except (ArithmeticError, ValueError) as problem:
                self.problem = problem
                raise

        return noting

    def noting_class(self, aggregate: type) -> type:
        """The same for the results of aggregates."""
        finalize = self.note(aggregate.finalize)  # type: ignore[attr-defined]
        return type(aggregate.__name__, (aggregate,), {"finalize": finalize})


class Cursor(sqlite3.Cursor):
    """Rows are computed when they are asked for, so that asking may fail, too."""

    connection: Connection

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        with self.connection.explained():
            return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Self:
        with self.connection.explained():
            return super().executemany(sql, parameters)

    def fetchone(self) -> Any:
        with self.connection.explained():
            return super().fetchone()

    def fetchmany(self, size: int | None = None) -> list[Any]:
        with self.connection.explained():
            return super().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[Any]:
        with self.connection.explained():
            return super().fetchall()

    def __next__(self) -> Any:
        with self.connection.explained():
            return super().__next__()


def connect(path: str | os.PathLike[str] = ":memory:", *, read_only: bool = False) -> Connection:
    """A database; transactions begin and end by statements only."""
    is_file = str(path) != ":memory:"
    mode = "?mode=ro" if read_only else ""
    target = f"{Path(path).absolute().as_uri()}{mode}" if is_file else ":memory:"
    connection = sqlite3.connect(
        target, uri=is_file, isolation_level=None, factory=Connection, cached_statements=512
    )
    for statement in (*_PRAGMAS, *(_FILE_PRAGMAS if is_file and not read_only else ())):
        connection.execute(statement)
    for label, function in FUNCTIONS.items():
        connection.create_function(label, -1, connection.note(function), deterministic=True)
    for label, aggregate in AGGREGATES.items():
        connection.create_aggregate(label, 1, connection.noting_class(aggregate))
    return connection
