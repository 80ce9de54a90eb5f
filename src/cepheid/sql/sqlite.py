"""SQLite with the functions that queries of transpile.py call."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
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

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._problems: list[Exception] = []

    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or Cursor)

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
        return self.cursor().executemany(sql, parameters)

    def explained(self, failure: sqlite3.Error) -> Exception:
        """SQLite says only that a function failed; the function has noted why."""
        problem = self._problems[-1] if self._problems else None
        self._problems.clear()
        if problem is None and str(failure) != "integer overflow":
            return failure
        return RunError(error("sql-failed", str(problem or "an integer does not fit into 64 bits")))

    def noting(self, function: Function) -> Function:
        """The function, which leaves its problem with the connection.

        It must not know the connection, which SQLite lets it outlive: neither would ever go.
        """
        problems = self._problems

        @wraps(function)
        def called(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except (ArithmeticError, ValueError) as problem:
                problems.append(problem)
                raise

        return called

    def noting_result(self, aggregate: type) -> type:
        """The same for an aggregate, which may fail at its end."""
        finalize = self.noting(aggregate.finalize)  # type: ignore[attr-defined]
        return type(aggregate.__name__, (aggregate,), {"finalize": finalize})


class Cursor(sqlite3.Cursor):
    """Rows are computed when they are asked for, so that asking may fail, too."""

    connection: Connection

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        try:
            return super().execute(sql, parameters)
        except sqlite3.Error as failure:
            raise self.connection.explained(failure) from None

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Self:
        try:
            return super().executemany(sql, parameters)
        except sqlite3.Error as failure:
            raise self.connection.explained(failure) from None

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except sqlite3.Error as failure:
            raise self.connection.explained(failure) from None

    def fetchmany(self, size: int | None = None) -> list[Any]:
        try:
            return super().fetchmany(self.arraysize if size is None else size)
        except sqlite3.Error as failure:
            raise self.connection.explained(failure) from None

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except sqlite3.Error as failure:
            raise self.connection.explained(failure) from None

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except sqlite3.Error as failure:
            raise self.connection.explained(failure) from None


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
        connection.create_function(label, -1, connection.noting(function), deterministic=True)
    for label, aggregate in AGGREGATES.items():
        connection.create_aggregate(label, 1, connection.noting_result(aggregate))
    return connection
