"""One small Spark session for all tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pyspark
import pytest
from pyspark.sql import SparkSession

import cepheid as cep

# Python data sources took their present form in Spark 4.2.
if tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 2):
    collect_ignore = ["test_sinks.py", "test_sources.py"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, two partitions, and a Java that starts soon rather than runs fast."""
    quick = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    session = cep.spark.session(
        master="local[2]",
        conf={"spark.driver.extraJavaOptions": quick, "spark.driver.memory": "1g"},
    )
    yield session
    session.stop()
