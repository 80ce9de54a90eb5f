"""Rows as messages of a Kafka topic, at least once.

A task that fails or is run again sends its rows again; the header `cepheid-id` of a message is the
same then, so that a consumer can leave out what it has.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from cepheid.engines.spark.endpoints.sinks.delivery import Line, lines_in
from cepheid.engines.spark.endpoints.sources.kafka import QUIET
from cepheid.engines.spark.session.tasks import current_task
from cepheid.errors import RunError, error

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Producer
    from pyspark.sql.types import StructType

ID_HEADER = "cepheid-id"
PATIENCE = 30.0  # seconds for the brokers to take a message


class KafkaDataSink(DataSource):
    """Options: `bootstrap.servers`, `topic`, and any of the client library as `kafka.NAME`."""

    @classmethod
    def name(cls) -> str:
        return "cepheid-kafka-sink"

    def streamWriter(self, schema: StructType, overwrite: bool) -> KafkaWriter:  # noqa: N802
        return KafkaWriter(self.options)


class KafkaWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._topic = options["topic"]
        self._settings = {
            "bootstrap.servers": options["bootstrap.servers"],
            "enable.idempotence": True,  # the library's own retries double and reorder nothing
            "message.timeout.ms": int(PATIENCE * 1_000),
            "log_level": QUIET,
            **{k.removeprefix("kafka."): v for k, v in options.items() if k.startswith("kafka.")},
        }

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        from confluent_kafka import Producer

        producer = Producer(self._settings)
        failures: list[str] = []

        def on_delivery(failure: Any, _message: Any) -> None:
            if failure is not None:
                failures.append(failure.str())

        for line in lines_in(iterator, current_task()):
            self._produce(producer, line, on_delivery)
        waiting = producer.flush(PATIENCE + 1)
        if waiting or failures:
            reason = failures[0] if failures else "no answer"
            fact = f"topic '{self._topic}' does not take rows: {reason}"
            raise RunError(error("bad-stream", fact))
        return WriterCommitMessage()

    def _produce(self, producer: Producer, line: Line, on_delivery: Any) -> None:
        while True:
            try:
                producer.produce(
                    self._topic,
                    line.value.encode(),
                    line.key,
                    headers={ID_HEADER: line.id},
                    on_delivery=on_delivery,
                )
            except BufferError:  # the library's queue is full: wait until some are delivered
                producer.poll(1.0)
            else:
                producer.poll(0)
                return
