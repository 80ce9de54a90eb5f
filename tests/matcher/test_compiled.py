"""The compiled machine gives the rows of the reference semantics, whatever the batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.errors import LateEvent, RunError
from cepheid.matcher.compiling.lowering import handed_over
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import rows_schema
from cepheid.matcher.reference import ReferenceOperator
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree, Statement
from tests.effort import examples
from tests.matcher.test_operator import shown_table, table
from tests.semantics.drive import end_of, resolved
from tests.semantics.generators import programs, streams


def patterns_only(tree: ProgramTree) -> ProgramTree:
    """The program without windows and what comes after them."""
    return ProgramTree(
        tuple(_bare(d) if isinstance(d, Statement) else d for d in tree.declarations)
    )


def _bare(statement: Statement) -> Statement:
    return replace(
        statement,
        window=None,
        output=None,
        group_by=(),
        having=None,
        order_by=(),
        limit=None,
        distinct=False,
        stream="istream",
        insert_stream="istream" if statement.insert_into else statement.insert_stream,
    )


def rows(operators: Sequence[pa.Table]) -> list[tuple[object, ...]]:
    """Rows without their keys, which need only be in the same order."""
    return [row[:3] + row[4:] for row in shown_table(operators)]


@examples(200)
@given(programs(), streams(), st.data())
def test_rows_are_those_of_the_reference(
    tree: ProgramTree, stream: list[Event], data: st.DataObject
) -> None:
    tree = patterns_only(tree)
    note(cep.Program(tree).to_text())
    program = resolved(tree)
    assume(not any(p.severity.name == "ERROR" for p in program.problems))
    assume(not any(map(handed_over, program.statements)))
    reference = ReferenceOperator(program)
    reference.start(0)
    events = table(program, stream)
    expected = [reference.take(events), reference.advance(end_of(stream))]
    operator, found, rest = MachineOperator(program), [], events
    operator.start(0)
    while rest.num_rows:
        size = data.draw(st.integers(1, rest.num_rows))
        found.append(operator.take(rest.slice(0, size)))
        state = operator.save()
        operator, rest = MachineOperator(program), rest.slice(size)
        operator.load(state)
    found.append(operator.advance(end_of(stream)))
    assert all(part.schema == rows_schema(program) for part in found)
    assert rows(found) == rows(expected)
    keys: list[list[int]] = pa.concat_tables(found).column("@key").to_pylist()  # type: ignore[assignment]
    assert keys == sorted(keys)


CRASH = """
    create schema Motorbike(id string, speed int);
    select a.id as id from pattern [
        every a=Motorbike(speed >= 50) -> b=Motorbike(speed = 0 and id = a.id)
            where timer:within(3 seconds)];
"""


def crash() -> ResolvedProgram:
    return cep.parse(CRASH).resolve()


def readings(count: int, begin: int = 0) -> pa.Table:
    """Ten motorbikes; every other reading of each is a halt."""
    numbers = range(begin, begin + count)
    return pa.table(
        {
            "@type": ["Motorbike"] * count,
            "@time": pa.array([n * 1000 for n in numbers], pa.int64()),
            "@sequence": pa.array(numbers, pa.int64()),
            "id": [f"m{n % 10}" for n in numbers],
            "speed": pa.array([60 if n // 10 % 2 == 0 else 0 for n in numbers], pa.int32()),
        }
    )


def test_the_memory_does_not_grow_with_the_length_of_the_stream() -> None:
    operator = MachineOperator(crash())
    operator.take(readings(50_000))
    half = operator.size
    found = operator.take(readings(50_000, 50_000))
    assert found.num_rows == 25_000
    assert operator.size == half


def test_events_before_the_clock_are_refused() -> None:
    operator = MachineOperator(crash())
    operator.take(readings(10, 100))
    with pytest.raises(LateEvent):
        operator.take(readings(10))
    with pytest.raises(LateEvent):
        operator.advance(0)


def test_a_state_of_another_program_or_a_damaged_one_is_refused() -> None:
    operator = MachineOperator(crash())
    operator.take(readings(100))
    state = operator.save()
    other = cep.parse(CRASH.replace("50", "51")).resolve()
    for program, bytes_ in (
        (other, state),
        (crash(), state[:-1]),
        (crash(), state[:-1] + bytes([state[-1] ^ 1])),
        (crash(), b"no state"),
        (crash(), ReferenceOperator(crash()).save()),
    ):
        with pytest.raises(RunError):
            MachineOperator(program).load(bytes_)


def test_endless_derivation_ends_the_run() -> None:
    text = "create schema A(v int); insert into B select v from A; insert into B select v from B;"
    operator = MachineOperator(cep.parse(text).resolve())
    zero = pa.array([0], pa.int64())
    one = pa.table(
        {"@type": ["A"], "@time": zero, "@sequence": zero, "v": pa.array([1], pa.int32())}
    )
    with pytest.raises(RunError, match="100,000"):
        operator.take(one)
    with pytest.raises(RunError, match="100,000"):
        operator.advance(10)
