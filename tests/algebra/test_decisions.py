"""The table of decisions in `docs/vepl.md`, row by row: form, context, events, and the matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.algebra.forms import program, run, stream, words
from tests.docs.pages import ROOT, tables

PAGE: Path = ROOT / "docs" / "vepl.md"
END = 9  # seconds
Shown = tuple[str, str, str, list[str]]
DECISIONS: dict[str, list[Shown]] = {
    "who may use an event": [("a -> b", "chronicle", "a a b", ["a0 b2"])],
    "may what completes a match begin another": [("a{3}", "chronicle", "a a a a a", ["a0 a1 a2"])],
    "a loop before something": [("a{+} -> b", "chronicle", "a a b b", ["a0 a1 b2"])],
    "a loop at the end": [("a -> b{+}", "chronicle", "a b b", ["a0 b1"])],
    "AND": [("(a -> c) AND b", "chronicle", "a b c", ["a0 b1 c2"])],
    "NOT": [
        ("a -> NOT b -> c", "chronicle", "a b c c", []),
        ("a -> NOT b -> c", "chronicle", "a d c", ["a0 c2"]),
    ],
    "NOT at the end of a window": [
        ("(a -> NOT b)[within 2 seconds]", "chronicle", "a@0 b@2", ["a0"]),
        ("(a -> NOT b)[within 2 seconds]", "chronicle", "a@0 b@1", []),
    ],
    "`a AND NOT b`": [
        ("(a AND NOT b)[within 2 seconds]", "chronicle", "a@0 b@1 a@3", ["a2"]),
        ("(b AND NOT b)[within 2 seconds]", "chronicle", "b@0", ["b0"]),
    ],
    "NOT of a window": [
        ("a -> NOT (b -> c)[within 1 second] -> d", "chronicle", "a@0 b@1 c@3 d@4", ["a0 d3"]),
        ("a -> NOT (b -> c)[within 1 second] -> d", "chronicle", "a@0 b@1 c@2 d@4", []),
    ],
    "parameters in groups and loops": [
        ("a(x, _){2} -> b(x, _)", "chronicle", "a1 a2 a1 b1", ["a0 a2 b3"]),
        ("a(x, _) -> (b(x, _) -> c(x, _))", "chronicle", "a1 b1 c2 c1", ["a0 b1 c3"]),
    ],
    "windows of parts": [
        ("a -> (b -> c)[within 1 second]", "chronicle", "a@0 b@5 c@6", ["a0 b1 c2"]),
        ("a -> (b -> c)[within 1 second]", "chronicle", "a@0 b@5 c@7", []),
    ],
    "too early for `holdsFor`": [
        ("(a -> b)[holdsFor 2 seconds]", "chronicle", "a@0 b@1 b@3", []),
        ("(a -> b)[holdsFor 2 seconds]", "chronicle", "a@0 b@2", ["a0 b1"]),
    ],
    "noise": [
        ("a -> b", "immediate", "a d b", []),
        ("a(x, _) -> b(x, _)", "immediate", "a1 a2 b2 b1", ["a1 b2", "a0 b3"]),
    ],
    "a context clause": [
        ("a -> b", "strict", "a a b", ["a1 b2"]),
        ("a -> b", "immediate", "a a b", ["a0 b2"]),
    ],
    "events of one time": [
        ("a -> b", "chronicle", "a@1 b@1", ["a0 b1"]),
        ("a -> b", "chronicle", "b@1 a@1", []),
    ],
}


def test_every_row_of_the_table_is_shown() -> None:
    [*rows] = tables(PAGE, "What was decided")
    assert [row[0] for row in rows] == list(DECISIONS)


@pytest.mark.parametrize("question", DECISIONS)
def test_a_decision(question: str) -> None:
    for form, context, events, matches in DECISIONS[question]:
        found = words(run(program(form, context), stream(events), END * 1_000_000))
        assert found == matches, (form, events)
