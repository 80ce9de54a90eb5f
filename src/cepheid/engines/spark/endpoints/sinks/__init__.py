"""Sinks of streams: files, the console, Kafka, MQTT and web hooks."""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from cepheid.core.event import Event
from cepheid.engines.spark.codec.rows import decode_rows
from cepheid.engines.spark.codec.text import PROBLEM, REJECT, write_lines
from cepheid.engines.spark.endpoints.uri import (
    ConsoleSink,
    FileSink,
    KafkaSink,
    MqttSink,
    Sink,
    WebHook,
)
from cepheid.engines.spark.session.failures import failure_of
from cepheid.engines.spark.session.libraries import require_library, require_stream_support
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Show = Callable[[list[Event]], None]


def open_sink(
    frame: DataFrame, program: ResolvedProgram, sink: Sink, output: str | None, show: Show
) -> DataStreamWriter:
    """A writer of what a program gives, for `.start()`; `show` prints the rows of a console."""
    if isinstance(sink, ConsoleSink):

        def show_batch(batch: DataFrame, _batch_id: int) -> None:
            try:
                rows = batch.toArrow()
            except Exception as problem:
                # Spark searches Java's long text for a reason, deeper than its stack.
                raise failure_of(problem) from None
            show(sorted(decode_rows(rows, program, output), key=attrgetter("instant")))

        return frame.writeStream.foreachBatch(show_batch)
    format, options = _described(sink)
    frame.sparkSession.dataSource.register(format)
    is_text = not (isinstance(sink, FileSink) and sink.format == "parquet")
    key = sink.key if isinstance(sink, KafkaSink) else None
    rows = write_lines(frame, program, output, key) if is_text else frame
    return rows.writeStream.format(format.name()).options(**options)


def _described(
    sink: FileSink | KafkaSink | MqttSink | WebHook,
) -> tuple[type[DataSource], dict[str, Any]]:
    require_stream_support()
    from cepheid.engines.spark.endpoints.sinks.files import FileDataSink
    from cepheid.engines.spark.endpoints.sinks.kafka import KafkaDataSink
    from cepheid.engines.spark.endpoints.sinks.mqtt import MqttDataSink
    from cepheid.engines.spark.endpoints.sinks.webhook import WebHookSink
    from cepheid.engines.spark.endpoints.sources.mqtt import broker_options

    match sink:
        case FileSink(folder, format):
            return FileDataSink, {"folder": os.path.abspath(folder), "format": format}
        case KafkaSink(servers, topic, _, settings):
            require_library("confluent_kafka", "kafka")
            named = {f"kafka.{name}": value for name, value in settings}
            return KafkaDataSink, {"bootstrap.servers": servers, "topic": topic, **named}
        case MqttSink(broker, topic, qos):
            require_library("paho", "mqtt")
            return MqttDataSink, {**broker_options(broker), "topic": topic, "qos": str(qos)}
        case WebHook(url):
            return WebHookSink, {"url": url}


def keep_rejects(events: DataFrame, folder: str) -> DataStreamWriter:
    """A writer of the texts that are no events, as JSON Lines with `@reject` and `@problem`."""
    from pyspark.sql.functions import col, struct, to_json

    from cepheid.engines.spark.endpoints.sinks.files import FileDataSink

    require_stream_support()
    events.sparkSession.dataSource.register(FileDataSink)
    names = [col(f"`{name}`") for name in (REJECT, PROBLEM)]
    lines = events.where(names[0].isNotNull()).select(to_json(struct(*names)).alias("value"))
    options = {"folder": os.path.abspath(folder), "format": "jsonl"}
    return lines.writeStream.format(FileDataSink.name()).options(**options)
