"""A program behind the face of an operator gives the rows of the semantics, whole or in parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import cepheid as cep
from cepheid.analysis.keys import split_of
from cepheid.core.event import Event, SortKey
from cepheid.expr.tree import And, Binary
from cepheid.expr.values import group_key
from cepheid.io.arrow import to_column
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import (
    Operator,
    columns_of,
    left_to_reference,
    open_operator,
    rows_schema,
)
from cepheid.matcher.reference import ReferenceOperator
from cepheid.pattern import tree as pattern_tree
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import (
    OrderItem,
    PatternSource,
    ProgramTree,
    Statement,
    StreamSource,
    TimeBatch,
    TimeWindow,
)
from cepheid.semantics.machine import Machine
from tests.effort import examples
from tests.semantics.drive import end_of, plain, resolved, show
from tests.semantics.generators import (
    ALL,
    PER_KEY,
    PERIODS,
    SCHEMAS,
    TYPES,
    Clauses,
    PatternMaker,
    Scope,
    attribute,
    make_event,
    one_of,
    output_rate,
    programs,
    statements,
    streams,
    tag_columns,
)

thorough = examples(100)


def table(program: ResolvedProgram, events: Sequence[Event]) -> pa.Table:
    """Events as an operator takes them; null where a column is none of an event's type."""
    columns: dict[str, Any] = {
        "@type": pa.array([e.type for e in events], pa.string()),
        "@time": pa.array([e.instant for e in events], pa.int64()),
        "@sequence": pa.array([e.sequence for e in events], pa.int64()),
    }
    for column in columns_of(program):
        values = [e.get(column.attribute) if e.type in column.types else None for e in events]
        columns[column.name] = to_column(values, column.data_type, program.types)
    return pa.table(columns)


def machine_rows(program: ResolvedProgram, stream: Sequence[Event], end: int) -> list[Event]:
    machine = Machine(program, timed_out=True, trace=True)
    machine.start(0)
    rows = [row for event in stream for row in machine.take(event)]
    return rows + machine.advance(end)


def shown(rows: Sequence[Event]) -> list[tuple[Any, ...]]:
    """Rows as `shown_table` shows them."""
    kinds = [("old" if r.is_old else "timeout" if r.is_timeout else "match") for r in rows]
    return [
        (r.type, r.instant, kind, r.key, repr({n: plain(v) for n, v in r.items()}))
        for r, kind in zip(rows, kinds, strict=True)
    ]


def shown_table(tables: Sequence[pa.Table]) -> list[tuple[Any, ...]]:
    rows = pa.concat_tables(tables)
    instants = rows.column("@time").cast(pa.int64()).to_pylist()
    found: list[tuple[Any, ...]] = []
    for instant, row in zip(instants, rows.to_pylist(), strict=True):
        type, _, kind, key, *_ = row.values()
        values = {n: plain(v) for n, v in row[type].items()}
        assert [n for n, v in row.items() if not n.startswith("@") and v is not None] == [type]
        found.append((type, instant, kind, tuple(key), repr(values)))
    return found


def restarted(operator: Operator) -> Operator:
    fresh = open_operator(operator.program, timed_out=True)
    fresh.load(operator.save())
    return fresh


# The same rows.


@thorough
@given(programs(), streams(), st.data())
def test_rows_are_those_of_the_semantics_whatever_the_batches(
    tree: ProgramTree, stream: list[Event], data: st.DataObject
) -> None:
    program = resolved(tree)
    operator = open_operator(program, timed_out=True)
    operator.start(0)
    found, rest = [], table(program, stream)
    while rest.num_rows:
        size = data.draw(st.integers(1, rest.num_rows))
        found.append(operator.take(rest.slice(0, size)))
        operator, rest = restarted(operator), rest.slice(size)
    found.append(operator.advance(end_of(stream)))
    assert all(part.schema == rows_schema(program) for part in found)
    assert shown_table(found) == shown(machine_rows(program, stream, end_of(stream)))


@thorough
@given(programs(), streams())
def test_keys_increase_from_row_to_row(tree: ProgramTree, stream: list[Event]) -> None:
    rows = machine_rows(resolved(tree), stream, end_of(stream))
    keys = [row.key for row in rows]
    assert keys == sorted(set(keys))


# The same rows in parts.


# Timers of several parts fall due together.
CROWDED = tuple(itertools.product("AAABBC", (0, 0, 0, 500, 1000)))


