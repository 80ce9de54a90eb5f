"""Real endpoints on this machine: a Kafka cluster, an MQTT broker, a web server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 120.0  # seconds
IDLE = 0.02  # of the time that goes by: a Java that only waits computes less
PARTITIONS = 4


def wait_for(is_true: Callable[[], bool], what: str, process: int | None = None) -> None:
    """Polls a condition; fails with what it was when no one works on it any more.

    As long as a process, by default this one, or one that it has started gets anywhere, there is hope,
    however slow the machine is.
    """
    root = os.getpid() if process is None else process
    deadline, used = time.monotonic() + PATIENCE, cpu_seconds(root)
    while not is_true():
        if time.monotonic() > deadline:
            before, used = used, cpu_seconds(root)
            assert used - before > IDLE * PATIENCE, f"never: {what}"
            deadline = time.monotonic() + PATIENCE
        threading.Event().wait(0.02)


def cpu_seconds(root: int) -> float:
    """The time that a process and all those below it have computed so far."""
    command = ["ps", "-A", "-o", "pid=,ppid=,time="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    used = {int(pid): _seconds(time) for pid, _, time in rows}
    below: dict[int, list[int]] = {}
    for pid, parent, _ in rows:
        below.setdefault(int(parent), []).append(int(pid))
    total, waiting = 0.0, [root]
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0.0)
        waiting += below.get(process, [])
    return total


def _seconds(time: str) -> float:
    """Of a time that `ps` writes: [days-]hours:minutes:seconds."""
    days, _, clock = time.rpartition("-")
    total = float(days or 0) * 24
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total


# Kafka ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kafka:
    """The client library's mock cluster, which lives as long as the client that made it.

    A topic is there with its first message, and has `PARTITIONS` partitions.
    """

    client: Any
    servers: str

    def send(self, topic: str, *values: str | bytes | None, partition: int = 0) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers})
        for value in values:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(PATIENCE) == 0

    def messages(self, topic: str, count: int) -> list[Any]:
        from confluent_kafka import Consumer, TopicPartition

        settings = {"bootstrap.servers": self.servers, "group.id": "test"}
        consumer = Consumer(settings)
        consumer.assign([TopicPartition(topic, n, 0) for n in range(PARTITIONS)])
        found: list[Any] = []
        deadline = time.monotonic() + PATIENCE
        while len(found) < count and time.monotonic() < deadline:
            found += [m for m in consumer.consume(100, timeout=0.2) if m.error() is None]
        consumer.close()
        return found


@contextmanager
def kafka_cluster() -> Iterator[Kafka]:
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"test.mock.num.brokers": "1", "log_level": "0"})
    brokers = client.list_topics(timeout=PATIENCE).brokers.values()
    yield Kafka(client, ",".join(f"{broker.host}:{broker.port}" for broker in brokers))


# MQTT -----------------------------------------------------------------------------------------


def mosquitto() -> str:
    """The broker's program; outside of continuous integration its tests can be left out."""
    found = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found is None and "CI" not in os.environ:
        pytest.skip("mosquitto is not installed: scripts/system-packages.sh")
    assert found is not None, "mosquitto is not installed"
    return found


@dataclass(slots=True)
class Mqtt:
    """A broker that keeps its sessions in memory while it runs."""

    port: int
    process: int
    clients: list[Any] = field(default_factory=list)

    def client(self) -> Any:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        client = Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        self.clients.append(client)
        return client

    def send(self, topic: str, *values: str | bytes) -> None:
        client = self.client()
        for value in values:
            client.publish(topic, value, qos=1).wait_for_publish(PATIENCE)

    def listen(self, topic: str) -> list[tuple[str, str]]:
        """Messages appear in the list while they arrive."""
        found: list[tuple[str, str]] = []
        subscribed = threading.Event()
        client = self.client()
        client.on_message = lambda _c, _d, m: found.append((m.topic, m.payload.decode()))
        client.on_subscribe = lambda *_: subscribed.set()
        client.subscribe(topic, qos=1)
        assert subscribed.wait(PATIENCE)
        return found

    def close(self) -> None:
        for client in self.clients:
            client.disconnect()
            client.loop_stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def mqtt_broker(folder: Path, *settings_lines: str) -> Iterator[Mqtt]:
    """For everyone, or as its settings say."""
    port = free_port()
    settings = folder / "mosquitto.conf"
    lines = settings_lines or ("allow_anonymous true",)
    settings.write_text("\n".join((f"listener {port} 127.0.0.1", *lines, "")))
    with subprocess.Popen([mosquitto(), "-c", str(settings)], stderr=subprocess.DEVNULL) as broker:
        try:
            wait_for(lambda: _answers(port), "mosquitto answers")
            mqtt = Mqtt(port, broker.pid)
            yield mqtt
            mqtt.close()
        finally:
            broker.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# Web ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Hook:
    """A web server that notes what is posted and answers as it is told, then with 200."""

    url: str
    answers: list[int] = field(default_factory=list)
    posts: list[tuple[str, str]] = field(default_factory=list)  # key, body


@contextmanager
def web_hook() -> Iterator[Hook]:
    hook = Hook("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            hook.posts.append((self.headers["Idempotency-Key"], body))
            self.send_response(hook.answers.pop(0) if hook.answers else 200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
