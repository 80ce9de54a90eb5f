"""Events come in and go out by UDP, MQTT and shared memory, and what does not is counted and named."""

from __future__ import annotations

import getpass
import ipaddress
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import CepheidError, UsageError
from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.checking import checked
from cepheid.realtime.dispatcher import Dispatcher, SteadyClock
from cepheid.realtime.edges.addresses import EdgeError, address_of
from cepheid.realtime.edges.opening import Feeds, open_feeds, open_sink, open_sinks
from cepheid.realtime.edges.traffic import Intake
from cepheid.realtime.edges.wire import HEAD_BYTES, Format, Head, Rejected
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier
from cepheid.realtime.machine import Delivery, Sample
from cepheid.realtime.payload import NUMBERS, OBJECT, Payload, payload_of
from tests.effort import examples
from tests.spark.brokers import Mqtt, free_port, mosquitto, mqtt_broker, wait_for

MS = 1_000_000
NOW = 1_800_000_000 * 1_000 * MS
PAIR = Payload("float64", 2)
IS_LINUX = sys.platform == "linux"


def graph_of(
    *sources: str,
    target: str | None = None,
    payload: Payload = PAIR,
    operators: tuple[Operator, ...] = (),
) -> Graph:
    """Suppliers s0, s1, ..., and a consumer of the first, or of the last operator."""
    suppliers = tuple(
        Supplier(name=f"s{n}", period=MS, validity=1_000 * MS, payload=payload, source=source)
        for n, source in enumerate(sources)
    )
    read = operators[-1].name if operators else "s0"
    consumer = Consumer(name="c", input=read, priority=1, target=target)
    return Graph(suppliers, operators, (consumer,))


def feeds_of(*sources: str, payload: Payload = PAIR) -> Feeds:
    graph = graph_of(*sources, payload=payload)
    return open_feeds(graph, {each.name: each.payload for each in graph.suppliers})


def all_of(feeds: Feeds, now: int = NOW) -> list[Arrival]:
    """What is there already."""
    found: list[Arrival] = []
    for feed in feeds:
        found += feed.poll(now)
        while (due := feed.due()) is not None and due <= now:
            found += feed.poll(now)
    return found


def sample(value: Any, source: str = "s0", number: int = 1, begin: int = NOW) -> Sample[Any]:
    return Sample(source, number, begin, begin + 10 * MS, begin, value)


def udp_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"udp://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def shm() -> str:
    return f"shm://cepheid-test-{os.getpid()}-{next(_NUMBERS)}"


_NUMBERS = iter(range(10**9))


def exists(shm: str) -> bool:
    try:
        memory = SharedMemory(address_of(shm).name)
    except FileNotFoundError:
        return False
    memory.close()
    return True


# -- the wire format --

PAYLOADS = st.builds(Payload, st.sampled_from(NUMBERS), st.integers(1, 9))
TIMES = st.integers(-(2**63), 2**63 - 1)


def arrays(data: st.DataObject, payload: Payload) -> Any:
    width = np.dtype(payload.dtype).itemsize
    if payload.dtype == "bool":
        bits = st.lists(st.booleans(), min_size=payload.size, max_size=payload.size)
        return np.array(data.draw(bits))
    size = width * payload.size
    return np.frombuffer(data.draw(st.binary(min_size=size, max_size=size)), payload.dtype)


@examples(60)
@given(st.data(), PAYLOADS, st.integers(0, 2**64 - 1), TIMES, TIMES, st.booleans())
def test_an_event_is_the_same_on_the_other_side(
    data: st.DataObject, payload: Payload, number: int, begin: int, end: int, is_late: bool
) -> None:
    format, value = Format(payload), arrays(data, payload)
    message = format.encode(Sample("s", number, begin, end, begin, value), is_late=is_late)
    assert len(message) == format.length
    head, found = format.decode(memoryview(message))
    assert head == Head(number, begin, end, is_late)
    assert found.tobytes() == value.tobytes()
    assert (found.dtype, found.flags.writeable) == (value.dtype, True)


