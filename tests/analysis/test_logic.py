"""Contradictions, conditions that always hold, and statements that others imply."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis import contradictions as logic
from cepheid.analysis.solver import LIMITS, Solver, SymbolicEvent
from cepheid.core.event import Event, Value
from cepheid.core.types import STRING
from cepheid.expr.evaluate import Frame, compile_condition
from cepheid.expr.tree import Literal
from tests.effort import examples

SCHEMAS = """
create schema A (v int, w double, s string, f boolean);
create schema B (v int, w double, s string, f boolean);
@EventTime(attribute='ts', unit='seconds') create schema T (ts long, v int);
"""


def found(text: str) -> list[tuple[str, str]]:
    program = cep.parse(SCHEMAS + text)
    assert [p for p in program.resolve().problems if p.severity is cep.Severity.ERROR] == []
    return [(f.code, f.message) for f in logic.find(program.graph())]


def codes(text: str) -> list[str]:
    return [code for code, _ in found(text)]


@pytest.mark.parametrize(
    "condition",
    [
        "v > 3 and v < 3",
        "v > 3 and v < 4",  # no whole number in between
        "v > 3000000000L",  # beyond the type
        "w > 1.5 and not (w > 1)",
        "s = 'a' and s = 'b'",
        "s in ('a', 'b') and s = 'c'",
        "s < 'a' and s > 'b'",
        "f and not f",
        "v is null and v = 1",
        "v = null and v > 1 and v < 1",
        "w != w and w = 1.0",  # NaN equals nothing
        "v between 3 and 5 and v = 6",
        "v not between 3 and 5 and v = 4",
        "v + 1 = 3 and v = 5",
        "case when v > 3 then 1 else 2 end = 1 and v < 2",
        "case when v > 3 then 1 end = 1 and v < 2",
        "(v > 3 or v > 5) and v < 2",
    ],
)
def test_a_contradiction_never_matches(condition: str) -> None:
    assert codes(f"select v from A({condition})") == ["never-matches"]
    assert codes(f"select v from A where {condition}") == ["never-matches"]
    assert codes(f"select a.v as v from pattern [every a=A({condition})]") == ["never-matches"]


@pytest.mark.parametrize(
    "condition",
    [
        "v > 3 or v <= 3",  # null is neither
        "w >= 1.5 or w < 1.5",  # nor is NaN
        "v > 3 and w < 4",
        "w > 3 and w < 4",
        "w != w",
        "v + 1 < v",  # wraps around
        "w + 1.0 = w",  # rounds
        "v between 5 and 3",  # means 3 to 5
        "s like 'a%' and s like 'b%'",  # not seen
        "w * 2.0 > w",
        "s is null and v = 1",
        "not f or f",
    ],
)
def test_what_some_event_satisfies_and_another_does_not_is_no_finding(condition: str) -> None:
    assert found(f"select v from A({condition})") == []


@pytest.mark.parametrize(
    "condition",
    [
        "v is null or v is not null",
        "v is null or v <= 2147483647",
        "1 < 2",
        "f is null or f or not f",
    ],
)
def test_what_every_event_satisfies_is_a_note(condition: str) -> None:
    assert codes(f"select v from A({condition})") == ["always-true"]


def test_steps_are_counted_where_a_busy_machine_would_run_out_of_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "select v from A(v + w > 3 and v < 2 and v > 4);"
    assert "never-matches" in codes(text)
    monkeypatch.setitem(LIMITS, "rlimit", 1)
    assert codes(text) == []


def test_events_of_one_match_contradict_each_other() -> None:
    text = "select a.v as v from pattern [every a=A(v > 5) -> b=B(b.v > a.v and b.v < 6)]"
    assert found(text.replace("a.v as v", "a.v as x")) == [
        (
            "never-matches",
            "'statement_1' can never match: `v < 6` contradicts `v > 5` (line 5) and `v > a.v` (line 5)",
        )
    ]
    assert found(text.replace("< 6", "< 9")) == []


def test_only_conditions_without_which_there_is_no_contradiction_are_named() -> None:
    condition = "v != 3 and x < 5 and v < x and w < x and v + w > 8 and (w > 0 or x < 1) and x > 1"
    [(_, message)] = found(f"create schema N (v int, w int, x int); select v from N({condition})")
    assert message.partition("contradicts ")[2].replace(" (line 5)", "") == (
        "`x < 5`, `v < x`, `w < x`, `v + w > 8` and `w > 0 or x < 1`"
    )


def test_a_contradiction_over_three_statements_is_found() -> None:
    text = """
    @Name('P') insert into C select v as x from A(v > 10);
    @Name('Q') insert into D select x + 1 as y from C where x < 20;
    @Name('R') select d.y as y from pattern [every d=D(y {})];
    """
    assert [m for _, m in found(text.format("> 30"))] == [
        "'R' can never match: `y > 30` contradicts `x < 20` of 'Q' (line 7)"
    ]
    assert codes(text.format("< 12")) == ["never-matches"]
    assert codes(text.format("= 12")) == []
    assert codes(text.format("> 11")) == ["always-true"]


def test_all_statements_that_derive_a_type_count() -> None:
    text = """
    @Name('P') insert into C select v as x from A(v > 10);
    @Name('Q') insert into C select v as x from B(v < 0);
    @Name('R') select x from C(x {})
    """
    assert codes(text.format("= 5")) == ["never-matches"]
    assert codes(text.format("< 0")) == []


def test_a_declared_type_may_bring_other_values_from_outside() -> None:
    text = "@Name('P') insert into B select v, w, s, f from A(v > 10); select v from B(v < 3)"
    assert codes(text) == []


def test_an_attribute_that_two_statements_widen_keeps_the_values_of_both() -> None:
    text = """insert into C select v as x from A; insert into C select w as x from A;
    select x from C(x > 0.2 and x < 0.8)"""
    assert codes(text) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("b.ts - a.ts > 5", ["never-matches"]),
        ("b.ts - a.ts > 3", []),
        ("b.ts < a.ts", ["never-matches"]),
    ],
)
def test_guards_and_the_order_of_events_bound_their_times(
    condition: str, expected: list[str]
) -> None:
    text = (
        f"select b.ts as x from pattern [every a=T -> b=T({condition}) where timer:within(4 sec)]"
    )
    assert codes(text) == expected


def test_what_is_inserted_has_the_time_of_its_cause_whatever_its_attribute_says() -> None:
    text = "select b.v as x from pattern [every a=T -> b=T(b.ts < a.ts)]"
    assert codes(text) == ["never-matches"]
    assert codes(f"insert into T select 9L - v as ts, v from A; {text}") == []
    heir = "@EventTime(attribute='other') create schema Heir (other long) inherits T;"
    assert codes(f"{heir} {text}") == []


def test_both_sides_of_and_are_there_when_it_is_true() -> None:
    text = "select c.v as x from pattern [every a=T -> (b=T and c=T) -> (d=T({}) where timer:within(4 sec))]"
    assert codes(text.format("d.ts - b.ts > 9 and d.ts - c.ts > 9")) == ["never-matches"]
    assert codes(text.format("d.ts - b.ts > 9")) == []


def test_a_timer_that_outlasts_its_guard_leaves_no_time() -> None:
    text = "select a.v as v from pattern [every (a=A -> (timer:interval({} sec) -> b=B) where timer:within(4 sec))]"
    assert codes(text.format(5)) == ["never-matches"]
    assert codes(text.format(3)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("select v from A(v > 10)", "select w from A(v > 5)"),
        ("select v from A(s = 'a' and f)", "select w from A where s in ('a', 'b')"),
        (
            "select a.v as v from pattern [every a=A(v > 9) -> b=B(b.v = a.v)]",
            "select x.v as v from pattern [every x=A(v > 3) -> y=B(y.v >= x.v)]",
        ),
    ],
)
def test_a_statement_that_another_implies_is_a_note(one: str, other: str) -> None:
    text = f"@Name('P') {one}; @Name('Q') {other}"
    assert found(text) == [("implied", "every match of 'P' is one of 'Q', too")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("select v from A(v > 10)", "select w from A(v > 15 or f)"),
        ("select v from A(v > 10)", "select v from B(v > 5)"),
        ("select v from A(v > 10)", "select count(*) as n from A(v > 5)#time(3 sec)"),
        ("select v from A(v > 10)", "select v from A"),
    ],
)
def test_statements_that_differ_are_no_finding(one: str, other: str) -> None:
    assert "implied" not in codes(f"@Name('P') {one}; @Name('Q') {other}")


def test_a_statement_that_never_matches_is_not_said_to_be_implied_as_well() -> None:
    text = "@Name('P') select v from A(v > 3 and v < 3); @Name('Q') select v from A(v > 1);"
    assert codes(text) == ["never-matches"]


def test_a_contradiction_names_only_the_conditions_that_make_it() -> None:
    text = "@Name('P') select v from A(s = 'a' and v > 3 and w > 1 and f and v < 3)"
    assert found(text) == [
        ("never-matches", "'P' can never match: `v < 3` contradicts `v > 3` (line 5)")
    ]


def test_each_statement_that_leaves_no_way_is_named() -> None:
    text = """
    @Name('P') insert into C select v as x from A(v > 10);
    @Name('Q') insert into C select v as x from B(v < 0);
    @Name('R') select x from C(x = 5)
    """
    [(_, message)] = found(text)
    assert "`v > 10` of 'P' (line 6) and `v < 0` of 'Q' (line 7)" in message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("select v from A(v > 3)#length(3)", "select x.v as v from pattern [every x=A(v > 3)]"),
        ("select v from A(v > 3)", "insert into C select v from A(v > 3)"),
    ],
)
def test_what_says_the_same_with_other_tags_is_a_duplicate(one: str, other: str) -> None:
    assert "duplicate-statement" in codes(f"@Name('P') {one}; @Name('Q') {one}")
    assert "duplicate-statement" not in codes(f"@Name('P') {one}; @Name('Q') {other}")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("\\u{41}", "A", False),
        ("\\u{41}", "\\u{41}", True),
        ("\n", "\\n", False),
        ("é", "é", True),
        ("é", "e", False),
        ("\U00030000", "A", True),  # not seen
    ],
)
def test_texts_are_taken_character_by_character(one: str, other: str, expected: bool) -> None:
    solver = Solver()
    terms = [solver.term(Literal(text, type=STRING), {}) for text in (one, other)]
    assert solver.can_hold([solver.is_true(solver.compare("=", *terms))]) is expected


# What is said to be impossible is: no event of a grid satisfies it.

VALUES: dict[str, list[Value]] = {
    "v": [None, -(2**31), -1, 0, 1, 2, 2**31 - 1],
    "w": [None, -1.5, 0.0, 1.0, 2.5, math.nan, math.inf],
    "s": [None, "", "a", "b"],
    "f": [None, True, False],
}
NUMBERS = st.sampled_from(["v", "w", "v + 1", "v * 2", "-w", "0", "1", "2.5", "null"])
TEXTS = st.sampled_from(["s", "'a'", "'b'", "''"])
SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
SIMPLE = st.one_of(
    st.tuples(NUMBERS, SIGNS, NUMBERS).map(" ".join),
    st.tuples(TEXTS, SIGNS, TEXTS).map(" ".join),
    st.sampled_from(["f", "v is null", "w is not null", "f is not null", "v in (0, 1)"]),
    st.sampled_from(["w not in (1.0, 2.5)", "v between 2 and 0", "w not between 0 and v"]),
    st.sampled_from(["case when v > 0 then f else w < 1 end", "s in ('a', null)"]),
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(
            lambda p: f"({''.join(p)})"
        ),
        inner.map(lambda c: f"not ({c})"),
    ),
    max_leaves=5,
)


@examples(60)
@given(CONDITIONS)
def test_what_is_impossible_or_certain_is_so_for_every_event(condition: str) -> None:
    [statement] = cep.parse(SCHEMAS + f"select v from A({condition})").resolve().statements
    assert statement.condition is not None
    test = compile_condition(statement.condition)
    rows = (dict(zip(VALUES, v, strict=True)) for v in product(*VALUES.values()))
    truths = {bool(test(Frame(Event("A", 0, row)))) for row in rows}
    solver = Solver()
    term = solver.term(statement.condition, {None: SymbolicEvent(solver.instant())})
    true = solver.is_true(term)
    assert solver.can_hold([true]) or True not in truths
    assert solver.can_hold([solver.z3.Not(true)]) or False not in truths


@examples(40)
@given(CONDITIONS, CONDITIONS, CONDITIONS)
def test_what_can_never_match_gives_no_row(first: str, second: str, third: str) -> None:
    text = f"""
    insert into C select v, w, s, f from A({first});
    insert into D select v, w, s, f from C where {second};
    @Name('S') select d.v as v from pattern [every d=D({third})];
    """
    program = cep.parse(SCHEMAS + text)
    findings = logic.find(program.graph())
    never = {f.message.split("'")[1] for f in findings if f.code == "never-matches"}
    grid = product(*VALUES.values())
    events = [{"@type": "A", "@time": 0, **dict(zip(VALUES, v, strict=True))} for v in grid]
    result = cep.run(program, events, engine="reference")
    assert not [row for row in result if row.statement in never]
    event("some statement never matches" if never else "all may match")
