"""Options of the whole test suite."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.effort import examples

settings.register_profile("cepheid", examples(100))
settings.load_profile("cepheid")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the golden files")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--rewrite"))
