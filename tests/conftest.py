"""Options of the whole test suite."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

import cepheid as cep
from tests.effort import EFFORT, examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("cepheid", examples(100))
settings.load_profile("cepheid")
if EFFORT == 1:
    # Hypothesis also tries what stands in the modules that are loaded already, which differ between the
    # processes that share the tests: examples would depend on which tests came before.
    patch.object(
        providers.HypothesisProvider, "_local_constants", providers._local_constants
    ).start()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the golden files")


# They take seconds however few examples there are, most of them to start processes.
LONG = tuple(
    f"tests/{place}"
    for place in (
        "actions/test_kill.py",
        "actions/test_kill_rounds.py",
        "bitemporal/test_generated.py::test_the_generator_makes_programs",
        "bitemporal/test_stream_actions.py::test_a_crash_in_any_operation",
        "cli/test_command.py",
        "cli/test_explain.py::test_every_stage_of_every_example",
        "cli/test_interrupt.py",
        "cli/test_jobs.py",
        "cli/test_terminal.py",
        "conformance/test_generated.py::test_generated_complex_events",
        "docs/test_notebook.py",
        "examples/test_golden.py::test_findings_do_not_depend",
        "fuzz/test_fuzz.py",
        "jobs/test_jobs.py",
        "realtime/test_dispatcher.py::test_an_operator_in_a_process_is_killed",
        "realtime/test_dispatcher.py::test_processors_end_when_the_thread",
        "realtime/test_edges.py::test_another_process_pushes",
        "realtime/test_edges.py::test_whoever_comes_while_another_goes",
        "semantics/test_edges.py::test_a_state_can_be_loaded_in_another_process",
        "semantics/test_limits.py::test_a_process_that_may_not_grow",
        "simulation/test_simulate.py::test_processes_change_nothing",
        "simulation/test_verify.py::test_a_ghost_rider",
        "studio/test_browser.py",
        "studio/test_command.py",
        "studio/test_evidence.py",
        "studio/test_evidence_browser.py",
        "studio/test_verbs.py",
    )
)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks what needs Spark or Maude, or takes long, by where it stands; `make quick` leaves it out."""
    if item.nodeid.startswith(LONG):
        item.add_marker("long")
    for name in ("spark", "maude"):
        folders = ("", *(f"{f}/test_" for f in ("bitemporal", "formal", "conformance", "realtime")))
        places = tuple(f"tests/{folder}{name}" for folder in folders)
        is_case = item.nodeid.startswith("tests/conformance/") and f"[{name}" in item.nodeid
        is_page = f"page_shows[{name}]" in item.nodeid
        if is_case or is_page or item.nodeid.startswith(places):
            item.add_marker(name)


ON_SPARK = (
    "tests/spark/",
    *(f"tests/{folder}/test_spark" for folder in ("bitemporal", "conformance", "realtime")),
)


class FilesTogether(LoadScopeScheduling):  # type: ignore[misc]  # its base has no types
    """The tests of a file run in one process, which makes once what they share.

    To send each test alone would cost more than most tests do.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesTogether:
    config.option.loadscopereorder = False  # their order is said below, not by how many they are
    return FilesTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that all processes end at about the same time."""
    items.sort(key=lambda item: not item.nodeid.startswith(ON_SPARK))


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--rewrite"))


@pytest.fixture(scope="session")
def compiled() -> None:
    """Loads the matcher. Where it was never compiled it says that this takes a while: here, once."""
    import_module("cepheid.matcher.precompiled")


_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBased"
# What takes a few rows is planned and compiled far longer than it runs. By itself, Spark also starts a
# process whenever it looks at a file of a checkpoint, and keeps a second sum of each.
IN_A_HURRY = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.streaming.checkpointFileManagerClass": f"{_CHECKPOINTS}CheckpointFileManager",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, two partitions, and a Java that starts soon rather than runs fast.

    By itself such a Java has room for little compiled code, drops some, and compiles it again.
    """
    quick = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    java = {"spark.driver.extraJavaOptions": quick, "spark.driver.memory": "2g"}
    session = cep.spark.session(master="local[2]", conf={**java, **IN_A_HURRY})
    yield session
    session.stop()


@pytest.fixture
def spark_takes_its_time(spark: SparkSession) -> Iterator[None]:
    """For a while, Spark compiles what it evaluates and keeps its checkpoints as it does by itself."""
    for name in IN_A_HURRY:
        spark.conf.unset(name)
    yield
    for name, value in IN_A_HURRY.items():
        spark.conf.set(name, value)
