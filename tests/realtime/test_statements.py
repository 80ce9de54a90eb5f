"""Statements of programs are operators of graphs, and go on from what they saved."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.realtime.checking import checked
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier, with_copies, without_sharing
from cepheid.realtime.operators.kind import Inputs
from cepheid.realtime.payload import Payload
from cepheid.realtime.programs import with_statements
from tests.effort import examples
from tests.realtime.operators import MS, REAL, delivered, sample

PROGRAM = """
insert into High select value as v, count(*) as n from a#length(4) where value > 0;
insert into Rise select x.v as from_, y.v as to_ from pattern [every x=High -> y=High(v > x.v)];
insert into Told select 'now' as word, value, value > 2 as isHigh from b;
insert into Empty select max(value) as most from a#length(3) where value > 7 having value < 9;
insert into Arrays select values as vs from c;
"""


def statement_graph(*read: str, text: str = PROGRAM, **payloads: Payload) -> Graph:
    payloads = payloads or {
        "a": Payload("float64"),
        "b": Payload("int16"),
        "c": Payload("float64", 2),
    }
    suppliers = [
        Supplier(name=name, period=MS, validity=900 * MS, payload=payload)
        for name, payload in payloads.items()
    ]
    consumers = [Consumer(name=f"c{n}", input=name, priority=1) for n, name in enumerate(read)]
    return with_statements(Graph(tuple(suppliers), (), tuple(consumers)), cep.parse(text))


def got(graph: Graph, pushes: list[tuple[int, str, Any]], consumer: str = "c0") -> list[list[Any]]:
    found = delivered(graph, pushes)
    return [each.sample.value.tolist() for each in found if each.consumer.name == consumer]


def test_statements_derive_events_of_events() -> None:
    pushes: list[tuple[int, str, Any]] = [(n, "a", v) for n, v in enumerate((3.0, -1.0, 2.0, 5.0))]
    assert got(statement_graph("High"), pushes) == [[3.0, 1.0], [2.0, 2.0], [5.0, 3.0]]
    assert got(statement_graph("Rise"), pushes) == [[3.0, 5.0], [2.0, 5.0]]
    both = statement_graph("Rise", "High")
    assert got(both, pushes, "c1") == [[3.0, 1.0], [2.0, 2.0], [5.0, 3.0]]
    assert {o.name: len(o.parameters["program"].tree.statements) for o in both.operators} == {  # type: ignore[attr-defined]
        "Rise": 2,
        "High": 1,
    }


def test_statements_give_objects_where_not_all_is_numbers() -> None:
    graph = statement_graph("Told", "Arrays")
    payloads = checked(graph).payloads
    assert payloads["Told"] == Payload("object", 3, ("word", "value", "isHigh"))
    assert payloads["Arrays"] == Payload("object", 1, ("vs",))
    assert got(graph, [(0, "b", np.int16(3))]) == [["now", 3, True]]
    assert got(graph, [(0, "c", np.array([1.0, 2.0]))], "c1") == [[[1.0, 2.0]]]


def test_numbers_that_are_null_are_no_number() -> None:
    text = """insert into N select x.value as x, y.value as y, x.value > 1 as isHigh
    from pattern [every (x=a or y=b)];"""
    graph = statement_graph("N", text=text, a=Payload("int8"), b=Payload("int8"))
    assert checked(graph).payloads["N"] == Payload("float64", 3, ("x", "y", "isHigh"))
    found = got(graph, [(0, "a", np.int8(2)), (1, "b", np.int8(3))])
    np.testing.assert_equal(found, [[2, np.nan, 1], [np.nan, 3, np.nan]])


@pytest.mark.parametrize("dtype", REAL)
def test_statements_take_all_real_numbers(dtype: str) -> None:
    text = "insert into N select value as v from a; insert into M select values as v from b;"
    graph = statement_graph(*("N", "M"), text=text, a=Payload(dtype), b=Payload(dtype, 3))
    one_value = np.ones(1, dtype)
    assert got(graph, [(0, "a", one_value)]) == [[1]]
    assert got(graph, [(0, "b", np.ones(3, dtype))], "c1") == [[[1, 1, 1]]]


def test_elements_with_names_are_attributes() -> None:
    text = "insert into N select y - x as d from a;"
    graph = statement_graph("N", text=text, a=Payload("float32", 2, ("x", "y")))
    assert got(graph, [(0, "a", np.array([1, 3], "float32"))]) == [[2.0]]


def test_what_a_program_declares_of_a_source_may_be_wider_and_less() -> None:
    text = (
        "create schema a(y double); insert into N select y / 2 as d from a;"
        "insert into S select sum(y) as s from a#length(2);"
    )
    graph = statement_graph("N", "S", text=text, a=Payload("uint8", 2, ("x", "y")))
    pushes = [(n, "a", np.array([1, v], "uint8")) for n, v in enumerate((3, 4))]
    assert got(graph, pushes) == [[1.5], [2.0]]
    assert got(graph, pushes, "c1") == [[3.0], [7.0]]


def test_events_of_heirs_arrive_as_those_of_their_parents() -> None:
    text = (
        "create schema Any(value double); create schema a() inherits Any;"
        "create schema z() inherits Any; insert into N select value as v from Any;"
    )
    graph = statement_graph("N", text=text, a=Payload("float64"), b=Payload("float64"))
    (operator,) = graph.operators
    assert operator.inputs == ("a",)
    assert got(graph, [(0, "a", 2.0)]) == [[2.0]]


def test_events_are_taken_in_the_order_in_which_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their numbers among those of their sources are, and whenever they begin."""
    text = "insert into N select x.value as x, y.value as y from pattern [every x=a -> y=b];"
    graph = statement_graph("N", text=text, a=Payload("int32"), b=Payload("int32"))
    work, taken = checked(graph).works["N"], list[Event]()
    session = work.begin()
    take = session.take

    def watched(event: Event) -> Any:
        taken.append(event)
        return take(event)

    monkeypatch.setattr(session, "take", watched)
    found = []
    for source, number, begin in (("a", 7, 2), ("b", 3, 2), ("a", 8, 1), ("b", 4, 1), ("b", 5, 3)):
        inputs = (sample(np.full(1, number), number, source, begin * MS),)
        found += [value.tolist() for value in work.step(session, inputs)[1]]
    assert found == [[7, 3], [8, 4]]
    assert [(each.instant, each.sequence) for each in taken] == [
        *((2_000, 0), (2_000, 1), (2_000, 2), (2_000, 3), (3_000, 4))
    ]


