"""Recorded events through a graph: the same whether at once or in pieces, whole or in parts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.time import BEGIN
from cepheid.errors import CepheidError, InputError, LateEvent, RunError
from cepheid.realtime.arrivals import Arrival, arrivals
from cepheid.realtime.checking import checked
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier, components
from cepheid.realtime.payload import Payload
from cepheid.realtime.recorded import Replay, fitted, read_trace, row_of, traces_of
from tests.effort import examples
from tests.realtime.recordings import MS, US, got, recording, simulated, together

SEEDS = st.integers(0, 10**6)


@examples(20)
@given(SEEDS, st.integers(0, 5))
def test_a_recording_in_pieces_gives_what_it_gives_at_once(seed: int, count: int) -> None:
    """The state is saved and opened again at each cut."""
    graph, records = recording(seed)
    pushed, ready = read_trace(records, graph.suppliers), checked(graph)
    times = sorted({each.time for each in pushed})
    cuts = Random(seed).sample(times, min(count, len(times)))
    found, saved, begin = [], None, 0
    for cut in sorted({*cuts, times[-1]}):
        replay = Replay(ready, saved)
        found += got(replay.take(each for each in pushed if begin < each.time <= cut))
        saved, begin = replay.save(), cut
    assert found == simulated(ready, pushed)


@examples(10)
@given(SEEDS)
def test_parts_that_share_nothing_give_alone_what_they_give_together(seed: int) -> None:
    graph, records = together([recording(seed, "a_"), recording(seed + 1, "b_")])
    pushed = read_trace(records, graph.suppliers)
    alone = []
    for part in components(graph):
        names = {each.name for each in part.suppliers}
        alone += simulated(checked(part), (each for each in pushed if each.supplier in names))
    assert sorted(alone) == sorted(simulated(checked(graph), pushed))


def test_operators_at_work_keep_their_places_whatever_others_do() -> None:
    """`x` and `y` both run twice, and `z`, which has nothing to do with them, once."""

    def graph(*names: str) -> Graph:
        return Graph(
            tuple(Supplier(name=f"s{n}", period=MS, validity=9 * MS, phase=0) for n in names),
            tuple(Operator(name=n, kind="cat", inputs=(f"s{n}",)) for n in names),
            tuple(Consumer(name=f"c{n}", input=n, priority=1) for n in names),
        )

    def order(*names: str) -> list[str | None]:
        pushed = [Arrival(MS, f"s{n}", np.zeros(1)) for n in "zyyxx" if n in names]
        return [each.consumer for each in simulated(checked(graph(*names)), pushed)]

    assert order("x", "y") == [each for each in order("x", "y", "z") if each != "cz"]


# Files and other records ------------------------------------------------------------------------

SUPPLIERS = (
    Supplier(name="radar", period=MS, validity=MS, payload=Payload("uint8", 3)),
    Supplier(name="speed", period=MS, validity=MS),
    Supplier(name="place", period=MS, validity=MS, payload=Payload("float32", 2, ("x", "y"))),
    Supplier(name="is_on", period=MS, validity=MS, payload=Payload("bool")),
    Supplier(name="wave", period=MS, validity=MS, payload=Payload("complex64", 2)),
)
T0, T1 = "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.010001Z"
RECORDS: list[dict[str, Any]] = [
    {"@type": "speed", "@time": T1, "value": 2.5},
    {"@type": "radar", "@time": T1, "values": [0, 7, 255]},
    {"@time": "2026-01-01T00:00:01Z"},
    {"@type": "place", "@time": T0, "x": 0.1, "y": -2},
    {"@type": "speed", "@time": T0, "value": float("nan")},
    {"@type": "is_on", "@time": T0, "value": True},
]
EXPECTED = [
    ("place", BEGIN * US, np.array([0.1, -2], "float32")),
    ("speed", BEGIN * US, np.array([np.nan])),
    ("is_on", BEGIN * US, np.array([True])),
    ("speed", BEGIN * US + 10_001 * US, np.array([2.5])),
    ("radar", BEGIN * US + 10_001 * US, np.array([0, 7, 255], "uint8")),
]


def shown(found: list[Arrival]) -> list[tuple[str, int, str, bytes]]:
    return [(a.supplier, a.time, str(a.value.dtype), a.value.tobytes()) for a in found]


def test_recorded_events_come_from_dictionaries_and_files_alike(tmp_path: Path) -> None:
    expected = shown([Arrival(time, name, value) for name, time, value in EXPECTED])
    assert shown(read_trace(RECORDS, SUPPLIERS)) == expected
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(json.dumps(each) for each in RECORDS))
    assert shown(read_trace(str(file), SUPPLIERS)) == expected


def test_a_table_has_a_column_for_each_attribute(tmp_path: Path) -> None:
    rows = [each for each in RECORDS if each.get("@type") != "is_on"]
    columns: dict[str, pa.DataType] = dict.fromkeys(("@type", "@time"), pa.string())
    columns |= dict.fromkeys(("value", "x", "y"), pa.float64())
    schema = pa.schema({**columns, "values": pa.list_(pa.int64())})
    file = tmp_path / "events.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema), file)
    expected = [Arrival(time, name, value) for name, time, value in EXPECTED if name != "is_on"]
    assert shown(read_trace(file, SUPPLIERS)) == shown(expected)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"@type": "rader"}, "error[unknown-type]: no supplier 'rader' (did you mean 'radar'?)"),
        ({"@type": "radar", "values": [1, 2]}, "'radar': 'values' has 2 elements, not 3"),
        ({"@type": "radar", "values": [1, 2, None]}, "an element of 'values' is missing"),
        (
            {"@type": "radar", "values": [1, 2, 256]},
            "error[bad-value]: an event of 'radar': 256 is no uint8",
        ),
        ({"@type": "radar", "values": [1, 2, -1]}, "-1 is no uint8"),
        ({"@type": "radar", "values": [1, 2, 0.5]}, "0.5 is not an int"),
        ({"@type": "radar"}, "an event of 'radar': 'values' is missing"),
        ({"@type": "place", "x": 1.0}, "'y' is missing"),
        ({"@type": "place", "x": 1.0, "y": 1e39}, "does not fit a float"),
        ({"@type": "speed", "value": "fast"}, "'fast' is not a double"),
        ({"@type": "speed", "value": 1, "valeu": 2}, "no attribute 'valeu' in speed"),
        ({"@type": "speed", "value": 1, "@time": None}, "error[missing-time]"),
        ({"@type": "speed", "value": 1, "@time": "noon"}, "error[bad-time]"),
        ({"@type": "wave"}, "'wave' are complex numbers, which no record has"),
        ({"value": 1}, "error[missing-type]"),
    ],
)
def test_what_is_wrong_with_a_record_is_told_with_its_place(
    record: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as told:
        read_trace([RECORDS[0], {"@time": T0, **record}], SUPPLIERS)
    assert message in str(told.value)
    assert str(told.value).startswith("<events>:2:1: ")


def test_a_supplier_has_its_events_in_a_file_that_need_not_name_it(tmp_path: Path) -> None:
    (tmp_path / "radar.jsonl").write_text(f'{{"@time": "{T1}", "values": [1, 2, 3]}}')
    (tmp_path / "run 7.csv").write_text(f"@time,value\n{T1},2\n{T0},1\n")
    radar, speed = (replace(each, phase=0) for each in SUPPLIERS[:2])
    graph = Graph(
        (
            replace(radar, trace=str(tmp_path / "radar.jsonl")),
            replace(speed, trace=str(tmp_path / "run 7.csv")),
            replace(SUPPLIERS[3], phase=0),
        ),
        (),
        (Consumer(name="c", input="speed", priority=1),),
    )
    start = BEGIN * US
    found = arrivals(graph, start=start, until=start + 11 * MS, traces=traces_of(graph))
    recorded = [each for each in found if each.supplier != "is_on"]
    assert [
        (each.supplier, (each.time - start) // US, each.value.tolist()) for each in recorded
    ] == [
        *(("speed", 0, [1.0]), ("radar", 10_001, [1, 2, 3])),
        ("speed", 10_001, [2.0]),
    ]
    with pytest.raises(InputError, match="no supplier 'radar'"):
        read_trace([{"@type": "radar", "@time": T0, "values": [1, 2, 3]}], [speed])


def written(
    consumer: str, source: str, time: str, end: str, payload: object, *, is_late: bool = False
) -> dict[str, object]:
    """The first of its source, valid from the time on when it was delivered."""
    names = ("@type", "@time", "consumer", "begin", "end", "number", "late", "payload")
    values = (source, time, consumer, time, end, 1, is_late, payload)
    return dict(zip(names, values, strict=True))


def test_deliveries_are_written_as_events_are_read() -> None:
    suppliers = (SUPPLIERS[0], SUPPLIERS[2])
    operator = Operator(name="f", kind="fft", inputs=("radar",))
    graph = Graph(
        suppliers,
        (operator, Operator(name="both", kind="cat", inputs=("radar", "place"))),
        tuple(
            Consumer(name=f"c{n}", input=name, priority=n)
            for n, name in enumerate(("f", "both", "place"), 1)
        ),
    )
    ready = checked(graph)
    records = [
        {"@type": "place", "@time": T0, "x": 0.5, "y": "NaN"},
        {"@type": "radar", "@time": T1, "values": [2, 2, 2]},
    ]
    replay = Replay(ready)
    rows = [
        row_of(each, ready.payloads[each.sample.source])
        for each in replay.take(read_trace(records, suppliers))
    ]
    first, second = "2026-01-01T00:00:00.001Z", "2026-01-01T00:00:00.011001Z"  # ends
    whole = {"real": [6.0, 0.0, 0.0], "imaginary": [0.0, 0.0, 0.0]}
    assert json.loads(json.dumps(rows)) == [
        written("c3", "place", T0, first, {"x": 0.5, "y": "NaN"}),
        written("c1", "f", T1, second, whole),
        written("c2", "both", T1, first, {"values": [2.0, 2.0, 2.0, 0.5, "NaN"]}, is_late=True),
    ]
    assert replay.released == {}


# What is refused --------------------------------------------------------------------------------


def small(**parameters: object) -> Graph:
    return Graph(
        (Supplier(name="s", period=MS, validity=MS),),
        (Operator(name="o", kind="python", inputs=("s",), parameters=parameters),),
        (Consumer(name="c", input="o", priority=1),),
    )


def one(time: int) -> list[Arrival]:
    return [Arrival(time, "s", np.ones(1))]


def _same(value: Any) -> Any:
    return value


def test_a_time_that_is_over_gets_no_more_events() -> None:
    replay = Replay(checked(small(function=_same)))
    replay.take(one(MS))
    replay = Replay(checked(small(function=_same)), replay.save())
    for time in (MS, MS - 1):
        with pytest.raises(LateEvent, match=r"an event of 's' at .*Z comes after later ones"):
            replay.take(one(time))
    with pytest.raises(LateEvent):
        replay.take([*one(3 * MS), *one(2 * MS)])


def test_what_was_let_go_of_is_still_counted_after_a_state_was_saved() -> None:
    late = Consumer(name="c", input="o", priority=1, late="shed")
    operator = Operator(name="o", kind="join", inputs=("s", "t"), within=MS)
    suppliers = tuple(Supplier(name=name, period=MS, validity=9 * MS) for name in "st")
    ready = checked(Graph(suppliers, (operator,), (late,)))
    replay = Replay(ready)
    replay.take([Arrival(0, "s", np.ones(1)), Arrival(5 * MS, "t", np.ones(1))])
    assert replay.released == {("s", "unmatched"): 1}
    assert Replay(ready, replay.save()).released == {("s", "unmatched"): 1}


def test_the_state_of_another_graph_is_refused() -> None:
    saved = Replay(checked(small(function=_same))).save()
    for other in (small(function=one), recording(1).graph):
        with pytest.raises(RunError, match="this state was saved by another program"):
            Replay(checked(other), saved)
    with pytest.raises(RunError, match="damaged"):
        Replay(checked(small(function=_same)), saved[:-1] + b"x")


def test_an_operator_that_fails_ends_the_run_with_its_name_and_the_time() -> None:
    def broken(_: Any) -> Any:
        raise KeyError("gear")

    message = r"operator 'o' fails at 1970-01-01T00:00:00.001Z: KeyError: 'gear'"
    with pytest.raises(CepheidError, match=message):
        Replay(checked(small(function=broken))).take(one(MS))


@pytest.mark.parametrize(
    "changed", [{"priority": 2}, {"late": "shed"}, {"deadline": MS}, {"input": "s"}, {"name": "d"}]
)
def test_a_state_is_refused_after_a_consumer_was_changed(changed: dict[str, Any]) -> None:
    consumer = Consumer(name="c", input="o", priority=1)
    graph = Graph(
        (Supplier(name="s", period=MS, validity=MS),),
        (Operator(name="o", kind="average", inputs=("s",), parameters={"window": 3}),),
        (consumer, Consumer(name="also", input="o", priority=1)),
    )
    saved = Replay(checked(graph)).save()
    Replay(checked(graph), saved)
    other = replace(graph, consumers=(replace(consumer, **changed), *graph.consumers[1:]))
    with pytest.raises(RunError, match="this state was saved by another program"):
        Replay(checked(other), saved)


@pytest.mark.parametrize(
    ("dtype", "numbers", "message"),
    [
        ("bool", np.array([1, 0]), "1 is no bool"),
        ("bool", np.array([0.0, 1.0]), "0.0 is no bool"),
        ("float64", np.array([False, True]), "false is no float64"),
        ("uint8", np.array([True, False]), "true is no uint8"),
        ("float32", np.array([1.0, 1e39]), r"1e\+39 is no float32"),
    ],
)
def test_numbers_that_would_become_others_are_refused(
    dtype: str, numbers: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(Payload(dtype, 2), numbers)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_infinite_may_stay_so(dtype: str) -> None:
    numbers = np.array([np.inf, -np.inf, 1.0])
    found = fitted(Payload(dtype, 3), numbers)
    assert (found.dtype, found.tolist()) == (dtype, numbers.tolist())


def test_recorded_events_can_only_be_read() -> None:
    supplier = Supplier(name="s", period=MS, validity=MS)
    records = [{"@time": "2026-01-01T00:00:00Z", "value": 2.5}]
    (arrival,) = read_trace(records, [supplier])
    with pytest.raises(ValueError, match="read-only"):
        arrival.value[0] = 1
