"""Resolved queries of small tables, and their rows on SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    Attribute,
    DataType,
)
from cepheid.errors import Diagnostic
from cepheid.sql import sqlite
from cepheid.sql.nodes import type_of
from cepheid.sql.queries import ResolvedQuery, resolve_query
from cepheid.sql.tables import Table, table
from cepheid.sql.text import Sql
from cepheid.sql.transpile import to_sql

Row = tuple[object, ...]

_SQLITE_TYPES: dict[DataType, str] = {STRING: "TEXT", DOUBLE: "REAL"}


def declare(label: str, **columns: DataType) -> Table:
    return table(label, [Attribute(n, t) for n, t in columns.items()])


def resolved(select: str, occurring: str, tables: Iterable[Table], target: Table) -> ResolvedQuery:
    given = {t.name: t for t in tables}
    found, problems = resolve_query(Sql(select), Sql(occurring), given, target)
    assert found is not None, "\n".join(map(str, problems))
    return found


def columns_of(expressions: Sequence[str], of: Table, rest: str = "", time: str = "v") -> exp.Query:
    """`k` and the expressions, under the names x0, x1, ..., of a table `v`."""
    labels = {f"x{n}": text for n, text in enumerate(expressions)}
    shown = ", ".join(f"({text}) AS {label}" for label, text in labels.items())
    types = {label: _type_of(text, of, rest, time) for label, text in labels.items()}
    target = declare("T", k=LONG, **types)
    key = "max(v.k)" if rest or time != "v" else "v.k"
    select = f"SELECT {key} AS k, {shown} FROM {of.name} v {rest}"
    return resolved(select, time, [of], target).tree


def _type_of(expression: str, of: Table, rest: str, time: str) -> DataType:
    """The narrowest type of an attribute that takes an expression."""
    select = Sql(f"SELECT ({expression}) AS x FROM {of.name} v {rest}")
    problems: list[Diagnostic] = []
    for type_ in (LONG, DOUBLE, STRING, BOOLEAN, TIMESTAMP):
        found, problems = resolve_query(select, Sql(time), {of.name: of}, declare("T", x=type_))
        if found:
            return type_
    raise AssertionError(f"{expression}: {problems}")


def database(contents: Iterable[tuple[Table, Iterable[Mapping[str, object]]]]) -> sqlite.Connection:
    connection = sqlite.connect()
    for declared, rows in contents:
        columns = ", ".join(
            f'"{n}" {_SQLITE_TYPES.get(t, "INTEGER")}' for n, t in declared.columns.items()
        )
        connection.execute(f'CREATE TABLE "{declared.name}" ({columns})')
        marks = ", ".join("?" for _ in declared.columns)
        connection.executemany(
            f'INSERT INTO "{declared.name}" VALUES ({marks})',
            [[row.get(n) for n in declared.columns] for row in rows],
        )
    return connection


def run(connection: sqlite.Connection, tree: exp.Query) -> list[Row]:
    """The rows, in order, with truth values as such."""
    is_truth = [type_of(p) == BOOLEAN for p in tree.selects]
    found = connection.execute(to_sql(tree, "sqlite")).fetchall()
    return ordered(
        tuple(bool(v) if t and v is not None else v for v, t in zip(row, is_truth, strict=True))
        for row in found
    )


def ordered(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [(v is not None, str(type(v)), v) for v in row])
