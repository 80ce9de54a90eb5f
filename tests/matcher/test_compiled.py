"""The compiled machine gives the rows of the reference semantics, whatever the batches."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import LateEvent, RunError
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.reference import ReferenceOperator
from cepheid.program.resolved import ResolvedProgram

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
