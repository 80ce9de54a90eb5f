"""Cycles: endless ones are errors, all others warnings, each with its path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    ) == [("error", ENDLESS.format("R -> S -> R")), ("warning", "cycle: P -> Q -> P")]


def test_cycles_apart_are_two_findings() -> None:
    messages = found(
        "insert into A select v from A(v < 1)", "insert into X select v from X where v < 2"
    )
    assert messages == [("warning", "cycle: P -> P"), ("warning", "cycle: Q -> Q")]


SHRINKS = "@Name('Halve') {} insert into A select v / 2 as v from A(v > 5);"
LOOPS = (
    "@Name('Out') insert into B select v from A(v > 0);"
    "@Name('Back') insert into A select v from B(v > 0);"
)


@pytest.mark.parametrize("allowed", ["", "@Allow('cycle', 'v shrinks')"])
def test_a_cycle_that_is_allowed_hides_no_other(allowed: str) -> None:
    program = cep.parse("create schema A (v double);" + SHRINKS.format(allowed) + LOOPS)
    told = [f.message for f in program.check() if f.code == "cycle"]
    assert told == ([] if allowed else ["cycle: Halve -> Halve"]) + ["cycle: Out -> Back -> Out"]


def test_a_long_cycle_hides_no_short_one_between_its_statements() -> None:
    assert found(
        "insert into B select v from A where v > 0",
        "insert into C select v from B where v > 0",
        "insert into A select v from C where v > 0",
        "insert into B select v from C where v > 0",
    ) == [("warning", "cycle: P -> Q -> R -> P"), ("warning", "cycle: Q -> S -> Q")]


def brute_force(producers: list[set[int]]) -> dict[int, int]:
    """The length of the shortest cycle through each statement, by powers of the relation."""
    ways = {n: {n} for n in range(len(producers))}
    lengths: dict[int, int] = {}
    for length in range(1, len(producers) + 1):
        ways = {n: set().union(*(producers[m] for m in reached)) for n, reached in ways.items()}
        lengths = {n: length for n in ways if n in ways[n]} | lengths
    return lengths


@given(st.lists(st.sets(st.integers(0, 6)), min_size=7, max_size=7))
def test_each_statement_has_a_shortest_cycle_and_none_has_two(producers: list[set[int]]) -> None:
    schemas = ";".join(f"create schema T{n} (v int)" for n in range(7))
    statements = (
        f"@Name('{taker}.{maker}') insert into T{taker} select v from T{maker} where v > 0"
        for taker, makers in enumerate(producers)
        for maker in sorted(makers)
    )
    program = cep.parse(";".join([schemas, *statements]))
    findings = list(cycles.find(program.graph()))
    paths = [f.message.removeprefix("cycle: ").split(" -> ")[:-1] for f in findings]
    starts = [path[0] for path in paths]
    assert len(set(starts)) == len(starts)
    through: dict[int, int] = {}
    for path in paths:
        makers = [int(name.split(".")[1]) for name in path]
        takers = [int(name.split(".")[0]) for name in path]
        assert takers == [*makers[1:], makers[0]]
        for n in makers:
            through[n] = min(len(path), through.get(n, len(path)))
    assert through == brute_force(producers)


def test_a_cycle_of_thousands_of_statements_is_told_once() -> None:
    """Each is asked for its way back, so that a step must not look at all of them."""
    count = 2_000
    texts = [f"insert into T{(n + 1) % count} select v from T{n} where v > 0" for n in range(count)]
    graph = cep.parse(";".join(["create schema T0 (v int)", *texts])).graph()
    [finding] = cycles.find(graph)
    assert finding.message.count(" -> ") == count


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
