"""What the suite says of its own tests is true: which need Spark or Maude, and which take long."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import LONG
from tests.docs.pages import PAGES, ROOT, blocks
from tests.effort import EFFORT, examples

# What starts them, in the code of a test or on a page.
STARTS = {
    "spark": re.compile(r"cep\.spark\.session\(|spark: SparkSession\b|--engine spark"),
    "maude": re.compile(r"\bMaude\(\)|--engine maude|\$ cepheid search"),
}
FILES = {
    "spark": re.compile(
        r"tests/(?:spark|cluster)/\w+\.py|tests/bitemporal/test_spark_\w+\.py"
        r"|tests/conformance/(test|on)_spark\.py|tests/realtime/test_spark\.py|tests/conftest\.py"
    ),
    "maude": re.compile(r"tests/formal/\w*maude\w*\.py|tests/conformance/engines\.py"),
}


@pytest.mark.parametrize("name", STARTS)
def test_only_files_with_its_mark_start(name: str) -> None:
    starting = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "tests").rglob("*.py")
        if STARTS[name].search(file.read_text(encoding="utf-8")) and file.name != "test_suite.py"
    }
    assert starting
    assert not [file for file in starting if not FILES[name].fullmatch(file)]


@pytest.mark.parametrize("name", STARTS)
def test_only_the_page_with_its_name_starts(name: str) -> None:
    starting = {
        page.stem
        for page in PAGES
        for block in blocks(page)
        if block.kind in ("python", "console") and STARTS[name].search(block.body)
    }
    assert starting == {name}


@pytest.mark.parametrize("place", LONG)
def test_what_takes_long_exists(place: str) -> None:
    file, _, test = place.partition("::")
    assert test in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.skipif(EFFORT > 1, reason="new examples are what is wanted")
def test_examples_do_not_depend_on_what_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn() -> list[int]:
        found: list[int] = []

        @settings(examples(300), derandomize=True)
        @given(st.integers())
        def draw(number: int) -> None:
            found.append(number)

        draw()
        return found

    first = drawn()
    (tmp_path / "numbers_to_try.py").write_text(f"NUMBERS = {list(range(10**9, 10**9 + 500))}")
    monkeypatch.syspath_prepend(tmp_path)
    import_module("numbers_to_try")
    assert drawn() == first
