"""State that grows for ever, patterns that wait for ever, and keys that are missing."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.analysis import state

SCHEMAS = """
create schema A (id string, v double);
create schema B (id string, v double);
@EventTime(attribute='ts', unit='minutes') create schema T (ts int, id string);
"""


def found(pattern: str) -> list[tuple[str, str]]:
    text = f"{SCHEMAS}@Name('S') select 1 as x from pattern [{pattern}]"
    findings = state.find(cep.parse(text).graph())
    return [(str(f.severity), f.message) for f in findings if f.code == "unbounded-state"]


@pytest.mark.parametrize(
    "pattern",
    [
        "every a=A -> b=B",
        "every a=A -> every b=B",
        "every a=A(v > 3) -> b=A(v > 5)",  # a start of 4 leaves the run that waits
        "every a=A(v > 3) -> (b=A(v > 5) and not A(v < 4))",
        "every a=A -> b=A(b.v > a.v)",
        "every a=A -> (b=A(v > 400) and not A(v <= 400))",  # null is neither
        "every-distinct(a.id) a=A",
        "every a=T -> b=T(b.ts - a.ts > 5)",
        "every (a=T or x=A) -> b=T -> c=T(c.ts - b.ts <= 5)",  # b may come at any time
    ],
)
def test_runs_that_nothing_ends_are_a_warning(pattern: str) -> None:
    [(severity, message)] = found(pattern)
    assert severity == "warning"
    assert message.startswith("the state of 'S' grows without bound: ")


@pytest.mark.parametrize(
    "pattern",
    [
        "every a=A -> b=B where timer:within(3 sec)",
        "every (a=A -> b=B)",
        "every a=A(v > 400) -> b=A",  # whatever starts a run ends the one before
        "every a=A(v > 400) -> b=A -> c=A",
        "every a=A(v > 3) -> b=A(v > 2)",
        "every a=A(v > 400) -> (b=A(v > 400) and not A(v <= 400))",
        "every a=A(v > 1) -> (b=A(b.v > a.v) and not A(v <= a.v))"
        " -> (c=A(v > b.v and v > 1.5 * a.v) and not A(v <= b.v or v <= 1.5 * a.v))",
    ],
)
def test_runs_that_end_or_replace_each_other_are_no_finding(pattern: str) -> None:
    assert found(pattern) == []


@pytest.mark.parametrize(
    "condition", ["b.ts - a.ts <= 5", "b.ts <= a.ts + 5", "a.ts + 6 > b.ts", "b.ts - 5 < a.ts + 1"]
)
def test_a_condition_on_the_time_bounds_a_run(condition: str) -> None:
    assert found(f"every a=T -> b=T(b.id = a.id and {condition})") == [
        (
            "note",
            "runs of 'S' are kept for ever, though by conditions on the time they can complete"
            " for 6 minutes only",
        )
    ]


def test_times_of_several_steps_add_up() -> None:
    [(_, message)] = found("every a=T -> b=T(b.ts - a.ts <= 5) -> c=T(c.ts - b.ts <= 2)")
    assert message.endswith("they can complete for 8 minutes only")


def test_the_guard_of_the_hint_loses_no_match() -> None:
    schema = "@EventTime(attribute='ts', unit='microseconds') create schema T (ts long, id string);"
    text = schema + "@Name('S') select 1 as x from pattern [{}]"
    waits = "every a=T -> b=T(b.id != a.id and b.ts - a.ts <= 5000000){}"
    [finding] = state.find(cep.parse(text.format(waits.format(""))).graph())
    assert str(finding.hint).startswith("`where timer:within(5 seconds 1 microsecond)` around")
    guards = ("", " where timer:within(5 seconds 1 microsecond)", " where timer:within(5 seconds)")
    events = [{"@type": "T", "ts": ts, "id": str(ts)} for ts in (0, 5_000_000)]
    runs = (cep.run(cep.parse(text.format(waits.format(guard))), events) for guard in guards)
    assert [len(list(rows)) for rows in runs] == [1, 1, 0]


def stuck(pattern: str, where: str = "") -> list[tuple[str, str | None]]:
    text = f"{SCHEMAS}@Name('S') select b.ts as ts from pattern [{pattern}] {where}"
    findings = state.find(cep.parse(text).graph())
    return [(f.message, f.hint) for f in findings if f.code == "stuck"]


def test_a_pattern_whose_time_is_up_waits_for_ever() -> None:
    assert stuck("every (a=T -> b=T(id != a.id and b.ts - a.ts <= 5))") == [
        (
            "'S' waits for ever once its time is up: it follows one match at a time, which by"
            " conditions on the time can be complete for 6 minutes only",
            "`every (... where timer:within(6 minutes))` begins anew after that",
        )
    ]


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("every a=T -> b=T(b.ts - a.ts <= 5)", ""),  # each event begins anew
        ("every (a=T -> b=T(b.ts - a.ts <= 5) where timer:within(6 minutes))", ""),
        ("every (a=T -> (b=T(b.ts - a.ts <= 5) and not A))", ""),
        ("every (a=T -> b=T(b.ts - a.ts > 5))", ""),
        ("every (a=T -> b=T)", "where b.ts - a.ts <= 5"),
    ],
)
def test_a_pattern_that_goes_on_is_no_finding(pattern: str, where: str) -> None:
    assert stuck(pattern, where) == []


def test_the_guard_of_the_hint_lets_a_pattern_go_on() -> None:
    pairs = "every (a=T -> b=T(id != a.id and b.ts - a.ts <= 5){})"
    text = f"{SCHEMAS}select b.ts as ts from pattern [{pairs}]"
    events = [{"@type": "T", "ts": ts, "id": str(ts)} for ts in (0, 10, 20, 21)]
    waiting, going_on = (
        cep.run(cep.parse(text.format(guard)), events)
        for guard in ("", " where timer:within(6 minutes)")
    )
    assert list(waiting) == []
    assert [row["ts"] for row in going_on] == [21]


def keys(statement: str) -> list[tuple[str, str | None]]:
    findings = state.find(cep.parse(f"{SCHEMAS}@Name('S') {statement}").graph())
    return [(f.message, f.hint) for f in findings if f.code == "no-key"]


def test_a_comparison_by_a_key_that_does_not_split_is_a_note_with_the_context() -> None:
    assert keys("select a.v as v from pattern [every (a=A -> b=B(b.id = a.id))]") == [
        (
            "no key splits the events of 'S': `every (...)` follows one match at a time over all keys",
            "to run it per id: create context PerId partition by id from A, id from B;"
            " context PerId select ...",
        )
    ]


def test_what_splits_or_has_no_key_in_sight_is_no_finding() -> None:
    assert keys("select a.v as v from pattern [every a=A -> b=B(b.id = a.id)]") == []
    assert keys("select a.v as v from pattern [every (a=A -> b=B)]") == []
    assert keys("select sum(v) as v from A") == []
