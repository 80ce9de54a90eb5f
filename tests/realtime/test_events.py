"""Rows of frames as workers take them: what they carry as bytes, and what is wrong with them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.core.time import BEGIN, format_instant
from cepheid.errors import InputError
from cepheid.realtime.graph import Consumer, Graph, Supplier
from cepheid.realtime.payload import Payload
from cepheid.realtime.spark.events import Task, events_in

GRAPH = Graph(
    (
        Supplier(name="radar", period=1, validity=1, payload=Payload("uint8", 3)),
        Supplier(name="speed", period=1, validity=1, payload=Payload("float32")),
        Supplier(name="place", period=1, validity=1, payload=Payload("int16", 2, ("x", "y"))),
        Supplier(name="wave", period=1, validity=1, payload=Payload("complex64", 2)),
        Supplier(name="unused", period=1, validity=1),
    ),
    (),
    tuple(
        Consumer(name=f"{n}'s", input=n, priority=1) for n in ("radar", "speed", "place", "wave")
    ),
)
TASK = Task(
    graph=pickle.dumps(GRAPH),
    by=("car",),
    key_types=("int",),
    attributes=("values", "value", "x", "y"),
    has_sequence=True,
    buckets=8,
    is_stream=True,
)
_LONGS = ("@time", "@sequence", "@hash", "x", "y")
COLUMNS: dict[str, pa.DataType] = {
    **dict.fromkeys(_LONGS, pa.int64()),
    "@key0": pa.int32(),
    "@type": pa.string(),
    "values": pa.list_(pa.float64()),
    "value": pa.float64(),
}
FINE: dict[str, Any] = {"@key0": 7, "@time": BEGIN, "@sequence": 1, "@hash": -3}


def taken(*rows: dict[str, Any]) -> list[pa.RecordBatch]:
    [batch] = pa.Table.from_pylist(
        [{**FINE, **row} for row in rows], pa.schema(COLUMNS)
    ).to_batches()
    return list(events_in(TASK, batch))


def test_events_carry_the_bytes_of_arrays() -> None:
    batches = taken(
        {"@type": "radar", "values": [1, 2, 255]},
        {"@type": "speed", "value": 0.1},
        {"@type": None, "@key0": None, "@sequence": None},
        {"@type": "place", "x": -1, "y": 2},
        {"@type": "unused", "value": 1.0},
        {"@type": "radar", "values": [0, 0, 7], "@key0": 8, "@hash": 1},
    )
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [(row["@supplier"], row["@part"], row["@payload"]) for row in rows] == [
        (0, 0, bytes([1, 2, 255])),
        (0, 0, bytes([0, 0, 7])),
        (1, 1, np.float32(0.1).tobytes()),
        (2, 2, np.array([-1, 2], "int16").tobytes()),
    ]
    assert [(row["@key0"], row["bucket"]) for row in rows] == [(7, 5), (8, 1), (7, 6), (7, 7)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"@type": "rader"}, "error[unknown-type]: no supplier 'rader' (did you mean 'radar'?)"),
        ({"@type": "radar", "values": [1, 2]}, "error[bad-value]: {}: 'values' has 2 elements, not 3"),
        ({"@type": "radar", "values": [1, None, 3]}, "{}: an element of 'values' is missing"),
        ({"@type": "radar"}, "{}: 'values' is missing"),
        ({"@type": "radar", "values": [1, 2, 256]}, "{}: 256.0 is no uint8"),
        ({"@type": "radar", "values": [1, 2, float("nan")]}, "{}: nan is no uint8"),
        ({"@type": "speed", "value": 1e39}, "{}: 1e+39 is no float32"),
        ({"@type": "place", "x": 1}, "{}: 'y' is missing"),
        ({"@type": "place", "x": 1, "y": 40_000}, "{}: 40000 is no int16"),
        ({"@type": "wave"}, "'wave' are complex numbers, which no record has"),
        ({"@type": "unused"}, "{}: 'value' is missing"),
        ({"@type": "speed", "value": 1, "@time": None}, "error[missing-time]: an event of 'speed', car 7"),
        ({"@type": "speed", "value": 1, "@key0": None}, "error[missing-key]: an event of 'speed' at"),
        ({"@type": "speed", "value": 1, "@sequence": None}, "it has no sequence"),
        ({"@type": None, "x": 1}, "error[missing-type]: a row at"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_row_is_told_with_its_time_and_key(
    row: dict[str, Any], message: str
) -> None:
    """The row before it is fine."""
    with pytest.raises(InputError) as told:
        taken({"@type": "radar", "values": [1, 2, 3]}, row)
    place = f"an event of '{row['@type']}' at {format_instant(BEGIN)}, car 7"
    assert message.format(place) in str(told.value)
