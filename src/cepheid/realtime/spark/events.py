"""Rows of a frame as events of a graph: checked by workers, and what they carry as bytes.

Everything is checked before anything is shuffled or waits in a state, so that what is wrong is told where
it was read, and never lies in a checkpoint.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.core.time import format_instant
from cepheid.engines.spark.shuffle.blocks import BUCKET
from cepheid.errors import InputError, error, suggest
from cepheid.realtime.checking import Checked, checked
from cepheid.realtime.graph import Graph, Supplier, components
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.recorded import fitted, no_record_of, value_of

# What a frame says of a row, beside its keys and attributes.
TYPE, TIME, SEQUENCE, HASH = "@type", "@time", "@sequence", "@hash"
# What an event has instead: its place among the suppliers, the part of the graph that it is for, bytes.
SUPPLIER, PART, PAYLOAD = "@supplier", "@part", "@payload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What workers need to know: small, and the same for all of them."""

    graph: bytes
    by: tuple[str, ...]  # columns that say for which instance of the graph an event is
    key_types: tuple[str, ...]
    attributes: tuple[str, ...]
    has_sequence: bool
    buckets: int
    is_stream: bool

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of `by` on their way: no other column is named so."""
        return tuple(f"@key{place}" for place in range(len(self.by)))

    @property
    def sort_keys(self) -> tuple[str, ...]:
        """What orders events of one time, before what they carry does."""
        return (SEQUENCE, SUPPLIER) if self.has_sequence else (SUPPLIER,)


class Parts:
    """The parts of a graph, each of which is checked and made once by a worker."""

    def __init__(self, graph: Graph) -> None:
        self.suppliers = graph.suppliers
        self._graphs = components(graph)
        self._checked: dict[int, Checked] = {}

    @cached_property
    def numbers(self) -> tuple[int | None, ...]:
        """Of each supplier its part; None where no consumer gets anything of it."""
        found = {s.name: n for n, part in enumerate(self._graphs) for s in part.suppliers}
        return tuple(found.get(each.name) for each in self.suppliers)

    def __getitem__(self, number: int) -> Checked:
        if number not in self._checked:
            self._checked[number] = checked(self._graphs[number])
        return self._checked[number]


@lru_cache(maxsize=4)
def parts_of(graph: bytes) -> Parts:
    return Parts(pickle.loads(graph))


def events_in(task: Task, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The events among some rows, those of each supplier together, with the buckets that they go to."""
    parts = parts_of(task.graph)
    names = pa.array([each.name for each in parts.suppliers], pa.string())
    places: Any = pc.index_in(rows[TYPE], value_set=names)
    _check(task, rows, places)
    for place in pc.unique(places.drop_null()).to_pylist():
        own = rows.filter(pc.equal(places, pa.scalar(place)))
        payloads = _payloads(task, parts.suppliers[place], own)
        number = parts.numbers[place]
        if number is not None:
            yield _events(task, own, place, number, payloads)


def _events(
    task: Task, rows: pa.RecordBatch, place: int, part: int, payloads: Any
) -> pa.RecordBatch:
    count = rows.num_rows
    passed_on = [*task.keys, TIME, *((SEQUENCE,) if task.has_sequence else ())]
    columns: dict[str, Any] = {name: rows[name] for name in passed_on}
    columns[SUPPLIER] = pa.array(np.full(count, place, np.int32))
    columns[PART] = pa.array(np.full(count, part, np.int32))
    columns[PAYLOAD] = payloads
    columns[BUCKET] = pa.array((rows[HASH].to_numpy() % task.buckets + part) % task.buckets)
    return pa.RecordBatch.from_pydict(columns)


# What they carry --------------------------------------------------------------------------------