@pytest.mark.parametrize("change", [without_sharing, lambda graph: with_copies(graph, {"c": 2})])
def test_copies_of_statements_read_copies_of_sources(change: Callable[[Graph], Graph]) -> None:
    """Whose names are not the types that statements know."""
    graph = Graph(
        (Supplier(name="s", period=MS, validity=900 * MS),),
        (Operator(name="a", kind="threshold", inputs=("s",), parameters={"above": 0}),),
        (Consumer(name="c", input="High", priority=1),),
    )
    graph = change(with_statements(graph, cep.parse(PROGRAM)))
    pushes: list[tuple[int, str, Any]] = [
        (n, s.name, 3.0 * n) for n in (1, 2) for s in graph.suppliers
    ]
    for consumer in graph.consumers:
        assert got(graph, pushes, consumer.name) == [[3.0, 1.0], [6.0, 2.0]]


@examples(30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.integers(-2, 6)), max_size=14),
    st.sampled_from(("High", "Rise", "Told")),
)
def test_statements_go_on_from_what_they_saved(
    events: list[tuple[int, str, int]], name: str
) -> None:
    graph = statement_graph(name)
    work = checked(graph).works[name]
    (operator,) = graph.operators
    time, runs = 0, list[Inputs]()
    for number, (wait, source, value) in enumerate(events, 1):
        time += wait * MS
        if source in operator.inputs:
            dtype = "float64" if source == "a" else "int16"
            runs.append((sample(np.full(1, value, dtype), number, source, time),))
    state, saved, expected = work.begin(), [], []
    for inputs in runs:
        saved.append(pickle.dumps(work.freeze(state)))
        state, values = work.step(state, inputs)
        expected.append([each.tolist() for each in values])
    for start in range(len(runs)):
        state = work.thaw(pickle.loads(saved[start]))  # twice from the same, with all that follows
        _, values = work.step(state, runs[start])
        assert [each.tolist() for each in values] == expected[start]
        state = work.thaw(pickle.loads(saved[start]))
        for inputs, rows in zip(runs[start:], expected[start:], strict=True):
            state, values = work.step(state, inputs)
            assert [each.tolist() for each in values] == rows
