"""The gestures that a live run recorded, found again on Spark."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.io import encode

FOLDER = Path(__file__).parents[2] / "examples" / "gestures"


def test_recorded_events_give_the_same_gestures_on_spark(spark: SparkSession) -> None:
    program = cep.load(FOLDER / "gestures.vepl", FOLDER / "gestures.vql")
    found = cep.run(program, FOLDER / "recorded.jsonl", engine="spark")
    here = cep.run(program, FOLDER / "recorded.jsonl", engine="reference")
    assert [encode(row) for row in found] == [encode(row) for row in here]
    assert len(found) == 6
