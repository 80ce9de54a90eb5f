"""Cycles: endless ones are errors, all others warnings, each with its path."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.analysis import cycles
from cepheid.semantics import limits

SCHEMAS = "create schema A (v int); create schema X (v int);"


def found(*statements: str) -> list[tuple[str, str]]:
    text = SCHEMAS + ";".join(f"@Name('{n}') {s}" for n, s in zip("PQRS", statements, strict=False))
    program = cep.parse(text)
    assert [p for p in program.resolve().problems if p.severity is cep.Severity.ERROR] == []
    return [(str(f.severity), f.message) for f in cycles.find(program.graph())]


ENDLESS = "endless cycle: {}; each event leads to another one at once"


@pytest.mark.parametrize(
    "statement",
    [
        "insert into A select v from A",
        "insert into A select v + 1 as v from A",
        "insert into A select a.v as v from pattern [every a=A]",
        "insert into A select a.v as v from pattern [every (x=X or a=A)]",
        "insert into A select max(v) as v from A#length(3)",
        "insert into A select sum(v) as v from A#time(1 hour) group by v",
    ],
)
def test_what_derives_its_own_events_at_once_is_endless(statement: str) -> None:
    assert found(statement) == [("error", ENDLESS.format("P -> P"))]


@pytest.mark.parametrize(
    "statement",
    [
        "insert into A select v + 1 as v from A(v < 10)",
        "insert into A select v from A where v < 10",
        "insert into A select max(v) as v from A having max(v) < 3",
        "insert into A select a.v as v from pattern [every a=A(v < 3)]",
        "insert into A select a.v as v from pattern [every (a=A while (a.v < 3))]",
        "insert into A select a.v as v from pattern [a=A]",
        "insert into A select a.v as v from pattern [every a=A -> timer:interval(1 sec)]",
        "insert into A select a.v as v from pattern [every a=A -> x=X]",
        "insert into A select v from A#time_batch(1 sec)",
        "insert into A select v from A#length_batch(2)",
        "insert into A select v from A output every 3 events",
        "insert rstream into A select rstream v from A#length(2)",
    ],
)
def test_what_a_filter_time_or_other_events_can_end_is_a_warning(statement: str) -> None:
    assert found(statement) == [("warning", "cycle: P -> P")]


def test_the_path_of_a_cycle_is_the_shortest() -> None:
    assert found(
        "insert into B select v from A",
        "insert into C select v from B",
        "insert into D select v from C where v > 0",
        "insert into B select v from D",
    ) == [("warning", "cycle: Q -> R -> S -> Q")]


def test_an_endless_cycle_is_found_beside_one_that_ends() -> None:
    assert found(
        "insert into B select v from A",
        "insert into A select v from B(v < 3)",
        "insert into C select v from B",
        "insert into B select v from C",
    ) == [("error", ENDLESS.format("R -> S -> R"))]


def test_cycles_apart_are_two_findings() -> None:
    messages = found(
        "insert into A select v from A(v < 1)", "insert into X select v from X where v < 2"
    )
    assert messages == [("warning", "cycle: P -> P"), ("warning", "cycle: Q -> Q")]


def test_a_chain_is_no_cycle() -> None:
    assert found("insert into B select v from A", "insert into C select v from B") == []


def test_the_hint_names_what_ends_a_cycle() -> None:
    text = SCHEMAS + (
        "@Name('P') insert into B select v from A#time_batch(1 sec);"
        "@Name('Q') insert into A select v from B(v < 3)"
    )
    [finding] = cycles.find(cep.parse(text).graph())
    assert finding.hint == "it ends only by the time that passes in 'P' or a condition of 'Q'"


def test_an_endless_cycle_does_run_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RUNAWAY", 1_000)
    program = cep.parse(SCHEMAS + "insert into A select a.v as v from pattern [every (x=X or a=A)]")
    with pytest.raises(cep.RunError, match="more than 1,000 events"):
        cep.run(program, [{"@type": "A", "@time": 0, "v": 1}], engine="reference")
