"""Made-up events at a steady rate, for demonstrations: Spark's own `rate` source.

The events take turns among the input types of a program. Their values depend on the number of the
event alone; they are small and repeat, so that patterns find something.
"""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

from cepheid.core.types import BOOLEAN, STRING, DataType, EventType, is_numeric
from cepheid.engines.spark.codec.text import TextBatch, read_events
from cepheid.engines.spark.endpoints.uri import RateSource
from cepheid.errors import UsageError, error
from cepheid.io.records import Record
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_NUMBERS = 100  # different ones
_TEXTS = "abcdefghij"


def read_rate(spark: SparkSession, source: RateSource, program: ResolvedProgram) -> DataFrame:
    if not program.input_types:
        raise UsageError(error("usage", "this program takes no events"))
    rate = spark.readStream.format("rate").option("rowsPerSecond", source.rows_per_second).load()
    types = [program.types[name] for name in program.input_types]
    return read_events(rate, program, partial(_take, types))


def _take(types: list[EventType], intake: TextBatch, batch: pa.RecordBatch) -> None:
    for row in batch.to_pylist():
        record = made_up(types, row["value"], row["timestamp"])
        intake.take(record, partial(str, record.values))


def made_up(types: list[EventType], number: int, time: object) -> Record:
    """The event of that number; always the same one."""
    type = types[number % len(types)]
    chance = random.Random(number)
    values = {a.name: _value(a.type, chance) for a in type.attributes}
    if type.time is not None:
        del values[type.time.attribute]  # follows from the time
    return Record(type.name, time, values, None)


def _value(type: DataType, chance: random.Random) -> object:
    if type == BOOLEAN:
        return chance.random() < 0.5
    if type == STRING:
        return chance.choice(_TEXTS)
    return chance.randrange(_NUMBERS) if is_numeric(type) else None
