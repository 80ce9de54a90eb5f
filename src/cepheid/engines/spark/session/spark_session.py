"""Spark sessions that start without preparation: Java, interpreter, settings and quiet logs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cepheid.engines.spark.session.failures import fact_of
from cepheid.engines.spark.session.java import LAUNCHER, find_java
from cepheid.errors import RunError, UsageError, error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST = 4
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session(
    *,
    master: str | None = None,
    conf: Mapping[str, object] | None = None,
    remote: str | None = None,
    verbose: bool = False,
) -> SparkSession:
    """The Spark session of this process; where there is none, a new one that just works.

    A session that exists is used as it is, classic or Connect. A new one runs on this machine
    (`master`, by default all its cores) or on a Spark Connect server (`remote`, by default what
    SPARK_REMOTE says). `conf` adds to its settings or replaces them; `verbose` lets Spark log as
    it does by itself.
    """
    if master is not None and remote is not None:
        raise UsageError(error("usage", "a session has a master or a remote server, not both"))
    require_pyspark()
    wanted = {key: _text(value) for key, value in (conf or {}).items()}
    running = running_session()
    if running is not None:
        _require_agreement(running, master, remote, wanted)
        return running
    if master is None and remote is None:
        remote = os.environ.get("SPARK_REMOTE")
    if remote is not None:
        return _connect(remote, wanted, verbose)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started Java with its own settings
        return _create({**({"spark.master": master} if master else {}), **wanted})
    with _launching(wanted):
        master = master or "local[*]"
        return _create({"spark.master": master, **_settings(master, verbose, wanted), **wanted})


def require_pyspark() -> None:
    """Refuse to go on without a PySpark that is new enough."""
    hint = f"`pip install 'pyspark>={OLDEST}'`"
    try:
        import pyspark
    except ModuleNotFoundError:
        raise RunError(error("no-spark", "PySpark is not installed", hint=hint)) from None
    if int(pyspark.__version__.partition(".")[0]) < OLDEST:
        raise RunError(error("no-spark", f"PySpark {pyspark.__version__} is too old", hint=hint))


def running_session() -> SparkSession | None:
    """The session that this process has already, if any."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkException:
        return None


def is_connect(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, told without loading its libraries."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def runs_here(session: SparkSession) -> bool:
    """Whether all of a session runs on this machine, with workers that see its files."""
    master = None if is_connect(session) else session.conf.get("spark.master", None)
    return (master or "").startswith("local")


def _require_agreement(
    running: SparkSession, master: str | None, remote: str | None, wanted: Mapping[str, str]
) -> None:
    """Refuse a call that asks for another session than the one that is running."""
    settings = {**({"spark.master": master} if master else {}), **wanted}
    other = [key for key, value in settings.items() if running.conf.get(key, None) != value]
    if remote is not None and not is_connect(running):
        other.append("remote server")
    if other:
        raise UsageError(
            error(
                "usage",
                f"a Spark session is running already, with another {', '.join(other)}",
                hint="use it as it is with `cep.spark.session()`, or end it with `.stop()` first",
            )
        )


def _connect(remote: str, wanted: Mapping[str, str], verbose: bool) -> SparkSession:
    """A Connect session; where the remote is `local[n]`, Spark starts the server here."""
    try:
        if not remote.startswith("local"):
            return _create({"spark.remote": remote, **wanted})
        with _launching(wanted):
            settings = _settings(remote, verbose, wanted)
            return _create({"spark.remote": remote, **settings, **wanted})
    except ImportError as missing:
        raise RunError(
            error(
                "no-spark",
                f"Spark Connect lacks a library: {fact_of(missing)}",
                hint="`pip install 'cepheid[connect]'`",
            )
        ) from None


def _create(settings: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as problem:
        if isinstance(problem, ImportError):
            raise
        raise RunError(
            error(
                "no-spark",
                f"Spark did not start: {fact_of(problem)}",
                hint="with verbose=True it says more",
            )
        ) from None


@contextmanager
def _launching(wanted: Mapping[str, str]) -> Iterator[None]:
    """While Java starts: tell it which Java and which Python, and leave no trace after."""
    environment = find_java(_newest_java()).environment()
    # PySpark takes this setting from the environment alone.
    environment["PYSPARK_PYTHON"] = _python_of_workers(wanted)
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _python_of_workers(wanted: Mapping[str, str]) -> str:
    named = wanted.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
    return named or sys.executable


def _newest_java() -> int | None:
    """Spark before 4.2 calls what Java 24 took away."""
    import pyspark

    major, minor, *_ = pyspark.__version__.split(".")
    return 21 if (int(major), int(minor)) < (4, 2) else None


def _settings(master: str, verbose: bool, wanted: Mapping[str, str]) -> dict[str, str]:
    """Settings that suit our work; those of a machine of its own only where that is what runs."""
    settings = {
        "spark.app.name": "cepheid",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        # Spark's parser keeps some 6 kB for each turn that expressions of plans have ever taken: after
        # thousands of programs that is the whole memory, unless it begins anew.
        "spark.sql.parser.manageParserCaches": "true",
        "spark.sql.parser.parserDfaCacheFlushThreshold": "50000",
    }
    if master.startswith("local"):
        settings |= {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(_cores(master)),
            "spark.driver.host": "127.0.0.1",  # the host's name may lead nowhere
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": f"{_memory()}g",
            # Spark weighs a batch after every row; ours are limited by their rows.
            "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
            # Nothing is fetched twice from a machine of its own.
            "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
        }
        # Another Python may have no Cepheid; elsewhere libraries may have threads, which forks lack.
        if sys.platform == "linux" and _python_of_workers(wanted) == sys.executable:
            settings |= {
                "spark.python.daemon.module": "cepheid.engines.spark.session.daemon",
                # Spark tells it to some workers and not to others, and then needs two daemons.
                "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
            }
    if not verbose:
        quiet = (LAUNCHER / "quiet.properties").as_uri()
        settings |= {
            "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={quiet}",
            "spark.ui.showConsoleProgress": "false",
        }
    return settings


def _cores(master: str) -> int:
    """How many tasks a local master runs at once."""
    count = re.match(r"local\[(\d+)", master)
    if count:
        return int(count[1])
    return 1 if master == "local" else os.cpu_count() or 1


def _memory() -> int:
    """Gigabytes for Java: a quarter of the machine's, as Python workers need the rest; 1 to 4."""
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1
    return min(max(installed // 2**32, 1), 4)


def _text(value: object) -> str:
    """A setting as Spark writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
