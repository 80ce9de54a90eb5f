"""Graphs that were written in Python are checked as those of files are, and there is more to say of good ones."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import Diagnostic, InputError, Severity, Span
from cepheid.realtime.checking import check, checked
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier, shared
from cepheid.realtime.operators.statements import STATEMENT
from cepheid.realtime.payload import Payload
from cepheid.realtime.programs import with_statements
from tests.effort import examples

MS = 1_000_000
KEY = "00" * 16


def supplier(name: str = "a", period: int = 10, **others: Any) -> Supplier:
    settings: dict[str, Any] = {"name": name, "period": period * MS, "validity": 20 * MS}
    return Supplier(**settings | others)


def operator(name: str, kind: str, *inputs: str, **others: Any) -> Operator:
    own = {key: others.pop(key) for key in [*others] if key in Operator.__dataclass_fields__}
    return Operator(name=name, kind=kind, inputs=inputs, parameters=others, **own)


def consumer(input: str, name: str = "c", **others: Any) -> Consumer:
    settings: dict[str, Any] = {"name": name, "input": input, "priority": 1}
    return Consumer(**settings | others)


def graph_of(*nodes: Supplier | Operator | Consumer) -> Graph:
    """With a supplier `a`, and a consumer of the last operator."""
    suppliers = [each for each in nodes if isinstance(each, Supplier)]
    operators = [each for each in nodes if isinstance(each, Operator)]
    consumers = [each for each in nodes if isinstance(each, Consumer)]
    if not any(each.name == "a" for each in suppliers):
        suppliers.append(supplier())
    last = operators[-1].name if operators else "a"
    return Graph(tuple(suppliers), tuple(operators), tuple(consumers or [consumer(last)]))


def where(table: str, name: str, setting: str | None) -> Span:
    return Span(1, 1, 1, 1, f"{table}.{name}.{setting}")


def said(graph: Graph) -> list[tuple[str, str, str]]:
    """Where, which code, and what."""
    found, problems = check(graph, where)
    is_wrong = any(problem.severity is Severity.ERROR for problem in problems)
    assert is_wrong == (found is None)
    places = [each.span.file or "" if each.span else "" for each in problems]
    words = [f"{each.message} | {each.hint}" for each in problems]
    return [(p, e.code, w) for p, e, w in zip(places, problems, words, strict=True)]


# What is wrong ----------------------------------------------------------------------------------

WRONG: dict[str, tuple[Graph, str, str]] = {
    "two suppliers of a name": (
        Graph((supplier(), supplier()), (), (consumer("a"),)),
        "suppliers.a.None",
        "names of their own",
    ),
    "an operator like a consumer": (
        graph_of(operator("c", "fft", "a")),
        "operators.c.None",
        "names of their own",
    ),
    "no suppliers": (Graph((), (), ()), "..None", "a graph has suppliers | [suppliers.NAME]"),
    "no consumers": (Graph((supplier(),), (), ()), "..None", "a graph has consumers"),
    "no period": (graph_of(supplier(period=0)), "suppliers.a.period", "after more than no time"),
    "a negative period": (graph_of(supplier(period=-1)), "suppliers.a.period", "more than no time"),
    "no validity": (graph_of(supplier(validity=0)), "suppliers.a.validity", "more than no time"),
    "jitter of a period": (graph_of(supplier(jitter=10 * MS)), "suppliers.a.jitter", "between 0"),
    "negative jitter": (graph_of(supplier(jitter=-1)), "suppliers.a.jitter", "between 0"),
    "a negative phase": (graph_of(supplier(phase=-1)), "suppliers.a.phase", "not below 0"),
    "an unknown signal": (
        graph_of(supplier(signal="cosine")),
        "suppliers.a.signal",
        "there is no signal 'cosine' | did you mean 'sine'?",
    ),
    "fields of another size": (
        graph_of(supplier(payload=Payload("int8", 2, ("x",)))),
        "suppliers.a.fields",
        "2 elements, and 1 names",
    ),
    "fields of one name": (
        graph_of(operator("o", "cat", "a", "a", fields=("x", "x"))),
        "operators.o.fields",
        "names of their own",
    ),
    "no steps": (graph_of(operator("o", "ekf", "a", steps=0)), "operators.o.steps", "at least one"),
    "a negative timeout": (
        graph_of(operator("o", "ekf", "a", timeout=-1)),
        "operators.o.timeout",
        "not below 0",
    ),
    "a negative within": (
        graph_of(operator("o", "join", "a", "a", within=-1)),
        "operators.o.within",
        "not below 0",
    ),
    "priority 0": (graph_of(consumer("a", priority=0)), "consumers.c.priority", "count from 1"),
    "no deadline": (graph_of(consumer("a", deadline=0)), "consumers.c.deadline", "more than no"),
    "late as it likes": (graph_of(consumer("a", late="keep")), "consumers.c.late", '"mark"'),
    "a circle": (
        graph_of(operator("x", "fft", "z"), operator("y", "cat", "x"), operator("z", "cat", "y")),
        "operators.x.inputs",
        "x -> y -> z -> x",
    ),
    "a lambda in another process": (
        graph_of(operator("o", "python", "a", function=lambda x: x, isolate="process")),
        "operators.o.isolate",
        "cannot go to another process | name a function as 'module:name'",
    ),
    "complex numbers in a filter": (
        graph_of(operator("f", "fft", "a"), operator("o", "ekf", "f")),
        "operators.o.None",
        "it takes real numbers, not complex128",
    ),
    "complex numbers in an average": (
        graph_of(operator("f", "fft", "a"), operator("o", "average", "f", window=2)),
        "operators.o.None",
        "it takes real numbers",
    ),
    "complex numbers of another size": (
        graph_of(operator("f", "fft", "a"), operator("o", "resample", "f", size=2)),
        "operators.o.None",
        "it takes real numbers",
    ),
    "complex numbers beyond a threshold": (
        graph_of(operator("f", "fft", "a"), operator("o", "threshold", "f", above=2)),
        "operators.o.None",
        "it takes real numbers",
    ),
    "truth values in a filter": (
        graph_of(supplier(payload=Payload("bool")), operator("o", "ekf", "a")),
        "operators.o.None",
        "it takes ranges, not bool",
    ),
    "sensors of two types": (
        graph_of(supplier("b", payload=Payload("int8")), operator("o", "ekf", "a", "b")),
        "operators.o.None",
        "of one type and size, not float64 and int8",
    ),
    "no threshold": (graph_of(operator("o", "threshold", "a")), "operators.o.None", "above = 3.5"),
    "neither size nor every": (
        graph_of(operator("o", "resample", "a")),
        "operators.o.None",
        "size",
    ),
    "size and every": (
        graph_of(operator("o", "resample", "a", size=2, every=2)),
        "operators.o.None",
        "it needs a size or an every",
    ),
    "a vast size": (
        graph_of(operator("o", "resample", "a", size=10**12)),
        "operators.o.size",
        "'size' is a whole number from 1 to 16777216",
    ),
    "a vast window": (
        graph_of(operator("o", "average", "a", window=10**30)),
        "operators.o.window",
        "'window' is a whole number",
    ),
    "vast arrays": (
        graph_of(supplier(payload=Payload("int8", 1 << 23)), operator("o", "cat", "a", "a", "a")),
        "operators.o.None",
        "it makes 25165824 elements",
    ),
    "a key of no size": (
        graph_of(operator("o", "aes", "a", key="0011")),
        "operators.o.key",
        "'key' has 16 or 24 or 32 bytes, not 2",
    ),
    "a key of no digits": (
        graph_of(operator("o", "aes", "a", key="secret")),
        "operators.o.key",
        "'key' is written in hexadecimal digits",
    ),
    "a salt of no size": (
        graph_of(operator("o", "aes", "a", key=KEY, salt="00")),
        "operators.o.salt",
        "'salt' has 8 bytes, not 1",
    ),
    "a program that is none": (
        graph_of(operator("o", STATEMENT, "a", program="x.epl", type="T", types=("a",))),
        "operators.o.program",
        "'program' is a program",
    ),
    "a type that is not derived": (
        graph_of(
            operator(
                *("o", STATEMENT, "a"),
                program=cep.parse("insert into T select value from a;"),
                type="U",
                types=("a",),
            )
        ),
        "operators.o.type",
        "no statement derives 'U'",
    ),
    "too few types": (
        graph_of(
            operator(
                *("o", STATEMENT, "a"),
                program=cep.parse("insert into T select value from a;"),
                type="T",
                types=(),
            )
        ),
        "operators.o.types",
        "it has a type for each input",
    ),
    "types that are none": (
        graph_of(operator("o", STATEMENT, "a", program=cep.parse(""), type="T", types=3)),
        "operators.o.types",
        "'types' are names",
    ),
    "a long chain": (
        graph_of(
            *(operator(f"o{n}", "cat", f"o{n - 1}" if n else "a") for n in range(2_000)),
        ),
        "operators.o100.inputs",
        "more than 100 operators read each other in a row",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_graph_is_refused_with(name: str) -> None:
    graph, place, words = WRONG[name]
    first, *_ = found = said(graph)
    assert first[:2] == (place, "bad-graph"), found
    assert words in first[2]
    with pytest.raises(InputError) as refused:
        checked(graph)
    assert [each.span for each in refused.value.diagnostics] == [None] * len(found)


def test_objects_go_to_consumers_only() -> None:
    program = cep.parse("insert into T select 'x' as word, value from a;")
    for kind, settings in (("cat", {}), ("resample", {"every": 2}), ("aes", {"key": KEY})):
        graph = graph_of(operator("o", kind, "T", **settings))
        ((place, _, words),) = said(with_statements(graph, program))
        assert place == "operators.o.None"
        assert "it takes numbers" in words
    assert said(with_statements(graph_of(consumer("T")), program)) == []


def test_what_comes_after_a_mistake_is_left_alone() -> None:
    graph = graph_of(
        operator("x", "fft", "b"),
        operator("y", "ekf", "x"),
        operator("z", "average", "a", widow=3),
        consumer("y"),
    )
    assert [place for place, *_ in said(graph)] == [
        "operators.x.inputs",
        "operators.z.widow",
        "operators.z.None",
    ]


@examples(60)
@given(st.integers(0, 10**6))
def test_generated_graphs_are_refused_or_run(seed: int) -> None:
    """Whatever is connected with whatever."""
    rng = Random(seed)
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("ekf", {"r": rng.choice((1, -1))}),
        ("fft", {}),
        ("cat", {}),
        ("join", rng.choice(({}, {"within": MS}))),
        ("average", {"window": rng.randint(0, 3)}),
        ("resample", rng.choice(({"size": 3}, {"every": 2}, {}))),
        ("threshold", {"above": 0.5}),
        ("aes", {"key": rng.choice((KEY, "x"))}),
        ("python", {"function": rng.choice((len, max, lambda a, b: a + b, 3))}),
    ]
    names = ["a", "b", *(f"o{n}" for n in range(6))]
    nodes: list[Any] = [supplier("b", rng.choice((5, 10)), payload=Payload("uint8", 3))]
    for name in names[2:]:
        kind, settings = rng.choice(kinds)
        known = names if rng.random() < 0.1 else names[: names.index(name)]
        inputs = rng.choices(known, k=rng.choice((1, 1, 2)))
        steps = rng.choice((1, 1, 2))
        nodes.append(operator(name, kind, *inputs, steps=steps, **settings))
    nodes += [consumer(rng.choice(names), f"c{n}") for n in range(2)]
    graph = graph_of(*nodes)
    found, problems = check(graph)
    if found is None:
        assert problems
        return
    assert found.payloads.keys() == graph.sources.keys()
    assert found.works.keys() == {each.name for each in graph.operators}
    merged, _ = shared(graph)
    assert checked(merged).payloads.items() <= found.payloads.items()


# What there is to say ---------------------------------------------------------------------------


def notes(graph: Graph) -> list[Diagnostic]:
    found, problems = check(graph, where)
    assert found is not None, problems
    return problems


def test_what_no_consumer_gets_anything_of_is_unused() -> None:
    graph = graph_of(
        supplier("b"), operator("x", "fft", "b"), operator("y", "fft", "a"), consumer("y")
    )
    found = notes(graph)
    assert [(each.code, each.severity) for each in found] == [
        ("unused-node", Severity.WARNING),
        ("unused-node", Severity.WARNING),
    ]
    assert [each.message.split("'")[1] for each in found] == ["b", "x"]
    used = replace(graph, consumers=(*graph.consumers, consumer("x", "d")))
    assert notes(used) == []


def test_rates_that_differ_leave_events_over() -> None:
    fast, pair = supplier("b", 5), operator("o", "cat", "a", "b")
    (found,) = notes(graph_of(fast, pair))
    assert (found.code, found.severity) == ("uneven-rates", Severity.WARNING)
    assert "waits for 'a', and 2 events of 'b' come for each of its" in found.message
    assert "resample 'b'" in (found.hint or "")
    assert notes(graph_of(supplier("b", 10), pair)) == []
    assert notes(graph_of(replace(supplier("b"), period=9_999_999), pair)) == []
    unread = graph_of(fast, pair, operator("x", "fft", "a"), consumer("x"))
    assert {each.code for each in notes(unread)} == {"unused-node"}


def test_the_hint_for_uneven_rates_helps() -> None:
    kept = operator("k", "resample", "b", every=2)
    graph = graph_of(supplier("b", 5), kept, operator("o", "cat", "a", "k"))
    assert notes(graph) == []
    assert graph.rhythms["k"].period == 10 * MS


def test_statements_take_events_of_any_rate() -> None:
    program = cep.parse(
        "insert into T select x.value as x, y.value as y from pattern [every x=a -> y=b];"
    )
    assert notes(with_statements(graph_of(supplier("b", 5), consumer("T")), program)) == []


def test_nonces_are_for_one_stream() -> None:
    def graph(second: str, **settings: Any) -> Graph:
        return graph_of(
            *(supplier("b"), operator("x", "aes", "a", key=KEY)),
            operator("y", "aes", second, **{"key": KEY} | settings),
            *(consumer("x"), consumer("y", "d"), consumer("b", "e")),
        )

    (found,) = notes(graph("b"))
    assert (found.code, found.severity) == ("reused-nonce", Severity.WARNING)
    assert "y encrypts other events than x with the same nonces" in found.message
    (found,) = notes(graph("b", salt="00" * 8))
    assert found.code == "reused-nonce"
    assert [each.code for each in notes(graph("a"))] == ["shared-work"]
    assert notes(graph("b", salt="0000000000000001")) == []
    assert notes(graph("b", key="11" * 16)) == []


def test_equal_operators_are_told_of() -> None:
    def twins(**settings: Any) -> list[Diagnostic]:
        nodes = (operator("x", "ekf", "a"), operator("y", "ekf", "a", **settings))
        return notes(graph_of(*nodes, consumer("x"), consumer("y", "d")))

    (found,) = twins()
    assert (found.code, found.severity) == ("shared-work", Severity.NOTE)
    assert "'x' does the work of 'y' as well" in found.message
    assert found.span == where("operators", "y", None)
    assert twins(r=2) == []


def test_equal_parameters_are_shared_and_others_are_not() -> None:
    def count(first: Any, second: Any) -> int:
        graph = graph_of(*(operator(f"o{n}", "k", "a", x=x) for n, x in enumerate((first, second))))
        return len(shared(graph)[0].operators)

    programs = [cep.parse(f"insert into T select {word} from a;") for word in ("x", "x", "y")]
    assert count(1, 1.0) == count([1], [1]) == count(programs[0], programs[1]) == 1
    assert count(1, 2) == count([1], [2]) == count(programs[0], programs[2]) == 2
    assert count(lambda: 1, lambda: 1) == 2


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"period": 1e7}, "s: the period is a whole number of nanoseconds, not 10000000.0"),
        ({"validity": "10ms"}, "s: the validity is a whole number of nanoseconds, not '10ms'"),
        ({"phase": True}, "s: the phase is a whole number of nanoseconds, not true"),
        ({"payload": "float64[3]"}, "s: what it carries is a payload, not 'float64[3]'"),
    ],
)
def test_settings_of_graphs_in_python_have_their_types(change: dict[str, Any], fact: str) -> None:
    node: Any = {"name": "s", "period": 10**7, "validity": 10**7, **change}
    graph = Graph((Supplier(**node),), (), (Consumer(name="c", input="s", priority=1),))
    found, problems = check(graph)
    assert found is None
    assert [each.message for each in problems] == [fact]


def test_lists_of_graphs_in_python_are_lists() -> None:
    supplier = Supplier(name="s", period=10**7, validity=10**7)
    named: Any = "s"
    operator = Operator(name="o", kind="fft", inputs=named)
    high: Any = "high"
    consumer = Consumer(name="c", input="o", priority=high)
    _, problems = check(Graph((supplier,), (operator,), (consumer,)))
    assert [each.message for each in problems] == [
        "o: its inputs are a tuple, not 's'",
        "c: the priority is a whole number, not 'high'",
    ]
    alone: Any = supplier
    _, problems = check(Graph(alone, (), ()))
    assert [each.message for each in problems] == ["the suppliers of a graph are a tuple"]
