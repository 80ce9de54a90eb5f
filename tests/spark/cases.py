"""Many generated programs and streams as one program over one frame, and what it must give.

The types and statements of each case get names of their own, so that the cases know nothing of each
other. One call of `detect` then runs them all, and so does the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy
from pyspark.sql import DataFrame, SparkSession

from cepheid.core.event import Event, Value
from cepheid.core.time import to_instant
from cepheid.engines.common.judging import input_keys
from cepheid.expr.values import sort_key
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree
from cepheid.semantics.machine import Machine
from tests.conformance.packs import renamed
from tests.effort import examples
from tests.semantics.drive import resolved
from tests.semantics.generators import ALL, programs, streams


@dataclass(frozen=True)
class Case:
    tree: ProgramTree
    events: tuple[Event, ...]


class EnoughCases(Exception):
    """Ends the search, as Hypothesis has no other way."""


@cache
def generated(count: int) -> tuple[Case, ...]:
    """So many different cases of all kinds."""
    return different(count, programs(ALL), streams())


def with_keys(tree: ProgramTree, events: Iterable[Event]) -> tuple[Event, ...]:
    """The events that a door lets in: the key of a context is not null."""
    keys = input_keys(resolved(tree))
    return tuple(e for e in events if all(e.get(k) is not None for k in keys.get(e.type, ())))


def different(
    count: int,
    trees: SearchStrategy[ProgramTree],
    events: SearchStrategy[list[Event]],
    is_wanted: Callable[[ProgramTree], bool] = lambda _: True,
) -> tuple[Case, ...]:
    """So many cases, no two alike.

    They are the same wherever the same modules are loaded, as Hypothesis takes constants from these.
    """
    found: dict[str, Case] = {}

    @settings(examples(3 * count), database=None, phases=[Phase.generate])
    @given(trees, events)
    def collect(tree: ProgramTree, stream: list[Event]) -> None:
        if len(found) == count:
            raise EnoughCases
        if is_wanted(tree):
            events = with_keys(tree, stream)
            found.setdefault(repr((tree.statements, events)), Case(tree, events))

    with suppress(EnoughCases):
        collect()
    assert len(found) == count
    return tuple(found.values())


# Packing --------------------------------------------------------------------------------------


def pack_of(cases: Sequence[Case], number: int, size: int) -> Case:
    """The cases of one of several packs of a size, as one."""
    return packed(cases[number * size : (number + 1) * size])


def packed(cases: Sequence[Case]) -> Case:
    """All cases as one; events of one instant come case by case."""
    tree = ProgramTree()
    events: list[Event] = []
    for number, case in enumerate(cases):
        tree += renamed(case.tree, f"_{number}")
        events += [
            Event(f"{e.type}_{number}", e.instant, e.values_, number * 1000 + e.sequence)
            for e in case.events
        ]
    return Case(tree, tuple(sorted(events, key=lambda e: (e.instant, e.sequence))))


# Frames ---------------------------------------------------------------------------------------

_COLUMNS: dict[str, pa.DataType] = {
    "@type": pa.string(),
    "@time": pa.timestamp("us", "UTC"),
    "seq": pa.int64(),
    "id": pa.string(),
    "k": pa.string(),
    "v": pa.int32(),
    "w": pa.float64(),
    "ts": pa.int64(),
}
SCHEMA = pa.schema(_COLUMNS)


def frame_of(spark: SparkSession, events: Iterable[Event]) -> DataFrame:
    rows = [{"@type": e.type, "@time": e.instant, "seq": e.sequence, **e.values_} for e in events]
    return spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA))


_SETTINGS = {
    "partitions": "spark.sql.shuffle.partitions",
    "adaptive": "spark.sql.adaptive.enabled",
    "rows": "spark.sql.execution.arrow.maxRecordsPerBatch",
    "zone": "spark.sql.session.timeZone",
    "store": "spark.sql.streaming.stateStore.providerClass",
    "ansi": "spark.sql.ansi.enabled",
}


@contextmanager
def set_to(spark: SparkSession, **values: object) -> Iterator[None]:
    """For a while, other settings of a session."""
    names = {_SETTINGS[key]: str(value) for key, value in values.items()}
    before = {name: str(spark.conf.get(name)) for name in names}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


# Rows -----------------------------------------------------------------------------------------


def reference(
    program: ResolvedProgram, events: Sequence[Event], *, timed_out: bool = False
) -> list[str]:
    """What the reference semantics finds between the first and the last event."""
    machine = Machine(program, timed_out=timed_out)
    machine.start(events[0].instant)
    rows = [row for event in events for row in machine.take(event)]
    rows += machine.advance(events[-1].instant)
    kinds = {(False, False): "match", (True, False): "old", (False, True): "timeout"}
    return [
        shown(row.type, row.instant, kinds[row.is_old, row.is_timeout], row.values_) for row in rows
    ]


def by_default_order(events: Iterable[Event]) -> list[Event]:
    """The order of events that have no sequence."""
    return sorted(
        events, key=lambda e: (e.instant, e.type, *(sort_key(e.values_[n]) for n in e.values_))
    )


def collected(rows: DataFrame) -> list[str]:
    """The rows of all types, in the order of '@key' where they have it."""
    table = rows.toArrow().to_pylist()
    if "@key" in rows.columns:
        table.sort(key=lambda row: row["@key"])
    return [
        shown(row["@type"], to_instant(row["@time"]), row["@kind"], row[row["@type"]])
        for row in table
    ]


def shown(type: str, instant: int, kind: str, values: Mapping[str, Value]) -> str:
    """A row as text, in which what cannot be told apart looks the same; 1 and 1.0 can."""
    parts = (f"{name}={_plain(value)!r}" for name, value in values.items() if value is not None)
    return f"{instant} {kind} {type} {' '.join(parts)}"


def _plain(value: Value) -> object:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, Mapping):
        return {name: _plain(v) for name, v in value.items() if v is not None and name[0] != "@"}
    return [_plain(item) for item in value] if isinstance(value, list) else value
