"""Statements that nothing feeds, types that nothing takes, results that nothing uses."""

from __future__ import annotations

import cepheid as cep
from cepheid.analysis import unused


def found(text: str) -> list[tuple[str, str]]:
    return [(str(f.severity), f.message) for f in unused.find(cep.parse(text).graph())]


def test_a_cycle_that_no_event_enters_derives_nothing() -> None:
    text = """create schema A (v int);
    @Name('P') insert into B select 1 as v from C;
    @Name('Q') insert into C select 1 as v from B;
    @Name('R') select a.v as v from pattern [every a=A -> b=B];
    @Name('S') select a.v as v from pattern [every (a=A or b=B)]"""
    assert found(text) == [
        ("warning", "'P' never derives anything: nothing produces 'C'"),
        ("warning", "'Q' never derives anything: nothing produces 'B'"),
        ("warning", "'R' never derives anything: nothing produces 'B'"),
    ]


def test_a_declared_type_may_come_from_outside() -> None:
    text = """create schema B (v int);
    @Name('P') insert into B select v from C;
    @Name('Q') insert into C select v from B"""
    assert found(text) == []


def test_an_heir_counts_as_its_ancestor() -> None:
    text = """create schema A (v int); create schema H () inherits A;
    select v from A"""
    assert found(text) == []


def test_a_type_that_no_statement_takes_is_a_note() -> None:
    text = "create schema A (v int); create schema B (v int); select v from A"
    assert found(text) == [("note", "no statement takes events of type 'B'")]


def test_types_of_attributes_of_heirs_and_of_results_are_used() -> None:
    text = """create schema Point (x int); create schema Base (at Point, path Point[]);
    create schema A (v int) inherits Base; create schema R (v int);
    insert into R select v from A"""
    assert found(text) == []


def test_a_file_of_types_alone_is_not_held_against_them() -> None:
    assert found("create schema A (v int);") == []


def test_a_result_without_an_action_is_a_note_only_beside_actions() -> None:
    statements = "insert into B select v from A; @Name('R') select v from B; {} select v from A"
    text = "create schema A (v int);" + statements
    assert found(text.format("")) == []
    assert found(text.format("@Action('mail')")) == [("note", "nothing uses the results of 'R'")]


def test_a_property_is_there_to_be_verified() -> None:
    text = """create schema A (v int); @Action('mail') select v from A;
    @Property(kind='never') select a.v from pattern [every a=A]"""
    assert found(text) == []
