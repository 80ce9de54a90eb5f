"""Priorities, rings and sharing follow from the shape of a graph."""

from __future__ import annotations

from dataclasses import replace

from cepheid.realtime.arrivals import arrivals
from cepheid.realtime.graph import (
    Consumer,
    Graph,
    Operator,
    Rhythm,
    Shared,
    Supplier,
    behind,
    original,
    shared,
    with_copies,
    without_priorities,
    without_sharing,
)

MS = 1_000_000


def supplier(name: str, period: int = 10, validity: int = 10, jitter: int = 0) -> Supplier:
    return Supplier(name=name, period=period * MS, validity=validity * MS, jitter=jitter * MS)


def operator(name: str, *inputs: str, kind: str = "") -> Operator:
    return Operator(name=name, kind=kind or name, inputs=inputs)


# Figure 1 of the paper: of its drawing only the text's relations are left.
FIGURE_1 = Graph(
    tuple(map(supplier, ("s1", "s2", "s3", "s4"))),
    (
        operator("o1", "s1"),
        operator("o2", "s2", "s3"),
        operator("o3", "o2"),
        operator("o4", "s4"),
        operator("o5", "o1"),
        operator("o6", "o1", "o2"),
        operator("o7", "o1", "o5", "o4"),
    ),
    (
        Consumer(name="c1", input="o5", priority=1),
        Consumer(name="c2", input="o6", priority=2),
        Consumer(name="c3", input="o3", priority=3),
        Consumer(name="c4", input="o7", priority=3),
    ),
)


def test_priorities_are_propagated_upstream() -> None:
    groups: dict[int, set[str]] = {}
    for name, level in FIGURE_1.levels.items():
        groups.setdefault(level, set()).add(name)
    assert groups == {
        1: {"s1", "o1", "o5"},
        2: {"s2", "s3", "o2", "o6"},
        3: {"s4", "o3", "o4", "o7"},
    }
    assert set(without_priorities(FIGURE_1).levels.values()) == {1}


def test_rings_hold_what_can_be_valid_at_one_time() -> None:
    graph = Graph(
        (
            supplier("a", 10, 5),
            supplier("b", 10, 10),
            supplier("c", 5, 21),
            supplier("d", 10, 10, 1),
        ),
        (operator("x", "a", "c"), operator("y", "b", "c")),
        (Consumer(name="k", input="x", priority=1),),
    )
    assert graph.rings == {"a": 1, "b": 1, "c": 5, "d": 2, "x": 1, "y": 1}


def test_what_nobody_consumes_has_no_priority() -> None:
    graph = Graph((supplier("a"),), (operator("x", "a"),), ())
    assert graph.levels == {}


def test_equal_operators_over_equal_inputs_become_one() -> None:
    graph = Graph(
        (supplier("a"),),
        (
            *(operator("e1", "a", kind="EKF"), operator("e2", "a", kind="EKF")),
            *(operator("f1", "e1", kind="FFT"), operator("f2", "e2", kind="FFT")),
            Operator(name="f3", kind="FFT", inputs=("e2",), parameters={"size": 2}),
        ),
        tuple(Consumer(name=f"c{n}", input=f"f{n}", priority=n) for n in (1, 2, 3)),
    )
    found, same = shared(graph)
    assert same == [Shared("e1", ("e2",)), Shared("f1", ("f2",))]
    assert [each.name for each in found.operators] == ["e1", "f1", "f3"]
    assert [each.input for each in found.consumers] == ["f1", "f1", "f3"]
    apart = without_sharing(found)
    assert [(each.name, each.inputs) for each in apart.operators][:2] == [
        ("e1@c1", ("a",)),
        ("f1@c1", ("e1@c1",)),
    ]
    assert len(apart.operators) == 6
    assert len(shared(apart)[0].operators) == 3


def test_late_events_are_shed_where_nobody_wants_them() -> None:
    graph = Graph(
        (supplier("a"),),
        (operator("x", "a"), operator("y", "x"), operator("z", "x")),
        (
            Consumer(name="k", input="y", priority=1, late="shed"),
            Consumer(name="m", input="z", priority=1),
        ),
    )
    assert graph.sheds == {"y"}


def test_suppliers_of_many_ways_are_found_at_once() -> None:
    """There are 2 ** 60 from the supplier to the consumer."""
    operators = [operator(name, "s") for name in ("a0", "b0")]
    for n in range(1, 60):
        operators += [operator(f"{name}{n}", f"a{n - 1}", f"b{n - 1}") for name in "ab"]
    consumer = Consumer(name="c", input="a59", priority=1)
    graph = Graph((supplier("s"),), tuple(operators), (consumer,))
    assert [each for each in behind(graph, [consumer]) if isinstance(each, Supplier)] == [
        *graph.suppliers
    ]
    assert len(list(arrivals(graph, until=20 * MS, with_values=False))) == 2


def test_an_operator_that_takes_any_event_is_as_frequent_as_all_inputs_together() -> None:
    either = Operator(name="x", kind="cat", inputs=("a", "b"), ready_on="any")
    rare = Operator(name="y", kind="resample", inputs=("b",), parameters={"every": 3})
    consumers = tuple(Consumer(name=f"of {name}", input=name, priority=1) for name in "xy")
    graph = Graph((supplier("a", 10, 30, 1), supplier("b", 15, 60)), (either, rare), consumers)
    assert graph.rhythms["x"] == Rhythm(6 * MS, 60 * MS, MS)
    assert graph.rhythms["y"] == Rhythm(45 * MS, 60 * MS, 0)
    assert (graph.rings["x"], graph.rings["y"]) == (11, 2)


def test_operators_that_differ_in_anything_stay_apart() -> None:
    same = operator("x", "a", "b", kind="cat")
    others = (
        replace(same, name="y", ready_on="any"),
        replace(same, name="z", fields=("p", "q")),
        replace(same, name="u", isolate="process"),
        replace(same, name="v", within=MS),
        replace(same, name="w", inputs=("b", "a")),
    )
    consumers = tuple(Consumer(name=f"of {n}", input=n, priority=1) for n in "xyzuvw")
    graph = Graph((supplier("a"), supplier("b")), (same, *others), consumers)
    assert shared(graph) == (graph, [])


def test_streams_are_copied_as_often_as_their_consumers_want() -> None:
    graph = Graph(
        (supplier("a"), supplier("b")),
        (operator("x", "a"), operator("y", "a", "b")),
        (Consumer(name="c", input="x", priority=1), Consumer(name="d", input="y", priority=2)),
    )
    found = with_copies(graph, {"c": 3, "d": 2})
    assert [each.name for each in found.suppliers] == ["a", "b", "a~2", "b~2", "a~3"]
    assert [each.name for each in found.operators] == ["x", "y", "x~2", "y~2", "x~3"]
    assert [each.input for each in found.consumers] == ["x", "y", "x~2", "y~2", "x~3"]
    assert found.sources["y~2"] == operator("y~2", "a~2", "b~2", kind="y")
    assert [original(each.name) for each in found.consumers] == ["c", "d", "c", "d", "c"]


def test_the_most_important_consumer_is_served_first() -> None:
    consumers = [Consumer(name=f"c{n}", input="a", priority=n) for n in (3, 1, 2)]
    graph = Graph((supplier("a"),), (), tuple(consumers))
    assert [each.name for each in graph.takers["a"]] == ["c1", "c2", "c3"]
