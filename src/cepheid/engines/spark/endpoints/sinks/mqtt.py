"""Rows as messages of an MQTT topic.

With quality of service 1 or 2 a micro-batch ends when the broker has confirmed all of them: at least
once, since a task that is run again sends them again. With 0 nobody confirms: at most once each time.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from cepheid.engines.spark.endpoints.sinks.delivery import lines_in
from cepheid.engines.spark.endpoints.sources.mqtt import broker_of, connect
from cepheid.engines.spark.session.tasks import current_task
from cepheid.errors import RunError, error

if TYPE_CHECKING:
    import pyarrow as pa
    from paho.mqtt.client import MQTTMessageInfo
    from pyspark.sql.types import StructType

PATIENCE = 30.0  # seconds for the broker to confirm
_UNCONFIRMED = 1_000  # messages on their way


class MqttDataSink(DataSource):
    """Options: those of the broker, `topic` and `qos`."""

    @classmethod
    def name(cls) -> str:
        return "cepheid-mqtt-sink"

    def streamWriter(self, schema: StructType, overwrite: bool) -> MqttWriter:  # noqa: N802
        return MqttWriter(self.options)


class MqttWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._broker = broker_of(options)
        self._topic = options["topic"]
        self._qos = int(options["qos"])

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        lines = lines_in(iterator, current_task())
        first = next(lines, None)
        if first is None:
            return WriterCommitMessage()
        client = Client(CallbackAPIVersion.VERSION2)
        connect(client, self._broker)
        try:
            sent = [client.publish(self._topic, first.value, self._qos)]
            for line in lines:
                sent.append(client.publish(self._topic, line.value, self._qos))
                if len(sent) >= _UNCONFIRMED:
                    self._await(sent)
                    sent.clear()
            self._await(sent)
        finally:
            client.disconnect()
            client.loop_stop()
        return WriterCommitMessage()

    def _await(self, sent: list[MQTTMessageInfo]) -> None:
        for message in sent:
            message.wait_for_publish(PATIENCE)
            if not message.is_published():
                fact = f"the MQTT broker does not confirm rows of topic '{self._topic}'"
                raise RunError(error("bad-stream", fact))
