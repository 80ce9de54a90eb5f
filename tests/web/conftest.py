"""A site of its own for every test, and one Chromium for all of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page as Tab

import cepheid as cep
from tests.web.local_sites import LocalSite, serving

QUICK = cep.web.Settings(pause=0, patience=0.5, timeout=20, retries=0)


@pytest.fixture
def site() -> Iterator[LocalSite]:
    with serving() as opened:
        yield opened


@pytest.fixture(scope="package")
def browser() -> Iterator[cep.web.Browser]:
    if shutil.which("chromium") is None and "CI" not in os.environ:
        pytest.skip("no Chromium")
    with cep.web.Browser.launch(QUICK) as opened:
        yield opened


@pytest.fixture(scope="package")
def tab(browser: cep.web.Browser) -> Iterator[Tab]:
    """A tab for pages that a test writes itself."""
    found = browser.chromium.new_page()
    yield found
    found.close()
