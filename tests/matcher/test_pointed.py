"""What is hard for a compiled machine gives the rows of the reference semantics, in their order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given, note

import cepheid as cep
from cepheid.core.event import Event
from cepheid.engines.common.runners import Runner
from cepheid.engines.registry import open_runner
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import Operator, open_operator
from cepheid.matcher.reference import ReferenceOperator
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.matcher.pointed import asking_programs, crowded_programs
from tests.matcher.test_local import matched_part, said
from tests.matcher.test_operator import shown_table, table
from tests.semantics.drive import end_of
from tests.semantics.generators import streams

FEW = tuple(itertools.product(("x", "y", "x", "xy", None), (1, 2, 0, None), (0.5,)))
MANY_EQUAL = tuple(itertools.product("AABB", (0, 0, 1000, 1000, 2000, 500)))


def by_events(runner: Runner, stream: Sequence[Event], *, restarts: bool = False) -> list[object]:
    """The rows of a runner, which may be saved and loaded after every event."""
    runner.start(0)
    found: list[Event] = []
    for event in stream:
        found += runner.send(event)
        if restarts:
            saved, runner = runner.save(), open_runner(runner.program, engine="local")
            runner.load(saved)
    return list(map(said, found + runner.pass_time(end_of(stream))))


def in_one_batch(operator: Operator, stream: Sequence[Event]) -> list[pa.Table]:
    operator.start(0)
    taken = operator.take(table(operator.program, stream))
    return [taken, operator.advance(end_of(stream))]


def rows(tables: Sequence[pa.Table]) -> list[tuple[object, ...]]:
    """Rows without their keys, which need only be in the same order."""
    return [row[:3] + row[4:] for row in shown_table(tables)]


def check(tree: ProgramTree, stream: list[Event]) -> None:
    note(cep.Program(tree).to_text())
    program = matched_part(tree)
    expected = by_events(open_runner(program, engine="reference"), stream)
    assert by_events(open_runner(program, engine="local"), stream) == expected
    assert by_events(open_runner(program, engine="local"), stream, restarts=True) == expected
    batch = in_one_batch(ReferenceOperator(program), stream)
    keys: list[list[int]]
    for operator in (MachineOperator(program), open_operator(program)):
        found = in_one_batch(operator, stream)
        assert rows(found) == rows(batch)
        keys = pa.concat_tables(found).column("@key").to_pylist()  # type: ignore[assignment]
        assert keys == sorted(keys)


@examples(60)
@given(asking_programs(), streams(MANY_EQUAL, FEW))
def test_questions_wherever_an_expression_stands_change_nothing(
    tree: ProgramTree, stream: list[Event]
) -> None:
    check(tree, stream)


@examples(60)
@given(crowded_programs(), streams(MANY_EQUAL, FEW))
def test_those_who_wait_hear_an_event_in_the_order_of_the_reference(
    tree: ProgramTree, stream: list[Event]
) -> None:
    check(tree, stream)
