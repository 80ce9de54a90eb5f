"""Labels of buckets are spread evenly over tasks, by the hash that Spark has."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from cepheid.engines.spark.shuffle.partition_labels import label, labels_for, number_of

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


@pytest.mark.parametrize(("buckets", "tasks"), [(32, 2), (33, 3), (200, 200), (64, 7)])
def test_labels_go_to_tasks_in_turn(spark: SparkSession, buckets: int, tasks: int) -> None:
    labels = labels_for(buckets, tasks)
    assert len(set(labels)) == buckets
    frame = spark.createDataFrame([(n,) for n in labels], "label int")
    places = [row[0] for row in frame.select(F.expr(f"pmod(hash(label), {tasks})")).collect()]
    assert places == [number % tasks for number in range(buckets)]