@examples(50)
@given(st.data(), PAYLOADS)
def test_no_message_is_more_than_rejected(data: st.DataObject, payload: Payload) -> None:
    format = Format(payload)
    valid = format.encode(sample(np.zeros(payload.size, payload.dtype)), is_late=False)
    objects = st.dictionaries(
        st.sampled_from(["value", "values", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
            st.lists,
            max_leaves=5,
        ),
    )
    message = data.draw(
        st.binary(max_size=60)
        | st.binary(max_size=60).map(lambda end: valid[:4] + end)
        | st.integers(0, len(valid)).map(lambda end: valid[:end])
        | st.tuples(st.integers(0, len(valid) - 1), st.integers(0, 255)).map(
            lambda at: valid[: at[0]] + bytes([at[1]]) + valid[at[0] + 1 :]
        )
        | objects.map(lambda each: json.dumps(each).encode())
        | st.binary(max_size=20).map(lambda end: b"{" + end)
    )
    with suppress(Rejected):
        _, found = format.decode(message)
        assert (found.shape, found.dtype) == ((payload.size,), np.dtype(payload.dtype))


def other(payload: str) -> bytes:
    carried = payload_of(payload)
    return Format(carried).encode(sample(np.zeros(carried.size, carried.dtype)), is_late=False)


WHOLE = other("float64[2]")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "it is neither an event as bytes nor a JSON object"),
        (b"\xff\xfe", "it is neither an event as bytes nor a JSON object"),
        (WHOLE[:20], "it ends in its head, after 20 bytes"),
        (WHOLE[:8] + b"\2" + WHOLE[9:], "it is of version 2, not 1"),
        (other("float32[2]"), "it carries float32[2], not float64[2]"),
        (other("float64[3]"), "it carries float64[3], not float64[2]"),
        (other("complex128"), "it carries complex128, not float64[2]"),
        (WHOLE[:4] + b"<x9?" + WHOLE[8:], "it carries elements of an unknown type, not float64[2]"),
        (WHOLE[:-1], "it has 55 bytes, not the 56 of float64[2]"),
        (WHOLE + b"x", "it has 57 bytes, not the 56 of float64[2]"),
        (b"{", "it is not JSON: it ends too early at column 2"),
        (b'{"values": [1, 2], "values": [1, 2]}', "it is not JSON: the key 'values' appears twice"),
        (b'{"values": "\xff"}', "it is not JSON: byte 0xff is not UTF-8"),
        (b'{"values": ' + b"[" * 100_000, "it is not JSON: nested deeper"),
        (b'{"value": 1}', "it lacks 'values', or a number of it"),
        (b'{"values": [1, null]}', "it lacks 'values', or a number of it"),
        (b'{"values": [1]}', "it has 1 elements, not the 2 of an event"),
        (b'{"values": [1, "2"]}', "'values': '2' is not a double"),
        (b'{"values": 1}', "'values': 1 is not a double[]"),
    ],
)
def test_what_is_wrong_with_a_message_is_said(message: bytes, reason: str) -> None:
    with pytest.raises(Rejected) as wrong:
        Format(PAIR).decode(message)
    assert str(wrong.value).startswith(reason)


@pytest.mark.parametrize(
    ("payload", "text", "value"),
    [
        (Payload("float64"), '{"value": 1.5}', [1.5]),
        (Payload("float64"), ' {"value": "NaN", "unit": "m", "@type": "Radar"}', [np.nan]),
        (PAIR, '{"values": [1, 2.5]}', [1.0, 2.5]),
        (Payload("uint8", 3), '{"values": [0, 255, 7.0]}', [0, 255, 7]),
        (Payload("bool"), '{"value": true}', [True]),
        (Payload("int64", 2, ("x", "y")), '{"y": 2, "x": 1}', [1, 2]),
    ],
)
def test_json_has_the_attributes_that_statements_know(
    payload: Payload, text: str, value: list[Any]
) -> None:
    head, found = Format(payload).decode(text.encode())
    assert head is None
    np.testing.assert_array_equal(found, np.array(value, payload.dtype))
    assert found.dtype == payload.dtype