def _payloads(task: Task, supplier: Supplier, rows: pa.RecordBatch) -> Any:
    """A column of bytes: of each event the array that the supplier pushes."""
    if not supplier.payload.is_real:
        raise _wrong(task, rows, 0, "bad-value", no_record_of(supplier))
    try:
        arrays = _arrays(supplier, rows)
    except ValueError:
        raise _first_wrong(task, supplier, rows) from None
    width = arrays.itemsize * supplier.payload.size
    ends: Any = np.arange(rows.num_rows + 1, dtype=np.int64) * width
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(arrays)]
    return pa.Array.from_buffers(pa.large_binary(), rows.num_rows, buffers)


def _arrays(supplier: Supplier, rows: pa.RecordBatch) -> Array:
    """A row for each event; ValueError where not all of them fit."""
    payload = supplier.payload
    columns: list[Any] = [rows[name] for name in payload.attributes]
    if not payload.fields and payload.size > 1:
        sizes = pc.fill_null(pc.list_value_length(columns[0]), 0).to_numpy()
        if (sizes != payload.size).any():
            raise ValueError("arrays of another size")
        columns = [columns[0].flatten()]
    if any(each.null_count for each in columns):
        raise ValueError("something is missing")
    numbers = [fitted(payload, each.to_numpy(zero_copy_only=False)) for each in columns]
    return np.ascontiguousarray(np.stack(numbers, axis=-1)).reshape(rows.num_rows, payload.size)


def _first_wrong(task: Task, supplier: Supplier, rows: pa.RecordBatch) -> InputError:
    for place, row in enumerate(rows.to_pylist()):
        try:
            value_of(supplier.payload, row)
        except ValueError as wrong:
            return _wrong(task, rows, place, "bad-value", str(wrong))
    raise AssertionError("what does not fit together does not fit alone")


# What is wrong ----------------------------------------------------------------------------------


def _check(task: Task, rows: pa.RecordBatch, places: Any) -> None:
    """Everything but what events carry."""
    is_event = pc.is_valid(rows[TYPE])
    _refuse(task, rows, pc.is_null(rows[TIME]), "missing-time", "it has no time")
    for name in task.attributes:
        fact = f"it has '{name}' and no type"
        is_untyped = pc.and_(pc.invert(is_event), pc.is_valid(rows[name]))
        _refuse(task, rows, is_untyped, "missing-type", fact)
    is_unknown = pc.and_(is_event, pc.is_null(places))
    if pc.any(is_unknown, min_count=0).as_py():
        name = rows[TYPE].filter(is_unknown)[0].as_py()
        known = [each.name for each in parts_of(task.graph).suppliers]
        hint = suggest(name, known, "suppliers")
        raise InputError(error("unknown-type", f"no supplier '{name}'", hint=hint))
    if task.has_sequence:
        is_without = pc.and_(is_event, pc.is_null(rows[SEQUENCE]))
        _refuse(task, rows, is_without, "bad-value", "it has no sequence")
    for name, key in zip(task.by, task.keys, strict=True):
        is_without = pc.and_(is_event, pc.is_null(rows[key]))
        _refuse(task, rows, is_without, "missing-key", f"'{name}' is missing")


def _refuse(task: Task, rows: pa.RecordBatch, is_wrong: Any, code: str, fact: str) -> None:
    if pc.any(is_wrong, min_count=0).as_py():
        raise _wrong(task, rows, pc.index(is_wrong, True).as_py(), code, fact)


def _wrong(task: Task, rows: pa.RecordBatch, place: int, code: str, fact: str) -> InputError:
    row = rows.select([TYPE, TIME, *task.keys]).slice(place, 1).to_pylist()[0]
    what = "a row" if row[TYPE] is None else f"an event of '{row[TYPE]}'"
    when = "" if row[TIME] is None else f" at {format_instant(row[TIME])}"
    keys = (
        f"{name} {row[key]}"
        for name, key in zip(task.by, task.keys, strict=True)
        if row[key] is not None
    )
    whose = "".join(f", {each}" for each in keys)
    return InputError(error(code, f"{what}{when}{whose}: {fact}"))
