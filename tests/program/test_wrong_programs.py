"""Wrong programs are refused with a code, a place, a fact and a hint; all of it is golden text."""

from __future__ import annotations

from pathlib import Path

import pytest

import cepheid as cep

GOLDEN = Path(__file__).parent / "wrong_programs.txt"
ABOUT_ALL = (
    "retention",
    "unused",
    "priorities",
    "races",
)  # what is said of programs that are right
DECLARED = (
    "create schema A (id string, k string, v int, w double);"
    " create schema B (id string, k string, v int);\n"
)


def findings(text: str) -> list[str]:
    try:
        found = cep.parse(DECLARED + text).check(without=ABOUT_ALL)
    except cep.ProgramError as wrong:
        found = list(wrong.diagnostics)
    lines = []
    for finding in found:
        assert finding.span is not None
        place = f"{finding.span.line - 1}:{finding.span.column}"
        hint = f" ({finding.hint})" if finding.hint else ""
        lines.append(f"{finding.severity} {finding.code} {place} {finding.message}{hint}")
    return lines


def blocks() -> list[tuple[str, list[str]]]:
    cases = []
    for block in GOLDEN.read_text().strip().split("\n\n")[1:]:
        text, _, expected = block.partition("\n=>")
        cases.append((text, expected.strip("\n").splitlines()))
    return cases


@pytest.mark.parametrize(("text", "expected"), blocks(), ids=lambda value: str(value)[:60])
def test_a_wrong_program_is_refused_with_reason(text: str, expected: list[str]) -> None:
    assert expected, "a case without findings tests nothing"
    assert findings(text) == expected


def test_the_golden_file_can_be_rewritten(rewrite: bool) -> None:
    if rewrite:
        head = GOLDEN.read_text().split("\n\n")[0]
        cases = ["\n".join([text, "=>", *findings(text)]) for text, _ in blocks()]
        GOLDEN.write_text("\n\n".join([head, *cases]) + "\n")
    assert [findings(text) for text, _ in blocks()] == [expected for _, expected in blocks()]