@pytest.mark.parametrize(
    ("payload", "text", "reason"),
    [
        (Payload("uint8"), '{"value": 256}', "not all of its numbers are uint8"),
        (Payload("uint8"), '{"value": 1.5}', "'value': 1.5 is not an int"),
        (Payload("int64"), '{"value": 9223372036854775808}', "'value': 9223372036854775808 does"),
        (Payload("float32"), '{"value": 1e300}', "'value': 1e+300 does not fit a float"),
        (Payload("bool"), '{"value": 1}', "'value': 1 is not a boolean"),
        (Payload("int64", 2, ("x", "y")), '{"x": 1}', "it lacks 'y'"),
        (Payload("complex64"), '{"value": 1}', "it is JSON, which has no complex64"),
    ],
)
def test_json_that_does_not_fit_is_rejected(payload: Payload, text: str, reason: str) -> None:
    with pytest.raises(Rejected) as wrong:
        Format(payload).decode(text.encode())
    assert str(wrong.value).startswith(reason)


def test_events_that_are_more_than_numbers_leave_as_files_hold_them() -> None:
    format = Format(Payload(OBJECT, 3, ("name", "speed", "seat")))
    value = np.array(["Cádiz", float("inf"), None], object)
    assert json.loads(format.encode(sample(value, "Crash"), is_late=False)) == {
        "@type": "Crash",
        "@time": "2027-01-15T08:00:00Z",
        "name": "Cádiz",
        "speed": "Infinity",
        "seat": None,
    }


# -- time, and who gets what --


def test_the_time_of_creation_counts_where_it_is_known() -> None:
    intake = Intake({"s": PAIR})

    def time(begin: int, *, is_local: bool) -> int:
        event = sample(np.zeros(2), begin=begin)
        message = Format(PAIR).encode(event, is_late=False)
        (arrival,) = intake.take(message, NOW, is_local=is_local)
        return arrival.time

    assert time(NOW - 5, is_local=True) == NOW - 5
    assert time(NOW + 5, is_local=True) == NOW
    assert time(NOW - 5, is_local=False) == NOW
    (arrival,) = intake.take(b'{"values": [1, 2]}', NOW, is_local=True)
    assert arrival.time == NOW


def test_all_suppliers_of_an_address_are_offered_what_comes() -> None:
    address = udp_address()
    graph = graph_of(address, address)
    payloads = {"s0": PAIR, "s1": Payload("float64", 1, ("x",))}
    with open_feeds(graph, payloads) as feeds, open_sink(address, PAIR) as sink:
        assert len(feeds.feeds) == 1
        sink.send_value([1, 2])
        send(address, b'{"values": [3, 4], "x": 5}')
        found = [(each.supplier, each.value.tolist()) for each in all_of(feeds)]
    assert found == [("s0", [1, 2]), ("s0", [3, 4]), ("s1", [5])]
    assert (feeds.traffic["s1"].received, feeds.traffic["s1"].rejected) == (1, 1)
    assert feeds.traffic["s1"].reason == "it carries float64[2], not float64"


# -- UDP --


