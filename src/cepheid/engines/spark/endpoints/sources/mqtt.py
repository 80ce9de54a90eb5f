"""An MQTT topic as a stream of texts, received by the client library `paho-mqtt`.

Brokers do not replay, but a micro-batch that is run again needs the same messages. So every message
is written to a journal before the broker hears that it arrived; the offset of the stream counts the
messages of the journal, and what Spark has committed is deleted from it. With quality of service 1
and a session that the broker keeps, a message that was not written is sent again.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from cepheid.engines.spark.endpoints.uri import Broker, MqttSource
from cepheid.engines.spark.session.libraries import require_library
from cepheid.engines.spark.session.tasks import text_of
from cepheid.errors import InputError, error, reason_of

if TYPE_CHECKING:
    import pyarrow as pa
    from paho.mqtt.client import Client, MQTTMessage
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

PATIENCE = 10.0  # seconds for a broker to answer
_SEGMENT = 10_000  # messages in one file of the journal
_SCHEMA = "value string, topic string, timestamp timestamp"


def read_mqtt(spark: SparkSession, source: MqttSource, journal: str | Path) -> DataFrame:
    """The messages: `value`, `topic`, `timestamp` of arrival. The journal is a folder of its own."""
    require_library("paho", "mqtt")
    spark.dataSource.register(MqttDataSource)
    options = {
        **broker_options(source.broker),
        "topic": source.topic,
        "qos": str(source.qos),
        "clientId": source.client_id or _client_id(journal),
        "journal": os.path.abspath(journal),
    }
    if source.max_messages is not None:
        options["maxMessagesPerTrigger"] = str(source.max_messages)
    return spark.readStream.format(MqttDataSource.name()).options(**options).load()


def broker_options(broker: Broker) -> dict[str, str]:
    options = {"host": broker.host, "port": str(broker.port), "tls": str(broker.is_secure).lower()}
    named = {"user": broker.user, "password": broker.password}
    return options | {name: value for name, value in named.items() if value is not None}


def broker_of(options: MutableMapping[str, str]) -> Broker:
    return Broker(
        options["host"],
        int(options["port"]),
        options.get("user"),
        options.get("password"),
        options.get("tls") == "true",
    )


def _client_id(journal: str | Path) -> str:
    """The same after a restart: the broker keeps a session for it."""
    return "cepheid-" + hashlib.sha256(os.path.abspath(journal).encode()).hexdigest()[:12]


def connect(client: Client, broker: Broker) -> None:
    """Connects or says why not; from then on the library's thread keeps the connection."""
    answered = threading.Event()
    refusals: list[str] = []

    def on_connect(_c: Any, _u: Any, _f: Any, reason: Any, _p: Any) -> None:
        if reason.is_failure:
            refusals.append(str(reason).lower())
        answered.set()

    before, client.on_connect = client.on_connect, on_connect
    if broker.user is not None:
        client.username_pw_set(broker.user, broker.password)
    if broker.is_secure:
        client.tls_set()
    name = f"MQTT broker {broker.host}:{broker.port}"
    try:
        client.connect(broker.host, broker.port)
    except OSError as problem:
        fact = f"{name} does not answer: {reason_of(problem)}"
        raise InputError(error("bad-stream", fact)) from None
    client.loop_start()
    if not answered.wait(PATIENCE) or refusals:
        client.loop_stop()
        fact = f"{name} refuses: {refusals[0]}" if refusals else f"{name} does not answer"
        raise InputError(error("bad-stream", fact))
    client.on_connect = before


class MqttDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "cepheid-mqtt"

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: StructType) -> MqttReader:  # noqa: N802
        return MqttReader(self.options)


@dataclass
class Messages(InputPartition):
    """Lines of the journal, taken along so that workers need no access to it."""

    lines: list[bytes]


class MqttReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Connects with the first question for an offset: Spark also makes readers to read only."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._options = options
        limit = options.get("maxMessagesPerTrigger")
        self._limit = None if limit is None else int(limit)
        self._journal: Journal | None = None
        self._client: Client | None = None
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"sequence": self._opened().first}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        begin = start["sequence"]
        journal = self._opened()
        journal.expect(begin)
        end = journal.sync() if self._target is None else self._target
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        return {"sequence": max(begin, end)}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable() if self._limit is None else ReadMaxRows(self._limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._opened().sync()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        journal = self._opened()
        journal.expect(start["sequence"])
        lines = journal.lines(start["sequence"], end["sequence"])
        return [Messages(lines)] if lines else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        assert isinstance(partition, Messages)
        rows = [json.loads(line) for line in partition.lines]
        yield pa.RecordBatch.from_pydict(
            {
                "value": pa.array([row["value"] for row in rows], pa.string()),
                "topic": pa.array([row["topic"] for row in rows], pa.string()),
                "timestamp": pa.array([row["time"] for row in rows], pa.timestamp("us", "UTC")),
            }
        )

    def commit(self, end: dict[str, int]) -> None:
        self._opened().forget(end["sequence"])

    def stop(self) -> None:
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
        if self._journal is not None:
            self._journal.close()

    def _opened(self) -> Journal:
        """The journal, to which messages are written from now on."""
        if self._journal is None:
            self._journal = Journal(Path(self._options["journal"]))
            self._client = self._subscribed(self._journal)
        return self._journal

    def _subscribed(self, journal: Journal) -> Client:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        qos = int(self._options["qos"])
        name = self._options["clientId"]
        client = Client(CallbackAPIVersion.VERSION2, name, clean_session=qos == 0)
        topic = self._options["topic"]
        subscribed = threading.Event()

        def on_message(_client: Client, _data: Any, message: MQTTMessage) -> None:
            journal.append(
                message.topic, bytes(message.payload)
            )  # before the library acknowledges it

        def on_connect(client: Client, *_rest: Any) -> None:
            client.subscribe(topic, qos)  # after a lost connection too

        client.on_message = on_message
        client.on_connect = on_connect
        client.on_subscribe = lambda *_: subscribed.set()
        connect(client, broker_of(self._options))
        client.subscribe(topic, qos)
        if not subscribed.wait(PATIENCE):
            raise InputError(error("bad-stream", f"no subscription to topic '{topic}'"))
        return client


class Journal:
    """Numbered messages in files, each named after the number of its first message.

    Written by the thread that receives, read by the one that Spark asks. The last file is written
    to and always there, so that the number of the next message survives a restart.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        starts = self._starts()
        last = starts[-1] if starts else 0
        self._counts = {start: self._count(start) for start in starts}
        self._counts.setdefault(last, 0)
        self._stream = self._open(last)

    @property
    def first(self) -> int:
        return min(self._counts)

    @property
    def next(self) -> int:
        last = max(self._counts)
        return last + self._counts[last]

    def append(self, topic: str, payload: bytes) -> None:
        """On return the message is with the system, so that it outlives this process."""
        now = time.time_ns() // 1_000
        row = {"value": text_of(payload), "topic": topic, "time": now}
        line = json.dumps(row).encode() + b"\n"
        with self._lock:
            last = max(self._counts)
            if self._counts[last] >= _SEGMENT:
                last = self._turn()
            self._stream.write(line)
            self._stream.flush()
            self._counts[last] += 1

    def sync(self) -> int:
        """The number of the next message; all before it are on the disk."""
        with self._lock:
            os.fsync(self._stream.fileno())
            return self.next

    def expect(self, start: int) -> None:
        """Refuses to go on where messages are missing."""
        with self._lock:
            if not self.first <= start <= self.next:
                fact = (
                    f"the journal '{self._folder}' has messages {self.first} to {self.next},"
                    f" not {start}, where this stream goes on"
                )
                hint = "checkpoint and journal belong together; start with a new checkpoint"
                raise InputError(error("bad-state", fact, hint=hint))

    def lines(self, start: int, end: int) -> list[bytes]:
        found: list[bytes] = []
        with self._lock:
            for first, count in sorted(self._counts.items()):
                begin, stop = max(start, first), min(end, first + count)
                if begin < stop:
                    lines = self._path(first).read_bytes().splitlines(keepends=True)
                    found += lines[begin - first : stop - first]
        return found

    def forget(self, end: int) -> None:
        """Deletes the files whose messages all lie before the end."""
        with self._lock:
            last = max(self._counts)
            if self._counts[last] and end >= last + self._counts[last]:
                last = self._turn()
            for first, count in list(self._counts.items()):
                if first != last and first + count <= end:
                    self._path(first).unlink(missing_ok=True)
                    del self._counts[first]

    def close(self) -> None:
        with self._lock:
            self._stream.close()

    def _turn(self) -> int:
        """Starts the next file."""
        start = self.next
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._stream = self._open(start)
        self._counts[start] = 0
        return start

    def _path(self, start: int) -> Path:
        return self._folder / f"{start:020}.jsonl"

    def _open(self, start: int) -> BinaryIO:
        return self._path(start).open("ab")

    def _starts(self) -> list[int]:
        return sorted(int(path.stem) for path in self._folder.glob("*.jsonl"))

    def _count(self, start: int) -> int:
        """The whole lines of a file; half a line, of a message never acknowledged, is cut off."""
        path = self._path(start)
        text = path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            os.truncate(path, whole)
        return text.count(b"\n")
