"""Processors in a chain: one's classes are another's source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.bitemporal.outcome import Outcome
from cepheid.core.time import Period
from cepheid.errors import CepheidError
from cepheid.io.encode import to_json
from cepheid.program.classes import AnyClass, ComplexClass, SubscribedClass
from cepheid.program.tree import ProgramTree
from cepheid.verbs.rounds import RoundsResult
from tests.bitemporal.comparing import compared, parsed
from tests.bitemporal.generator import Case, case
from tests.effort import examples

LONG = Period(400 * 86_400_000_000)  # what a class freezes after that is fed by another processor


@dataclass(frozen=True, slots=True)
class Split:
    """A class, the program that derives it, and the one that subscribes to it."""

    name: str
    first: cep.Program
    second: cep.Program


def splits(program: cep.Program) -> Iterator[Split]:
    """All ways to cut a program in two: at every complex class from which others follow."""
    reads = {each.declared.name: set(each.reads) for each in program.resolve().classes}
    for declared in program.tree.classes:
        others = dependents(declared.name, reads)
        if isinstance(declared, ComplexClass) and others:
            cut = {**reads, declared.name: set()}
            kept = {declared.name} | {name for each in others for name in behind(each, cut)}
            yield Split(
                declared.name,
                part(program, behind(declared.name, reads)),
                part(program, kept, subscribed=declared.name),
            )


def behind(name: str, reads: dict[str, set[str]]) -> set[str]:
    return {name}.union(*(behind(other, reads) for other in reads[name]))


def dependents(name: str, reads: dict[str, set[str]]) -> set[str]:
    return {other for other in reads if other != name and name in behind(other, reads)}


def part(program: cep.Program, names: set[str], subscribed: str | None = None) -> cep.Program:
    kept = [
        as_subscribed(declared) if declared.name == subscribed else declared
        for declared in program.tree.classes
        if declared.name in names
    ]
    return cep.Program(ProgramTree(tuple(kept)))


def as_subscribed(declared: AnyClass) -> SubscribedClass:
    return SubscribedClass(
        name=declared.name, attributes=declared.attributes, key=declared.key, freezing=LONG
    )


def run(
    program: cep.Program, records: Sequence[object], case: Case, **options: Any
) -> RoundsResult:
    names = {each.name for each in program.tree.classes if isinstance(each, SubscribedClass)}
    own = [r for r in records if isinstance(r, dict) and r.get("@type") in {None, *names}]
    settings = {"chronon": case.chronon, "outages": case.outages, **options}
    result = cep.run(program, own, **settings)
    assert isinstance(result, RoundsResult)
    return result


def of(outcome: Outcome, names: set[str]) -> dict[str, Any]:
    """What is compared of the classes of a part."""
    found = compared(outcome)
    kept: dict[str, Any] = {
        what: [each for each in found[what] if each.cls in names] for what in ("firings", "toggles")
    }
    kept["versions"] = [each for each in found["versions"] if each[0] in names]
    kept["changes"] = [each for each in found["changes"] if each[1] in names]
    return kept


def through_a_file(records: Sequence[object]) -> list[object]:
    return [json.loads(to_json(record)) for record in records]


def expect_the_same(case: Case, **options: Any) -> int:
    """Runs a case as a whole and in two parts; gives in how many ways it could be split.

    What does not run as a whole cannot.
    """
    program, count = parsed(case.text), 0
    try:
        whole = run(program, case.records, case, **options)
    except CepheidError:
        return 0
    rounds = whole.outcome.rounds
    times = {"start": rounds.instant(rounds.first), "end": rounds.instant(rounds.last)}
    # Numbers are seconds to those who call.
    options |= {name: instant / 1_000_000 for name, instant in times.items()}
    for split in splits(program):
        first = run(split.first, case.records, case, **options)
        told = through_a_file(first.history(split.name))
        second = run(split.second, [*case.records, *told], case, **options)
        for result in (first, second):
            names = {each.name for each in result.classes.values()}
            if (
                result is second
            ):  # of a class that is subscribed to, statements and toggles stay behind
                versions = of(second.outcome, {split.name})["versions"]
                assert versions == of(whole.outcome, {split.name})["versions"]
                names -= {split.name}
            assert of(result.outcome, names) == of(whole.outcome, names)
        count += 1
    return count


CASES = st.integers(0, 10**9).map(lambda seed: case(Random(seed)))


@examples(60)
@given(CASES, st.sampled_from(("local", "reference")), st.sampled_from(("refuse", "take")))
def test_two_processors_in_step_do_what_one_does(case: Case, engine: str, frozen: str) -> None:
    assume(expect_the_same(case, engine=engine, after_freeze=frozen) > 0)


PROGRAM = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x NUMBER, at TIMESTAMP) ID (k) FREEZING TIME (1h);
CREATE COMPLEX EVENT CLASS D(k INTEGER, x NUMBER, at TIMESTAMP) ID (k) OBSERVATION SPAN (1h)
AS SELECT a.k, a.x, a.at FROM A a OCCURRING AT a + 1m;
"""
HISTORY = [
    {"@type": "A", "@time": 600, "@detected": 60, "k": 1, "x": 1.5, "at": "2026-01-01T00:00:00Z"},
    {"@type": "A", "@time": 600, "@detected": 90, "k": 1, "x": 1.5, "at": "2026-01-01T00:00:00Z"},
    {"@type": "A", "@detected": 200, "@retracted": True, "k": 1},
    {"@time": 240},
]


