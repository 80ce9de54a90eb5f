"""The fleet of `make demo`, made smaller: Spark finds what a run in this process finds."""

from __future__ import annotations

import io
import runpy
from collections import Counter
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from rich.console import Console

import cepheid as cep

FLEET = Path(__file__).parents[2] / "examples" / "motorbike" / "fleet.py"


def test_a_small_fleet_has_accidents_on_spark_and_here(spark: SparkSession, tmp_path: Path) -> None:
    fleet = runpy.run_path(str(FLEET), run_name="fleet")
    readings = fleet["readings"](bikes=12, seed=1)
    fleet["write"](readings, str(tmp_path))
    screen = Console(file=io.StringIO(), force_terminal=True)
    found = fleet["watched"](
        spark, lambda: fleet["counts"](fleet["found_in"](spark, str(tmp_path))), screen
    )
    types = pa.array(["Motorbike"] * readings.num_rows)
    here = cep.run(cep.load(fleet["PROGRAM"]), readings.append_column("@type", types))
    assert found == Counter(row.type for row in here)
    assert found["Accident"]
    assert "running on Spark" in screen.file.getvalue()  # type: ignore[attr-defined]
