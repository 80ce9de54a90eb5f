"""What travels: events and attributes that are left behind change no row."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis.keys import split_of
from cepheid.analysis.pushdown import Columns, Filters, columns_of, early_filters
from cepheid.core.event import Event
from cepheid.expr.evaluate import Frame, compile_condition
from cepheid.expr.printing import print_expr
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.semantics.drive import Shown, end_of, resolved, run
from tests.semantics.generators import ALL, make_event, programs, streams

SCHEMAS = "".join(f"create schema {t} (id string, k string, v int, w double);" for t in "ABC")
PER_K = "create context PerK partition by k from A, k from B; context PerK "
SECOND = 1_000_000

FILTERS: dict[str, dict[str, str | None]] = {
    "select id from A": {"A": None},
    "select id from A(v > 1 and k = 'x')": {"A": "v > 1 and k = 'x'"},
    "select id from A(v > 1) where w < 2": {"A": "v > 1 and w < 2"},
    "select id from A(v > 1)#time(3 sec) where w < 2": {"A": "v > 1 and w < 2"},
    "select id from A(v > 1)#length(3) where w < 2": {"A": "v > 1"},
    "select id from A(v > 1)#time_batch(3 sec) where w < 2": {"A": "v > 1"},
    "select id from A(current_timestamp() > 1000 and v > 1)": {"A": "v > 1"},
    "select count(*) as n from A having count(*) > 1": {"A": None},
    "select * from pattern [every a=A(v > 1) -> b=B(k = a.k and w < 2)]": {
        "A": "v > 1",
        "B": "w < 2",
    },
    "select * from pattern [every a=A(v > 1) -> b=A(k = a.k and v = 0)]": {"A": "v > 1 or v = 0"},
    "select * from pattern [every a=A(v > 1) -> b=A(k = a.k)]": {"A": None},
    "select * from pattern [every a=A -> b=B((a.v > 1 and w < 2) or (a.v > 2 and w < 3))]": {
        "A": None,
        "B": "w < 2 or w < 3",
    },
    "select * from pattern [every a=A -> b=B(a.v > 1 or w < 2)]": {"A": None, "B": None},
    "select * from pattern [every a=A(v > 1) -> (timer:interval(3 sec) and not B(v = 2))]": {
        "A": "v > 1",
        "B": "v = 2",
    },
    PER_K + "select * from pattern [every a=A(v > 1) -> b=B(v = 2)]": {"A": "v > 1", "B": "v = 2"},
    PER_K + "select * from pattern [(every a=A(v > 1)) where timer:within(3 sec)]": {"A": None},
    PER_K + "select id from A(v > 1) output after 3 sec": {"A": None},
}
COLUMNS = {
    "select id from A": {"A": ("id",)},
    "select id as x, v + 1 as y from A where w > 1": {"A": ("id", "v", "w")},
    "select count(*) as n from A": {"A": ()},
    "select k, max(v) as v from A group by k having min(w) > 1": {"A": ("k", "v", "w")},
    "select id from A order by v": {"A": ("id", "v")},
    "select a.id as id from pattern [every a=A(v > 1) -> b=B(k = a.k)]": {
        "A": ("id", "k", "v"),
        "B": ("k",),
    },
    "select a as a, b.id as id from pattern [every a=A -> b=B]": {
        "A": ("id", "k", "v", "w"),
        "B": ("id",),
    },
    "select b[0].id as id from pattern [every a=A -> ([2] b=B)]": {"A": (), "B": ("id",)},
    "select 1 as x from pattern [every-distinct(a.v, a.w) a=A]": {"A": ("v", "w")},
    "select 1 as x from pattern [every (a=A while (a.v > 1))]": {"A": ("v",)},
    PER_K + "select id from A": {"A": ("id", "k")},
}


def first_statement(text: str) -> tuple[ResolvedStatement, ResolvedProgram]:
    program = resolved(cep.parse(SCHEMAS + text).tree)
    return program.statements[0], program


@pytest.mark.parametrize("text", FILTERS)
def test_which_events_travel(text: str) -> None:
    statement, program = first_statement(text)
    found = early_filters(statement, program.types)
    assert {n: None if f is None else print_expr(f) for n, f in found.items()} == FILTERS[text]


@pytest.mark.parametrize("text", COLUMNS)
def test_which_attributes_travel(text: str) -> None:
    statement, program = first_statement(text)
    split = split_of(statement, program.types)
    assert columns_of(statement, program.types, split) == COLUMNS[text]


def test_the_time_of_an_event_travels() -> None:
    text = "@EventTime(attribute='at') create schema T (at long, x int, y int); select x from T"
    program = resolved(cep.parse(text).tree)
    [statement] = program.statements
    found = columns_of(statement, program.types, split_of(statement, program.types))
    assert found == {"T": ("at", "x")}


def test_heirs_travel_like_their_ancestors_and_whole_with_all_their_own() -> None:
    schemas = "create schema P (j int, k int); create schema Q (l int) inherits P;"
    text = schemas + "select p as p from pattern [every p=P(j > 1)]; select j from P(k = 2)"
    program = resolved(cep.parse(text).tree)
    whole, part = program.statements
    split = split_of(part, program.types)
    assert columns_of(part, program.types, split) == {"P": ("j", "k"), "Q": ("j", "k")}
    assert set(columns_of(whole, program.types, split)["Q"]) == {"j", "k", "l"}
    assert {n: print_expr(f) for n, f in early_filters(part, program.types).items() if f} == {
        "P": "k = 2",
        "Q": "k = 2",
    }


def dropped(stream: Sequence[Event], filters: Filters) -> list[Event]:
    conditions = {name: compile_condition(f) for name, f in filters.items()}
    return [e for e in stream if conditions[e.type](Frame(e, now=e.instant))]


def stripped(stream: Sequence[Event], columns: Columns) -> list[Event]:
    """The events with nulls where an attribute has not travelled."""
    return [
        Event(e.type, e.instant, {n: e[n] if n in columns[e.type] else None for n in e})
        for e in stream
    ]


def shown(tree: ProgramTree, stream: Sequence[Event], end: int) -> list[Shown]:
    """The rows; their causes are whole events, which need not travel."""
    return [row._replace(causes=()) for row in run(tree, stream, end=end)]


@examples(200)
@given(programs(ALL), streams(), st.data())
def test_what_is_left_behind_in_a_generated_program_changes_no_row(
    tree: ProgramTree, stream: list[Event], data: st.DataObject
) -> None:
    program = resolved(tree)
    inputs = {event.type for event in stream}
    fed = [s for s in program.statements if set(s.inputs) <= inputs]
    assume(fed)
    statement = data.draw(st.sampled_from(fed))
    alone = ProgramTree((*tree.schemas, *tree.contexts, statement.tree))
    relevant = [event for event in stream if event.type in statement.inputs]
    end = end_of(stream)
    rows = shown(alone, relevant, end)
    assert shown(alone, dropped(relevant, early_filters(statement, program.types)), end) == rows
    columns = columns_of(statement, program.types, split_of(statement, program.types))
    assert shown(alone, stripped(relevant, columns), end) == rows


@pytest.mark.parametrize(
    ("text", "filter"),
    [
        (PER_K + "select * from pattern [(every a=A(v > 1)) where timer:within(3 sec)]", "v > 1"),
        (PER_K + "select id from A(v > 1) output after 3 sec", "v > 1"),
        ("select irstream id from A#length(1) where v > 1", "v > 1"),
        ("select id from A#time_batch(2 sec) where v > 1", "v > 1"),
    ],
)
def test_dropping_more_would_change_rows(text: str, filter: str) -> None:
    tree = cep.parse(SCHEMAS + text).tree
    found = [("x", 1, 0), ("x", 2, 1), ("x", 4, 2), ("x", 7, 3), ("y", 20, 1), ("y", 22, 2)]
    stream = [make_event("A", t * SECOND, n, k, v) for n, (k, t, v) in enumerate(found)]
    probe, _ = first_statement(f"select id from A({filter})")
    condition = compile_condition(probe.condition)
    fewer = [event for event in stream if condition(Frame(event))]
    end = end_of(stream)
    assert shown(tree, fewer, end) != shown(tree, stream, end)