def per_key(statement: Statement) -> ProgramTree:
    return ProgramTree((*SCHEMAS, PER_KEY, statement))


def tied(pattern: pattern_tree.Pattern, first: str, by: str = "k") -> pattern_tree.Pattern:
    """The pattern whose every event has the same key as the first."""
    same = Binary("=", attribute(by), Scope(tags={first: False}).column(first, by))
    match pattern:
        case pattern_tree.Atom(_, _, condition):
            return replace(pattern, condition=And((same, condition)) if condition else same)
        case pattern_tree.FollowedBy(parts) | pattern_tree.AllOf(parts) | pattern_tree.AnyOf(parts):
            return replace(pattern, parts=tuple(tied(part, first, by) for part in parts))
        case pattern_tree.Repeat(child, until=until):
            ended = tied(until, first, by) if until else None
            return replace(pattern, child=tied(child, first, by), until=ended)
    if isinstance(pattern, pattern_tree.Interval | pattern_tree.At):
        return pattern
    child = tied(pattern.child, first, by)  # type: ignore[attr-defined]
    return replace(pattern, child=child)  # type: ignore[call-arg]


@st.composite
def tied_statements(draw: DrawFn) -> Statement:
    """`every a=A -> ...`, tied by k, with any clauses."""
    scope = Scope(tags={"a": False}, everies=1)
    rest = PatternMaker(("A", "B", "C"), ALL).draw(draw, scope, one_of(draw, 1, 2, 3))
    start = pattern_tree.Every(pattern_tree.Atom("A", "a"))
    pattern = pattern_tree.FollowedBy((start, tied(rest, "a")))
    clauses = Clauses(tag_columns(draw, scope), ALL)
    plain_one = Statement(
        select=clauses.items(draw, aggregated=False), source=PatternSource(pattern)
    )
    return clauses.added_to(draw, plain_one) if one_of(draw, True, False) else plain_one


@st.composite
def grouped_statements(draw: DrawFn) -> Statement:
    """Aggregates over the rows of a time, group by group."""
    clauses = Clauses(attribute, ALL)
    period = one_of(draw, *PERIODS)
    return Statement(
        select=clauses.items(draw, aggregated=True),
        source=StreamSource("A"),
        stream=one_of(draw, "istream", "irstream", "rstream"),
        window=one_of(draw, TimeWindow(period), TimeBatch(period, reference=0)),
        group_by=(attribute("k"),),
        having=one_of(draw, None, clauses.having(draw)),
    )


@st.composite
def keyed_statements(draw: DrawFn) -> Statement:
    """A context with timers of every stage."""
    period = one_of(draw, *PERIODS)
    is_ordered, has_rate = draw(st.booleans()), draw(st.booleans())
    return replace(
        draw(grouped_statements()),
        context="PerKey",
        window=one_of(draw, TimeWindow(period), TimeBatch(period)),
        group_by=one_of(draw, (), (attribute("k"),), (attribute("v"),)),
        output=output_rate(draw) if has_rate else None,
        order_by=(OrderItem(attribute("v"), is_ordered),) if is_ordered else (),
    )


@st.composite
def split_cases(draw: DrawFn) -> tuple[ResolvedProgram, list[Event], list[list[Event]]]:
    """A program, its stream, and the parts into which its key splits the stream."""
    kinds = tied_statements(), grouped_statements(), keyed_statements()
    program = resolved(per_key(draw(st.one_of(*kinds, statements()))))
    split = split_of(program.statements[0], program.types)
    assume(split.by is not None)
    assert split.by is not None
    stream = draw(streams(CROWDED, least=10, most=25))
    chance = draw(st.lists(st.integers(0, 2), min_size=len(stream), max_size=len(stream)))
    parts: dict[Hashable, list[Event]] = {}
    for event, number in zip(stream, chance, strict=True):
        paths = split.by.get(event.type, ())
        key = [group_key(event[name]) for [name] in paths] if split.by else [number]
        parts.setdefault(tuple(key), []).append(event)
    return program, stream, list(parts.values())


@examples(300)
@given(split_cases())
def test_the_rows_of_all_parts_sorted_by_their_keys_are_those_of_the_whole(
    case: tuple[ResolvedProgram, list[Event], list[list[Event]]],
) -> None:
    program, stream, parts = case
    end = end_of(stream)
    whole = machine_rows(program, stream, end)
    assert in_order([machine_rows(program, part, end) for part in parts]) == list(map(show, whole))


