"""What analyses and engines make of a policy that they have not learned: nothing that could hurt."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import cepheid as cep
from cepheid.analysis.keys import split_of
from cepheid.analysis.pushdown import early_filters
from cepheid.errors import ProgramError
from cepheid.matcher.gaps import left_to_reference
from cepheid.pattern.policy import EVERY, Policy
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import from_json, to_json
from cepheid.program.tree import PatternSource, ProgramTree, Statement
from cepheid.semantics.machine import Machine

TEXT = """
create schema A (k string, v int);
select a.k as k from pattern [every a=A(v > 1) -> b=A(k = a.k, v = 0)];
"""
NOISY = Policy(noise="heard")  # type: ignore[arg-type]
UNKNOWN = (
    NOISY,
    Policy(takers="one"),  # type: ignore[arg-type]
    Policy(consumes="all"),  # type: ignore[arg-type]
)


def under(policy: Policy) -> ResolvedProgram:
    declarations = [
        replace(d, source=PatternSource(d.source.pattern, policy))
        if isinstance(d, Statement) and isinstance(d.source, PatternSource)
        else d
        for d in cep.parse(TEXT).tree.declarations
    ]
    return resolve_program(ProgramTree(tuple(declarations)))


def test_epl_lets_events_be_dropped_and_split() -> None:
    program = under(EVERY)
    [statement] = program.statements
    assert early_filters(statement, program.types)["A"] is not None
    assert split_of(statement, program.types).by == {"A": (("k",),)}
    assert not left_to_reference(program)


def test_where_noise_counts_every_event_travels() -> None:
    program = under(NOISY)
    assert early_filters(program.statements[0], program.types) == {"A": None}


@pytest.mark.parametrize("policy", UNKNOWN)
def test_where_runs_are_not_independent_nothing_is_split(policy: Policy) -> None:
    program = under(policy)
    split = split_of(program.statements[0], program.types)
    assert (split.by, split.reason) == (None, "its policy lets the runs of all keys share events")


@pytest.mark.parametrize("policy", UNKNOWN)
def test_what_the_matcher_does_not_know_is_left_to_the_reference(policy: Policy) -> None:
    program = under(policy)
    assert [*left_to_reference(program).values()] == [[f"the policy {policy}"]]


@pytest.mark.parametrize("policy", UNKNOWN)
def test_what_the_reference_does_not_know_it_refuses(policy: Policy) -> None:
    with pytest.raises(ProgramError, match="the policy"):
        Machine(under(policy))


def test_epl_is_not_mentioned_in_the_json_form() -> None:
    tree = under(EVERY).tree
    assert "policy" not in json.dumps(to_json(tree))
    assert from_json(to_json(tree)) == tree
