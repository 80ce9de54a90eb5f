"""Queries that cannot be worked out for all rounds at once: they run once per change of a constituent.

The versions of all constituents go to one task. It brings them into SQLite and takes them out again,
round by round, and runs the query where something has changed. What it gives are rows with the rounds
in which they are known, as a rewritten query gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

from cepheid.bitemporal.derivation import view_of
from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.repository import Row, View
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.bitemporal.spark.parts import FROM, TO
from cepheid.bitemporal.spark.steps import quoted
from cepheid.bitemporal.tables import HIDDEN, RowReader, column_names, definition
from cepheid.bitemporal.tables import quoted as sqlite_name
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, STRING, DataType
from cepheid.errors import RunError, error
from cepheid.program.classes import ComplexClass, EventClass
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.sqlite import Connection, connect

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# So many runs, one after the other in one task, take minutes if some hundred events are known at a time.
# For more there is the local engine, which follows changes.
MOST_CHANGES = 10_000
_CLASS = "@class"
_ROW = "@row"
_PACK = 10_000  # rows that a task gives at once


@dataclass(frozen=True, slots=True)
class Stepwise:
    """What a task needs to know: a class, its query for SQLite, and what it reads."""

    declared: ComplexClass
    sql: str
    constituents: tuple[EventClass, ...]
    rounds: Rounds

    def frame(self, versions: Mapping[str, DataFrame]) -> DataFrame:
        """The rows of the class, from the versions of its constituents."""
        first = next(iter(versions.values()))
        # A task without rows would not run, and some queries say something of nothing, too.
        begin = first.sparkSession.range(1).selectExpr(f"-1 AS {quoted(_CLASS)}")
        parts = [
            versions[each.name].selectExpr(
                f"{place} AS {quoted(_CLASS)}",
                *(f"{quoted(c)} AS {quoted(f'{place}@{c}')}" for c in _columns(each)),
            )
            for place, each in enumerate(self.constituents)
        ]
        rows = reduce(
            lambda one, other: one.unionByName(other, allowMissingColumns=True), [begin, *parts]
        )
        types = ", ".join(f"{quoted(c)} {type}" for c, type in _types(self.declared).items())
        return rows.repartition(1).mapInArrow(partial(derived_batches, self), types)


def stepwise_of(
    resolved: ResolvedClass, classes: Mapping[str, EventClass], rounds: Rounds
) -> Stepwise:
    from cepheid.sql.queries import with_latest
    from cepheid.sql.transpile import to_sql

    declared, query = resolved.declared, resolved.query
    assert isinstance(declared, ComplexClass)
    assert query is not None
    sql = to_sql(with_latest(query, HIDDEN), "sqlite")
    return Stepwise(declared, sql, tuple(classes[name] for name in query.reads), rounds)


# In a task ------------------------------------------------------------------------------------


def derived_batches(work: Stepwise, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    types = {"string": pa.string(), "boolean": pa.bool_(), "double": pa.float64()}
    columns = {name: types.get(type, pa.int64()) for name, type in _types(work.declared).items()}
    rows = _derived(work, _changes(work, batches))
    while pack := list(islice(rows, _PACK)):
        arrays = [
            pa.array(values, type)
            for type, values in zip(columns.values(), zip(*pack, strict=True), strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


@dataclass(slots=True)
class _Changes:
    """What comes and what goes in a round: the place of a class, and the number of a row of it."""

    come: list[tuple[int, tuple[Any, ...]]]
    go: list[tuple[int, int]]


def _changes(work: Stepwise, batches: Iterable[pa.RecordBatch]) -> dict[Number, _Changes]:
    """By round, in their order; the first round is one of them."""
    first = work.rounds.at_or_after(work.rounds.first)
    found: dict[Number, _Changes] = {} if first is None else {first: _Changes([], [])}
    columns = [
        [f"{place}@{c}" for c in _columns(each)] for place, each in enumerate(work.constituents)
    ]
    number = 0
    for batch in batches:
        for row in batch.to_pylist():
            place = row[_CLASS]
            if place < 0:
                continue
            *values, begin, end = (row[c] for c in columns[place])
            found.setdefault(begin, _Changes([], [])).come.append((place, (*values, 0, number)))
            if end <= work.rounds.last:
                found.setdefault(end, _Changes([], [])).go.append((place, number))
            number += 1
    if len(found) > MOST_CHANGES:
        raise _too_many(work.declared, len(found))
    return dict(sorted(found.items()))


def _derived(work: Stepwise, changes: Mapping[Number, _Changes]) -> Iterator[tuple[Any, ...]]:
    """Rows with the rounds in which they are known; equal ones of adjacent rounds are one."""
    tables = _Tables(work)
    known: dict[Key, tuple[Row, Number]] = {}
    for number, changed in changes.items():
        tables.apply(changed)
        view = tables.view(number)
        for key in [key for key, (row, _) in known.items() if not _goes_on(row, view.get(key))]:
            yield _shown(*known.pop(key), number)
        known |= {key: (row, number) for key, row in view.items() if key not in known}
    for row, since in known.values():
        yield _shown(row, since, work.rounds.last + 1)


def _goes_on(row: Row, now: Row | None) -> bool:
    return now is not None and row.says(now)


def _shown(row: Row, begin: Number, end: Number) -> tuple[Any, ...]:
    return (*row.values, row.occ, row.det, begin, end)


class _Tables:
    """The constituents as tables of SQLite, and what the query makes of them."""

    def __init__(self, work: Stepwise) -> None:
        self._work = work
        self._connection: Connection = connect()
        self._insert: list[str] = []
        self._delete: list[str] = []
        for each in work.constituents:
            table, row = sqlite_name(each.name), sqlite_name(_ROW)
            self._connection.execute(definition(each.name, each, f", {row} INTEGER PRIMARY KEY"))
            marks = ", ".join("?" * (len(column_names(each)) + 1))
            self._insert.append(f"INSERT INTO {table} VALUES ({marks})")
            self._delete.append(f"DELETE FROM {table} WHERE {row} = ?")

    def apply(self, changed: _Changes) -> None:
        for place, number in changed.go:
            self._connection.execute(self._delete[place], (number,))
        for place, row in changed.come:
            self._connection.execute(self._insert[place], row)

    def view(self, number: Number) -> View:
        declared = self._work.declared
        rows = map(RowReader(declared).row, self._connection.execute(self._work.sql))
        return view_of(declared, rows, self._work.rounds, number)


def _too_many(declared: ComplexClass, count: int) -> RunError:
    fact = (
        f"the query of {declared.name} runs once per change of what it reads, "
        f"at most {MOST_CHANGES:,} times, and there are {count:,} changes"
    )
    hint = "the local engine runs it, and explain --stage plan says what to write in another way"
    return RunError(error("too-many-changes", fact, declared.span, hint))


# Columns --------------------------------------------------------------------------------------


def _columns(declared: EventClass) -> list[str]:
    return list(_types(declared))


def _types(declared: EventClass) -> dict[str, str]:
    """The columns of the versions of a class, with their types in Spark."""
    times = dict.fromkeys(("occ", "det", FROM, TO), "bigint")
    return {**{each.name: _type(each.type) for each in declared.attributes}, **times}


def _type(type: DataType) -> str:
    """Times and whole numbers have 64 bits."""
    if type == STRING:
        return "string"
    if type == BOOLEAN:
        return "boolean"
    return "double" if type in (DOUBLE, FLOAT) else "bigint"
