"""Labels of buckets are spread evenly over tasks, by the hash that Spark has."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from cepheid.engines.spark.labels import label, number_of

BUCKETS = 32


def test_spark_gives_each_task_as_many_buckets(spark: SparkSession) -> None:
    labels = [label(number) for number in range(3 * BUCKETS)]
    frame = spark.createDataFrame([(n,) for n in labels], "label int")
    hashes = [row[0] for row in frame.select(F.hash("label")).collect()]
    for tasks in (2, 4, 8, 16, 32):
        counts = Counter(value % tasks for value in hashes[:BUCKETS])
        assert set(counts.values()) == {BUCKETS // tasks}
    assert Counter(value % 2 for value in hashes) == {0: 48, 1: 48}


@pytest.mark.parametrize("number", [*range(5 * BUCKETS), -1, -7])
def test_a_label_tells_the_bucket(number: int) -> None:
    assert number_of(label(number)) == number
