"""Parts of a program that have nothing to do with each other: each in its own way, with the rows of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.engines.local.engine import open_runner
from cepheid.engines.local.parts_runner import PartsRunner
from cepheid.errors import RunError, UsageError
from cepheid.io import write_file
from cepheid.io.arrow import arrow_type
from cepheid.matcher.lanes.plan import EACH
from cepheid.matcher.operator import columns_of, open_operator
from cepheid.matcher.parts import PartsOperator, parts_of, sorted_keys, ways_of
from cepheid.matcher.reference import ReferenceOperator
from cepheid.program.resolved import ResolvedProgram
from tests.conformance.rows import strict
from tests.effort import examples

SCHEMA = (
    "create schema A(id int, k string, v int); create schema B(id int, k long, v int);"
    "create schema E(id int, k string, v int);"
    "create schema D(id int, n int, v int); create schema G(id int, n int, v int);\n"
)
# None has anything to do with the others.
LANES = [
    "select k, v from A(v > 1);",
    "insert into P select k from A(v = 2); select k, count(*) as n from P#length(2) group by k;",
    "select a.id as id, b.id as other from pattern [every a=A(v = 3) -> b=A(k = a.k)];",
    "select a.id as id from pattern [every a=A(v = 1) -> (timer:interval(2 sec) and not A(v = 0))];",
    # Alone, these two types agree on an attribute.
    "select a.id as id, b.id as other from pattern [every a=A -> b=E(k = a.k)];",
    # Several statements of one type hold different attributes.
    "insert into G select id, 1 as n from A; insert into G select id, v from E; select n, v from G;",
]
MACHINE = [
    "insert into C select id, v from A(v > 1); insert into C select id, v - 1 as v from C(v > 0);",
    "insert into D select id, 1 as n from B(k < 2); insert into D select id, n + 1 as n, v from D(n < 3)"
    " where v is null; select n, v from D;",
    "select irstream k, count(*) as n from A#length(2) group by k;",
    # Each takes what the next one derives.
    "select id from R; insert into R select id from Q; insert rstream into Q select rstream id"
    " from A#time(2 sec);",
    "select 1 as n from pattern [every timer:interval(2 sec)];",
    "insert into N select a, b.v as v from pattern [every a=A(v = 2) -> b=B]; select a.k as k from N;",
]
# Timers that a cycle reaches.
REFERENCE = [
    "insert into T select a.id as id, 0 as n from pattern [every a=B(v = 1)]; insert into T"
    " select a.id as id, a.n + 1 as n from pattern [every a=T(n < 2) -> timer:interval(1 sec)];",
    "insert into U select 7 as id, 0 as n from pattern [every timer:interval(2 sec)]; insert into U"
    " select a.id as id, 2 as n from pattern [every a=U(n = 0) -> timer:interval(2 sec)];",
]


def resolved(texts: Sequence[str]) -> ResolvedProgram:
    found = cep.parse(SCHEMA + "\n".join(texts)).resolve()
    assert found.can_run, found.problems
    return found


def test_each_part_says_how_it_runs() -> None:
    ways = ways_of(resolved([LANES[0], MACHINE[0], MACHINE[2]]))
    assert list(ways.values()) == [
        ("filter", ""),
        (EACH, "statements take what comes of their own rows"),
        (EACH, "statements take what comes of their own rows"),
        (EACH, "'statement_4' gives rows that are not new, or no plain values"),
    ]


def test_what_is_alike_runs_together() -> None:
    program = resolved([LANES[0], MACHINE[0], LANES[2], REFERENCE[0], MACHINE[2]])
    names = [[statement.name for statement in part.statements] for part in parts_of(program)]
    assert names == [
        ["statement_1", "statement_4"],
        ["statement_2", "statement_3", "statement_7"],
        ["statement_5", "statement_6"],
    ]
    assert isinstance(open_operator(program), PartsOperator)
    runner = open_runner(program)
    assert isinstance(runner, PartsRunner)
    with pytest.raises(UsageError, match="does not show what it keeps"):
        runner.inspect()
    assert not parts_of(resolved(MACHINE))


def test_timers_without_an_order_among_rows_keep_to_the_machine() -> None:
    lanes = (
        "insert into P select k from A#time_batch(2 sec); select a.k as k from pattern"
        " [every a=P -> (timer:interval(1 sec) and not P)];"
    )
    ways = ways_of(resolved([lanes, MACHINE[0], LANES[0]]))
    assert [way.kind for way in ways.values()] == [EACH, EACH, EACH, EACH, "filter"]
    assert ways["statement_1"].because.endswith("what its timers bring has no order")


@st.composite
def programs(draw: st.DrawFn, *kinds: Sequence[str]) -> str:
    """Some of each kind, in any order, with priorities."""
    some = (st.lists(st.sampled_from(kind), min_size=1, max_size=2, unique=True) for kind in kinds)
    chosen = draw(st.tuples(*some).flatmap(lambda found: st.permutations([*chain(*found)])))
    statements = [part.strip() + ";" for text in chosen for part in text.split(";") if part.strip()]
    heads = st.sampled_from(["", "", "@Priority(2) "])
    return SCHEMA + "\n".join(f"{draw(heads)}{statement}" for statement in statements)


@st.composite
def streams(draw: st.DrawFn) -> pa.Table:
    """Many at one time, some that only let it pass."""
    steps = draw(st.lists(st.integers(0, 2), min_size=1, max_size=20))
    count = len(steps)
    kinds = draw(st.lists(st.sampled_from(["A", "A", "B", "E", None]), min_size=count))[:count]
    values = draw(st.lists(st.sampled_from([1, 2, 3, None, 0]), min_size=count))[:count]
    times = [sum(steps[: n + 1]) for n in range(count)]
    return pa.table(
        {
            "@type": pa.array(kinds, pa.string()),
            "@time": times,
            "id": list(range(count)),
            "v": pa.array(values, pa.int64()),
        }
    )


def with_keys(table: pa.Table) -> list[dict[str, Any]]:
    """The types do not agree on `k`."""
    return [
        {**row, "k": row["id"] % 3 if row["@type"] == "B" else f"k{row['id'] % 3}"}
        if row["@type"]
        else {"@time": row["@time"]}
        for row in table.to_pylist()
    ]


def tables_of(events: pa.Table) -> Iterator[pa.Table]:
    """As tables with a type each, which columns come from."""
    rows = with_keys(events)
    for name, key in (("A", pa.string()), ("B", pa.int64()), ("E", pa.string())):
        mine = [(n, row) for n, row in enumerate(rows) if row.get("@type") == name]
        yield pa.table(
            {
                "@type": pa.array([name] * len(mine), pa.string()),
                "@time": pa.array([row["@time"] for _, row in mine], pa.int64()),
                "@sequence": pa.array([n for n, _ in mine], pa.int64()),
                "id": pa.array([row["id"] for _, row in mine], pa.int64()),
                "k": pa.array([row["k"] for _, row in mine], key),
                "v": pa.array([row["v"] for _, row in mine], pa.int64()),
            }
        )


ALL = st.one_of(
    programs(LANES, MACHINE), programs(LANES, MACHINE, REFERENCE), programs(MACHINE, REFERENCE)
)


@given(ALL, streams(), st.integers(1, 5))
@examples(60)
def test_batches_give_the_rows_of_the_reference(text: str, events: pa.Table, size: int) -> None:
    program = cep.parse(text)
    tables = [cep.source(each, sequence="@sequence") for each in tables_of(events)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("cepheid.engines.local.columns._CHUNK", size)
        patched.setattr("cepheid.engines.local.engine.are_small", lambda _: False)
        found = cep.run(program, tables, engine="local", start=-1)
    expected = cep.run(program, tables, engine="reference", start=-1)
    assert [strict(row) for row in found] == [strict(row) for row in expected]
    assert [row.statement for row in found] == [row.statement for row in expected]
    assert found.counts() == expected.counts()
    assert written(found) == written(expected)


def test_types_that_agree_alone_keep_their_attributes() -> None:
    program = resolved([LANES[4], MACHINE[1]])
    assert {column.name for column in columns_of(program)} >= {"A.k", "B.k", "E.k"}
    events = pa.table(
        {"@type": ["A", "B", "E"], "@time": [0, 0, 1], "id": [0, 1, 3], "v": [1, 1, 1]}
    )
    (rows,) = (open_operator(program).take(pa.concat_tables(as_taken(program, events))),)
    assert {"statement_1", "D"} <= set(rows["@type"].to_pylist())


def written(found: cep.Result) -> str:
    with TemporaryDirectory() as folder:
        target = Path(folder) / "rows.jsonl"
        write_file(found.events, target, "jsonl", found.types)
        return target.read_text(encoding="utf-8")


@given(programs(LANES, REFERENCE) | programs(MACHINE, REFERENCE), streams())
@examples(60)
def test_single_events_give_them_after_any_restart(text: str, events: pa.Table) -> None:
    program = cep.parse(text)
    expected = list(cep.run(program, with_keys(events), engine="reference", start=-1))
    session, rows = cep.open(program, start=-1), []
    for event in with_keys(events):
        rows += session.send(event)
        saved = session.save()
        session = cep.open(program, state=saved)
    assert [strict(row) for row in rows] == [strict(row) for row in expected]


@given(ALL, streams())
@examples(40)
def test_an_operator_goes_on_where_it_was_saved(text: str, events: pa.Table) -> None:
    program = cep.parse(text).resolve()
    whole, operator = ReferenceOperator(program), open_operator(program)
    assert isinstance(operator, PartsOperator)
    rows = []
    for one in (whole, operator):
        one.start(-1_000_000)
    for batch in as_taken(program, events):
        assert operator.next_due() == whole.next_due()
        rows.append((whole.take(batch), operator.take(batch)))
        assert operator.clock == whole.clock
        saved, operator = operator.save(), open_operator(program)
        operator.load(saved)
    for told, found in rows:  # parts count their rows by themselves: keys differ, not their order
        assert told.drop_columns("@key").to_pylist() == found.drop_columns("@key").to_pylist()


def as_taken(program: ResolvedProgram, events: pa.Table) -> Iterator[pa.Table]:
    """Events one by one in the columns of operators."""
    for number, row in enumerate(with_keys(events)):
        of_type = [c for c in columns_of(program) if row.get("@type") in c.types]
        yield pa.table(
            {
                "@type": pa.array([row.get("@type")], pa.string()),
                "@time": [row["@time"] * 1_000_000],
                "@sequence": [number],
                **{
                    column.name: pa.array(
                        [row[column.attribute] if column in of_type else None],
                        arrow_type(column.data_type, program.types),
                    )
                    for column in columns_of(program)
                },
            }
        )


def test_keys_that_end_come_before_those_that_go_on() -> None:
    keys = [[1, 2, 3], [1, 2], [], [0, 9, 9, 9], [1, -5], [1, 2, -1]]
    array: Any = pa.array(keys, pa.list_(pa.int64()))
    assert [keys[place] for place in sorted_keys(array)] == sorted(keys)


def test_the_state_of_another_program_is_refused() -> None:
    saved = open_runner(resolved([LANES[0], REFERENCE[0]])).save()
    with pytest.raises(RunError, match="another program"):
        open_runner(resolved([LANES[1], REFERENCE[0]])).load(saved)
