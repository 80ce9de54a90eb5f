"""Instances of a graph at work: one for each key and each part that shares nothing with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from cepheid.core.time import Instant
from cepheid.engines.spark.shuffle.blocks import by_bucket
from cepheid.io.encode import encode_value, to_json
from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.graph import Time
from cepheid.realtime.machine import Delivery
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.recorded import MICROSECOND, Replay
from cepheid.realtime.spark.events import PART, PAYLOAD, SUPPLIER, TIME, Task, parts_of

Key: TypeAlias = tuple[Any, ...]  # what an instance is for, and the part of the graph that it is

_TIMES = pa.timestamp("us", "UTC")
RESULTS: dict[str, pa.DataType] = {
    "consumer": pa.string(),
    "@type": pa.string(),
    "@time": _TIMES,
    "begin": _TIMES,
    "end": _TIMES,
    "number": pa.int64(),
    "late": pa.bool_(),
    "payload": pa.binary(),
    "values": pa.list_(pa.float64()),
}


class Instances:
    """Those that events have come to, each with a state of its own."""

    def __init__(self, task: Task, saved: Mapping[Key, bytes] | None = None) -> None:
        self._task = task
        self._parts = parts_of(task.graph)
        self._saved = dict(saved or {})
        self._open: dict[Key, Replay] = {}

    def take(self, events: pa.Table) -> pa.Table:
        """The rows of events in the order of time, all of one time among them."""
        results = Results(self._task, events.schema)
        names = (*self._task.keys, PART)
        keys = list(zip(*(events[name].to_pylist() for name in names), strict=True))
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        instances = list(numbers)
        for number, own in by_bucket(events, np.array([numbers[key] for key in keys], np.int64)):
            key = instances[number]
            for delivery in self._replay(key).take(self._arrivals(own)):
                results.add(key, delivery)
        return results.table()

    def late(self, events: pa.Table) -> pa.Table:
        """Rows of events that no consumer gets, as they came too late."""
        results = Results(self._task, events.schema)
        keys = zip(*(events[name].to_pylist() for name in (*self._task.keys, PART)), strict=True)
        validities = {each.name: each.validity for each in self._parts.suppliers}
        for key, arrival in zip(keys, self._arrivals(events), strict=True):
            end = arrival.time + validities[arrival.supplier]
            results.add_row(
                key,
                *(None, arrival.supplier, arrival.time, arrival.time, end, None),
                is_late=True,
                value=arrival.value,
            )
        return results.table()

    def save(self) -> dict[Key, bytes]:
        return self._saved | {key: replay.save() for key, replay in self._open.items()}

    def _replay(self, key: Key) -> Replay:
        if key not in self._open:
            self._open[key] = Replay(self._parts[key[-1]], self._saved.get(key))
        return self._open[key]

    def _arrivals(self, events: pa.Table) -> list[Arrival]:
        """Events in their order, where what they carry is the last to decide."""
        suppliers = self._parts.suppliers
        columns = [events[name].to_numpy() for name in (TIME, *self._task.sort_keys)]
        kinds = [(each.name, np.dtype(each.payload.dtype)) for each in suppliers]
        found = [
            Arrival(time * MICROSECOND, kinds[place][0], np.frombuffer(raw, kinds[place][1]))
            for time, place, raw in zip(
                *(events[name].to_pylist() for name in (TIME, SUPPLIER, PAYLOAD)), strict=True
            )
        ]
        for begin, end in _alike(columns):
            found[begin:end] = sorted(found[begin:end], key=_carried)
        return found


def _alike(columns: list[Array]) -> Iterator[tuple[int, int]]:
    """Where rows begin and end that agree in all columns, if there are several."""
    is_new = np.ones(len(columns[0]), bool)
    is_new[1:] = np.any([each[1:] != each[:-1] for each in columns], axis=0)
    begins = np.flatnonzero(is_new)
    ends = np.append(begins[1:], len(is_new))
    several = ends - begins > 1
    return zip(begins[several].tolist(), ends[several].tolist(), strict=True)


def _carried(arrival: Arrival) -> tuple[list[tuple[bool, float]], bytes]:
    """Element by element; NaN comes last, and where -0 and 0 differ their bytes do."""
    elements = [(each != each, 0 if each != each else each) for each in arrival.value.tolist()]  # noqa: PLR0124
    return elements, arrival.value.tobytes()


class Results:
    """Rows of what consumers get."""

    def __init__(self, task: Task, events: pa.Schema) -> None:
        self._keys = {
            name: events.field(key).type for name, key in zip(task.by, task.keys, strict=True)
        }
        self._rows: list[tuple[Any, ...]] = []
        self._values: list[Array] = []

    def add(self, key: Key, delivery: Delivery[Array]) -> None:
        sample = delivery.sample
        self.add_row(
            key,
            *(delivery.consumer.name, sample.source, delivery.time, sample.begin, sample.end),
            sample.number,
            is_late=delivery.is_late,
            value=sample.value,
        )

    def add_row(
        self,
        key: Key,
        consumer: str | None,
        source: str,
        time: Time,
        begin: Time,
        end: Time,
        number: int | None,
        *,
        is_late: bool,
        value: Array,
    ) -> None:
        times = (_instant(time), _instant(begin), _instant(end))
        self._rows.append((*key[:-1], consumer, source, *times, number, is_late, raw(value)))
        self._values.append(value)

    def table(self) -> pa.Table:
        types = self._keys | RESULTS
        *names, last = types
        columns = list(zip(*self._rows, strict=True)) or [()] * len(names)
        found: dict[str, Any] = {
            name: pa.array(column, types[name]) for name, column in zip(names, columns, strict=True)
        }
        return pa.table(found | {last: _numbers(self._values)})


def _instant(time: Time) -> Instant:
    return time // MICROSECOND


def raw(value: Array) -> bytes:
    """The bytes of an array; of one with texts the JSON of its elements."""
    if value.dtype != object:
        return bytes(value.tobytes())
    return to_json([encode_value(each) for each in value.tolist()]).encode()


def _numbers(values: list[Array]) -> Any:
    """A column of lists of doubles; null where elements are no real numbers."""
    is_real = [each.dtype.kind in "biuf" for each in values]
    shown = [
        each.astype(np.float64) for each, is_one in zip(values, is_real, strict=True) if is_one
    ]
    sizes = [each.size if is_one else 0 for each, is_one in zip(values, is_real, strict=True)]
    ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int32)
    elements = np.concatenate(shown) if shown else np.empty(0)
    mask = pa.array([not each for each in is_real], pa.bool_())
    places: Any = pa.array(ends)
    doubles: Any = pa.array(elements)
    return pa.ListArray.from_arrays(places, doubles, mask=mask)
