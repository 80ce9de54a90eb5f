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
from tests.effort import IS_QUICK, examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("cepheid", examples(100))
settings.load_profile("cepheid")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the golden files")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks what needs Spark or Maude, by where it stands; `make quick` leaves it out."""
    for name in ("spark", "maude"):
        folders = ("", *(f"{f}/test_" for f in ("bitemporal", "formal", "conformance", "realtime")))
        places = tuple(f"tests/{folder}{name}" for folder in folders)
        is_case = item.nodeid.startswith("tests/conformance/") and f"[{name}" in item.nodeid
        is_page = f"page_shows[{name}]" in item.nodeid
        if is_case or is_page or item.nodeid.startswith(places):
            item.add_marker(name)


# They start Spark themselves, or pretend it, and take long.
WITHOUT_SESSION = tuple(
    f"tests/spark/{name}"
    for name in (
        "test_state.py",
        "test_faults.py::test_a_stream_that_is_killed_again_and_again",
        "test_pipelines.py::test_pipelines_of_passes",
        "test_session.py::test_a_connect_session",
        "test_session.py::test_spark_runs_where_there_is_no_java",
        "test_stream_pipelines.py::test_operators_in_a_row",
    )
)


ON_SPARK = (
    "tests/spark/",
    *(f"tests/{folder}/test_spark" for folder in ("bitemporal", "conformance", "realtime")),
)


class SparkTogether(LoadScopeScheduling):  # type: ignore[misc]  # its base has no types
    """Tests on Spark run in one process, which starts it once; all others run where there is room."""

    def _split_scope(self, nodeid: str) -> str:
        is_on_session = nodeid.startswith(ON_SPARK)
        return "spark" if is_on_session and not nodeid.startswith(WITHOUT_SESSION) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SparkTogether | None:
    return (
        None if IS_QUICK else SparkTogether(config, log)
    )  # the usual one sends many tests at once


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


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, two partitions, and a Java that starts soon rather than runs fast."""
    quick = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    session = cep.spark.session(
        master="local[2]",
        conf={"spark.driver.extraJavaOptions": quick, "spark.driver.memory": "1g"},
    )
    yield session
    session.stop()
