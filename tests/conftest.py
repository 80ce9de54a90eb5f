"""Options of the whole test suite."""

from __future__ import annotations

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.effort import examples

settings.register_profile("cepheid", examples(100))
settings.load_profile("cepheid")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the golden files")


class SparkTogether(LoadScopeScheduling):  # type: ignore[misc]  # its base has no types
    """Tests on Spark run in one process, which starts it once; all others run where there is room."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith("tests/spark/") else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SparkTogether:
    return SparkTogether(config, log)


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--rewrite"))
