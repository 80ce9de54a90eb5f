"""Full rings, ties and failures of the step machine."""

from __future__ import annotations

from typing import Any, cast

import pytest

from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier
from cepheid.realtime.machine import Job, Machine, Move, Run, Take
from tests.realtime.test_machine import make_by_o, one_operator

MS = 1_000_000


def taken(machine: Machine[int], now: int, count: int = 1) -> None:
    """So many supplier events are handed on."""
    jobs = [cast("Job[int]", machine.next(now)) for _ in range(count)]
    for job in jobs:
        assert isinstance(job, Take)
        machine.finish(job, now)


def test_an_event_that_cannot_be_in_time_any_more_makes_room_in_a_full_ring() -> None:
    """From 3 on: it is valid for 10, and the rest of its way takes 7."""
    machine = Machine[int](one_operator(late="shed"), {"s": 7})
    assert machine.push("s", 0, 1)
    taken(machine, 0)
    assert not machine.push("s", 2, 2)
    assert machine.push("s", 3, 3)
    assert machine.released == {("s", "overflow"): 1, ("s", "hopeless"): 1}
    assert machine.live["s"] == 1


def test_an_expired_event_at_a_less_important_reader_makes_room_in_a_full_ring() -> None:
    graph = Graph(
        (Supplier(name="s", period=10, validity=10),),
        (Operator(name="o", kind="a", inputs=("s",)),),
        (
            Consumer(name="c", input="s", priority=1),
            Consumer(name="d", input="o", priority=2, late="shed"),
        ),
    )
    machine = Machine[int](graph)
    assert machine.push("s", 0, 1)
    taken(machine, 0)
    move = machine.next(0)
    assert isinstance(move, Move)
    machine.finish(move, 0)
    assert not machine.push("s", 9, 2)
    assert machine.push("s", 10, 3)
    assert machine.released == {("s", "overflow"): 1, ("s", "expired"): 1}


@pytest.mark.parametrize("priorities", [(2, 2), (2, 3)])
def test_an_event_is_overwritten_for_all_that_it_was_to_be_moved_to(
    priorities: tuple[int, int],
) -> None:
    graph = Graph(
        (Supplier(name="s", period=10, validity=10),),
        (
            Operator(name="o", kind="a", inputs=("s",)),
            *(Operator(name=name, kind="a", inputs=("o",)) for name in "pq"),
        ),
        (
            Consumer(name="c", input="o", priority=1),
            *(
                Consumer(name=f"c{name}", input=name, priority=priority)
                for name, priority in zip("pq", priorities, strict=True)
            ),
        ),
    )
    machine = Machine[int](graph)
    make_by_o(machine, 0, 2)
    assert machine.released == {("o", "overwritten"): 2}
    assert machine.live["o"] == 1
    moves = [cast("Move[int]", machine.next(0)) for _ in "pq"]
    assert [(each.operator.name, each.sample.value) for each in moves] == [("p", 1), ("q", 1)]


def two_inputs(**settings: Any) -> Machine[int]:
    graph = Graph(
        tuple(Supplier(name=name, period=10, validity=10) for name in "st"),
        (Operator(name="o", kind="a", inputs=("s", "t"), **settings),),
        (Consumer(name="c", input="o", priority=1),),
    )
    return Machine(graph)


@pytest.mark.parametrize("pushed", ["st", "ts"])
def test_of_events_of_one_time_an_operator_takes_that_of_its_first_input(pushed: str) -> None:
    machine = two_inputs(ready_on="any")
    for name in pushed:
        machine.push(name, 0, 1)
    taken(machine, 0, 2)
    run = machine.next(0)
    assert isinstance(run, Run)
    assert (run.places, [each.source for each in run.inputs]) == ((0,), ["s"])


def test_a_run_that_fails_is_counted_once_however_many_inputs_it_has() -> None:
    machine = two_inputs()
    for name in "st":
        machine.push(name, 0, 1)
    taken(machine, 0, 2)
    run = machine.next(0)
    assert isinstance(run, Run)
    machine.fail(run)
    assert machine.released == {("o", "failed"): 1}
    assert machine.live == {"s": 0, "t": 0, "o": 0}