def send(address: str, *messages: bytes) -> None:
    place = address_of(address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for message in messages:
            sender.sendto(message, (place.host, place.port))


@pytest.fixture
def listener() -> Iterator[tuple[socket.socket, str]]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        found.settimeout(60)
        yield found, f"udp://127.0.0.1:{found.getsockname()[1]}"


def test_events_come_by_udp() -> None:
    address = udp_address()
    with feeds_of(address) as feeds, open_sink(address, "float64[2]") as sink:
        assert all_of(feeds) == []
        sink.send_value([1, 2], NOW - 5)
        sink.send_value(np.array([3.0, 4.0]), NOW + 5)
        found = [(each.time, each.value.tolist()) for each in all_of(feeds, NOW + MS)]
        assert sink.traffic.sent == 2
    assert found == [(NOW - 5, [1, 2]), (NOW + 5, [3, 4])]
    assert feeds.traffic["s0"].received == 2


def test_an_edge_with_nothing_is_left_alone_for_a_while_and_one_with_more_is_not() -> None:
    address = udp_address()
    with feeds_of(address) as feeds:
        (feed,) = feeds
        send(address, *[b'{"values": [1, 2]}'] * 70)
        assert len(feed.poll(NOW)) == 64
        assert feed.due() == NOW
        assert len(feed.poll(NOW)) == 6
        assert (feed.due() or 0) > NOW
        assert list(feed.poll(NOW)) == []


def test_malformed_datagrams_are_counted_and_named() -> None:
    address = udp_address()
    with feeds_of(address) as feeds:
        send(address, b"", b"nonsense", WHOLE[:-1], b'{"values": [1, 2]}')
        assert [each.value.tolist() for each in all_of(feeds)] == [[1, 2]]
    traffic = feeds.traffic["s0"]
    assert (traffic.received, traffic.rejected, traffic.lost) == (1, 3, 0)
    assert traffic.reason == "it is neither an event as bytes nor a JSON object"


@pytest.mark.skipif(not IS_LINUX, reason="other systems do not count them")
def test_datagrams_that_find_no_room_are_counted() -> None:
    address, count = udp_address(), 20_000
    with feeds_of(address) as feeds:
        send(address, *[b'{"values": [1, 2]}'] * count)
        all_of(feeds)
    traffic = feeds.traffic["s0"]
    assert traffic.lost
    assert traffic.received + traffic.lost == count


@pytest.mark.skipif(not IS_LINUX, reason="other systems do not count them")
def test_datagrams_that_nobody_took_before_the_end_are_counted() -> None:
    address, count = udp_address(), 20_000
    with feeds_of(address) as feeds:
        send(address, *[b'{"values": [1, 2]}'] * count)
        (feed,) = feeds
        assert len(feed.poll(NOW)) == 64
    traffic = feeds.traffic["s0"]
    assert (traffic.received, traffic.lost) == (64, count - 64)
    assert str(traffic) == "64 received, 19,936 lost"


@pytest.mark.skipif(not IS_LINUX, reason="other systems do not tell")
def test_what_nobody_listens_to_is_counted() -> None:
    with open_sink(udp_address(), PAIR) as sink:
        sink.send_value([1, 2])  # is on its way before anybody knows
        sink.send_value([1, 2])
    assert (sink.traffic.sent, sink.traffic.lost) == (1, 1)
    assert sink.traffic.reason == "connection refused"


def test_a_graph_takes_and_gives_events_by_udp(listener: tuple[socket.socket, str]) -> None:
    out, target = listener
    source = udp_address()
    total = {"function": np.sum, "output": "float64"}
    operator = Operator(name="o", kind="python", inputs=("s0",), parameters=total)
    graph = checked(graph_of(source, target=target, operators=(operator,)))
    clock = SteadyClock()
    with (
        open_feeds(graph.graph, graph.payloads) as feeds,
        open_sinks(graph.graph, graph.payloads) as sinks,
        open_sink(source, PAIR) as supplier,
    ):
        begins = [clock() + n for n in range(3)]
        for number, begin in enumerate(begins):
            supplier.send_value([number, number], begin)
        send(source, b"nonsense")

        def deliver(delivery: Delivery[Any]) -> None:
            sinks(delivery)
            if delivery.sample.number == 3:
                dispatcher.stop()

        dispatcher = Dispatcher(graph, [*feeds], clock=clock, deliver=deliver)
        metrics = dispatcher.run(clock() + 60_000 * MS)
        assert (metrics.pushed, metrics.consumers["c"].count) == (3, 3)
        assert (feeds.traffic["s0"].rejected, sinks.traffic["c"].sent) == (1, 3)
        format = Format(graph.payloads["o"])
        found = [format.decode(out.recv(65_536)) for _ in begins]
    assert [value.tolist() for _, value in found] == [[0], [2], [4]]
    for number, (begin, (head, _)) in enumerate(zip(begins, found, strict=True), 1):
        assert head == Head(number, begin, begin + 1_000 * MS, is_late=False)


def test_events_that_come_too_late_are_marked(listener: tuple[socket.socket, str]) -> None:
    out, target = listener
    graph = graph_of("udp://127.0.0.1:9", target=target)
    with open_sinks(graph, {"s0": PAIR}) as sinks:
        late = replace(graph.consumers[0], deadline=MS)
        for consumer in (graph.consumers[0], late):
            sinks(Delivery(consumer, sample(np.zeros(2)), NOW + 2 * MS))
        sinks(Delivery(replace(late, name="who has no address"), sample(np.zeros(2)), NOW))
    heads = [Format(PAIR).decode(out.recv(65_536))[0] for _ in range(2)]
    assert [head and head.is_late for head in heads] == [False, True]
    assert sinks.traffic["c"].sent == 2


def test_only_values_of_the_payload_are_sent(shm: str) -> None:
    with open_sink(shm, "uint8[2]") as sink:
        large, complex_ones = np.array([1, 256]), np.array([1j, 2])
        for value in ([1], [[1, 2]], [1, 256], [1, "x"], None, [1, 2.5], large, complex_ones):
            with pytest.raises(UsageError, match=r"a value that is sent as uint8\[2\]"):
                sink.send_value(value)
        with pytest.raises(UsageError, match="whole nanoseconds"):
            sink.send_value([1, 2], 1_700_000_000.5)  # type: ignore[arg-type]
        assert (sink.traffic.sent, sink.traffic.lost) == (0, 0)


# -- shared memory --


def test_events_come_by_shared_memory(shm: str) -> None:
    with feeds_of(shm) as feeds, open_sink(shm, PAIR) as sink:
        assert all_of(feeds) == []
        for number in range(300):
            sink.send_value([number, -number], NOW - number)
            (arrival,) = all_of(feeds)
            assert (arrival.time, arrival.value.tolist()) == (NOW - number, [number, -number])
    assert (feeds.traffic["s0"].received, sink.traffic.sent) == (300, 300)
    assert not exists(shm)


def test_slots_that_were_overwritten_are_counted(shm: str) -> None:
    with feeds_of(shm) as feeds, open_sink(shm, PAIR) as sink:
        for number in range(1_000):
            sink.send_value([number, 0], NOW)
        found = [int(each.value[0]) for each in all_of(feeds)]
        assert found == list(range(1_000 - 256, 1_000))
        sink.send_value([1_000, 0], NOW)
        assert len(all_of(feeds)) == 1
    assert (feeds.traffic["s0"].received, feeds.traffic["s0"].lost) == (257, 744)


def _push(address: str, count: int) -> None:
    """In another process: events whose elements are all the same."""
    with open_sink(address, Payload("int64", 500)) as sink:
        for number in range(1, count + 1):
            sink.send_value(np.full(500, number))


def test_another_process_pushes_into_shared_memory_and_no_event_is_half_of_two(shm: str) -> None:
    count = 5_000
    with feeds_of(shm, payload=Payload("int64", 500)) as feeds:
        process = get_context("spawn").Process(target=_push, args=(shm, count))
        process.start()
        found: list[Arrival] = []
        while process.is_alive():
            found += all_of(feeds)
        process.join()
        found += all_of(feeds)
    assert process.exitcode == 0
    assert all((each.value == each.value[0]).all() for each in found)
    numbers = [int(each.value[0]) for each in found]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == count
    assert len(found) + feeds.traffic["s0"].lost == count
    assert feeds.traffic["s0"].rejected == 0


def test_memory_has_one_reader_and_one_writer_and_goes_with_the_last(shm: str) -> None:
    with feeds_of(shm), pytest.raises(CepheidError, match="reads") as wrong:
        feeds_of(shm)
    assert wrong.value.diagnostics[0].code == "no-edge"
    with open_sink(shm, PAIR), pytest.raises(CepheidError, match="writes"):
        open_sink(shm, PAIR)
    with feeds_of(shm), pytest.raises(CepheidError, match=r"reads .*, and not as float64\[200\]"):
        open_sink(shm, "float64[200]")
    feeds = feeds_of(shm)
    with open_sink(shm, PAIR) as sink:
        feeds.close()
        assert exists(shm)
        sink.send_value([1, 2])
        with feeds_of(shm) as again:
            assert all_of(again) == []  # it is for those who were there
            sink.send_value([3, 4])
            assert len(all_of(again)) == 1
    assert not exists(shm)


LEAVES = """
import os, sys
from cepheid.realtime.edges.opening import open_sink
open_sink(sys.argv[1], "float64[2]").send_value([1, 2])
os._exit(0)
"""


@pytest.mark.parametrize("size", [2, 200])
def test_memory_that_a_process_left_is_used_again_or_replaced(shm: str, size: int) -> None:
    subprocess.run([sys.executable, "-c", LEAVES, shm], check=True)
    assert exists(shm)
    payload = Payload("float64", size)
    with feeds_of(shm, payload=payload) as feeds, open_sink(shm, payload) as sink:
        sink.send_value(np.arange(size))
        (arrival,) = all_of(feeds)
        assert arrival.value.tolist() == list(range(size))
    assert not exists(shm)


def test_a_writer_that_ended_before_it_counted_its_last_event_loses_none(shm: str) -> None:
    with feeds_of(shm) as feeds:
        with open_sink(shm, PAIR) as sink:
            sink.send_value([1, 2], NOW)
            sink.send_value([3, 4], NOW)
        memory = SharedMemory(address_of(shm).name)
        assert memory.buf is not None
        with memory.buf[:64] as head, head.cast("Q") as words:
            assert words[3] == 2
            words[3] = 1
        memory.close()
        with open_sink(shm, PAIR) as sink:
            sink.send_value([5, 6], NOW)
        assert [each.value.tolist() for each in all_of(feeds)] == [[1, 2], [3, 4], [5, 6]]
    assert feeds.traffic["s0"].lost == 0


def _open_and_close(shm: str, count: int) -> None:
    for _ in range(count):
        open_sink(shm, PAIR).close()


def test_whoever_comes_while_another_goes_finds_the_same_memory(shm: str) -> None:
    process = get_context("spawn").Process(target=_open_and_close, args=(shm, 500))
    process.start()
    try:
        while process.is_alive():
            with feeds_of(shm):
                assert exists(shm)
    finally:
        process.join()
    assert process.exitcode == 0
    assert not exists(shm)


def test_memory_of_something_else_is_left_alone(shm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.realtime.edges.memory._PATIENCE", 0)
    memory = SharedMemory(address_of(shm).name, create=True, size=1_000)
    try:
        with pytest.raises(CepheidError, match="is memory of something else"):
            open_sink(shm, PAIR)
        assert memory.buf is not None
        assert bytes(memory.buf[:1_000]) == bytes(1_000)
    finally:
        memory.close()
        memory.unlink()


def test_an_attribute_without_a_value_has_no_place_in_memory(shm: str) -> None:
    graph = graph_of("udp://127.0.0.1:9", target=shm)
    with open_sinks(graph, {"s0": Payload("int64", 2, ("x", "y"))}) as sinks:
        value = np.array([1, None], object)
        sinks(Delivery(graph.consumers[0], sample(value), NOW))
    assert (sinks.traffic["c"].sent, sinks.traffic["c"].lost) == (0, 1)
    assert "an attribute has no value" in str(sinks.traffic["c"].reason)


# -- MQTT --


@pytest.fixture(scope="module")
def mqtt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mqtt]:
    with mqtt_broker(tmp_path_factory.mktemp("mosquitto")) as broker:
        yield broker


def gathered(feeds: Feeds, is_enough: Callable[[list[Arrival]], bool]) -> list[Arrival]:
    """What comes, until it is enough."""
    found: list[Arrival] = []

    def look() -> bool:
        for feed in feeds:
            found.extend(feed.poll(NOW))
        return is_enough(found)

    wait_for(look, "enough events")
    return found


def test_events_come_and_go_by_mqtt(mqtt: Mqtt) -> None:
    broker = f"mqtt://127.0.0.1:{mqtt.port}"
    sources = f"{broker}/radar", f"{broker}/plant/+/speed"
    with feeds_of(*sources) as feeds, open_sink(f"{broker}/radar", PAIR) as sink:
        assert len(feeds.feeds) == 1
        assert all_of(feeds) == []
        sink.send_value([1, 2], NOW - 5)
        assert [each[:2] for each in gathered(feeds, bool)] == [(NOW, "s0")]
        mqtt.send("plant/7/speed", "nonsense", '{"values": [3, 4]}')
        (found,) = gathered(feeds, bool)
        assert (found.time, found.supplier, found.value.tolist()) == (NOW, "s1", [3, 4])
        assert sink.traffic.sent == 1
    assert [each.received for each in feeds.traffic.values()] == [1, 1]
    assert [each.rejected for each in feeds.traffic.values()] == [0, 1]


def test_what_a_broker_kept_is_no_event_of_now(mqtt: Mqtt) -> None:
    client = mqtt.client()
    client.publish("kept", '{"values": [1, 2]}', qos=1, retain=True).wait_for_publish(60)
    with feeds_of(f"mqtt://127.0.0.1:{mqtt.port}/kept") as feeds:
        mqtt.send("kept", '{"values": [3, 4]}')
        assert [each.value.tolist() for each in gathered(feeds, bool)] == [[3, 4]]
    assert "the broker kept it" in str(feeds.traffic["s0"].reason)


def test_messages_that_nobody_takes_in_time_are_counted(mqtt: Mqtt) -> None:
    address = f"mqtt://127.0.0.1:{mqtt.port}/flood"
    with feeds_of(address) as feeds:
        traffic = feeds.traffic["s0"]
        mqtt.send("flood", *['{"values": [1, 2]}'] * 1_003)
        wait_for(lambda: traffic.lost == 3, "three messages too many")
        assert len(all_of(feeds)) == 1_000


def test_what_a_broker_that_is_gone_does_not_get_is_counted(tmp_path: Path) -> None:
    with mqtt_broker(tmp_path) as mqtt:
        sink = open_sink(f"mqtt://127.0.0.1:{mqtt.port}/radar", PAIR)

    def is_lost() -> bool:
        sink.send_value([1, 2])
        return sink.traffic.lost > 0

    with sink:
        wait_for(is_lost, "an event that is not sent")
        assert str(sink.traffic.reason).endswith("is not connected")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mqtt, Path]]:
    """A broker for one user, over TLS, and the certificate that it is known by."""
    folder = tmp_path_factory.mktemp("guarded")
    certificate, key = write_certificate(folder)
    known, command = folder / "users", [shutil.which("mosquitto_passwd") or mosquitto()]
    subprocess.run([*command, "-c", "-b", str(known), "me", "secret"], check=True)
    files = f"certfile {certificate}", f"keyfile {key}", f"password_file {known}"
    own = f"user {getpass.getuser()}"  # who may read these files
    with mqtt_broker(folder, "allow_anonymous false", own, *files) as broker:
        yield broker, certificate


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """One for this machine, and its key."""
    host = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    own = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder(host, host, key.public_key(), 1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([own]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    files[1].write_bytes(key.private_bytes(*encoding, serialization.NoEncryption()))
    return files


def test_a_broker_that_asks_who_one_is_gets_an_answer(
    guarded: tuple[Mqtt, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, certificate = guarded
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("RADAR_PASSWORD", "secret")
    address = f"mqtts://me:$RADAR_PASSWORD@127.0.0.1:{broker.port}/radar"
    with feeds_of(address) as feeds, open_sink(address, PAIR) as sink:
        sink.send_value([1, 2], NOW)
        assert [each.value.tolist() for each in gathered(feeds, bool)] == [[1, 2]]


@pytest.mark.parametrize(
    ("login", "fact"),
    [
        ("", "refuses: not authorized"),
        ("me:wrong@", "refuses: not authorized"),
        ("me:$NOT_SET@", "names the variable NOT_SET, which is not set"),
    ],
)
def test_a_broker_that_refuses_is_a_finding(
    guarded: tuple[Mqtt, Path], monkeypatch: pytest.MonkeyPatch, login: str, fact: str
) -> None:
    broker, certificate = guarded
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(CepheidError, match=fact):
        open_sink(f"mqtts://{login}127.0.0.1:{broker.port}/radar", PAIR)


def test_a_broker_that_nobody_vouches_for_is_a_finding(guarded: tuple[Mqtt, Path]) -> None:
    with pytest.raises(CepheidError, match=r"does not answer: .*certificate"):
        open_sink(f"mqtts://me:secret@127.0.0.1:{guarded[0].port}/radar", PAIR)


def test_a_broker_that_takes_nothing_any_more_is_not_waited_for(tmp_path: Path) -> None:
    with mqtt_broker(tmp_path) as mqtt:
        sink = open_sink(f"mqtt://127.0.0.1:{mqtt.port}/radar", "float64[4000]")
        os.kill(mqtt.process, signal.SIGSTOP)
        try:
            for number in range(900):
                sink.send_value(np.full(4_000, number))
            ending = Thread(target=sink.close)
            ending.start()
            ending.join(30)
            assert not ending.is_alive()  # the library by itself would wait for a minute
        finally:
            os.kill(mqtt.process, signal.SIGCONT)
    assert sink.traffic.sent + sink.traffic.lost == 900
    assert sink.traffic.lost > 0


def test_a_feed_tells_that_its_broker_was_gone(tmp_path: Path) -> None:
    with ExitStack() as stack:
        mqtt = stack.enter_context(mqtt_broker(tmp_path))
        feeds = stack.enter_context(feeds_of(f"mqtt://127.0.0.1:{mqtt.port}/radar"))
        os.kill(mqtt.process, signal.SIGKILL)

        def is_told() -> bool:
            all_of(feeds)
            return feeds.traffic["s0"].reason == "the connection to the broker was lost"

        wait_for(is_told, "a broker that is gone")


# -- what is wrong with addresses --


@pytest.mark.parametrize(
    ("text", "code", "fact"),
    [
        ("http://x/y", "bad-graph", "begins with mqtt://, mqtts://, udp:// or shm://"),
        ("udp://127.0.0.1", "bad-graph", "is not a host and a port"),
        ("udp://127.0.0.1:9/x", "bad-graph", "is not a host and a port"),
        ("udp://me:secret@h:9", "bad-graph", "only MQTT brokers do"),
        ("mqtt://:secret@h/t", "bad-graph", "'mqtt://h/t' has a password, and no user"),
        ("mqtt://me:secret@h", "bad-graph", "'mqtt://h' lacks a host or a topic"),
        ("mqtt://me:secret@h:x/t", "bad-graph", "this is no address: Port could not be cast"),
        ("mqtt://h/t?qos=1", "bad-graph", "'mqtt://h/t' has options, and an address has none"),
        ("mqtt://h/a/#/b", "bad-graph", "'#' stands alone at the end of a topic"),
        ("mqtt://h/a+/b", "bad-graph", "'+' stands alone between two '/' of a topic"),
        ("mqtt://h/a/+", "bad-graph", "events go to one topic, without '+' and '#'"),
        ("shm://a/b", "bad-graph", "lacks a name"),
        ("udp://no.such.host.invalid:9", "no-edge", "there is no host 'no.such.host.invalid'"),
        (f"shm://{'x' * 300}", "no-edge", "cannot be used: invalid argument"),
    ],
)
def test_an_address_that_cannot_be_used_is_a_finding(text: str, code: str, fact: str) -> None:
    with pytest.raises(CepheidError) as wrong:
        open_sink(text, PAIR)
    (found,) = wrong.value.diagnostics
    assert found.code == code
    assert fact in found.message
    assert "secret" not in found.message


def test_an_edge_where_nothing_answers_is_a_finding(listener: tuple[socket.socket, str]) -> None:
    _, busy = listener
    nowhere = f"mqtt://127.0.0.1:{free_port()}/radar"
    shm = f"shm://cepheid-test-{os.getpid()}-first"
    for address, fact in (
        (busy, "s1: .* cannot be listened to: address already in use"),
        (nowhere, r"s1: the MQTT broker 127.0.0.1:\d+ does not answer: connection refused"),
    ):
        with pytest.raises(CepheidError, match=fact) as wrong:
            feeds_of(shm, address)
        assert wrong.value.diagnostics[0].code == "no-edge"
        assert not exists(shm)  # what was open already is closed


def test_events_that_do_not_fit_their_edge_are_a_finding(shm: str) -> None:
    with pytest.raises(CepheidError, match=r"no datagram has room for float64\[9000\]"):
        open_sink("udp://127.0.0.1:9", "float64[9000]")
    with pytest.raises(CepheidError, match="'float63' is no type of numbers"):
        open_sink(shm, "float63")
    with pytest.raises(CepheidError, match="only numbers have a place in shared memory"):
        open_sink(shm, Payload(OBJECT, 1, ("name",)))


@pytest.mark.parametrize(
    "text",
    ["mqtt://h:1884/a/+/#", "udp://[::1]:9000", "udp://127.0.0.1:9000", "shm://Radar"],
)
def test_an_address_is_written_as_it_is_read(text: str) -> None:
    assert str(address_of(text)) == text


def test_an_address_shows_no_password() -> None:
    address = address_of("mqtts://me:s%40cret@h/t")
    assert (address.user, address.password) == ("me", "s@cret")
    assert "cret" not in f"{address} {address!r}"


def test_an_address_needs_its_parts() -> None:
    assert address_of("mqtt://h/t").port == 1883
    assert address_of("mqtts://h/t").port == 8883
    with pytest.raises(EdgeError, match="lacks a host or a topic"):
        address_of("mqtt://h")


def test_the_head_of_an_event_has_room_for_what_is_documented() -> None:
    assert HEAD_BYTES == 40
