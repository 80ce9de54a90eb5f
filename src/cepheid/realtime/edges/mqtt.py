"""Events as messages of an MQTT broker, with quality of service 0: what is late is worth nothing.

The client library talks to a broker in a thread of its own, to which events go and from which they come
through queues of bounded length. It connects again by itself.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeAlias

from cepheid.errors import UsageError, error, reason_of
from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.edges.addresses import Address, EdgeError
from cepheid.realtime.edges.traffic import LOOK, MOST, Intake, Sink
from cepheid.realtime.graph import Time
from cepheid.realtime.machine import Sample
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.payload import Payload
from cepheid.realtime.secrets import secret

if TYPE_CHECKING:
    from paho.mqtt.client import MQTTMessage

_PATIENCE = 10.0  # seconds for a broker to answer
_LAST = 1.0  # seconds for it to take what waits at the end
_WAITING = 1_000  # messages that wait to be taken, or to be sent

Take: TypeAlias = Callable[[Any, Any, "MQTTMessage"], None]  # as the library calls it


class Broker:
    """A connection to a broker, for some topics in and for any out."""

    def __init__(self, address: Address, takes: Mapping[str, Take] | None = None) -> None:
        """That of an address, whatever its topic."""
        if find_spec("paho") is None:
            hint = "`pip install 'cepheid[mqtt]'`"
            raise UsageError(error("usage", "the library for mqtt is not installed", hint=hint))
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        self._name = f"the MQTT broker {address.host}:{address.port}"
        self._topics = [(topic, 0) for topic in takes or {}]
        self._answered = Event()
        self._refusal: str | None = None
        self._given = 0  # messages for the library
        self._done = 0  # those that it has sent, or given up with their connection
        self.given_up = 0  # these
        self.breaks = 0  # how often the connection was lost
        self._is_closed = False
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._client.on_socket_open = _without_delay
        self._client.on_connect = self._connected
        self._client.on_subscribe = self._subscribed
        self._client.on_publish = self._published
        self._client.on_disconnect = self._disconnected
        for topic, take in (takes or {}).items():
            self._client.message_callback_add(topic, take)
        self._log_in(address)
        try:
            self._client.connect(address.host, address.port)
        except OSError as problem:
            raise EdgeError(f"{self._name} does not answer: {reason_of(problem)}") from None
        self._client.loop_start()
        if not self._answered.wait(_PATIENCE):
            self._refusal = "does not answer"
        if self._refusal is not None:
            self.close()
            raise EdgeError(f"{self._name} {self._refusal}")

    def _log_in(self, address: Address) -> None:
        if address.is_secure:
            self._client.tls_set()
        if address.user is None:
            return
        try:
            user = secret(address.user)
            password = None if address.password is None else secret(address.password)
        except ValueError as wrong:
            raise EdgeError(f"who is to log in at {self._name} {wrong}") from None
        self._client.username_pw_set(user, password)

    def publish(self, topic: str, message: bytes) -> str | None:
        """Why it is not sent; None where it will be, unless the connection ends."""
        if self._given - self._done >= _WAITING:
            return f"{_WAITING} messages wait for {self._name} already"
        if self._client.publish(topic, message, qos=0).rc:
            return f"{self._name} is not connected"
        self._given += 1
        return None

    def close(self) -> None:
        """The library would wait for a broker that takes nothing any more: not for long, here."""
        self._is_closed = True
        self._client.disconnect()
        ending = Thread(target=self._client.loop_stop, daemon=True)
        ending.start()
        ending.join(_LAST)
        self._give_up()

    # -- in the library's thread --

    def _connected(self, client: Any, _data: Any, _flags: Any, reason: Any, _rest: Any) -> None:
        if reason.is_failure:
            self._refusal = f"refuses: {str(reason).lower()}"
        elif self._topics:
            client.subscribe(self._topics)  # after a lost connection, too
            return
        self._answered.set()

    def _subscribed(self, _c: Any, _data: Any, _mid: Any, reasons: Any, _rest: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._refusal = "refuses a topic"
        self._answered.set()

    def _published(self, *_: Any) -> None:
        self._done += 1

    def _disconnected(self, *_: Any) -> None:
        self.breaks += not self._is_closed
        self._give_up()

    def _give_up(self) -> None:
        self.given_up += self._given - self._done
        self._done = self._given


def _without_delay(_client: Any, _data: Any, connection: Any) -> None:
    """A small message does not wait until the one before is confirmed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class MqttFeed:
    """The topics of a broker that suppliers get events from."""

    def __init__(self, address: Address, intakes: Mapping[str, Intake]) -> None:
        self._waiting: deque[tuple[Intake, MQTTMessage]] = deque()
        self._due: Time = 0
        self._intakes = [*intakes.values()]
        self._told = 0
        takes = {topic: partial(self._take, intake) for topic, intake in intakes.items()}
        self._broker = Broker(address, takes)

    def due(self) -> Time | None:
        return 0 if self._waiting else self._due

    def poll(self, now: Time) -> Sequence[Arrival]:
        found: list[Arrival] = []
        self._due = now + LOOK
        if self._broker.breaks > self._told:
            self._told = self._broker.breaks
            for each in self._intakes:
                each.tell("the connection to the broker was lost")
        for _ in range(min(MOST, len(self._waiting))):
            intake, message = self._waiting.popleft()
            if message.retain:
                intake.reject("the broker kept it, and nobody knows since when it is valid")
            else:
                found += intake.take(bytes(message.payload), now)
        return found

    def close(self) -> None:
        self._broker.close()

    def _take(self, intake: Intake, _client: Any, _data: Any, message: MQTTMessage) -> None:
        """In the library's thread: where too many wait, the oldest is of the least use."""
        if len(self._waiting) >= _WAITING:
            self._waiting.popleft()[0].lose(1)
        self._waiting.append((intake, message))


class MqttSink(Sink):
    def __init__(self, address: Address, payload: Payload) -> None:
        super().__init__(payload)
        self._broker = Broker(address)
        self._given_up = 0  # that are counted already
        self._topic = address.name

    def _send(self, sample: Sample[Array], *, is_late: bool) -> str | None:
        self._count_given_up()
        return self._broker.publish(self._topic, self._format.encode(sample, is_late=is_late))

    def _count_given_up(self) -> None:
        """What the library took and could not send after all; its thread counts on meanwhile."""
        count = self._broker.given_up - self._given_up
        self._given_up += count
        self.traffic.sent -= count
        for _ in range(count):
            self.traffic.lose("the connection to the broker was lost")

    def close(self) -> None:
        self._broker.close()
        self._count_given_up()
