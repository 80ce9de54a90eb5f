"""Every code is explained, and examples in a language have the finding that they explain."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.errors import CATALOGUE
from cepheid.explanations import Explanation, explanations

DECLARED = (
    "create schema A (id string, k string, v int, w double);"
    " create schema B (id string, k string, v int);\n"
)
CHECKED = [each for each in explanations().values() if each.language != "text"]


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
