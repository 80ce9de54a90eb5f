"""Races with a witness: a stream that gives other rows under another order of the statements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.formal.witnesses import Witness, witnesses

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = "create schema A (id string, v int);"
DIAMOND = (
    SCHEMA
    + """
@Name('P') insert into B select id, v from A(v > 10);
@Name('Q') insert into C select id, v from A(v < 20);
@Name('R') insert into D select b.id as id from pattern [every b=B -> c=C(c.id = b.id)
    where timer:within(9 seconds)];
"""
)


def all_of(text: str) -> list[Witness]:
    return list(witnesses(cep.parse(text).graph()))


def exchanged(program: cep.Program, first: str, second: str) -> cep.Program:
    """The program with two statements in each other's place."""
    declarations = list(program.tree.declarations)
    names = [getattr(d, "annotation", lambda _: None)("Name") for d in declarations]
    one, other = (
        next(i for i, n in enumerate(names) if n and n.value() == name) for name in (first, second)
    )
    declarations[one], declarations[other] = declarations[other], declarations[one]
    return cep.Program(type(program.tree)(tuple(declarations)), program.types)


def rows(program: cep.Program, witness: Witness) -> list[str]:
    events = [json.loads(line) for line in witness.lines]
    result = cep.run(program, events, engine="reference")
    return sorted(repr(row) for row in result if row.statement == witness.statement.name)


def test_a_diamond_has_a_witness_that_replays() -> None:
    program = cep.parse(DIAMOND)
    [witness] = witnesses(program.graph())
    assert (witness.statement.name, witness.first, witness.second) == ("R", "P", "Q")
    assert len(witness.events) == 1
    assert 10 < int(str(witness.events[0]["v"])) < 20
    before, after = rows(program, witness), rows(exchanged(program, "P", "Q"), witness)
    assert (len(before), len(after)) == (witness.rows, witness.other_rows) == (1, 0)


def test_the_finding_has_the_witness_as_an_events_file() -> None:
    [finding] = [f for f in cep.parse(DIAMOND).check() if f.code == "race"]
    assert finding.severity is cep.Severity.WARNING
    assert finding.message == (
        "the rows of 'R' depend on whether 'P' or 'Q' takes an event first:"
        " 1 event gives 1 of them, or 0"
    )
    assert [json.loads(line)["@type"] for line in finding.witness] == ["A"]
    assert finding.to_json()["witness"] == list(finding.witness)


def test_priorities_end_a_race() -> None:
    program = cep.parse(DIAMOND).with_priorities()
    assert list(witnesses(program.graph())) == []
    assert program.check(without=["retention"]) == []


@pytest.mark.parametrize(
    "last",
    [
        "select b.id as id from pattern [every (b=B or c=C)]",  # takes each for itself
        "select b.id as id from pattern [every b=B(v = 11) -> c=C(c.v = 12)]",  # two events
        "select count(*) as n from B",
    ],
)
def test_a_diamond_whose_order_does_not_matter_has_none(last: str) -> None:
    text = DIAMOND[: DIAMOND.index("@Name('R')")] + f"@Name('R') {last}"
    assert all_of(text) == []


def test_two_ways_into_one_type_race_in_a_window() -> None:
    text = (
        SCHEMA
        + """
    @Name('P') insert into S select id, 1 as k from A;
    @Name('Q') insert into S select id, 2 as k from A;
    @Name('Pass') insert into T select id, k from S;
    @Name('R') select last(k) as k from T output last every 2 events;
    """
    )
    [witness] = all_of(text)
    assert (witness.statement.name, witness.first, witness.second) == ("R", "P", "Q")
    assert witness.rows == witness.other_rows == 1


def test_what_only_follows_from_a_race_is_left_out() -> None:
    assert [w.statement.name for w in all_of(DIAMOND + "@Name('S') select id from D")] == ["R"]


def test_a_sum_of_floats_in_another_order_is_the_same_sum() -> None:
    text = (
        SCHEMA
        + """
    @Name('P') insert into S select 0.1 as k from A;
    @Name('Q') insert into S select 0.2 as k from A;
    @Name('O') insert into S select 0.3 as k from A;
    @Name('R') select sum(k) as k from S#length_batch(3);
    """
    )
    assert all_of(text) == []


@pytest.mark.parametrize("name", ["motorbike/motorbike", "airquality/airquality"])
def test_the_race_of_an_example_replays(name: str) -> None:
    program = cep.load(EXAMPLES / f"{name}.epl")
    [witness] = witnesses(program.graph())
    other = exchanged(program, witness.first, witness.second)
    assert rows(program, witness) != rows(other, witness)


def test_cycles_and_types_without_a_schema_are_not_tried() -> None:
    cyclic = DIAMOND + "@Name('S') insert into A select id, 15 as v from D"
    assert all_of(cyclic) == []
    assert all_of(DIAMOND.removeprefix(SCHEMA)) == []


LARGE = {
    "a number that only arithmetic leads to": (
        """@Name('P') insert into B select id, v from A(v * 7 - w * 3 = 1234568 and w > 5000);
        @Name('Q') insert into C select id, v from A(v + w = 987654);""",
        1,
    ),
    "what statements before compute": (
        """@Name('P1') insert into B1 select id, v * 10 as v from A;
        @Name('P') insert into B select id, v from B1(v > 123450 and v < 123470);
        @Name('Q1') insert into C1 select id, v from A(v > 100);
        @Name('Q') insert into C select id, v from C1;""",
        1,
    ),
    "many events": (
        """@Name('P') insert into B select id, count(*) as n from A#length(100) having count(*) >= 30;
        @Name('Q') insert into C select id, v from A;""",
        30,
    ),
}


@pytest.mark.parametrize(("text", "events"), LARGE.values(), ids=LARGE)
def test_thresholds_that_no_guess_meets_are_met_by_the_solver(text: str, events: int) -> None:
    [witness] = all_of(
        f"""create schema A (id string, v long, w long); {text}
        @Name('R') insert into D select b.id as id from pattern [every b=B -> c=C(c.id = b.id)];"""
    )
    assert witness.statement.name == "R"
    assert len(witness.events) == events
