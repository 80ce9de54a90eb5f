"""What is right by the rules and hardly what was meant, and what stands beside it and is fine."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.analysis import nulls, state, traps

SCHEMAS = """
create schema A (id string, k string, v int);
create schema B (id string, k string, v int);
create schema N (v int);
create schema M (bikeId int, v int);
@EventTime(attribute='ts', unit='seconds') create schema T (ts long, k string);
"""


def codes(text: str) -> list[str]:
    program = cep.parse(SCHEMAS + text)
    assert [p for p in program.resolve().problems if p.severity is cep.Severity.ERROR] == []
    graph = program.graph()
    return [f"{f.severity} {f.code}" for f in [*traps.find(graph), *nulls.find(graph)]]


def pattern(text: str) -> list[str]:
    return codes(f"select 1 as x from pattern [{text}]")


TRAPS = {
    "warning true-at-once": [
        (
            "every a=N -> not N where timer:within(5 sec)",
            "every a=N -> (timer:interval(5 sec) and not N)",
        ),
        ("every a=N -> not N", "every a=N -> (b=N and not N(v = 3))"),
        ("every a=N -> (not N and not N(v = 1))", "every a=N -> (b=N and not N and not N(v = 1))"),
        ("not N -> a=N", "a=N and not N(v = 1)"),
    ],
    "warning guard-start": [
        (
            "every (a=N -> b=N) where timer:within(5 sec)",
            "every a=N -> b=N where timer:within(5 sec)",
        ),
        ("(every a=N -> b=N) where timer:within(5 sec)", "(a=N -> b=N) where timer:within(5 sec)"),
        (
            "every (a=N -> b=N) where timer:within(5 sec)",
            "every (timer:interval(1 sec) -> b=N) where timer:within(5 sec)",
        ),
    ],
    "warning never-matches": [
        ("every timer:at(0, 0, 30, 2, *)", "every timer:at(0, 0, 29, 2, *)"),
        ("every timer:at(0, 0, 31, 4, *)", "every timer:at(0, 0, 31, 4, 0)"),  # or a Sunday
        (
            "every a=N -> b=N where timer:within(0 sec)",
            "every a=N -> b=N where timer:within(1 msec)",
        ),
    ],
    "warning unbounded-state": [
        ("every [2147483647] a=N", "every [100] a=N"),
        ("every [1000001] a=N", "every [1000000] a=N"),
    ],
    "note across-keys": [
        ("every a=A -> b=B", "every a=A -> b=B(k = a.k)"),
        ("every a=A -> b=B(v > a.v)", "every a=A -> b=N(v > a.v)"),
        ("every (a=A and b=B)", "every (a=A or b=B)"),
        ("every a=A -> b=B", "every-distinct(a.k) a=A -> b=B"),
        ("every a=M -> b=M", "every a=N -> b=N"),
    ],
}


@pytest.mark.parametrize(
    ("code", "trap", "fine"), [(code, *pair) for code, pairs in TRAPS.items() for pair in pairs]
)
def test_a_pattern_that_is_a_trap_has_its_finding_and_the_one_beside_it_does_not(
    code: str, trap: str, fine: str
) -> None:
    assert set(pattern(trap)) == {code}
    assert code not in pattern(fine)


@pytest.mark.parametrize(
    ("code", "trap", "fine"),
    [
        (
            "warning single-rows",
            "select distinct v from N",
            "select distinct v from N#time_batch(1 sec)",
        ),
        (
            "warning single-rows",
            "select v from N order by v",
            "select v from N#length_batch(3) order by v",
        ),
        (
            "warning single-rows",
            "select v from N limit 3",
            "select v from N output every 4 events limit 3",
        ),
        ("warning single-rows", "select v from N limit 3 offset 1", "select v from N limit 0"),
        (
            "warning never-matches",
            "select count(*) as n from N#length(10) having count(*) > 20",
            "select count(*) as n from N#length(10) having count(*) >= 10",
        ),
        (
            "warning never-matches",
            "select count(*) as n from N#length(10) having count(*) > 10",
            "select count(*) as n from N#length(10) having count(*) > 9",
        ),
        (
            "warning never-matches",
            "select count(*) as n from N#length(10) having 10 < count(*)",
            "select count(*) as n from N#length(10) having 20 > count(*)",
        ),
        (
            "warning single-rows",
            "select distinct v from N output after 3 events",
            "select distinct v from N output every 3 events",
        ),
        (
            "warning never-matches",
            "select count(v) as n from N#length_batch(2) having 3 = count(v)",
            "select sum(v) as n from N#length_batch(2) having sum(v) > 3",
        ),
        (
            "warning index-beyond",
            "select a[7].v as x from pattern [every [3] a=N]",
            "select a[2].v as x from pattern [every [3] a=N]",
        ),
        (
            "warning index-beyond",
            "select a[3].v as x from pattern [every ([1:3] a=N until N(v = 0))]",
            "select a[3].v as x from pattern [every ([3:] a=N until N(v = 0))]",
        ),
        (
            "warning unbounded-state",
            "select ts, count(*) as n from T group by ts",
            "select ts, count(*) as n from T#time(1 day) group by ts",
        ),
        (
            "note unbounded-state",
            "select k, count(*) as n from A group by k",
            "select k, count(*) as n from A#time(1 day) group by k",
        ),
        ("warning null-comparison", "select v from N(v = null)", "select v from N(v is null)"),
        (
            "warning null-comparison",
            "select v from N where v in (1, null)",
            "select v from N where v in (1, 2)",
        ),
    ],
)
def test_a_statement_that_is_a_trap_has_its_finding_and_the_one_beside_it_does_not(
    code: str, trap: str, fine: str
) -> None:
    assert codes(trap) == [code]
    assert code not in codes(fine)


def test_a_limit_of_single_rows_shows_all_of_them_or_none() -> None:
    for text, effect in (("limit 3", "has no effect"), ("limit 3 offset 1", "shows no row at all")):
        [found] = traps.find(cep.parse(f"{SCHEMAS}select v from N {text}").graph())
        assert effect in found.message


def test_a_key_is_what_the_program_uses_as_one() -> None:
    text = "@Name('S') select a.v as v from pattern [every a=A -> b=B];"
    [finding] = traps.find(cep.parse(SCHEMAS + text).graph())
    assert "differ in `id`" in finding.message
    grouped = "select k, count(*) as n from A#time(1 hour) group by k;"
    [finding] = traps.find(cep.parse(SCHEMAS + text + grouped).graph())
    assert "differ in `k`" in finding.message


def test_a_context_keeps_keys_apart() -> None:
    context = "create context C partition by k from A, k from B;"
    assert codes(f"{context} context C select a.v as v from pattern [every a=A -> b=B]") == []


def test_an_absence_that_is_true_at_once_is_told_once_with_the_form_that_waits() -> None:
    text = "select a.v as v from pattern [every a=N -> not N where timer:within(5 sec)]"
    program = cep.parse(SCHEMAS + text)
    assert list(state.find(program.graph())) == []
    [finding] = traps.find(program.graph())
    assert finding.hint is not None
    assert "(timer:interval(5 seconds) and not N)" in finding.hint
