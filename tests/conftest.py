"""Options of the whole test suite."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# Examples are found by search, not by the clock: a busy machine must not fail a test.
settings.register_profile("cepheid", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cepheid")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the golden files")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--rewrite"))
