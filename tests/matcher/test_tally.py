"""Many runs in one tally: each counts what the reference semantics gives for it alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.errors import RunError
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.reference import ReferenceOperator
from cepheid.matcher.row_counts import open_row_counts
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree
from cepheid.semantics.machine import Machine
from tests.effort import examples
from tests.matcher.test_chained import chain_texts
from tests.matcher.test_operator import table
from tests.semantics.drive import end_of, resolved
from tests.semantics.generators import TYPES, make_event, programs, streams


def alone(program: ResolvedProgram, stream: Sequence[Event], end: int) -> list[int]:
    """The rows of each statement in a run of its own."""
    machine = Machine(program)
    machine.start(0)
    rows = [row for event in stream for row in machine.take(event)] + machine.advance(end)
    counts = Counter(row.statement for row in rows if not row.is_old)
    return [counts[statement.name] for statement in program.statements]


def assert_each_alone(program: ResolvedProgram, runs: Sequence[list[Event]]) -> None:
    tally = open_row_counts(program)
    for stream in runs:
        end = end_of(stream)
        found = tally.run(table(program, stream), 0, end).tolist()
        assert found == alone(program, stream, end)


@examples(40)
@given(programs(), st.lists(streams(), min_size=2, max_size=4))
def test_every_run_begins_afresh(tree: ProgramTree, runs: list[list[Event]]) -> None:
    assert_each_alone(resolved(tree), runs)


@examples(40)
@given(chain_texts(), st.lists(streams(), min_size=2, max_size=4))
def test_so_does_every_run_of_chains(text: str, runs: list[list[Event]]) -> None:
    assert_each_alone(cep.parse(text, types=TYPES).resolve(), runs)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("select a.id from pattern [every a=A]", LanesOperator),
        ("select a.id from pattern [every (a=A -> b=B(b.v > a.v))]", MachineOperator),
        ("select a.id from pattern [every-distinct(a.k) (every a=A -> b=B)]", ReferenceOperator),
    ],
)
def test_all_kinds_of_operators_count(text: str, kind: type) -> None:
    """A run that needs more room than those before it, and a small one after it."""
    program = cep.parse(text, types=TYPES).resolve()
    tally = open_row_counts(program)
    assert isinstance(tally, kind)
    sizes = (3, 6 if kind is ReferenceOperator else 6_000, 5)
    assert_each_alone(program, [made(size) for size in sizes])


def made(size: int) -> list[Event]:
    return [make_event("AB"[n % 2], 1_000 * n, n, "xy"[n // 3 % 2], n % 3) for n in range(size)]


def test_a_run_that_had_to_end_does_not_end_the_next() -> None:
    text = "insert into A select id, k, v + 1 as v, w, ts from A(v >= 100)"
    program = cep.parse(text, types=TYPES).resolve()
    tally = open_row_counts(program)
    endless = table(program, [make_event("A", 0, 0, v=100)])
    with pytest.raises(RunError):
        tally.run(endless, 0, 1)
    assert tally.run(table(program, [make_event("A", 0, 0, v=1)]), 0, 1).tolist() == [0]
