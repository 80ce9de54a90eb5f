"""Statements that no event of an environment can satisfy."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.analysis.possible import possible_part
from cepheid.core.event import Event
from cepheid.program.graph import part_behind
from tests.conformance.engines import REFERENCE
from tests.conformance.generator import different

SCHEMA = "create schema A (v int, w double, s string); create schema Z (v int);\n"
EVENTS = [
    Event("A", 0, {"v": v, "w": w, "s": s}, 0)
    for v, w, s in ((1, 0.5, "x"), (60, 2.5, "x"), (60, None, "y"))
]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("@Name('p') select v from A(v > 1000);", ""),
        ("@Name('p') select v from A(v >= 60);", "p"),
        ("@Name('p') select v from A(v = 1 and s = 'y');", ""),  # each of them, but no event both
        ("@Name('p') select v from A(w is null);", "p"),
        ("@Name('p') select v from A(w is null and v = 1);", ""),
        ("@Name('p') select v from Z;", ""),  # no such input
        ("@Name('p') select a.v from pattern [every a=A(v = 1) -> b=A(v = a.v + 1)];", ""),
        ("@Name('p') select a.v from pattern [every a=A or z=Z];", "p"),
        ("@Name('p') select a.v from pattern [every a=A -> (timer:interval(1) and not Z)];", "p"),
        ("@Name('p') select count(*) as n from Z output every 2 seconds;", "p"),  # of none
        (
            "@Name('p') insert into P select v * 2 as u from A;\n"
            "@Name('q') insert into Q select u from P(u = 7);\n"
            "@Name('r') insert into R select u from Q;\n"
            "@Name('o') insert into O select u from P(u = 120);",
            "p o",
        ),
    ],
)
def test_what_no_input_satisfies_is_left_out_with_what_needs_it(text: str, kept: str) -> None:
    program = cep.parse(SCHEMA + text).resolve()
    assert [s.name for s in possible_part(program, EVENTS).statements] == kept.split()


def test_many_different_inputs_are_looked_at_attribute_by_attribute() -> None:
    events = [Event("A", 0, {"v": v, "w": w, "s": "x"}, 0) for v in range(60) for w in range(5)]
    text = "@Name('p') select v from A(v > 59); @Name('q') select v from A(v > 58 and w = 4.0);"
    program = cep.parse(SCHEMA + text).resolve()
    assert [s.name for s in possible_part(program, events).statements] == ["q"]


def test_what_is_left_out_has_no_rows() -> None:
    left_out = 0
    for example in different(30):
        events = [item for item in example.items() if isinstance(item, Event)]
        kept = {s.name for s in possible_part(example.resolved, events).statements}
        left_out += len(example.resolved.statements) - len(kept)
        try:
            rows = REFERENCE.run(example)
        except cep.RunError:
            continue
        assert {row.statement for row in rows} <= kept, example
    assert left_out


def test_the_part_behind_a_type_has_all_that_leads_to_it() -> None:
    text = """create schema A (v int); create schema B () inherits A;
    @Name('b') insert into B select v from A; @Name('c') insert into C select v from A;
    @Name('d') insert into D select v from A(v > 1); @Name('e') insert into E select v from D;"""
    part = part_behind("E", cep.parse(text).resolve())
    assert [s.name for s in part.statements] == ["b", "d", "e"]