def operator_rows(operator: Operator, stream: Sequence[Event], end: int) -> list[tuple[Any, ...]]:
    operator.start(0)
    given = operator.take(table(operator.program, stream))
    return shown_table([given, operator.advance(end)])


def without_key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row[:3] + row[4:]


@examples(150)
@given(split_cases(), st.integers(0, 1))
def test_each_part_may_run_on_another_engine(
    case: tuple[ResolvedProgram, list[Event], list[list[Event]]], first: int
) -> None:
    program, stream, parts = case
    assume(not left_to_reference(program))
    engines: tuple[Callable[[ResolvedProgram], Operator], ...] = ReferenceOperator, MachineOperator
    end = end_of(stream)
    whole = operator_rows(ReferenceOperator(program), stream, end)
    rows = [
        row
        for number, part in enumerate(parts, start=first)
        for row in operator_rows(engines[number % 2](program), part, end)
    ]
    rows.sort(key=lambda row: row[3])
    assert list(map(without_key, rows)) == list(map(without_key, whole))


def in_order(parts: Sequence[Sequence[Event]]) -> list[object]:
    rows = sorted((row for part in parts for row in part), key=lambda row: row.key)
    return list(map(show, rows))


# Whole programs that one key splits.
ON_ONE_KEY = {
    "absence, then windows": """
        insert into S select a.k as k, a.v as v
            from pattern [every a=A -> (timer:interval(1 sec) and not b=B(k=a.k))];
        select irstream k, count(*) as v from S#time(2 sec) group by k;
        context PerKey select irstream k, sum(v) as v from S#time_batch(1 sec);
        context PerKey select irstream k, v from A#time(1 sec) output every 2 seconds;
    """,
    "batches in which some keys have no row": """
        select irstream k, count(*) as v from A#time_batch(500 milliseconds, 0L) group by k;
        select irstream id, k, count(*) as v from A#time_batch(1 sec, 0L) group by k;
    """,
    "events that start runs and go on with others": """
        select a.id as id from pattern [every a=A -> every (b=A(k=a.k) or c=B(k=a.k))];
    """,
    "matches of timers in windows": """
        insert irstream into S select irstream a.k as k, count(*) as v
            from pattern [every a=A -> timer:interval(1 sec)]#time(1 sec) group by a.k;
        select irstream a.k as k, b.id as id
            from pattern [every a=A -> (b=B(k=a.k) or timer:interval(1 sec))]#time(1 sec);
        select k, v from S;
    """,
    "rows that leave start patterns": """
        insert rstream into S select rstream k, v from A#time(1 sec);
        insert into T select s.k as k, s.v as v
            from pattern [every s=S -> timer:interval(1 sec)];
        select t.k as k, b.v as v
            from pattern [every t=T -> b=B(k=t.k) where timer:within(3 sec)];
        select k, v from T;
    """,
    "a cycle of events": """
        insert into S select k, v from A;
        insert into S select k, v + 1 as v from S(v < 6);
        select k, count(*) as v from S#time(1 sec) group by k;
    """,
    "a cycle of timers": """
        insert into S select k, v from A;
        insert into S select s.k as k, s.v + 1 as v
            from pattern [every s=S(v < 6) -> timer:interval(500 milliseconds)];
        insert into S select s.k as k, s.v + 1 as v
            from pattern [every s=S(v = 3) -> timer:interval(500 milliseconds)];
    """,
}


@pytest.mark.parametrize("text", ON_ONE_KEY.values(), ids=list(ON_ONE_KEY))
@examples(50)
@given(streams(CROWDED, least=10, most=25))
def test_programs_on_one_key_give_the_same_rows_in_parts(text: str, stream: list[Event]) -> None:
    program = resolved(ProgramTree((*SCHEMAS, PER_KEY, *cep.parse(text).tree.declarations)))
    end = end_of(stream)
    keys = {event["k"] for event in stream}
    parts = [[event for event in stream if event["k"] == key] for key in keys]
    whole = machine_rows(program, stream, end)
    assert [row.key for row in whole] == sorted({row.key for row in whole})
    assert in_order([machine_rows(program, part, end) for part in parts]) == list(map(show, whole))


