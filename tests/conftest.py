"""Options of the whole test suite."""

from __future__ import annotations

from importlib import import_module

import pytest
from hypothesis import settings

from tests.effort import examples

settings.register_profile("cepheid", examples(100))
settings.load_profile("cepheid")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the golden files")


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the Spark session run in one process, which starts it once; all others run where there is room.

    What takes longest begins first, so that all processes end at about the same time.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=lambda item: not item.nodeid.startswith("tests/spark/"))


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--rewrite"))


@pytest.fixture(scope="session")
def compiled() -> None:
    """Loads the matcher. Where it was never compiled it says that this takes a while: here, once."""
    for name in ("compiled", "lanes", "vm.ties"):
        import_module(f"cepheid.matcher.{name}")