def learnt(chronon: str = "1m", **options: Any) -> RoundsResult:
    result = cep.run(cep.parse(PROGRAM, "bicepl"), HISTORY, chronon=chronon, **options)
    assert isinstance(result, RoundsResult)
    return result


def test_a_history_tells_versions_retractions_and_how_far_time_has_come() -> None:
    assert learnt("30s").history("D") == [
        {
            "@type": "D",
            "@time": "1970-01-01T00:11:00Z",
            "@detected": "1970-01-01T00:01:00Z",
            "@known": "1970-01-01T00:01:00Z",
            "k": 1,
            "x": 1.5,
            "at": "2026-01-01T00:00:00Z",
        },
        {  # detected again: nothing else has changed
            "@type": "D",
            "@time": "1970-01-01T00:11:00Z",
            "@detected": "1970-01-01T00:01:30Z",
            "@known": "1970-01-01T00:01:30Z",
            "k": 1,
            "x": 1.5,
            "at": "2026-01-01T00:00:00Z",
        },
        {
            "@type": "D",
            "@detected": "1970-01-01T00:03:00Z",
            "@known": "1970-01-01T00:03:00Z",
            "@retracted": True,
            "k": 1,
        },
        {"@time": "1970-01-01T00:04:00Z"},
    ]


def test_without_names_a_history_has_all_complex_classes() -> None:
    assert learnt().history() == learnt().history("D")
    assert {line.get("@type") for line in learnt().history("A", "D")} == {"A", "D", None}


def test_what_a_processor_could_not_know_in_time_counts_when_it_was_known() -> None:
    told = learnt(outages=[(60, 100)]).history("D")
    times = [(line["@detected"], line["@known"]) for line in told if "@known" in line]
    assert times == [
        ("1970-01-01T00:01:30Z", "1970-01-01T00:02:00Z"),
        ("1970-01-01T00:03:00Z", "1970-01-01T00:03:00Z"),
    ]


def test_a_class_that_does_not_exist_has_no_history() -> None:
    with pytest.raises(cep.UsageError, match="no class 'E'"):
        learnt().history("E")


def test_what_a_window_forgets_is_not_retracted() -> None:
    later = [*HISTORY[:1], {"@time": 40_000}]
    result = cep.run(cep.parse(PROGRAM, "bicepl"), later, chronon="1m", window="sliding")
    assert isinstance(result, RoundsResult)
    assert result.outcome.versions[-1].known_to is not None
    assert not any("@retracted" in line for line in result.history("D"))
