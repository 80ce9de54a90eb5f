"""Options of the whole test suite."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

import cepheid as cep
from tests.effort import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("cepheid", examples(100))
settings.load_profile("cepheid")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the golden files")


# They start the command again and again, which takes far longer than what it does.
PROCESSES = (
    "tests/actions/test_kill",
    *(f"tests/cli/test_{name}.py" for name in ("command", "interrupt", "terminal")),
    "tests/fuzz/",
)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks what needs Spark, Maude or many processes, by where it stands; `make quick` leaves it out."""
    if item.nodeid.startswith(PROCESSES):
        item.add_marker("processes")
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


# What takes a few rows is planned and compiled far longer than it runs.
IN_A_HURRY = {"spark.sql.codegen.wholeStage": False, "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, two partitions, and a Java that starts soon rather than runs fast.

    By itself such a Java has room for little compiled code, drops some, and compiles it again.
    """
    quick = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    java = {"spark.driver.extraJavaOptions": quick, "spark.driver.memory": "1g"}
    session = cep.spark.session(master="local[2]", conf={**java, **IN_A_HURRY})
    yield session
    session.stop()


@pytest.fixture
def spark_compiles(spark: SparkSession) -> Iterator[None]:
    """For a while, Spark compiles what it evaluates, as it does by itself."""
    for name in IN_A_HURRY:
        spark.conf.unset(name)
    yield
    for name, value in IN_A_HURRY.items():
        spark.conf.set(name, value)
