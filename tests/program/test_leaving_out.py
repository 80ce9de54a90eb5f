"""A program as if some of its statements were not in it."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.errors import UsageError

PROGRAM = cep.parse(
    """
    create schema A (x int);
    insert into Big select x from A(x > 5);
    select x + 1 as y from Big;
    @Name('Odd') select x from A(x % 2 = 1);
    """
)
EVENTS = [{"@type": "A", "@time": n, "x": n} for n in range(9)]


@pytest.mark.filterwarnings("ignore:.*no input has events of Big")
@pytest.mark.parametrize("left_out", ["Odd", "statement_1", "statement_2"])
def test_the_rows_of_all_others_are_as_before(left_out: str) -> None:
    whole = list(cep.run(PROGRAM, *EVENTS))
    fewer = list(cep.run(PROGRAM.without(left_out), *EVENTS))
    gone = {"statement_1": {"statement_1", "statement_2"}}.get(left_out, {left_out})
    assert fewer == [row for row in whole if row.statement not in gone]
    assert [s.name for s in PROGRAM.without(left_out).resolve().statements] == [
        name for name in ("statement_1", "statement_2", "Odd") if name != left_out
    ]


def test_what_nothing_derives_any_more_may_come_in() -> None:
    event = {"@type": "Big", "@time": 1, "x": 40}
    [row] = cep.run(PROGRAM.without("statement_1"), event)
    assert (row.type, row["y"]) == ("statement_2", 41)


def test_the_text_stays_and_the_program_too() -> None:
    before = PROGRAM.to_text()
    assert PROGRAM.without("Odd").sources == PROGRAM.sources
    assert PROGRAM.to_text() == before
    assert PROGRAM.without() == PROGRAM


def test_a_statement_that_is_not_there_cannot_be_left_out() -> None:
    with pytest.raises(UsageError, match="no statement 'odd'"):
        PROGRAM.without("odd")
