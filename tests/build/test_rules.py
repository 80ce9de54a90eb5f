"""Rules and fixes built in Python are those of a VEPL text, and print as it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cepheid as cep
from tests.build.test_builder import refusal

invalid = cep.query_event("invalid", "tooMuch", host="Host")
mended = cep.atomic_event("mended", host="Host")
STEPS = "set h.free = h.total  // why\nif h.free > 3 { emit mended(h) } else { delete h }"
anything: Any = cep


def refused(build: Callable[[], object]) -> str:
    return refusal(build).message


def test_built_rules_and_fixes_are_those_of_a_text() -> None:
    built = cep.compose(
        invalid,
        mended,
        cep.rule("mend", invalid("h"), mended("h"), do=STEPS).with_priority(2),
        cep.fix("lower", "tooMuch", "h", "_", do="set h.free = 0", cost=2.5),
        cep.fix("drop", "tooMuch", do="delete host"),
    )
    text = f"""
        queryEvent invalid(host: Host) as tooMuch(host) found
        atomicEvent mended(host: Host)
        @Priority(2) rule mend on invalid(h), mended(h) {{ {STEPS} }}
        @Cost(2.5) fix lower on tooMuch(h, _) {{ set h.free = 0 }}
        fix drop on tooMuch {{ delete host }}
    """
    assert built == cep.parse(text, "vepl")
    assert cep.parse(str(built), "vepl") == built


def test_what_makes_no_sense_is_refused() -> None:
    assert "a rule waits for events" in refused(lambda: cep.rule("r", do="delete h"))
    both = invalid("h").then(mended("h"))
    assert "single events" in refused(lambda: cep.rule("r", both, do="delete h"))
    assert "single events" in refused(lambda: anything.rule("r", "invalid", do="delete h"))
    assert "are a text" in refused(lambda: anything.rule("r", invalid("h"), do=3))


@pytest.mark.parametrize("steps", ["sett h.x = 1", "delete h } rule s on e { delete h", "}"])
def test_steps_that_cannot_be_read_are_refused(steps: str) -> None:
    with pytest.raises((cep.ProgramError, cep.UsageError)):
        cep.rule("r", invalid("h"), do=steps)
