"""Windows, aggregates, order and rates: the compiled machine gives the rows of the reference."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.matcher.gaps import left_to_reference
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.reference import ReferenceOperator
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree
from tests.effort import examples, some
from tests.matcher.test_operator import shown_table, table
from tests.semantics.drive import end_of, resolved
from tests.semantics.generators import TYPES, make_event, programs, streams

WINDOWS = ("", "#keepall", "#time(3 sec)", "#length(3)", "#length_batch(3)", "#time_batch(2 sec)")
SELECTED = (
    "id, v from A{}",
    "count(*) as c, sum(w) as s, avg(v) as a, min(w) as l, max(v) as m from A{}",
    "k, count(v) as c, sum(v) as s, max(w) as m from A{} group by k having count(*) > 1",
    "id, sum(w) as s, istream() as n from A{} where v > 0",
    "id, k, count(*) as c from A{} group by k",
    "median(v) as m, stddev(w) as d, first(k) as f, last(id) as l from A{}",
    "k, count(distinct v) as c, sum(distinct w) as s, first(distinct v) as f from A{} group by k",
    "distinct k, v from A{}",
    "a.id as a, b.v as b, count(*) as c from pattern [every a=A -> b=B(k = a.k)]{}",
    "count(*) as c from pattern [every (timer:interval(1 sec) and not A)]{}",
)
RATES = (
    "output every 2 sec",
    "output last every 3 events",
    "output all every 2 sec",
    "output first every 2 events",
    "output first every 3 sec",
    "output snapshot every 2 sec",
    "output after 3 events every 2 events",
    "output after 4 sec",
    "output when count_insert >= 2",
)
ORDERS = ("", "order by count(*) desc", "limit 2 offset 1")


def stream(count: int = 60) -> list[Event]:
    """Events with many equal instants, keys and values, nulls and odd numbers among them."""
    keys = itertools.cycle(("x", "y", None, "x", "z", "y", "x"))
    numbers = itertools.cycle((1, 3, 2, None, 2**31 - 1, 1))
    doubles = itertools.cycle((0.1, 0.2, -0.0, float("nan"), 1e16, 0.5, None, 0.0))
    gaps = itertools.cycle((0, 500, 1000, 0, 3000))
    types = itertools.cycle("AABAAAB")
    clock, found = 0, []
    for place, type, k, v, w, gap in zip(
        range(count), types, keys, numbers, doubles, gaps, strict=False
    ):
        clock += gap * 1000
        found.append(make_event(type, clock, place, k, v, w))
    return found


def rows(tables: list[pa.Table]) -> list[tuple[object, ...]]:
    """Rows without their keys, which need only be in the same order."""
    return [row[:3] + row[4:] for row in shown_table(tables)]


def assert_same(program: ResolvedProgram, events: list[Event], cuts: list[int]) -> None:
    """Compares a run of the reference with one that is saved and loaded at some events."""
    reference, operator = ReferenceOperator(program), MachineOperator(program)
    given = table(program, events)
    for engine in (reference, operator):
        engine.start(0)
    expected = [reference.take(given), reference.advance(end_of(events))]
    found = []
    for begin, end in itertools.pairwise([0, *sorted(cuts), len(events)]):
        found.append(operator.take(given.slice(begin, end - begin)))
        saved, operator = operator.save(), MachineOperator(program)
        operator.load(saved)
    found.append(operator.advance(end_of(events)))
    assert rows(found) == rows(expected)
    keys: list[list[int]] = pa.concat_tables(found).column("@key").to_pylist()  # type: ignore[assignment]
    assert keys == sorted(keys)


def program_of(text: str) -> ResolvedProgram:
    program = cep.parse(text, types=TYPES).resolve()
    assert not any(p.severity.name == "ERROR" for p in program.problems), program.problems
    assert not left_to_reference(program)
    return program


STREAMS = ("", "irstream ", "rstream ")
SELECTIONS = list(itertools.product(WINDOWS, SELECTED, STREAMS))
OUTPUTS = list(itertools.product(WINDOWS, RATES, range(len(SELECTED))))


@pytest.mark.parametrize(("window", "selected", "streams_"), some(SELECTIONS, every=7))
def test_what_windows_and_aggregates_give(window: str, selected: str, streams_: str) -> None:
    text = f"select {streams_}{selected.format(window)}"
    assert_same(program_of(text), stream(), [20, 41])


@pytest.mark.parametrize(("window", "rate", "place"), some(OUTPUTS, every=13))
def test_what_output_rates_let_out(window: str, rate: str, place: int) -> None:
    streams_ = STREAMS[place % 3]
    order = ORDERS[place % 3] if "count(*)" in SELECTED[place] else "limit 3"
    text = f"select {streams_}{SELECTED[place].format(window)} {rate} {order}"
    assert_same(program_of(text), stream(), [33])


@pytest.mark.parametrize(
    "batch",
    ["2 sec, 500L", '1 sec, "FORCE_UPDATE"', '1 sec, "START_EAGER"', "1 month"],
)
def test_when_batches_are_released(batch: str) -> None:
    text = f"select irstream count(*) as c, sum(v) as s from A(w > 0.3)#time_batch({batch})"
    assert_same(program_of(text), stream(), [30])


def test_partitions_have_windows_of_their_own() -> None:
    text = """
        create context PerKey partition by k from A;
        context PerKey select irstream k, count(*) as c from A#time(2 sec);
        context PerKey select k, sum(w) as s from A#time_batch(1 sec) output last every 3 sec;
        """
    assert_same(program_of(text), stream(), [10, 50])


@examples(150)
@given(programs(), streams(), st.lists(st.integers(0, 5), max_size=2))
def test_generated_programs(tree: ProgramTree, events: list[Event], cuts: list[int]) -> None:
    note(cep.Program(tree).to_text())
    program = resolved(tree)
    assume(not left_to_reference(program))
    assert_same(program, events, cuts)


def test_the_memory_of_a_window_does_not_grow_with_the_length_of_the_stream() -> None:
    text = "select k, count(*) as c, max(v) as m from A#time(5 sec) group by k"
    program = program_of(text)
    operator, events = MachineOperator(program), table(program, stream(4000))
    operator.take(events.slice(0, 2000))
    half = operator.size
    operator.take(events.slice(2000))
    assert operator.size == half
