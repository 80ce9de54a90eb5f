"""A Kafka topic as a stream of texts, read by the client library `confluent-kafka`.

The offsets of the stream are those of the topic's partitions, `{"topic": {"0": 17}}`: the next
message of each. Kafka keeps messages, so a micro-batch that is run again has the same ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from cepheid.engines.spark.endpoints.uri import KafkaSource
from cepheid.engines.spark.session.libraries import require_library
from cepheid.engines.spark.session.tasks import text_of
from cepheid.errors import InputError, UsageError, error

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Consumer, Message
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

PATIENCE = 30.0  # seconds without an answer of the brokers
QUIET = 0  # the library's own log is of no use to people: what fails is an error of ours
_MESSAGES = 10_000  # in one Arrow batch
_SCHEMA = "value string, key string, topic string, partition int, offset long, timestamp timestamp"

Offsets = dict[str, dict[str, int]]


def read_kafka(spark: SparkSession, source: KafkaSource) -> DataFrame:
    """The messages: `value`, `key`, `topic`, `partition`, `offset`, `timestamp`."""
    require_library("confluent_kafka", "kafka")
    spark.dataSource.register(KafkaDataSource)
    reader = spark.readStream.format(KafkaDataSource.name())
    options = {
        "bootstrap.servers": source.servers,
        "topics": ",".join(source.topics),
        "startingOffsets": source.starting_offsets,
        **{f"kafka.{name}": value for name, value in source.settings},
    }
    if source.max_offsets is not None:
        options["maxOffsetsPerTrigger"] = str(source.max_offsets)
    return reader.options(**options).load()


class KafkaDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "cepheid-kafka"

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: StructType) -> KafkaReader:  # noqa: N802
        return KafkaReader(self.options)


@dataclass
class OffsetRange(InputPartition):
    """The messages of one partition from an offset up to another, which is not part of it."""

    topic: str
    partition: int
    start: int
    end: int


class KafkaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._topics = options["topics"].split(",")
        self._starting = options.get("startingOffsets", "latest")
        limit = options.get("maxOffsetsPerTrigger")
        self._limit = None if limit is None else int(limit)
        self._settings = {
            "bootstrap.servers": options["bootstrap.servers"],
            **{k.removeprefix("kafka."): v for k, v in options.items() if k.startswith("kafka.")},
        }
        self._consumer: Consumer | None = None
        self._target: Offsets | None = None  # where a run over what is there ends

    # What Spark asks for on the driver -----------------------------------------------------

    def initialOffset(self) -> Offsets:  # noqa: N802
        bounds = self._bounds()
        if self._starting == "earliest":
            return {topic: {p: low for p, (low, _) in own.items()} for topic, own in bounds.items()}
        latest = _highs(bounds)
        if self._starting == "latest":
            return latest
        return self._stated(latest)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        bounds = self._bounds()
        _check_kept(start, bounds)
        latest = _highs(bounds) if self._target is None else self._target
        # A partition that is new since the start is read from its beginning.
        begin = {
            topic: {p: start.get(topic, {}).get(p, bounds[topic][p][0]) for p in own}
            for topic, own in latest.items()
        }
        if not isinstance(limit, ReadMaxRows):
            return latest
        return limited(begin, latest, limit.max_rows)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable() if self._limit is None else ReadMaxRows(self._limit)

    def reportLatestOffset(self) -> Offsets:  # noqa: N802
        return _highs(self._bounds())

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = _highs(self._bounds())

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        spans = []
        for topic, own in end.items():
            for partition, stop in own.items():
                begin = start.get(topic, {}).get(partition, 0)
                if begin < stop:
                    spans.append(OffsetRange(topic, int(partition), begin, stop))
        return spans

    def stop(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    # What the workers do -------------------------------------------------------------------

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, OffsetRange)
        consumer = _consumer(self._settings)
        try:
            yield from _batches(consumer, partition)
        finally:
            consumer.close()

    # ---------------------------------------------------------------------------------------

    def _bounds(self) -> dict[str, dict[str, tuple[int, int]]]:
        """For every partition, the first offset that is kept and the next one to come."""
        from confluent_kafka import KafkaException, TopicPartition

        if self._consumer is None:
            self._consumer = _consumer(self._settings)
        bounds: dict[str, dict[str, tuple[int, int]]] = {}
        try:
            for topic in self._topics:
                known = self._consumer.list_topics(topic, timeout=PATIENCE).topics[topic]
                if known.error is not None:
                    raise InputError(error("usage", f"topic '{topic}': {known.error.str()}"))
                bounds[topic] = {
                    str(p): self._consumer.get_watermark_offsets(
                        TopicPartition(topic, p), timeout=PATIENCE
                    )
                    for p in sorted(known.partitions)
                }
        except KafkaException as failure:
            raise self._unreachable(failure) from None
        return bounds

    def _unreachable(self, failure: Any) -> InputError:
        servers = self._settings["bootstrap.servers"]
        fact = f"Kafka at {servers} does not answer: {failure.args[0].str()}"
        return InputError(error("bad-stream", fact))

    def _stated(self, latest: Offsets) -> Offsets:
        """`startingOffsets` as JSON; a partition that it leaves out starts at its end."""
        try:
            stated = json.loads(self._starting)
            return {
                topic: {p: int(stated.get(topic, {}).get(p, offset)) for p, offset in own.items()}
                for topic, own in latest.items()
            }
        except (ValueError, AttributeError, TypeError):
            fact = f"startingOffsets '{self._starting}' cannot be read"
            hint = 'write earliest, latest or {"topic": {"0": 17}}'
            raise UsageError(error("usage", fact, hint=hint)) from None


def _highs(bounds: Mapping[str, Mapping[str, tuple[int, int]]]) -> Offsets:
    return {topic: {p: high for p, (_, high) in own.items()} for topic, own in bounds.items()}


def _check_kept(start: Offsets, bounds: Mapping[str, Mapping[str, tuple[int, int]]]) -> None:
    """Messages that are gone before they were read are a loss, and never a silent one."""
    for topic, own in bounds.items():
        for partition, (low, high) in own.items():
            next_one = start.get(topic, {}).get(partition, low)
            if not low <= next_one <= high:
                fact = (
                    f"partition {partition} of topic '{topic}' has the offsets {low} to {high},"
                    f" not {next_one}, where this stream goes on"
                )
                hint = "messages are lost; start with a new checkpoint to go on without them"
                raise InputError(error("bad-stream", fact, hint=hint))


def limited(start: Offsets, latest: Offsets, most: int) -> Offsets:
    """At most so many messages, from every partition the share that waits in it."""
    places = [(topic, p) for topic, own in latest.items() for p in own]
    waiting = {(topic, p): latest[topic][p] - start[topic][p] for topic, p in places}
    total = sum(waiting.values())
    if total <= most:
        return latest
    shares = {place: count * most // total for place, count in waiting.items()}
    spare = most - sum(shares.values())  # less than one for each partition that has a message
    for place in places:
        if spare and shares[place] < waiting[place]:
            shares[place] += 1
            spare -= 1
    end: Offsets = {topic: {} for topic in latest}
    for (topic, p), share in shares.items():
        end[topic][p] = start[topic][p] + share
    return end


def _consumer(settings: Mapping[str, str]) -> Consumer:
    from confluent_kafka import Consumer

    return Consumer(
        {
            "log_level": QUIET,
            **settings,
            "group.id": "cepheid",  # asked for by the library; no group is ever joined
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "allow.auto.create.topics": False,
        }
    )


def _batches(consumer: Consumer, span: OffsetRange) -> Iterator[pa.RecordBatch]:
    from confluent_kafka import TopicPartition

    consumer.assign([TopicPartition(span.topic, span.partition, span.start)])
    deadline = time.monotonic() + PATIENCE
    while True:
        found = consumer.consume(_MESSAGES, timeout=0.5)
        inside: list[Message] = []
        is_done = False
        for message in found:
            is_done = is_done or _ends(message, span)
            if message.error() is None and (message.offset() or 0) < span.end:
                inside.append(message)
        if inside:
            yield _batch(inside)
        if is_done:
            return
        if found:
            deadline = time.monotonic() + PATIENCE
        elif time.monotonic() > deadline:
            fact = f"no message of partition {span.partition} of topic '{span.topic}' arrives"
            raise InputError(error("bad-stream", f"{fact}, although more are there"))


def _ends(message: Message, span: OffsetRange) -> bool:
    """Whether nothing of the span comes after it.

    Offsets have gaps (transactions, compaction), so the last one need not be that of a message:
    the end of the partition is also an end.
    """
    from confluent_kafka import KafkaError

    failure = message.error()
    if failure is None:
        return (message.offset() or 0) >= span.end - 1
    if failure.code() == KafkaError._PARTITION_EOF:
        return (message.offset() or 0) >= span.end
    raise InputError(error("bad-stream", f"topic '{span.topic}': {failure.str()}"))


def _batch(messages: Sequence[Message]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(
        {
            "value": pa.array([text_of(m.value()) for m in messages], pa.string()),
            "key": pa.array([text_of(m.key()) for m in messages], pa.string()),
            "topic": pa.array([m.topic() for m in messages], pa.string()),
            "partition": pa.array([m.partition() for m in messages], pa.int32()),
            "offset": pa.array([m.offset() for m in messages], pa.int64()),
            "timestamp": pa.array([_microseconds(m) for m in messages], pa.timestamp("us", "UTC")),
        }
    )


def _microseconds(message: Message) -> int | None:
    kind, milliseconds = message.timestamp()
    return milliseconds * 1_000 if kind else None
