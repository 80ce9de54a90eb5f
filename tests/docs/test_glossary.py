"""The glossary lives as long as its words: each is used in the file that is named for it."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, tables

PAGE = ROOT / "docs" / "glossary.md"
SECTIONS = ("Programs", "A run", "The matcher", "On Spark", "Live models", "Operator graphs")
WORDS = [cells for section in SECTIONS for cells in tables(PAGE, section)]


@pytest.mark.parametrize("cells", WORDS, ids=lambda cells: f"{cells[0]}, {cells[3]}")
def test_a_word_is_used_where_the_glossary_says(cells: list[str]) -> None:
    word, *_, file = cells
    name = re.search(r"\*\*(.+)\*\*", word)
    assert name, word
    path = file.strip("`")
    text = (ROOT / "src" / "cepheid" / path).read_text(encoding="utf-8")
    assert _use(name[1]).search(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", f"{path} {text}"))


def _use(word: str) -> re.Pattern[str]:
    """A word in prose or in a name: `sort key`, `sort_keys`, and with blanks `Sort Key`."""
    parts = r"[\s_-]".join(re.split("[ -]", word))
    return re.compile(rf"(?<![a-z]){parts}(?:e?s)?(?![a-z])", re.IGNORECASE)


def test_every_word_has_a_meaning_and_a_counterpart() -> None:
    assert len(WORDS) > 50
    assert all(len(cells) == 4 and all(cells) for cells in WORDS)
    assert len({(word, file) for word, *_, file in WORDS}) == len(WORDS)
