"""Cepheid on Spark, as `cep.spark`: sessions, and programs over DataFrames.

    session = cep.spark.session()
    crashes = cep.spark.detect(program, session.read.parquet("rides"), output="Crash")

Everything here is lazy: PySpark is loaded by the first use of a name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cepheid.engines.spark.batch.file_scan import files
    from cepheid.engines.spark.session.packing import pack
    from cepheid.engines.spark.session.spark_session import session
    from cepheid.engines.spark.session.workers import check_workers
    from cepheid.verbs.detection import detect
    from cepheid.verbs.stream_rounds import rounds

_HOMES = {
    "check_workers": "cepheid.engines.spark.session.workers",
    "detect": "cepheid.verbs.detection",
    "files": "cepheid.engines.spark.batch.file_scan",
    "pack": "cepheid.engines.spark.session.packing",
    "rounds": "cepheid.verbs.stream_rounds",
    "session": "cepheid.engines.spark.session.spark_session",
}

__all__ = ["check_workers", "detect", "files", "pack", "rounds", "session"]


if not TYPE_CHECKING:  # type checkers know all names from above, and refuse others

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'cepheid.spark' has no attribute {name!r}")
        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
