"""What `check` asks grows with the statements, not with their pairs; what is too long is cut and told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

import cepheid as cep
from cepheid.analysis import contradictions
from cepheid.analysis.solver import LONGEST, Solver
from cepheid.formal import witnesses

SCHEMA = "create schema T (k string, v int, w double);\n"
EASY = ("retention", "unused", "priorities", "races")


def ladder(count: int) -> str:
    return "".join(f"@Name('S{n}') select v from T(v > {n});" for n in range(count))


def bands(count: int) -> str:
    return "".join(
        f"@Name('S{n}') select v from T(v between {10 * n} and {10 * n + 5});" for n in range(count)
    )


def keys(count: int) -> str:
    return "".join(
        f"@Name('S{n}') select v from T(k = 'key{n}' and w > {n});" for n in range(count)
    )


def sequences(count: int) -> str:
    return "".join(
        f"@Name('S{n}') select a.v as v from pattern [every a=T(v > {7 * n % 31}) -> b=T(k = a.k)];"
        for n in range(count)
    )


def feeding(count: int) -> str:
    makers = "".join(f"insert into D select v from T(v > {n});" for n in range(count))
    return makers + "".join(f"@Name('S{n}') select v from D(v > {n});" for n in range(count))


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """How many questions the solver gets for a program."""
    asked: list[int] = []
    for name in ("can_hold", "clash", "most"):
        original = getattr(Solver, name)

        def counted(*args: object, original: Callable[..., object] = original) -> object:
            asked.append(1)
            return original(*args)

        monkeypatch.setattr(Solver, name, counted)

    def count(text: str) -> int:
        asked.clear()
        cep.parse(SCHEMA + text).check(without=EASY)
        return len(asked)

    return count


@pytest.mark.parametrize("family", [ladder, bands, keys, sequences, feeding])
def test_questions_grow_with_the_number_of_statements(
    family: Callable[[int], str], questions: Callable[[str], int]
) -> None:
    few, many = questions(family(12)), questions(family(36))
    assert 0 < many <= 3.5 * few


def test_notes_of_one_kind_are_told_once() -> None:
    found = cep.parse(SCHEMA + ladder(30)).check(without=EASY)
    assert [f.code for f in found] == ["implied"]
    assert "28 more statements are like it: lines 2, " in found[0].message


def test_the_nearest_statement_that_implies_another_is_told() -> None:
    text = "".join(f"@Name('S{n}') select v from T(v > {n * 37 % 41});" for n in range(20))
    graph = cep.parse(SCHEMA + text).graph()
    told = [f.message.split("'")[1::2] for f in contradictions.find(graph)]
    bounds = {f"S{n}": n * 37 % 41 for n in range(20)}
    assert len(told) == 19
    for one, other in told:
        between = [b for b in bounds.values() if bounds[other] < b < bounds[one]]
        assert bounds[one] > bounds[other]
        assert between == []


MANY = 1000


@pytest.mark.parametrize(
    "condition",
    [
        " and ".join(f"v != {n}" for n in range(MANY)),
        " or ".join(f"v = {n}" for n in range(MANY)),
        f"v in ({', '.join(map(str, range(MANY)))})",
        " and ".join(f"(v > {n} or w > {n})" for n in range(LONGEST + 1)),
    ],
)
def test_long_conditions_are_cut_and_that_is_told(condition: str) -> None:
    program = cep.parse(f"{SCHEMA}@Name('S') select v from T({condition})")
    found = program.check(without=EASY)
    assert [f.code for f in found] == ["check-limit"]


@pytest.mark.parametrize(
    "condition",
    [
        lambda numbers: f"v in ({', '.join(map(str, numbers))}) and v > 1000",
        lambda numbers: f"({' or '.join(f'v = {n}' for n in numbers)}) and v > 1000",
        lambda numbers: f"not ({' and '.join(f'v != {n}' for n in numbers)}) and v > 1000",
        lambda numbers: " and ".join(["v = 1000", *(f"w != {n}" for n in numbers[2:]), "v < 1000"]),
    ],
)
def test_two_hundred_parts_are_looked_at_and_one_more_is_not(
    condition: Callable[[Sequence[int]], str],
) -> None:
    def codes(count: int) -> list[str]:
        program = cep.parse(f"{SCHEMA}select v from T({condition(range(count))})")
        return [finding.code for finding in program.check(without=EASY)]

    assert codes(200) == ["never-matches"]
    assert codes(201) == ["check-limit"]


def test_a_contradiction_in_front_of_what_is_cut_is_found() -> None:
    rest = " and ".join(f"v != {n}" for n in range(MANY))
    found = cep.parse(f"{SCHEMA}select v from T(w > 1 and w < 1 and {rest})").check(without=EASY)
    assert "never-matches" in [f.code for f in found]


def test_a_very_long_repetition_is_a_finding_and_needs_no_memory() -> None:
    text = "select a[0].v as v from pattern [every [2147483647] a=T where timer:within(1 sec)]"
    codes = [f.code for f in cep.parse(SCHEMA + text).check(without=EASY)]
    assert "unbounded-state" in codes


def test_a_race_that_only_timers_could_show_is_a_stated_limit() -> None:
    text = """
    @Name('A') insert into X select 1 as n from pattern [every timer:interval(10 sec)];
    @Name('B') insert into Y select 2 as n from pattern [every timer:interval(10 sec)];
    @Name('C') select x.n as n from pattern [every x=X -> y=Y where timer:within(1 sec)];
    """
    [finding] = witnesses.find(cep.parse(text).graph())
    assert finding.code == "check-limit"
    assert "only timers lead there" in finding.message


def test_many_statements_with_a_common_past_get_fewer_streams_and_that_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(witnesses, "WORK", 20)
    text = "insert into D select v from T(v > 1); insert into D select v from T(v > 2);"
    findings = list(witnesses.find(cep.parse(f"{SCHEMA}{text} select v from D(v > 0)").graph()))
    assert [f.code for f in findings] == ["check-limit"]


def test_a_chain_of_statements_needs_no_recursion() -> None:
    names = ["T", *(f"D{n}" for n in range(1100))]
    text = "".join(
        f"insert into {target} select v from {source};" for source, target in pairwise(names)
    )
    assert cep.parse(SCHEMA + text).graph().levels[-1] == 1100
