"""The edges of a graph: feeds for suppliers whose events come from elsewhere, sinks for consumers whose
events go elsewhere, and what passed through them.

    with open_feeds(graph, payloads) as feeds, open_sinks(graph, payloads) as sinks:
        Dispatcher(checked, [*feeds], deliver=sinks).run()

Another process pushes events, as a supplier does, by a sink of its own:

    with open_sink("shm://radar", "float64[16]") as sink:
        sink.send_value(measured)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace

from cepheid.errors import InputError, RunError, error
from cepheid.realtime.edges.addresses import Address, EdgeError, address_of
from cepheid.realtime.edges.memory import MemoryFeed, MemorySink
from cepheid.realtime.edges.mqtt import MqttFeed, MqttSink
from cepheid.realtime.edges.traffic import Intake, Sink, Traffic
from cepheid.realtime.edges.udp import MOST_BYTES, UdpFeed, UdpSink
from cepheid.realtime.edges.wire import Format
from cepheid.realtime.feeds import Feed
from cepheid.realtime.graph import Graph
from cepheid.realtime.machine import Delivery
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.payload import Payload, payload_of

_SINKS: dict[str, type[UdpSink | MqttSink | MemorySink]] = {
    "udp": UdpSink,
    "mqtt": MqttSink,
    "mqtts": MqttSink,
    "shm": MemorySink,
}


@dataclass(frozen=True, slots=True)
class Feeds:
    """One for each port, broker or piece of memory."""

    feeds: tuple[Feed, ...]
    traffic: Mapping[str, Traffic]  # by supplier
    _open: ExitStack

    def __iter__(self) -> Iterator[Feed]:
        return iter(self.feeds)

    def __enter__(self) -> Feeds:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._open.close()


@dataclass(frozen=True, slots=True)
class Sinks:
    """Takes all deliveries, and sends those of consumers that have an address."""

    sinks: Mapping[str, Sink]  # by consumer
    _open: ExitStack

    @property
    def traffic(self) -> dict[str, Traffic]:
        return {name: sink.traffic for name, sink in self.sinks.items()}

    def __call__(self, delivery: Delivery[Array]) -> None:
        sink = self.sinks.get(delivery.consumer.name)
        if sink is not None:
            sink.send(delivery)

    def __enter__(self) -> Sinks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._open.close()


def open_feeds(graph: Graph, payloads: Mapping[str, Payload]) -> Feeds:
    """InputError where an address makes no sense, RunError where nothing answers."""
    wanted: dict[Address, dict[str, Payload]] = {}
    for each in graph.suppliers:
        if each.source is not None:
            payload = payloads[each.name]
            address = _address(f"{each.name}: ", each.source, payload)
            wanted.setdefault(address, {})[each.name] = payload
    intakes = {address: Intake(suppliers) for address, suppliers in wanted.items()}
    traffic = {name: each for intake in intakes.values() for name, each in intake.traffic.items()}
    with ExitStack() as opened:
        feeds: list[Feed] = []
        for addresses in _together(intakes):
            names = ", ".join(name for each in addresses for name in wanted[each])
            with _answering(f"{names}: "):
                feed = _feed(addresses, intakes)
            opened.enter_context(closing(feed))
            feeds.append(feed)
        return Feeds(tuple(feeds), traffic, opened.pop_all())


def _together(addresses: Mapping[Address, Intake]) -> list[list[Address]]:
    """Topics of one broker share a connection; everything else is on its own."""
    found: dict[Address, list[Address]] = {}
    for each in addresses:
        place = replace(each, name="") if each.is_of_broker else each
        found.setdefault(place, []).append(each)
    return list(found.values())


def _feed(
    addresses: list[Address], intakes: Mapping[Address, Intake]
) -> UdpFeed | MqttFeed | MemoryFeed:
    first = addresses[0]
    if first.is_of_broker:
        return MqttFeed(first, {each.name: intakes[each] for each in addresses})
    if first.scheme == "udp":
        return UdpFeed(first, intakes[first])
    return MemoryFeed(first, intakes[first])


def open_sinks(graph: Graph, payloads: Mapping[str, Payload]) -> Sinks:
    """InputError where an address makes no sense, RunError where nothing answers."""
    with ExitStack() as opened:
        sinks = {
            each.name: opened.enter_context(
                _sink(f"{each.name}: ", each.target, payloads[each.input])
            )
            for each in graph.consumers
            if each.target is not None
        }
        return Sinks(sinks, opened.pop_all())


def open_sink(address: str, payload: Payload | str) -> Sink:
    """For a process that pushes events to a graph elsewhere."""
    try:
        carried = payload_of(payload) if isinstance(payload, str) else payload
    except ValueError as wrong:
        raise InputError(error("bad-graph", str(wrong))) from None
    return _sink("", address, carried)


def _sink(whose: str, text: str, payload: Payload) -> Sink:
    address = _address(whose, text, payload)
    if address.is_of_broker and set("+#") & set(address.name):
        fact = f"{whose}events go to one topic, without '+' and '#'"
        raise InputError(error("bad-graph", fact))
    with _answering(whose):
        return _SINKS[address.scheme](address, payload)


def _address(whose: str, text: str, payload: Payload) -> Address:
    """One where there is room for a payload."""
    try:
        address = address_of(text)
    except EdgeError as wrong:
        raise InputError(error("bad-graph", f"{whose}{wrong}")) from None
    if address.scheme == "shm" and not payload.is_number:
        fact = f"{whose}only numbers have a place in shared memory"
        raise InputError(error("bad-graph", fact, hint="send them by MQTT or UDP, as JSON"))
    if address.scheme == "udp" and Format(payload).length > MOST_BYTES:
        fact = f"{whose}no datagram has room for {payload}"
        raise InputError(error("bad-graph", fact, hint="send it by MQTT or shared memory"))
    return address


@contextmanager
def _answering(whose: str) -> Iterator[None]:
    try:
        yield
    except EdgeError as wrong:
        raise RunError(error("no-edge", f"{whose}{wrong}")) from None
