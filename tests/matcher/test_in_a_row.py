"""Statements that take what others derive, batch by batch: what is shared, and what ends a run."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.matcher.lanes import operator as lanes_operator
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.lanes.plan import EACH, lanes_of
from cepheid.matcher.lanes.single_lane import SingleLane
from cepheid.matcher.lanes.window_lane import WindowLane
from cepheid.matcher.parts import ways_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics import limits
from tests.conformance import filters
from tests.conformance.compare import agree
from tests.conformance.engines import ENGINES
from tests.conformance.rows import strict
from tests.conformance.scenarios import Example

SCHEMA = "create schema A(id int, k string, v int, w double);\n"


def program(text: str) -> ResolvedProgram:
    found = cep.parse(SCHEMA + text).resolve()
    assert found.can_run, found.problems
    return found


def lanes(text: str) -> LanesOperator:
    found = program(text)
    plan = lanes_of(found)
    assert plan is not None
    return LanesOperator(found, plan, keyed=False)


def readings(count: int, **columns: Any) -> pa.Table:
    numbers = list(range(count))
    given = {"id": numbers, "k": ["x"] * count, "v": numbers, "w": [0.5] * count, **columns}
    return pa.table({"@type": ["A"] * count, "@time": numbers, **given})


# What is shared.


def test_statements_over_one_window_share_it() -> None:
    operator = lanes(
        "insert into One select k, avg(w) as w from A(v > 1)#time(1 sec) group by k;"
        "insert into Two select k, sum(v) as v, max(w) as m from A(v > 1)#time(1 sec) group by k;"
        "insert into Three select k, avg(w) as w from A(v > 2)#time(1 sec) group by k;"
        "insert into Four select k, avg(w) as w from A(v > 1)#time(2 sec) group by k;"
    )
    windows = [lane for lane in operator._lanes if isinstance(lane, WindowLane)]
    assert [len(window._statements) for window in windows] == [2, 1, 1]


# What runs how, and why.

WAYS = {
    "select k from A(v > 1)": ("filter", ""),
    "select a.k as k from pattern [every a=A -> b=A(k = a.k)]": ("chain", ""),
    "select count(*) as n from pattern [every a=A(v > 1)]#length(3)": ("window", ""),
    "select k from A output every 2 events": (EACH, "its clauses choose, order or hold back rows"),
    "select a.k as k from pattern [every a=A -> b=A(v > a.v)]": (
        EACH,
        "its pattern is no chain of events with one key and alternatives",
    ),
    "select sum(v + 1) as n from A#length(3)": (
        EACH,
        "its window, or what it computes, is not for whole batches",
    ),
}


@pytest.mark.parametrize("text", WAYS)
def test_each_statement_says_how_it_runs_and_why(text: str) -> None:
    found = ways_of(program(f"@Name('Plain') select id from A;\n@Name('Q') {text};"))
    assert found["Q"] == WAYS[text]


ALL_ALONE = {
    "insert into S select k from A output every 2 events; select k from S output every 2 events": (
        "no statement is a filter, a chain or a window"
    ),
    "create schema S(k string, v long); insert into S select k, v + 1L as v from S(v < 3);"
    "insert into S select k, 1L as v from A": "statements take what comes of their own rows",
    "@Name('Q') select irstream k from A#length(2)": (
        "'Q' gives rows that are not new, or no plain values"
    ),
}


@pytest.mark.parametrize("text", ALL_ALONE)
def test_a_program_that_the_machine_runs_as_a_whole_says_why(text: str) -> None:
    found = program(text)
    assert lanes_of(found) is None
    assert {tuple(way) for way in ways_of(found).values()} == {(EACH, ALL_ALONE[text])}


# What ends a run.

DERIVED = "insert into Y select k from X(k = 'x');"
RUNAWAYS = {
    "an event": "insert into X select a.k as k from pattern [every a=A(v < 9) -> b=A(v = 9)];",
    "a later event": (
        "insert into X select a.k as k from pattern [every a=A(v < 9) -> b=A(v = 4 or v = 9)];"
    ),
    "a window's timer": "insert into X select k from A#time_batch(1 hour);",
    "a later timer of a window": "insert into X select k from A(v != 1)#time_batch(4 sec);",
    "neither": "insert into X select k, count(*) as n from A#time(3 sec) group by k;",
}


@pytest.mark.parametrize("name", RUNAWAYS)
@pytest.mark.parametrize("most", [1, 3, 4, 8, 9, 10])
def test_one_cause_that_derives_too_much_ends_the_run(
    name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RUNAWAY", most)
    text = RUNAWAYS[name] + DERIVED
    time = pa.table({"@type": pa.array([None], pa.string()), "@time": [7200]})
    events = pa.concat_tables([readings(10), time], promote_options="default")
    told = []
    for engine in ("reference", "local"):
        try:
            told.append(str(cep.run(cep.parse(SCHEMA + text), events, engine=engine).counts()))
        except cep.RunError as problem:
            [found] = problem.diagnostics
            told.append(f"{found.code} {found.hint}")
    assert told[0] == told[1]


def test_each_absence_is_a_cause_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RUNAWAY", 2)
    text = (
        "insert into X select a.k as k from pattern"
        " [every a=A -> (timer:interval(1 hour) and not A(v = 100))];"
    )
    time = pa.table({"@type": pa.array([None], pa.string()), "@time": [7200]})
    events = pa.concat_tables(
        [readings(10).set_column(1, "@time", pa.array([0] * 10)), time], promote_options="default"
    )
    found = cep.run(cep.parse(SCHEMA + text + DERIVED), events)
    assert found.counts() == {"X": 10, "Y": 10}


# What batches do not have.

NOTHING_FIRST = {
    "null": "insert into T select k, null as w, null as f, null as n from A(v < 6);",
    "left out": "insert into T select k from A(v < 6);",
}


@pytest.mark.parametrize("name", NOTHING_FIRST)
def test_values_come_after_batches_that_have_none(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes_operator, "_FEWER", 4)
    monkeypatch.setattr(lanes_operator, "CHUNK", 4)
    text = (
        "create schema T(k string, w double, f float, n int);"
        f"{NOTHING_FIRST[name]}"
        "insert into T select k, w, cast(w, float) as f, v as n from A(v >= 6);"
        "select a.w as w, a.f as f, b.n as n from pattern [every a=T -> b=T(k = a.k)];"
    )
    parsed, events = cep.parse(SCHEMA + text), readings(20, w=[n + 0.5 for n in range(20)])
    expected = cep.run(parsed, events, engine="reference").to_arrow()
    assert cep.run(parsed, events).to_arrow().to_pylist() == expected.to_pylist()


# Sizes of batches.


def test_batches_are_small_where_events_bring_many_rows() -> None:
    many = "".join(f"insert into X{n} select k from A; select k from X{n};" for n in range(3))
    few = "insert into X select k from A(v < 0); select k from X;"
    events = readings(40_000)
    sizes = []
    for text in (many, few):
        operator = lanes(text)
        columns = events.append_column("@sequence", events["id"])
        operator.take(columns.set_column(1, "@time", columns["id"].cast(pa.int64())))
        sizes.append(operator._size)
    assert sizes[0] < sizes[1]


def test_batches_are_smaller_the_more_statements_follow_each_other() -> None:
    def size(count: int) -> int:
        following = (f"insert into X{n + 1} select k from X{n};" for n in range(count))
        return lanes("insert into X0 select k from A;" + "".join(following))._size

    assert size(30) < size(8)


# What is kept from batch to batch.

KEPT = (
    "@Priority(1) insert into X select k, v, w, id from A(v >= 0);"
    "insert into Y select a.k as k, b.v as v, a.id as id from pattern"
    " [every a=X -> b=X(k = a.k) where timer:within(5 sec)];"
    "insert into Z select k, count(*) as n, max(w) as m from X#length(5) group by k;"
    "insert into Z select k, count(*) as n, min(w) as m from X#time(4 sec) group by k;"
    "@Priority(2) insert into M select k from X output every 3 events;"
    "select a.k as k, b.n as n, b.m as m from pattern"
    " [every a=Y -> b=Z(k = a.k) where timer:within(5 sec)];"
    "select a.id as a from pattern [every a=Y(v > 3) -> (timer:interval(3 sec) and not Z(n > 2))];"
    "select a.id as b from pattern [every a=X -> (timer:interval(3 sec) and not Y(k = a.k))];"
    "select a.k as x from pattern [every a=M -> b=M(k = 'k9')];"
    "select k, count(*) as n from M#length(4) group by k;"
)


def keyed(count: int) -> pa.Table:
    """Each key occurs for a short time only, and then never again; there are keys that are null."""
    keys = [None if n % 7 == 0 else f"k{n // 5 - n % 3}" for n in range(count)]
    found = readings(count, k=keys, v=[n % 6 - 1 for n in range(count)])
    found = found.set_column(found.schema.get_field_index("w"), "w", found["id"].cast(pa.float64()))
    return found.set_column(1, "@time", pa.array([n // 2 for n in range(count)]))


def by(engine: str, text: str, events: pa.Table) -> list[str]:
    return [strict(row) for row in cep.run(cep.parse(SCHEMA + text), events, engine=engine)]


@pytest.mark.parametrize("size", [1, 3, 16])
def test_what_is_kept_outlives_what_is_forgotten(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small batches, behind each of which everything that is needed no more is forgotten.
    for name, value in {"CHUNK": size, "_FEWER": size, "_SPARE": -1_000}.items():
        monkeypatch.setattr(f"cepheid.matcher.lanes.operator.{name}", value)
    assert by("local", KEPT, keyed(80)) == by("reference", KEPT, keyed(80))


# Attributes of one name that types do not agree on; only the machine takes two of them as one column.
APART = (
    "insert into X select id, k as n, w as m from A;"
    "insert into Y select id, w as n, id as m from A;"
    "insert into Z select id, k as n, w as m from A(v > 2);"
    "select a.n as a, b.n as b from pattern [every a=X -> b=Y(id = a.id)];"
    "select a.n as a, a.m as m, b.n as b, b.m as l from pattern"
    " [every a=X(id < 3) -> every b=Z(n != 'k1')];"
    "select n from X(n = 'k1'); select n from Z(n = 'k1'); select n from Y(n > 1.0);"
)


def test_attributes_of_one_name_are_told_apart() -> None:
    assert by("local", APART, keyed(20)) == by("reference", APART, keyed(20))


MANY = {
    "an event": "insert into X select a.id as id from pattern [every a=A -> b=A(v = 299)];",
    "a timer": "insert into X select id from A#time_batch(150 sec);",
}


@pytest.mark.parametrize("name", MANY)
def test_many_rows_of_one_cause_are_in_order(name: str) -> None:
    text = MANY[name] + "select id from X; @Priority(1) select id from X(id != 3);"
    assert by("local", text, readings(300)) == by("reference", text, readings(300))


# Filters that show constants of their own; what one shows as null, another one shows as a value.
CONSTANTS = (
    "insert into X select id, 'low' as n, null as m, 1 as o, 0.5 as p from A(v > 0);"
    "insert into X select id, 'some' as n, 'm' as m, null as o, 1.5 as p from A(v > 2);"
    "insert into X select id, null as n, 'n' as m, 3 as o, null as p from A(v > 1);"
    "insert into Y select id, n, 7 as o from X(n is not null); insert into Y select id, m as n, o from X;"
    "select * from Y(o > 1); select n, count(*) as c from Y#length(4) group by n;"
    "select a.n as a, b.m as b from pattern [every a=X -> b=X(m = a.m)];"
)


def test_filters_show_constants_of_their_own() -> None:
    assert by("local", CONSTANTS, keyed(40)) == by("reference", CONSTANTS, keyed(40))
    (lane, *_) = lanes(CONSTANTS)._lanes
    assert isinstance(lane, SingleLane)
    assert [len(group._routes) for group in lane._groups if len(group._routes) > 1]


# What shows 0.0 does not show -0.0, although these are equal.
ZEROS = (
    "insert into X select id, case when v > 1 then 0.0 else w end as n from A(v > 0);"
    "insert into X select id, case when v > 1 then -0.0 else w end as n from A(v > 0);"
    "select last(0.0) as one, last(-0.0) as other from A#length(2);"
)


def test_zeros_keep_their_signs() -> None:
    rows = by("local", ZEROS, keyed(40))
    assert rows == by("reference", ZEROS, keyed(40))
    assert any("one=0.0" in row and "other=-0.0" in row for row in rows)
    assert {"0.0", "-0.0"} <= {row.partition("n=")[2].rstrip("}") for row in rows}


# More indexes than are looked at together, each of several filters.
@pytest.mark.parametrize("count", [1, 4])
def test_filters_have_many_indexes(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.matcher.lanes.single_lane._MOST", 4)
    asked = [(n, s, c) for c in range(count) for n in ("id", "v", "w") for s in filters.SIGNS]
    steps = (
        f"insert into X select id, {place} as n from A({name} {sign} {c * 7 % 5});"
        for place, (name, sign, c) in enumerate(asked)
    )
    text = "".join(steps) + "select id, n from X(n > 9); select id from X(n = 9);"
    assert by("local", text, keyed(30)) == by("reference", text, keyed(30))


# Where ways to a statement double at each level, or are too many, filters take what others give.
@pytest.mark.parametrize("levels", [2, 8])
def test_filters_are_reached_in_many_ways(levels: int) -> None:
    first = "".join(f"insert into X0 select id, v from A(v > {n % 3});" for n in range(5))
    others = (
        f"insert into X{n + 1} select id, v from X{n}(v > {n % 4}); @Priority({n % 3})"
        f"insert into X{n + 1} select id, v from X{n}(v < {5 - n % 4});"
        for n in range(levels)
    )
    text = first + "".join(others)
    assert by("local", text, keyed(12)) == by("reference", text, keyed(12))


@pytest.mark.parametrize("name", [name for name in filters.OF_INPUT if name != "id"])
def test_every_constant_is_compared_with_every_value(name: str) -> None:
    """Several times, as what follows on what has the same constants."""
    kind = filters.OF_INPUT[name]
    signs = ("=", "!=") if kind in ("boolean", "string") else filters.SIGNS
    asked = [
        (sign, c)
        for c in (*filters.CONSTANTS[kind], *filters.CONSTANTS[kind][:3])
        for sign in signs
    ]
    steps = [
        f"insert into X select id, {name}, {place} as step from A({name} {sign} {c});"
        for place, (sign, c) in enumerate(asked)
    ]
    steps += [f"insert into Y select id, step from X({name} {sign} {c});" for sign, c in asked[:3]]
    events = (
        f"A{number}@{number}{{{filters.given_as({name: value})}}}"
        for number, value in enumerate(filters.VALUES[kind])
    )
    assert agree(
        ENGINES["local, columns"], Example("\n".join([filters.INPUT, *steps]), " ".join(events))
    )


STEPS = {
    "one index, not in order": "v > 3|v > 1|v > 2|v > 1",
    "the same from above": "v <= 1|v <= 3|v <= 2",
    "equal constants": "v = 2|v = 1|v = 2",
    "two indexes in order": "v > 1|v > 2|v < 3|v < 4",
    "two indexes in turn": "v > 1|v = 2|v > 2|v = 4|v = 2",
    "few rows of many filters": "v > 3|v > 8|v > 9|v = 1|v = 7|v = 8|v = 4|v = 0|v = 6",
    "bounds of two signs": "v >= 2, v > 2|v > 2, v >= 2|v <= 2, v < 2|v > 1",
}


@pytest.mark.parametrize("name", STEPS)
def test_filters_of_one_event_come_in_their_order(name: str) -> None:
    asked = STEPS[name].split("|")
    text = "".join(f"insert into X select id, {n} as n from A({a});" for n, a in enumerate(asked))
    # The same of what a window gives, beside filters of another form.
    text2 = "insert into W select id, v, count(*) as c from A#length(3) group by id, v;" + "".join(
        f"insert into Y{n % 2} select id{', c' * (n % 2)} from W({a});" for n, a in enumerate(asked)
    )
    for each in (text, text2):
        assert by("local", each, keyed(20)) == by("reference", each, keyed(20))


# Filters of different forms, some of which follow on others; priorities are not in the order of the text.
DEPTHS = (
    "insert into X select id, v from A(v > 0); insert into Y select id, v, 1 as n from X(v > 1);"
    "@Priority(1) insert into Z select id as m from Y(v > 2); insert into V select id, w from A(v < 4);"
    "@Priority(2) insert into W select id, k from A; @Priority(-1) insert into U select v from X;"
    "select id as last from Y; select w from V; select k from W;"
)


def test_rows_of_filters_come_by_how_many_led_to_them() -> None:
    assert by("local", DEPTHS, keyed(20)) == by("reference", DEPTHS, keyed(20))


def test_filters_that_differ_by_constants_are_looked_up_together() -> None:
    levels = (f"insert into X select id, 'level {n}' as k from A(v > {n});" for n in range(20))
    (lane,) = lanes("".join(levels))._lanes
    assert isinstance(lane, SingleLane)
    assert [len(group._routes) for group in lane._groups] == [20]
