"""Each benchmark in a process of its own: none sees the memory or the Spark session of another."""

from __future__ import annotations

import sys
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context

from benchmarks.measure import Sizes
from benchmarks.report import Figure


def figures(name: str, sizes: Sizes) -> list[Figure]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_run, name, sizes).result()


def _run(name: str, sizes: Sizes) -> list[Figure]:
    """What was found before a benchmark broke is kept."""
    warnings.simplefilter("ignore")  # readings of one time are of different bikes
    found: list[Figure] = []
    try:
        found.extend(import_module(f"benchmarks.{name}").run(sizes))
    except Exception as problem:
        traceback.print_exc()
        reason = str(problem).partition("\n")[0]
        found.append(Figure(name="(broken off)", ratio=None, note=reason, is_wrong=True))
    _stop_spark()
    return found


def _stop_spark() -> None:
    if "pyspark" in sys.modules:
        from cepheid.engines.spark.session.spark_session import running_session

        if session := running_session():
            session.stop()
