"""Every code is explained, and examples in a language have the finding that they explain."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.errors import CATALOGUE
from cepheid.explanations import Explanation, explanations

DECLARED = (
    "create schema A (id string, k string, v int, w double);"
    " create schema B (id string, k string, v int);\n"
)
CHECKED = [each for each in explanations().values() if each.language != "text"]
TOLD = [each for each in explanations().values() if each.language == "text"]
SOURCES = Path(cep.__file__).parent
LEAST = 5  # characters of a message that stand in the source


def codes(text: str, language: str) -> set[str]:
    try:
        return {finding.code for finding in cep.parse(text, language).check()}
    except cep.ProgramError as wrong:
        return {finding.code for finding in wrong.diagnostics}


def test_every_code_has_one_explanation_in_the_order_of_the_catalogue() -> None:
    assert list(explanations()) == list(CATALOGUE)


@pytest.mark.parametrize("each", CHECKED, ids=lambda each: each.code)
def test_an_example_has_its_finding(each: Explanation) -> None:
    declared = DECLARED if each.language == "epl" else ""
    assert each.code in codes(declared + each.example, each.language)


@pytest.mark.parametrize("each", TOLD, ids=lambda each: each.code)
def test_an_example_in_words_says_what_the_source_says(each: Explanation) -> None:
    for line in each.example.splitlines():
        message = re.sub(rf"^.*?(error|warning|note)\[{each.code}\]: ", "", line)
        assert message != line
        without_hint = re.sub(r" \([^()]*(\([^()]*\)[^()]*)*\)$", "", message)
        forms = (form for form in messages() if form.fullmatch(without_hint))
        assert any(forms), f"nothing says: {message}"


@cache
def messages() -> list[re.Pattern[str]]:
    """The form of every text in the source that may be a message."""
    found: dict[str, None] = {}
    for file in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr | ast.Constant):
                parts = node.values if isinstance(node, ast.JoinedStr) else [node]
                words = [str(p.value) if isinstance(p, ast.Constant) else None for p in parts]
                if sum(len(word or "") for word in words) >= LEAST:
                    found["".join(".*?" if w is None else re.escape(w) for w in words)] = None
    return [re.compile(form, re.DOTALL) for form in found]
