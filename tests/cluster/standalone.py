"""A standalone Spark cluster on this machine: a master and workers, processes of their own on loopback."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pyspark

from cepheid.engines.spark.session.java import find_java

HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """The address of a master with so many workers of one core each; all end with the block."""
    with ExitStack() as running:
        master = running.enter_context(
            _process(
                folder, "master.Master", "--port", "0", until=r"Starting Spark master at (\S+)"
            )
        )
        for number in range(workers):
            work = folder / f"worker-{number}"
            options = ("--cores", "1", "--memory", "2g", "--work-dir", str(work), master)
            running.enter_context(
                _process(folder, "worker.Worker", *options, until="(Successfully registered)")
            )
        yield master


@contextmanager
def _process(folder: Path, name: str, *options: str, until: str) -> Iterator[str]:
    """A process of Spark, and what it says of itself when it is ready."""
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    command += ["--host", HOST, "--webui-port", "0", *options]
    with subprocess.Popen(
        command, cwd=folder, env=_environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield _ready(process, until)
        finally:
            process.terminate()


def _environment() -> dict[str, str]:
    java = find_java().environment()
    java.pop("CEPHEID_JAVA_LEARNS", None)  # these are not the classes of a session
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**usual, **java, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": HOST}


def _ready(process: subprocess.Popen[str], sign: str) -> str:
    assert process.stderr
    lines = []
    for line in process.stderr:
        lines.append(line)
        found = re.search(sign, line)
        if found:
            Thread(target=process.stderr.read, daemon=True).start()  # so that it never waits
            return found[1]
    raise AssertionError(f"it ended before it was ready: {''.join(lines)}")
