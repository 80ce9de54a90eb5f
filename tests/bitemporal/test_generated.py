"""All engines give what the reference gives, over generated programs and histories."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bitemporal.comparing import outcome_of
from tests.bitemporal.generator import SHAPES, Case, case
from tests.effort import examples

CASES = st.integers(0, 10**9).map(lambda seed: case(Random(seed)))


@examples(120)
@given(CASES)
def test_local_rounds_are_those_of_the_reference(case: Case) -> None:
    assert outcome_of(case, "local") == outcome_of(case, "reference")


@examples(50)
@given(CASES, st.sampled_from(("sliding", "sliding-actions")))
def test_windows_forget_the_same(case: Case, window: str) -> None:
    expected = outcome_of(case, "reference", window=window)
    assert outcome_of(case, "local", window=window) == expected


@examples(25)
@given(CASES)
def test_what_comes_after_the_freeze_may_be_taken(case: Case) -> None:
    options = {"after_freeze": "take"}
    assert outcome_of(case, "local", **options) == outcome_of(case, "reference", **options)


@pytest.mark.parametrize("engine", ["reference"])
def test_the_generator_makes_programs_that_do_everything(engine: str) -> None:
    seen: Counter[str] = Counter()
    shapes: Counter[str] = Counter()
    for seed in range(200):
        generated = case(Random(seed))
        found = outcome_of(generated, engine)
        if isinstance(found, str):
            seen[found] += 1
            continue
        seen["actions"] += len(found["firings"])
        seen["toggles"] += len(found["toggles"])
        seen["cleared"] += sum(toggle.cleared_in is not None for toggle in found["toggles"])
        seen.update(change[3] for change in found["changes"])
        seen.update(change[1][0] for change in found["changes"])
        shapes.update(shapes_with_events(generated, found))
        seen.update(str(refusal) for _, refusal in found["refused"])
    expected = ("actions", "toggles", "cleared", "announcement", "change", "cancellation", "D")
    assert min(seen[name] for name in expected) > 5, seen
    assert seen["ambiguous-key"] + seen["missing-key"] < 20, seen
    assert min(shapes[name] for name in SHAPES) > 0, shapes


def shapes_with_events(case: Case, found: dict[str, Any]) -> list[str]:
    """The kinds of queries in a program that find something."""
    derived = {change[1] for change in found["changes"]}
    declared = re.findall(r"-- (.*)\nCREATE COMPLEX EVENT CLASS (\w+)", case.text)
    return [shape for shape, name in declared if name in derived]
