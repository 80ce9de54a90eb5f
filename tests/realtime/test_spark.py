"""Graphs over recorded events on Spark: what a simulation gives, in a batch and in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.core.time import BEGIN, format_instant, parse_instant
from cepheid.engines.spark.session.failures import failure_of
from cepheid.errors import InputError, UsageError
from cepheid.realtime.checking import Checked, checked
from cepheid.realtime.graph import Consumer, Graph, Supplier
from cepheid.realtime.operators.kinds import KINDS
from cepheid.realtime.payload import Payload
from cepheid.realtime.recorded import read_trace
from tests.realtime.recordings import (
    MS,
    US,
    Got,
    by_value,
    recording,
    records_of,
    simulated,
    together,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELAY = 20_000  # microseconds that events of streams come late
_COLUMNS: dict[str, pa.DataType] = {
    "@type": pa.string(),
    "@time": pa.timestamp("us", "UTC"),
    "vehicle": pa.string(),
    "seq": pa.int64(),
    "value": pa.float64(),
    "values": pa.list_(pa.float64()),
    "x": pa.float64(),
    "y": pa.float64(),
}
SCHEMA = pa.schema(_COLUMNS)
Record = Mapping[str, Any]
Fleet = dict[str | None, list[Got]]  # by vehicle


@pytest.fixture(scope="module")
def graph() -> Checked:
    """Some graphs that share nothing, with all kinds of operators."""
    found = together([recording(seed, f"g{seed}_") for seed in (1, 2, 3, 32)]).graph
    assert {o.kind for o in found.operators if o.name in found.levels} == {*KINDS}
    return checked(found)


@pytest.fixture(scope="module")
def records(graph: Checked) -> dict[str, list[Record]]:
    """The events of each vehicle, in their order."""
    suppliers = graph.graph.suppliers
    return {
        name: [
            {**each, "vehicle": name, "seq": number}
            for number, each in enumerate(records_of(suppliers, seed, 160))
        ]
        for seed, name in enumerate(("one", "two"))
    }


def rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    return [{**each, "@time": parse_instant(each["@time"])} for each in records]


def frame(spark: SparkSession, records: Iterable[Record], parts: int = 3) -> DataFrame:
    """In no order."""
    mixed = Random(1).sample(rows(records), k=len(list(records)))
    return spark.createDataFrame(pa.Table.from_pylist(mixed, SCHEMA)).repartition(parts)


def on_spark(graph: Graph | Checked, frame: DataFrame, **options: Any) -> DataFrame:
    from cepheid.realtime.spark.frames import on_spark

    return on_spark(graph, frame, **options)


def found(table: pa.Table) -> Fleet:
    """What the consumers of each vehicle get, in order."""
    times = [table[name].cast(pa.int64()).to_pylist() for name in ("@time", "begin", "end")]
    heads = [table[name].to_pylist() for name in ("consumer", "@type", "number")]
    ends = [table[name].to_pylist() for name in ("late", "payload")]
    fleet: Fleet = {}
    vehicles = table["vehicle"].to_pylist() if "vehicle" in table.column_names else None
    for place, got in enumerate(map(Got, *heads, *times, *ends)):
        fleet.setdefault(vehicles[place] if vehicles else None, []).append(got)
    return {vehicle: sorted(each, key=_order) for vehicle, each in fleet.items()}


def expected(graph: Checked, records: Sequence[Record], *, has_sequence: bool = True) -> list[Got]:
    events = [{n: v for n, v in each.items() if n not in ("vehicle", "seq")} for each in records]
    arrivals = read_trace(events, graph.graph.suppliers)
    if not has_sequence:
        arrivals = by_value(graph.graph, arrivals)
    return sorted(simulated(graph, arrivals), key=_order)


def _order(got: Got) -> tuple[str, str, int]:
    return got.source, got.consumer or "", got.number or 0


# The same everywhere ----------------------------------------------------------------------------


def test_a_batch_gives_what_a_simulation_gives(
    spark: SparkSession, graph: Checked, records: dict[str, list[Record]]
) -> None:
    results = on_spark(graph, frame(spark, records["one"]), sequence="seq").toArrow()
    assert found(results) == {None: expected(graph, records["one"])}
    assert results.column_names == [
        *("consumer", "@type", "@time", "begin", "end", "number", "late", "payload", "values")
    ]
    for row in results.to_pylist():
        payload, values = graph.payloads[row["@type"]], row["values"]
        assert (values is not None) == payload.is_real
        if payload.is_real:
            numbers = np.frombuffer(row["payload"], payload.dtype)
            assert np.array_equal(values, numbers, equal_nan=True)


def test_each_key_has_a_graph_of_its_own_and_ties_are_ordered_by_what_events_carry(
    spark: SparkSession, graph: Checked, records: dict[str, list[Record]]
) -> None:
    given = frame(spark, [each for some in records.values() for each in some])
    assert found(on_spark(graph.graph, given, by="vehicle").toArrow()) == {
        name: expected(graph, each, has_sequence=False) for name, each in records.items()
    }


def test_a_stream_gives_what_a_simulation_gives_after_a_restart_too(
    spark: SparkSession, graph: Checked, records: dict[str, list[Record]], tmp_path: Path
) -> None:
    """Four micro-batches, each with events before later ones that came already, in two runs."""
    from tests.spark.test_stream_query import Folder

    chance = Random(2)
    events = rows(each for some in records.values() for each in some)
    events.sort(key=lambda each: each["@time"] + chance.randrange(DELAY))
    end = max(each["@time"] for each in events) + DELAY
    late = {"@type": "g1_s0", "@time": BEGIN, "vehicle": "two", "seq": 0, "value": 1.0}
    quarter = -(-len(events) // 4)
    parts = [events[place : place + quarter] for place in range(0, len(events), quarter)]
    parts[3] += [late, {"@time": end}]
    folder = Folder(spark, tmp_path, SCHEMA)
    for half in (parts[:2], parts[2:]):
        for part in half:
            folder.add(part)
        stream = folder.stream()
        results = on_spark(
            graph, stream, by=["vehicle"], sequence="seq", watermark="20 milliseconds"
        )
        written = folder.run(results)
    told = Got(
        None, "g1_s0", None, BEGIN, BEGIN, BEGIN + _validity(graph, "g1_s0"), True, _bytes(1)
    )
    fleet = found(written.toArrow())
    fleet["two"].remove(told)
    assert fleet == {name: expected(graph, each) for name, each in records.items()}


def _validity(graph: Checked, name: str) -> int:
    supplier = graph.graph.sources[name]
    assert isinstance(supplier, Supplier)
    return supplier.validity // US


def _bytes(number: float) -> bytes:
    return pa.array([number], pa.float64()).buffers()[1].to_pybytes()  # type: ignore[union-attr]


# What is refused --------------------------------------------------------------------------------

SMALL = Graph(
    (
        Supplier(name="radar", period=MS, validity=MS, payload=Payload("uint8", 3)),
        Supplier(name="speed", period=MS, validity=MS),
    ),
    (),
    (Consumer(name="c", input="speed", priority=1),),
)
COLUMNS = "`@type` string, `@time` timestamp, value double, values array<int>"


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("`@time` timestamp, value double", {}, "no column '@type', which says whose events"),
        (
            "`@type` string, value double",
            {},
            "error[missing-time]: the frame has no column '@time'",
        ),
        ("`@type` int, `@time` timestamp", {}, "column '@type' of the frame is int"),
        ("`@type` string, `@time` boolean", {}, "column '@time' of the frame is boolean"),
        (COLUMNS.replace("value ", "valeu "), {}, "no column 'value', an attribute of the events"),
        (COLUMNS.replace("value ", "valeu "), {}, "did you mean"),
        (COLUMNS.replace("double", "string"), {}, "column 'value' of the frame is string, but"),
        (COLUMNS.replace("double", "array<double>"), {}, "but the events of 'speed' carry float64"),
        (COLUMNS.replace("array<int>", "int"), {}, "but the events of 'radar' carry uint8[3]"),
        (COLUMNS, {"by": "car"}, "no column 'car', which says whose graph"),
        (COLUMNS, {"by": ["value"]}, "column 'value' of the frame is double, which is no key"),
        (f"{COLUMNS}, consumer int", {"by": "consumer"}, "rows have a column 'consumer'"),
        (f"{COLUMNS}, car int", {"by": ["car", "car"]}, "'car' stands twice in by="),
        (f"{COLUMNS}, value int", {}, "two columns of the frame are named 'value'"),
        (COLUMNS, {"sequence": "seq"}, "no column 'seq', to order events of one time by"),
        (COLUMNS, {"sequence": "value"}, "a sequence is whole"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_before_anything_runs(
    spark: SparkSession, columns: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((UsageError, InputError)) as told:
        on_spark(SMALL, spark.createDataFrame([], columns), **options)
    assert message in str(told.value)


def test_a_stream_needs_a_watermark_and_a_graph_must_make_sense(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    stream = stream.selectExpr(
        "'speed' `@type`", "timestamp `@time`", "0D value", "array(1) values"
    )
    with pytest.raises(UsageError, match="a stream needs a watermark"):
        on_spark(SMALL, stream)
    with pytest.raises(InputError, match="a graph has consumers"):
        on_spark(replace(SMALL, consumers=()), stream)


def test_what_is_wrong_with_a_row_ends_the_run_in_our_words(spark: SparkSession) -> None:
    """Times may be texts, and whole numbers serve for others."""
    columns = COLUMNS.replace("timestamp", "string").replace("double", "int")
    time = format_instant(BEGIN)
    events = spark.createDataFrame([("speed", time, 7, None), (None, time, None, None)], columns)
    assert [row.asDict()["values"] for row in on_spark(SMALL, events).collect()] == [[7.0]]
    for row, message in (
        (("speed", "noon", 1, None), "error[bad-time]: '@time': 'noon' is not an ISO 8601 time"),
        (
            ("radar", time, None, [1, 2]),
            f"error[bad-value]: an event of 'radar' at {time}: 'values' has 2 elements, not 3",
        ),
    ):
        with pytest.raises(Exception, match=r"cepheid\.errors") as told:
            on_spark(SMALL, spark.createDataFrame([row], columns)).collect()
        assert str(failure_of(told.value)) == message
