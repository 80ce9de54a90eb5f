"""Dependent statements without priorities, and the priorities that order them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given

import cepheid as cep
from cepheid.analysis import races
from cepheid.core.event import Event
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.semantics.drive import per_instant, run
from tests.semantics.generators import programs, streams

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAIN = """
create schema A (v int);
@Name('Q') insert into C select v from B;   // before the one it needs
/* first */ @Name('P') insert into B select v from A;
select v from C; @priority(3) @Name('Z') select v from A
"""


def notes(program: cep.Program) -> list[str]:
    return [f.message for f in races.find(program.graph())]


def test_a_dependent_statement_without_priority_is_a_note() -> None:
    assert notes(cep.parse(CHAIN)) == [
        "'Q' depends on 'P', which has no higher priority",
        "'statement_3' depends on 'Q', which has no higher priority",
    ]


def test_a_higher_priority_settles_a_pair_and_an_equal_one_does_not() -> None:
    text = "create schema A (v int); @Name('Q') select v from B; {} insert into B select v from A"
    assert notes(cep.parse(text.format("@Priority(1)"))) == []
    assert len(notes(cep.parse(text.format("@Priority(0)")))) == 1
    assert len(notes(cep.parse(text.format("@Priority(-1)")))) == 1


def test_pairs_inside_a_cycle_are_left_to_the_cycle() -> None:
    text = "create schema A (v int); insert into B select v from A; insert into A select v from B;"
    assert notes(cep.parse(text)) == []


def test_every_dependent_pair_of_the_air_quality_program_is_named() -> None:
    program = cep.load(EXAMPLES / "airquality" / "airquality.epl")
    messages = notes(program)
    assert len(messages) == 37
    assert sum(message.count("'") // 2 - 1 for message in messages) == 72
    assert notes(program.with_priorities()) == []


def test_priorities_are_written_into_the_text_and_nothing_else_changes() -> None:
    fixed = cep.parse(CHAIN).with_priorities()
    assert (
        fixed.sources["<text>"]
        == """
create schema A (v int);
@Priority(2)
@Name('Q') insert into C select v from B;   // before the one it needs
/* first */ @Priority(3) @Name('P') insert into B select v from A;
@Priority(1)
select v from C; @Priority(4) @Name('Z') select v from A
"""
    )
    assert notes(fixed) == []
    assert fixed.with_priorities() is fixed


def test_an_old_priority_over_several_lines_is_replaced() -> None:
    text = "@Name('Q') select v from B; @Priority(\n -1\n) @Name('P') insert into B select v from A"
    fixed = cep.parse(text, types={"A": {"v": "int"}}).with_priorities()
    assert fixed.sources["<text>"] == (
        "@Priority(1)\n@Name('Q') select v from B; @Priority(2) @Name('P') insert into B select v from A"
    )


def test_priorities_count_over_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.epl").write_text("@Name('Q') select v from B;\n")
    (tmp_path / "b.epl").write_text("create schema A (v int);\ninsert into B select v from A;\n")
    fixed = cep.load(tmp_path / "a.epl", tmp_path / "b.epl").with_priorities()
    assert list(fixed.sources.values()) == [
        "@Priority(1)\n@Name('Q') select v from B;\n",
        "create schema A (v int);\n@Priority(2)\ninsert into B select v from A;\n",
    ]


def test_equal_priorities_of_statements_that_others_need_are_told_apart() -> None:
    text = """create schema A (v int);
    @Priority(2) @Name('P') insert into B select v from A;
    @Priority(2) @Name('Q') insert into C select v from A;
    @Priority(1) @Name('R') select b.v as v from pattern [every b=B -> c=C]"""
    fixed = cep.parse(text).with_priorities()
    assert [s.priority for s in fixed.tree.statements] == [3, 2, 1]


def test_a_program_in_which_nothing_depends_on_anything_stays_as_it_is() -> None:
    program = cep.parse("create schema A (v int); select v from A; select v + 1 as v from A")
    assert program.with_priorities() is program


@examples(40)
@given(programs(), streams())
def test_without_an_open_order_the_order_of_the_text_changes_no_row(
    tree: ProgramTree, stream: list[Event]
) -> None:
    program = cep.parse(cep.Program(tree).to_text()).with_priorities()
    assert not races.has_open_order(program.graph())
    names = [statement.name for statement in program.resolve().statements]
    one, other = (run(program.tree, stream, order=order) for order in (names, names[::-1]))
    assert per_instant(one) == per_instant(other)