def test_keys_in_a_cycle_stay_short() -> None:
    text = """
        insert into S select s.k as k from pattern [every s=S -> timer:interval(1 sec)];
        insert into S select k from A;
    """
    program = cep.parse(text, types=TYPES).resolve()
    rows = machine_rows(program, [make_event("A", 0, 0)], 100_000_000)
    lengths = [len(row.key) for row in rows]
    assert len(rows) == 101
    assert len(set(lengths[1:])) == 1


# The face.


SHORT = "select a.k as k, b.v as v, a as whole from pattern [every a=A -> b=B(k=a.k)]"


def program_of(text: str) -> ResolvedProgram:
    return cep.parse(text, types=TYPES).resolve()


def test_a_column_is_what_the_program_looks_at() -> None:
    program = program_of("select a.v as v from pattern [every a=A -> S(k=a.k, v > a.v)]")
    assert [(c.name, str(c.data_type), c.types) for c in columns_of(program)] == [
        ("k", "string", ("A", "S")),
        ("A.v", "int", ("A",)),
        ("S.v", "long", ("S",)),
    ]


def test_an_event_in_a_row_is_a_struct_with_all_its_attributes() -> None:
    program = program_of(SHORT)
    events = [make_event("A", 0, 0, "x", 1, 0.5), make_event("B", 5, 1, "x", 2)]
    [row] = open_operator(program).take(table(program, events)).to_pylist()
    [name] = row.keys() - {"@type", "@time", "@kind", "@key"}
    assert row[name]["v"] == 2
    whole = row[name]["whole"]
    assert list(whole) == ["@type", "@time", "id", "k", "v", "w", "ts"]
    assert (whole["@type"], whole["id"], whole["w"]) == ("A", "A0", 0.5)


def test_values_of_another_arrow_type_are_coerced() -> None:
    program = program_of("select id, v, w from A")
    events = pa.table(
        {
            "@type": pa.array(["A", "A"]).dictionary_encode(),
            "@time": [0, 1],
            "@sequence": [0, 1],
            "id": pa.array(["x", None]).dictionary_encode(),
            "v": [1.0, None],
            "w": pa.array([2, 3], pa.int8()),
        }
    )
    found = open_operator(program).take(events).column(4).to_pylist()
    assert found == [{"id": "x", "v": 1, "w": 2.0}, {"id": None, "v": None, "w": 3.0}]
    wrong = events.set_column(4, "v", pa.array([1.5, 2.5]))
    with pytest.raises(cep.InputError, match=r"attribute 'v' of A: 1.5 is not an int"):
        open_operator(program).take(wrong)


def test_a_column_may_be_missing_only_beside_no_events_of_its_types() -> None:
    program = program_of("select a.v as v from pattern [every a=A -> S(v > a.v)]")
    events = table(program, [make_event("A", 0, 0, v=1), make_event("C", 1, 1)])
    operator = open_operator(program)
    assert operator.take(events.drop_columns("S.v")).num_rows == 0
    with pytest.raises(cep.InputError, match=r"no column 'A.v' beside events of type A"):
        open_operator(program).take(events.drop_columns("A.v"))


def test_rows_without_a_type_let_time_pass() -> None:
    operator = open_operator(program_of("select 1 as v from pattern [every timer:interval(2 sec)]"))
    assert (operator.clock, operator.next_due()) == (None, None)
    operator.start(0)
    assert (operator.clock, operator.next_due()) == (0, 2_000_000)
    ticks: dict[str, Any] = {
        "@type": pa.nulls(2, pa.string()),
        "@time": [1, 4_000_000],
        "@sequence": [0, 1],
    }
    assert operator.take(pa.record_batch(ticks)).num_rows == 2
    assert (operator.clock, operator.next_due()) == (4_000_000, 6_000_000)


def test_state_of_another_program_is_refused() -> None:
    mine, other = program_of(SHORT), program_of("select id from A")
    saved = open_operator(other).save()
    for state in (saved, b"", saved[:-1]):
        with pytest.raises(cep.RunError, match="bad-state"):
            open_operator(mine).load(state)


def test_a_key_is_no_part_of_what_an_event_says() -> None:
    key: SortKey = (1, 2, 3)
    assert Event("A", 0, {}, key=key) == Event("A", 0, {})
    assert Event("A", 0, {}, 7).key == (0, 1, 7, 0)
