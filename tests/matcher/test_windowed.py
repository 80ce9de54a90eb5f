"""Windows as lanes give the rows of the reference, whatever the batches and the restarts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.lanes.plan import lanes_of
from cepheid.matcher.lanes.window_plan import window_of
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import Operator, open_operator
from cepheid.matcher.reference import ReferenceOperator
from cepheid.program.normal import normalize
from cepheid.program.resolved import ResolvedProgram
from tests.effort import examples
from tests.matcher.test_operator import shown_table, table, without_key
from tests.semantics.drive import end_of

SCHEMA = """
    create schema A(k string, g int, b boolean, v int, n long, f float, w double);
    create schema B(k string, g int, b boolean, v int, n long, f float, w double);
"""
WINDOWS = (
    "", "#keepall", "#time(3 sec)", "#time(500 msec)", "#length(1)", "#length(3)",
    "#length_batch(3)", "#length_batch(1)", "#time_batch(1 sec)", "#time_batch(2 sec)",
    "#time_batch(2 sec, 500L)",
)  # fmt: skip
TESTS = ("v >= 2", "w < 0.5", "not k = 'x'", "b", "v = 1 or w > 0.1")
GROUPS = ("k", "g", "b", "n", "k, g", "b, k", "g, n, k", "g, g")
ATTRIBUTES = ("k", "g", "b", "v", "n", "f", "w")
AGGREGATES = (
    "count(*)",
    *(f"count({name})" for name in ATTRIBUTES),
    *(f"{function}({name})" for function in ("sum", "avg", "min", "max") for name in "vnfw"),
)
VALUES: dict[str, tuple[Value, ...]] = {
    "k": ("x", "y", None),
    "g": (1, 2, None),
    "b": (True, False, None),
    "v": (1, 2, 3, None, 2**31 - 1, -(2**31)),
    "n": (1, 2, None, 2**63 - 1, -(2**63), 2**53 + 1),
    "f": (0.5, 0.25, -0.0, None, 3.0e38, 16777216.0, 1.0, math.nan),
    "w": (0.1, 0.2, 0.3, -0.0, 0.0, None, 1e16, math.nan, math.inf),
}
GAPS = (0, 0, 0, 1, 500_000, 1_000_000, 4_000_000)


@st.composite
def window_texts(draw: DrawFn) -> str:
    """A statement that is a window, or at least could be one."""
    tests = draw(st.lists(st.sampled_from(TESTS), max_size=1))
    group = draw(st.sampled_from(("", *GROUPS)))
    shown = draw(st.lists(st.sampled_from(AGGREGATES), max_size=3))
    attributes = draw(st.sampled_from((group.split(", "), [], [draw(st.sampled_from(ATTRIBUTES))])))
    shown += [name for name in attributes if name] or ([] if shown else ["k"])
    columns = ", ".join(f"{what} as x{place}" for place, what in enumerate(shown))
    window = draw(st.sampled_from(WINDOWS))
    by = f" group by {group}" if group else ""
    return f"select {columns} from A({', '.join(tests)}){window}{by}"


@st.composite
def readings(draw: DrawFn) -> list[Event]:
    """Events with many equal instants and odd values; some have a type that nobody knows."""
    some = [st.sampled_from(values) for values in VALUES.values()]
    drawn = draw(
        st.lists(
            st.tuples(st.sampled_from("AAAAB"), st.sampled_from(GAPS), *some),
            min_size=1,
            max_size=30,
        )
    )
    events, clock = [], 7
    for number, (type, gap, *values) in enumerate(drawn):
        clock += gap
        events.append(Event(type, clock, dict(zip(VALUES, values, strict=True)), number))
    return events


def windows(text: str) -> ResolvedProgram:
    program = cep.parse(SCHEMA + text).resolve()
    assert not any(p.severity.name == "ERROR" for p in program.problems), program.problems
    return program


def opened(program: ResolvedProgram) -> Operator:
    plan = lanes_of(program)
    assert plan is not None
    return LanesOperator(program, plan)


@examples(300)
@given(
    st.lists(window_texts(), min_size=1, max_size=3),
    st.booleans(),
    readings(),
    st.lists(st.integers(0, 30), max_size=3),
)
def test_windows_give_the_rows_of_the_reference(
    texts: list[str], has_chain: bool, stream: list[Event], cuts: list[int]
) -> None:
    if has_chain:
        texts = [*texts, "select a.k as k, b.v as v from pattern [every a=A -> b=B(g = a.g)]"]
    note("; ".join(texts))
    program = windows("; ".join(texts))
    reference, operator = ReferenceOperator(program), opened(program)
    found, expected = [], []
    ends = sorted(min(cut, len(stream)) for cut in cuts)
    events = table(program, stream)
    for begin, end in itertools.pairwise([0, *ends, len(stream)]):
        expected.append(reference.take(events.slice(begin, end - begin)))
        found.append(operator.take(events.slice(begin, end - begin)))
        assert (operator.clock, operator.next_due()) == (reference.clock, reference.next_due())
        saved, operator = operator.save(), opened(program)
        operator.load(saved)
    for instant in (end_of(stream) // 2, end_of(stream), 2 * end_of(stream)):
        if instant >= stream[-1].instant:
            expected.append(reference.advance(instant))
            found.append(operator.advance(instant))
    rows, wanted = shown_table(found), shown_table(expected)
    assert list(map(without_key, rows)) == list(map(without_key, wanted))
    keys = [row[3] for row in rows]
    assert keys == sorted(set(keys))
    if len(texts) == 1:
        assert keys == [row[3] for row in wanted]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(
    "shown", ["{0}, count(*) as n, max(w) as m, min(w) as l", "k, {0} as g, sum(w) as s"]
)
def test_the_memory_of_a_window_does_not_grow_with_the_length_of_the_stream(
    window: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepheid.matcher.lanes.operator._SPARE", 100)
    key = "g" if window in ("", "#keepall") else "k"
    program = windows(f"select {shown.format(key)} from A{window} group by {key}")
    operator, reference = opened(program), ReferenceOperator(program)
    [lane] = operator._lanes  # type: ignore[attr-defined]
    for begin in range(0, 2_000, 250):
        events = table(program, [_reading(number) for number in range(begin, begin + 250)])
        assert shown_table([operator.take(events)]) == shown_table([reference.take(events)])
        assert len(lane._rows) < 1_200
        assert len(lane._groups) < 1_200
        assert len(operator.save()) < 10_000


def _reading(number: int) -> Event:
    """Each key occurs for a short time only."""
    values: dict[str, Value] = {"k": f"k{number // 3}", "g": number % 5, "v": number % 7}
    values |= {"b": True, "n": number, "f": 1.0, "w": number % 11 / 10}
    return Event("A", number * 200_000, values, number)


# Statements that are close to windows that run as lanes, and none.
NO_WINDOWS = (
    "select sum(v + 1) as s from A#length(2)",
    "select count(*) + 1 as n from A#length(2)",
    "select count(distinct v) as n from A#length(2)",
    "select median(v) as m from A#length(2)",
    "select min(k) as m from A#length(2)",
    "select irstream count(*) as n from A#length(2)",
    "select count(*) as n from A#length(2) where v > 1",
    "select k, count(*) as n from A#length(2) group by k having count(*) > 1",
    "select count(*) as n from A#length(2) output every 2 events",
    "select count(*) as n from A#time(1 month)",
    "select count(*) as n from A#time_batch(1 month)",
    'select count(*) as n from A#time_batch(1 sec, "FORCE_UPDATE")',
    'select count(*) as n from A#time_batch(1 sec, "START_EAGER")',
    "select w, count(*) as n from A#length(2) group by w",
    "select v % 2 as m, count(*) as n from A#length(2) group by v % 2",
    "select count(*) as n from A(v + 1 > 2)#length(2)",
    "select count(*) as n from pattern [every a=A -> b=B]#length(2)",
)


@pytest.mark.parametrize("text", NO_WINDOWS)
def test_other_windows_are_left_to_the_machine(text: str) -> None:
    program = windows(text)
    assert window_of(normalize(program).statements[0], ColumnLookup(program)) is None
    assert lanes_of(program) is None


def test_windows_are_found_by_the_one_who_opens() -> None:
    program = windows("select count(*) as n from A#length(2); select k from B")
    assert isinstance(open_operator(program), LanesOperator)
    assert isinstance(open_operator(program, is_fed=True), MachineOperator)
    assert isinstance(open_operator(program, timed_out=True), ReferenceOperator)


def test_rows_that_have_no_events_let_time_pass() -> None:
    program = windows("select k, count(*) as n from A#time(1 sec) group by k")
    operator = opened(program)
    operator.take(table(program, [Event("A", 0, {"k": "x"}, 0)]))
    assert operator.next_due() == 1_000_000
    nothing = pa.nulls(1, pa.string())
    ticks: dict[str, Any] = {"@type": nothing, "@time": [5_000_000], "@sequence": [1]}
    [row] = operator.take(pa.table(ticks)).to_pylist()
    assert row["@key"] == [1_000_000, 0, 0, 1, 0, 1, 0, -1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1]
    assert (operator.clock, operator.next_due()) == (5_000_000, None)


def test_state_of_another_window_is_refused() -> None:
    one, other = (windows(f"select count(*) as n from A#length({n})") for n in (2, 3))
    with pytest.raises(cep.RunError, match="bad-state"):
        opened(other).load(opened(one).save())
