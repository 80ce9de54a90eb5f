"""All engines give what the reference gives, over generated programs and histories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import CepheidError
from cepheid.verbs.rounds import RoundsSession, open_rounds
from tests.bitemporal.comparing import first_of, outcome_of
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


@examples(30)
@given(
    CASES,
    st.sampled_from(("buffering", "sliding", "sliding-actions")),
    st.sampled_from(("refuse", "take")),
    st.sampled_from((120, 360, 3600)),
)
def test_a_session_acts_as_a_run(case: Case, window: str, after_freeze: str, step: int) -> None:
    program = cep.parse(case.text, "bicepl")
    times = [cast("int", record.get("@detected", record.get("@time"))) for record in case.records]
    options: dict[str, Any] = {
        "chronon": case.chronon,
        "outages": case.outages,
        "window": window,
        "after_freeze": after_freeze,
        "start": min(times),
    }
    session = open_rounds(program, **options)
    told = told_in_steps(session, case.records, times, step)
    try:
        run = cep.run(program, case.records, engine="reference", **options)
    except CepheidError as problem:
        with pytest.raises(type(problem), match=first_of(problem).code):
            list(told)
    else:
        assert sorted(map(shown, told)) == sorted(map(shown, run))
        assert session.refused == run.refused  # type: ignore[attr-defined]


def shown(event: cep.Event) -> str:
    return f"{event.instant} {event.type} {dict(event)}"


def told_in_steps(
    session: RoundsSession, records: list[dict[str, object]], times: list[int], step: int
) -> Iterator[cep.Event]:
    """Some as they are, the others in a list."""
    last = max(times)
    for begin in range(min(times) // step * step, last + 1, step):
        told = [r for r, time in zip(records, times, strict=True) if begin <= time < begin + step]
        told = [record for record in told if "@type" in record]
        session.tell(*told[:2], told[2:])
        yield from session.advance(min(begin + step - 1, last))


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
