"""The plan of a statement: what it is made of, and which context would give a key."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.analysis.keys import split_of
from cepheid.analysis.plan import StatementPlan, plan_program
from tests.semantics.drive import resolved

SCHEMAS = "create schema A (id string, k string, v int); create schema B (id string, k string);"

HINTS = {
    "select * from pattern [every (a=A -> b=B(k = a.k))]": "to run it per k:"
    " create context PerK partition by k from A, k from B; context PerK select ...",
    "select * from pattern [a=A -> b=B(k = a.id)]": "to run it per id:"
    " create context PerId partition by id from A, k from B; context PerId select ...",
    "select v, count(*) as n from A#length(3) group by v": "to run it per v:"
    " create context PerV partition by v from A; context PerV select ...",
    "select count(*) as n from A": "to run it per id: create context PerId partition by id from A;"
    " context PerId select ...",
    "create context C partition by k from A; select count(*) as n from A": "`context C select ...`"
    " would run it once per key",
    "create schema N (v int); select count(*) as n from N": "a context would give it a key:"
    " create context PerKey partition by ... from N; context PerKey select ...",
    "select * from pattern [every timer:interval(3 sec)]": "it takes no events that could be split",
}


def plan_of(text: str) -> StatementPlan:
    return plan_program(resolved(cep.parse(SCHEMAS + text).tree), "matcher")[0]


@pytest.mark.parametrize("text", HINTS)
def test_where_there_is_no_key_a_context_would_give_one(text: str) -> None:
    plan = plan_of(text)
    assert plan.split.by is None
    assert plan.context_hint == HINTS[text]
    assert plan.key_reason == f"{plan.split.reason}; {HINTS[text]}"


@pytest.mark.parametrize("text", [text for text in HINTS if "to run it per" in HINTS[text]])
def test_the_context_that_is_told_gives_a_key(text: str) -> None:
    form = HINTS[text].partition(": ")[2]
    program = resolved(cep.parse(f"{SCHEMAS} {form.replace('select ...', text)}").tree)
    assert split_of(program.statements[0], program.types).by


def test_a_key_needs_no_hint() -> None:
    plan = plan_of("select k, count(*) as n from A group by k")
    assert (plan.context_hint, plan.key_reason) == (None, plan.split.reason)


def test_conditions_on_the_time_say_how_long_events_matter() -> None:
    schema = "@EventTime(attribute='ts', unit='seconds') create schema T (ts long);"
    plan = plan_of(f"{schema} select * from pattern [every a=T -> b=T(b.ts < a.ts + 5)]")
    assert plan.retention.spans == {"T": 5_000_000}
    assert not plan.retention.is_bounded  # its runs are kept nevertheless


def test_who_runs_a_statement_is_told_by_the_caller() -> None:
    program = resolved(cep.parse(SCHEMAS + "select id from A").tree)
    for engine in ("matcher", "reference"):
        assert [plan.runs_on for plan in plan_program(program, engine)] == [engine]


def test_a_plan_tells_whether_time_alone_brings_rows() -> None:
    assert plan_of("select rstream id from A#time(3 sec)").waits_for_time
    assert not plan_of("select id from A#time(3 sec)").waits_for_time
