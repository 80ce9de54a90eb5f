"""Rows of lanes have the keys that rows of the machine have, however many statements lie between them and the input."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

import cepheid as cep
from cepheid.core.event import Event
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import Operator, open_operator
from cepheid.matcher.parts import PartsOperator
from tests.conformance import generator
from tests.conformance.engines import Refused, compiled, in_lanes, instant_of, operator_table
from tests.conformance.scenarios import Example
from tests.effort import examples

SCHEMA = "create schema A(id int, k string, v int, w double);\n"


def rows_of(operator: Operator, events: pa.Table, end: int, size: int) -> list[dict[str, object]]:
    operator.start(0)
    cuts = range(0, events.num_rows, size)
    found = [operator.take(events.slice(begin, size)) for begin in cuts]
    return pa.concat_tables([*found, operator.advance(end)]).to_pylist()


def readings() -> pa.Table:
    count = 40
    return pa.table(
        {
            "@type": ["A"] * count,
            "@time": [500_000 * (n // 3) for n in range(count)],
            "@sequence": [10 * n for n in range(count)],
            "id": pa.array(range(count), pa.int32()),
            "k": ["xyz"[n % 3] for n in range(count)],
            "v": pa.array([n * 7 % 11 for n in range(count)], pa.int32()),
            "w": [n / 4 for n in range(count)],
        }
    )


PROGRAMS = {
    "filters in a row": (
        "insert into X select k, v from A(v > 2); insert into Y select k, v from X(v < 9);"
        "insert into Z select k from Y(v > 3); insert into Z select k from X(v = 5)"
    ),
    "a chain of what filters give": (
        "insert into X select id, k from A(v > 2); insert into Y select id, k from A(v < 4);"
        "insert into Z select b.k as k from pattern [every a=X -> b=Y(k = a.k)];"
        "select k from Z(k != 'y')"
    ),
    "a window of what a chain gives": (
        "insert into X select b.k as k, b.v as v from pattern [every a=A(v > 3) -> b=A(v < 4)];"
        "insert into Y select k, sum(v) as s from X#length(3) group by k; select s from Y(s > 2)"
    ),
    "what a timer gives": (
        "insert into X select k, count(*) as n from A#time_batch(2 sec) group by k;"
        "insert into Y select k, n from X(n > 1); select k from Y; select n from X"
    ),
    "what an absence gives": (
        "insert into X select a.k as k from pattern [every a=A(v = 4) -> (timer:interval(1 sec) and not A(v = 5))];"
        "insert into Y select k from X; insert into Z select k from A; select k from Y"
    ),
    "what the machine gives": (
        "insert into X select k, v from A output every 3 events; insert into Y select k from X(v > 3);"
        "select k from Y; select k from A(v > 8)"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("size", [1, 7, 100])
def test_rows_of_lanes_have_the_keys_of_the_machine(name: str, size: int) -> None:
    program = cep.parse(SCHEMA + PROGRAMS[name]).resolve()
    operator = open_operator(program)
    assert isinstance(operator, LanesOperator)
    found = rows_of(operator, readings(), 60_000_000, size)
    assert len(found) > 5
    assert found == rows_of(MachineOperator(program), readings(), 60_000_000, size)


APART = "a rate of the machine's"
FED_BY_TIME = {
    "a window": "insert into X select k, v from A; select k, count(*) as n from X#time_batch(2 sec) group by k",
    "an absence": (
        "insert into X select k, v from A;"
        "select a.k as k from pattern [every a=X(v = 4) -> (timer:interval(1 sec) and not X(v = 5))]"
    ),
    APART: ("select k from A output every 2 sec; insert into X select k from A; select k from X"),
}


@pytest.mark.parametrize("name", FED_BY_TIME)
def test_timers_whose_keys_lanes_do_not_know_are_the_machines(name: str) -> None:
    program = cep.parse(SCHEMA + FED_BY_TIME[name]).resolve()
    operator = open_operator(program)
    assert isinstance(operator, PartsOperator if name == APART else MachineOperator)
    assert isinstance(open_operator(program, keyed=False), LanesOperator)


@examples(150)
@given(generator.examples(in_a_row=True))
def test_whatever_follows_on_what_rows_have_the_keys_of_the_machine(example: Example) -> None:
    program = example.resolved
    try:
        operators = in_lanes(program), compiled(program)
    except Refused:
        return
    lanes, machine = (keys_of(operator, example) for operator in operators)
    assert lanes == machine


def keys_of(operator: Operator, example: Example) -> list[object]:
    items = example.items()
    events = operator_table(operator.program, [e for e in items if isinstance(e, Event)])
    rows = rows_of(operator, events, instant_of(items[-1]), 5)
    return [(row["@type"], row["@key"]) for row in rows]
