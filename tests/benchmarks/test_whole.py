"""Whole programs and their parts: what a statement alone takes, and rows whose numbers are known."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from benchmarks.whole_programs import (
    Whole,
    alone,
    chain,
    counts,
    differs,
    fan_out,
    filters,
    repeated,
)

import cepheid as cep

PROGRAM = """
create schema T(id int, v int);
create context PerId partition by id from T, id from High;
@Name('High') context PerId insert into High select id, v from T(v > 1);
@Name('Higher') context PerId insert into Higher select id, v as w from High(v > 2);
"""


@pytest.fixture
def whole() -> Whole:
    events = [{"@type": "T", "@time": v, "id": v % 2, "v": v} for v in (1, 2, 3, 4)]
    return Whole(program=cep.parse(PROGRAM), events=pa.Table.from_pylist(events))


def test_a_statement_alone_takes_the_events_or_the_rows_of_the_whole_program(whole: Whole) -> None:
    first, second = alone(whole)
    names = [[s.name for s in part.program.resolve().statements] for part in (first, second)]
    assert names == [["High"], ["Higher"]]
    assert first.events is whole.events
    assert second.events.column_names == ["@type", "@time", "id", "v"]
    assert second.events["v"].to_pylist() == [2, 3, 4]


def test_the_parts_of_a_program_together_give_its_rows(whole: Whole) -> None:
    together = sum((Counter(counts(part.run())) for part in alone(whole)), Counter[str]())
    assert together == counts(whole.run()) == {"High": 3, "Higher": 2}


@pytest.mark.parametrize("made", [filters(20, 10_000), chain(1_000), fan_out(1_000)])
def test_generated_programs_give_as_many_rows_as_they_are_known_to_give(made: Whole) -> None:
    assert made.rows is not None
    assert sum(made.rows.values()) > 0
    assert differs(counts(made.run()), made.rows) is None


@pytest.mark.parametrize(
    ("found", "known", "problem"),
    [
        ({"A": 1}, None, None),
        ({"A": 1}, {"A": 1, "B": 0}, None),
        ({"A": 1}, {"A": 1_000, "B": 2}, "1 A instead of 1,000, 0 B instead of 2"),
        ({"C": 3}, {}, "3 C instead of 0"),
    ],
)
def test_other_numbers_of_rows_are_told(
    found: dict[str, int], known: dict[str, int] | None, problem: str | None
) -> None:
    assert differs(found, known) == problem


def test_repeated_events_come_a_gap_after_the_last_of_them() -> None:
    table = repeated([{"t": 1, "a": 5}, {"t": 3, "b": 6}], "t", 10, 5)
    assert table.to_pydict() == {
        "t": [1, 3, 13, 15],
        "a": [5, None, 5, None],
        "b": [None, 6, None, 6],
    }
