"""Sources of streams: files, Kafka, MQTT and made-up events, each as a streaming frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.engines.spark.codec.text import read_lines
from cepheid.engines.spark.endpoints.checks import check_source
from cepheid.engines.spark.endpoints.uri import FileSource, KafkaSource, RateSource, SourceUri
from cepheid.engines.spark.session.libraries import require_stream_support
from cepheid.errors import UsageError, error
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def open_source(
    spark: SparkSession, source: SourceUri, program: ResolvedProgram, journal: str | Path
) -> DataFrame:
    """The events of a source, as a program takes them; MQTT needs a folder for its journal."""
    require_stream_support()
    check_source(source, program)
    from cepheid.engines.spark.endpoints.sources.files import read_files
    from cepheid.engines.spark.endpoints.sources.kafka import read_kafka
    from cepheid.engines.spark.endpoints.sources.mqtt import read_mqtt
    from cepheid.engines.spark.endpoints.sources.rate import read_rate

    if isinstance(source, FileSource):
        return read_files(spark, source, program)
    if isinstance(source, RateSource):
        return read_rate(spark, source, program)
    if isinstance(source, KafkaSource):
        return read_lines(read_kafka(spark, source), program)
    return read_lines(read_mqtt(spark, source, journal), program)


def open_history(spark: SparkSession, source: SourceUri, journal: str | Path) -> DataFrame:
    """What a source tells of events of classes: lines in a column `value`, or rows of Parquet."""
    require_stream_support()
    from cepheid.engines.spark.endpoints.sources.files import read_plain_files
    from cepheid.engines.spark.endpoints.sources.kafka import read_kafka
    from cepheid.engines.spark.endpoints.sources.mqtt import read_mqtt

    if isinstance(source, FileSource):
        return read_plain_files(spark, source)
    if isinstance(source, RateSource):
        fact = "a rate makes up events, and no versions of events"
        raise UsageError(error("usage", fact, hint="files:DIR holds a history"))
    if isinstance(source, KafkaSource):
        return read_kafka(spark, source).select("value")
    return read_mqtt(spark, source, journal).select("value")
