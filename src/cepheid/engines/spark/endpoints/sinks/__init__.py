"""Sinks of streams: files, the console, Kafka, MQTT and web hooks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepheid.core.event import Event
from cepheid.engines.spark.codec.rows import decode_rows
from cepheid.engines.spark.codec.text import write_lines
from cepheid.engines.spark.endpoints.checks import check_sink
from cepheid.engines.spark.endpoints.uri import (
    ConsoleSink,
    FileSink,
    KafkaSink,
    MqttSink,
    Sink,
    WebHook,
)
from cepheid.engines.spark.session.failures import failure_of
from cepheid.engines.spark.session.libraries import require_stream_support
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Show = Callable[[list[Event]], None]


def open_sink(
    frame: DataFrame,
    program: ResolvedProgram,
    sink: Sink,
    output: str | None,
    show: Show,
    folders: Mapping[str, str],
    latest: Path | None = None,
) -> DataStreamWriter:
    """A writer of what a program gives, late events and rejects among it, for `.start()`.

    `show` prints the rows of a console; `folders` are for kinds of rows that are to be kept.
    `latest` is a file for the latest rows of a sink to which they go as texts; the console shows all.
    """
    places = {kind: os.path.abspath(folder) for kind, folder in folders.items()}
    if isinstance(sink, ConsoleSink):

        def show_batch(batch: DataFrame, batch_id: int) -> None:
            from cepheid.engines.spark.endpoints.sinks.files import write_whole
            from cepheid.engines.spark.endpoints.sinks.told import problem_lines, rows_alone

            try:
                found = batch.toArrow()
            except Exception as problem:
                # Spark searches Java's long text for a reason, deeper than its stack.
                raise failure_of(problem) from None
            rows = rows_alone(found)
            show(sorted(decode_rows(rows, program, output), key=attrgetter("instant")))
            for kind, folder in places.items():
                write_whole(Path(folder), batch_id, list(problem_lines(found, kind)))

        return frame.writeStream.foreachBatch(show_batch)
    format, options = _described(sink)
    from cepheid.engines.spark.endpoints.sinks.told import FOLDER, LATEST_ROWS, SINK, TellingSink

    frame.sparkSession.dataSource.register(TellingSink)
    options |= {SINK: format.name(), **{FOLDER + kind: at for kind, at in places.items()}}
    is_text = not (isinstance(sink, FileSink) and sink.format == "parquet")
    if latest is not None and is_text:
        options[LATEST_ROWS] = str(latest)
    key = sink.key if isinstance(sink, KafkaSink) else None
    rows = write_lines(frame, program, output, key) if is_text else frame
    return rows.writeStream.format(TellingSink.name()).options(**options)


def _described(
    sink: FileSink | KafkaSink | MqttSink | WebHook,
) -> tuple[type[DataSource], dict[str, Any]]:
    require_stream_support()
    check_sink(sink)
    from cepheid.engines.spark.endpoints.sinks.files import FileDataSink
    from cepheid.engines.spark.endpoints.sinks.kafka import KafkaDataSink
    from cepheid.engines.spark.endpoints.sinks.mqtt import MqttDataSink
    from cepheid.engines.spark.endpoints.sinks.webhook import SECRET, WebHookSink
    from cepheid.engines.spark.endpoints.sources.mqtt import broker_options

    match sink:
        case FileSink(folder, format):
            return FileDataSink, {"folder": os.path.abspath(folder), "format": format}
        case KafkaSink(servers, topic, _, settings):
            named = {f"kafka.{name}": value for name, value in settings}
            return KafkaDataSink, {"bootstrap.servers": servers, "topic": topic, **named}
        case MqttSink(broker, topic, qos):
            return MqttDataSink, {**broker_options(broker), "topic": topic, "qos": str(qos)}
        case WebHook(url, None):
            return WebHookSink, {"url": url}
        case WebHook(url, authorization):
            return WebHookSink, {"url": url, SECRET: authorization}
