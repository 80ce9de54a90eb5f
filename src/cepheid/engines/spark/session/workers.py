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
from cepheid.engines.spark.session.failures import failure_of
from cepheid.engines.spark.session.spark_session import is_connect, runs_here
from cepheid.errors import RunError, error

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

# What takes a worker long to load. A failure to load it is not reported: names are tested instead.
LOADED_EARLY = (
    "pandas",
    "pyspark.worker",
    "cepheid.engines.spark.detect",
    "cepheid.matcher.machine.operator",
    "cepheid.matcher.lanes.operator",
)

_ASKED = 1_000  # rows, so that no core is left out

_checked: WeakSet[SparkSession] = WeakSet()
_awake: WeakSet[SparkSession] = WeakSet()


def check_workers(session: SparkSession) -> None:
    """Refuse to go on where workers import no Cepheid or another one; asked once per session."""
    if session in _checked:
        return
    for python, found in _ask(session):
        if found != __version__:
            told = f"has Cepheid {found}, this process {__version__}" if found else "has no Cepheid"
            fact = f"the Python of Spark's workers ({python}) {told}"
            raise RunError(error("bad-workers", fact, hint=_how_to_ship(session)))
    _checked.add(session)


def check_other_machines(session: SparkSession) -> None:
    """The same, unless the workers are processes of this machine that run this Python."""
    if not runs_here(session):
        check_workers(session)


def _how_to_ship(session: SparkSession) -> str:
    ship = (
        "ship the package's folder as a zip file: `session.addArtifacts('cepheid.zip', pyfile=True)`"
        if is_connect(session)
        else "start the session with what is here: `cep.spark.session(conf=cep.spark.pack().conf)`"
    )
    return f"`pip install cepheid=={__version__}` there, or {ship}"


def _ask(session: SparkSession) -> list[tuple[str, str | None]]:
    """The interpreters of workers and the versions of their Cepheid.

    One task for each core that Spark knows of: enough to hear of most machines. By a plain function
    over rows, for which a worker needs no library.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql.functions import udf

    # Nested, so that it travels by value: a worker without Cepheid cannot import it by name.
    def answer(number: int) -> tuple[str, str | None]:
        import sys

        del number
        try:
            import cepheid
        except ImportError:
            return sys.executable, None
        found: str | None = getattr(cepheid, "__version__", None)
        if found is None:  # a mere folder of that name, which must not hide what is shipped later
            del sys.modules["cepheid"]
        return sys.executable, found

    told = udf(answer, "python string, version string", useArrow=False)
    try:
        rows = session.range(_ASKED).select(told("id").alias("told")).distinct().collect()
    except (PySparkException, Py4JError) as problem:
        raise failure_of(problem) from None
    return [tuple(row["told"]) for row in rows]


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
