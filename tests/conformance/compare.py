"""What an engine gives beside the reference, and how a difference is told."""

from __future__ import annotations

from dataclasses import replace
from difflib import unified_diff

import cepheid as cep
from tests.conformance.engines import REFERENCE, Engine, Refused
from tests.conformance.gaps import listed
from tests.conformance.scenarios import Example, show


def agree(engine: Engine, example: Example) -> bool:
    """Checks that an engine gives the rows of the reference; whether it runs the program at all."""
    try:
        found = engine.rows(example)
    except Refused as refusal:
        unlisted = [fact for fact in refusal.args if not listed(engine.name, fact)]
        fact = f"{engine.name} refuses what gaps.py does not list"
        assert not unlisted, told(example, fact, unlisted)
        return False
    text = difference(engine, example, found)
    assert not text, text
    return True


def difference(engine: Engine, example: Example, found: list[str]) -> str:
    """How rows differ from those of the reference; nothing if they do not."""
    expected = expected_rows(engine, example)
    if found == expected:
        return ""
    lines = list(unified_diff(expected, found, "reference", engine.name, n=1, lineterm=""))
    return told(example, f"{engine.name} gives other rows", lines)


def expected_rows(engine: Engine, example: Example) -> list[str]:
    """What the reference gives, said as the engine says it."""
    return replace(engine, run=REFERENCE.run).rows(example)


def told(example: Example, fact: str, lines: list[str]) -> str:
    """A failure with a case that can be pasted into a golden file."""
    return "\n".join([fact, "", str(example), *_golden_rows(example), "", *lines])


def _golden_rows(example: Example) -> list[str]:
    is_one = len(example.program.tree.statements) == 1
    try:
        return [show(row, with_statement=not is_one) for row in REFERENCE.run(example)]
    except cep.RunError as problem:
        return [f"error {d.code}" for d in problem.diagnostics]
