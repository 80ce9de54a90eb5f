"""The Python workers of a session: whether they run the same Cepheid, and what they keep."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING
from weakref import WeakSet

from cepheid import __version__
from cepheid.errors import RunError, error

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

# What takes a worker long to load. A failure to load it is not reported: names are tested instead.
LOADED_EARLY = (
    "cepheid.engines.spark.batch.query",
    "cepheid.matcher.machine.operator",
    "cepheid.matcher.lanes.operator",
)

_checked: WeakSet[SparkSession] = WeakSet()
_awake: WeakSet[SparkSession] = WeakSet()


def check_workers(session: SparkSession) -> None:
    """Refuse to go on where workers import no Cepheid or another one; asked once per session."""
    if session in _checked:
        return
    python, found = _ask(session)
    if found != __version__:
        told = f"has Cepheid {found}, this process {__version__}" if found else "has no Cepheid"
        raise RunError(
            error(
                "bad-workers",
                f"the Python of Spark's workers ({python}) {told}",
                hint=f"`pip install cepheid=={__version__}` there, or ship the package's folder as "
                "a zip file: `session.addArtifacts('cepheid.zip', pyfile=True)`",
            )
        )
    _checked.add(session)


def _ask(session: SparkSession) -> tuple[str, str | None]:
    """The interpreter of a worker and the version of its Cepheid."""

    # Nested, so that it travels by value: a worker without Cepheid cannot import it by name.
    def answer(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        import sys

        import pyarrow

        try:
            import cepheid

            version: str | None = cepheid.__version__
        except ImportError:
            version = None
        for _ in batches:
            pass
        yield pyarrow.RecordBatch.from_pylist(
            [{"python": sys.executable, "version": version}],
            pyarrow.schema({"python": pyarrow.string(), "version": pyarrow.string()}),
        )

    one = session.range(0, 1, 1, 1)
    row = one.mapInArrow(answer, "python string, version string").collect()[0]
    return row["python"], row["version"]


@cache
def keep_loaded(job: str) -> None:
    """All that a worker has loaded for a job stays, and need not be looked at any more.

    Spark lets a worker look for garbage after every task; with a compiler among its modules, that
    takes longer than many a task.
    """
    del job
    gc.freeze()


def quiet_driver_worker() -> None:
    """Spark asks a process of its own what state an operator has; what that prints is for no one.

    It prints its steps, function objects included, to the error output of the driver.
    """
    main = sys.modules["__main__"].__spec__
    if main is not None and main.name.endswith("transform_with_state_driver_worker"):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def wake_workers(session: SparkSession) -> None:
    """Lets a worker load the matcher while this process has other things to do; once per session.

    If that goes wrong, the run itself will say so.
    """
    if session in _awake:
        return
    _awake.add(session)

    def load(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        for module in LOADED_EARLY:
            import_module(module)
        yield from batches

    def run() -> None:
        with suppress(Exception):
            session.range(1, numPartitions=1).mapInArrow(load, "id long").collect()

    Thread(target=run, daemon=True).start()
