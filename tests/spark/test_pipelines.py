"""Statements on different keys, run one after the other in parts, give the rows of the whole."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import cepheid as cep
from cepheid.core.event import Event
from cepheid.core.time import to_instant
from cepheid.engines.spark.batch.query import batch_rows
from cepheid.engines.spark.codec.event_encoder import EventEncoder
from cepheid.engines.spark.codec.event_frames import named, sources_of
from cepheid.engines.spark.codec.event_layout import TIME
from cepheid.engines.spark.codec.input_columns import Options
from cepheid.engines.spark.codec.sql_columns import Column, field
from cepheid.engines.spark.plan.passes import Pass, Pipeline, events_among_rows, pipelines_of
from cepheid.engines.spark.plan.plan import plan_of
from cepheid.engines.spark.plan.request import SparkRequest
from cepheid.expr.values import group_key
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.operator import Operator, open_operator
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree
from tests.effort import EFFORT, examples
from tests.matcher.test_operator import machine_rows, shown, shown_table, table, without_key
from tests.semantics.drive import end_of, resolved
from tests.semantics.generators import make_event
from tests.spark.cases import (
    Case,
    by_default_order,
    different,
    frame_of,
    pack_of,
    reference,
    set_to,
)
from tests.spark.pipelines import crowded, meeting_programs, pipeline_programs
from tests.spark.test_batch import rows_of

PACKS, SIZE = 2 * EFFORT, 10

# A shuffle without Spark.


def part_of(event: Event, one: Pass) -> Hashable:
    """Where an event goes; those that any split suits go here and there."""
    if one.key is None:
        return 0
    if event.type not in one.key:
        return sum(event.key) % 3
    return tuple(group_key(value_at(event, path)) for path in one.key[event.type])


def value_at(event: Event, path: Sequence[str]) -> Any:
    value: Any = event
    for name in path:
        value = None if value is None else value.get(name)
    return value


def parts_of(events: Iterable[Event], one: Pass) -> list[list[Event]]:
    consumed = one.program.consumed_types
    found: dict[Hashable, list[Event]] = {0: []} if one.key is None else {}
    for event in sorted(events, key=lambda event: event.key):
        if event.type in consumed:
            found.setdefault(part_of(event, one), []).append(event)
    return list(found.values())


def keyed_table(program: ResolvedProgram, events: Sequence[Event]) -> pa.Table:
    """Derived events have a key, those of the input a sequence."""
    keys = [event.key if len(event.key) > 4 else None for event in events]
    return table(program, events).append_column("@key", pa.array(keys, pa.list_(pa.int64())))


def forwarded(rows: pa.Table, program: ResolvedProgram) -> list[Event]:
    """The rows that others take as events."""
    kinds = {s.target: events_among_rows(program, s.target) for s in program.statements}
    return [
        Event(row["@type"], to_instant(row["@time"]), row[row["@type"]], key=tuple(row["@key"]))
        for row in rows.to_pylist()
        if row["@kind"] in (kinds[row["@type"]] or ())
    ]


def run_part(operator: Operator, events: Sequence[Event], end: int, size: int) -> pa.Table:
    operator.start(0)
    given = keyed_table(operator.program, events)
    cuts = range(0, len(events), size)
    found = [operator.take(given.slice(begin, size)) for begin in cuts]
    return pa.concat_tables([*found, operator.advance(end)])


def pipeline_rows(
    program: ResolvedProgram,
    pipeline: Pipeline,
    stream: Sequence[Event],
    size: int,
    *,
    timed_out: bool,
) -> list[tuple[Any, ...]]:
    events, found = list(stream), []
    for number, one in enumerate(pipeline):
        for part in parts_of(events, one):
            operator = open_operator(one.program, timed_out=timed_out, is_fed=number > 0)
            rows = run_part(operator, part, end_of(stream), size)
            found += shown_table([rows])
            events += forwarded(rows, program)
    return found


@examples(250)
@given(pipeline_programs() | meeting_programs(), crowded(), st.integers(1, 9), st.booleans())
def test_pipelines_of_passes_give_the_rows_of_the_whole(
    tree: ProgramTree, stream: list[Event], size: int, timed_out: bool
) -> None:
    program = resolved(tree)
    assume(any(len(pipeline) > 1 for pipeline in pipelines_of(program)))
    rows = rows_in_parts(program, stream, size, timed_out=timed_out)
    assert list(map(without_key, rows)) == whole_rows(program, stream, timed_out=timed_out)


def rows_in_parts(
    program: ResolvedProgram, stream: Sequence[Event], size: int, *, timed_out: bool
) -> list[tuple[Any, ...]]:
    rows = [
        row
        for pipeline in pipelines_of(program)
        for row in pipeline_rows(program, pipeline, stream, size, timed_out=timed_out)
    ]
    return sorted(rows, key=lambda row: row[3])


def whole_rows(
    program: ResolvedProgram, stream: Sequence[Event], *, timed_out: bool
) -> list[tuple[Any, ...]]:
    rows = machine_rows(program, stream, end_of(stream))
    wanted = [row for row in rows if timed_out or not row.is_timeout]
    return list(map(without_key, shown(wanted)))


# What meets at one instant.

SCHEMAS = "".join(
    f"create schema {t} (id string, k string, v int, w double, ts long);" for t in "ABC"
)
# Both derive from one event, or from timers of one instant.
MEETINGS = {
    "after an event": (
        "@Name('s') insert into S select k, last(v) as v, count(*) as n from A group by k;",
        "@Name('t') insert into T select v, count(*) as m from A group by v;",
        "@Name('q') select a.n as n, b.m as m from pattern [every a=S -> b=T(v = a.v)];",
    ),
    "after timers": (
        "@Name('s') insert into S select a.v as v, a.id as id"
        " from pattern [every a=A -> (timer:interval(1 sec) and not B(k = a.k))];",
        "@Name('t') insert into T select a.v as v, a.id as id"
        " from pattern [every a=A -> (timer:interval(1 sec) and not B(v = a.v))];",
        "@Name('q') select a.id as x, b.id as y from pattern [every a=S -> b=T(v = a.v)];",
    ),
}
SAMPLE = [
    make_event("AABA"[n % 4], n // 3 * 500_000, n, "xyxxy"[n % 5], n % 2, 0.5) for n in range(24)
]


@pytest.mark.parametrize("texts", MEETINGS.values(), ids=MEETINGS)
@pytest.mark.parametrize("is_first", [True, False])
def test_events_of_two_keys_meet_in_the_order_of_the_whole(
    texts: tuple[str, str, str], is_first: bool
) -> None:
    first, second, last = texts
    text = first + ("" if is_first else "@Priority(1)") + second + last
    program = resolved(cep.parse(SCHEMAS + text).tree)
    [pipeline] = pipelines_of(program)
    assert [set(one.names) for one in pipeline] == [{"s"}, {"t", "q"}]
    rows = list(map(without_key, rows_in_parts(program, SAMPLE, 2, timed_out=False)))
    assert rows == whole_rows(program, SAMPLE, timed_out=False)
    assert sum(row[0] == "q" for row in rows) > 1


def test_what_is_handed_over_keeps_its_place_in_a_saved_state() -> None:
    text = (
        "create schema S (id string, v int);"
        "@Name('q') select a.id as id from pattern [every a=S -> (timer:interval(1 sec) and not B)];"
        "@Name('r') select irstream id from S#time(1 sec);"
    )
    program = resolved(cep.parse(SCHEMAS + text).tree)
    long = (7, 1, 2, 3, 4, 5, 6)  # behind the first numbers of a key
    events = [
        Event("S", n // 4 * 500_000, {"id": str(n), "v": n}, key=(n // 4 * 500_000, 1, n, 1, *long))
        for n in range(12)
    ]
    given = keyed_table(program, events)

    def rows(*, restarts: bool) -> list[tuple[Any, ...]]:
        operator = open_operator(program, is_fed=True)
        assert isinstance(operator, MachineOperator)
        operator.start(0)
        found = []
        for place in range(given.num_rows):
            found.append(operator.take(given.slice(place, 1)))
            if restarts:
                saved, operator = operator.save(), open_operator(program, is_fed=True)
                operator.load(saved)
        return shown_table([*found, operator.advance(9_000_000)])

    assert rows(restarts=True) == rows(restarts=False)
    keys = [row[3] for row in rows(restarts=True) if row[0] == "r" and row[2] == "match"]
    assert keys == [(*e.key[:3], 2, *long, 1, 1) for e in events]


# Which passes forward what they find.

TWO_KEYS = (
    "@Name('p') insert into S select a.k as k, b.v as v"
    " from pattern [every a=A -> b=B(k = a.k)];"
    "@Name('q') select v, count(*) as n from S group by v;"
)


def names_of(text: str, obstacle: str | None = None) -> list[list[tuple[str, ...]]]:
    program = resolved(cep.parse(SCHEMAS + text).tree)
    return [
        [one.names for one in pipeline] for pipeline in pipelines_of(program, obstacle=obstacle)
    ]


def test_a_pass_follows_those_that_derive_its_events() -> None:
    assert names_of(TWO_KEYS) == [[("p",), ("q",)]]
    more = TWO_KEYS + "@Name('r') select k, count(*) as n from C group by k;"
    assert names_of(more) == [[("p", "r"), ("q",)]]
    # What goes together stays so, although a part of it would suit a pass of others.
    torn = "@Name('s') insert into T select id, v from A; @Name('t') select v, count(*) as n from T group by v;"
    assert names_of(TWO_KEYS + torn) == [[("p",), ("q",)], [("s", "t")]]
    assert names_of(more, "nothing is forwarded") == [[("r",)], [("p", "q")]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        # What cannot be told apart, or is more than its attributes, stays where it is.
        (
            "@Name('p') insert rstream into S select istream k, v, count(*) as n"
            " from A#time(1 sec) group by k;"
            "@Name('q') select v, count(*) as n from S group by v;",
            "rows that become events of S cannot be told from others",
        ),
        (
            "@Name('p') insert into S select a, b from pattern [every a=A -> b=B(k = a.k)];"
            "@Name('q') select last(a) as a, count(*) as n from S group by a.v;",
            "S shows events that cannot be forwarded",
        ),
        (
            "create schema S (k string, v int);"
            "@Name('p') insert into S select k, v from A;"
            "@Name('q') insert into S select a.k as k, b.v + 1 as v"
            " from pattern [every a=S(v < 4) -> b=A(k = a.k)];"
            "@Name('r') select v, count(*) as n from S group by v;",
            "what a cycle derives has no place among the events of other keys",
        ),
    ],
)
def test_what_cannot_be_handed_over_runs_in_one_part(text: str, reason: str) -> None:
    program = resolved(cep.parse(SCHEMAS + text).tree)
    [[one]] = pipelines_of(program)
    assert (one.key, one.reason) == (None, reason)


# On Spark.


@cache
def in_pipelines(count: int) -> tuple[Case, ...]:
    """So many different programs that need a pipeline."""
    return different(count, pipeline_programs() | meeting_programs(), crowded(), needs_pipeline)


def needs_pipeline(tree: ProgramTree) -> bool:
    return any(len(pipeline) > 1 for pipeline in pipelines_of(resolved(tree)))


def pack(number: int) -> Case:
    return pack_of(in_pipelines(PACKS * SIZE), number, SIZE)


@pytest.mark.parametrize("number", range(PACKS))
def test_generated_programs_give_the_rows_of_the_reference(
    spark: SparkSession, number: int
) -> None:
    case = pack(number)
    program = resolved(case.tree)
    timed_out = number % 2 == 1
    frame = frame_of(spark, case.events).orderBy(F.xxhash64("seq"))
    # Adaptive execution would put what is so small into one part.
    with set_to(spark, partitions=2 + number, rows=(2, 10_000, 7)[number % 3], adaptive=False):
        found = rows_of(program, frame, timed_out=timed_out)
    assert found == reference(program, case.events, timed_out=timed_out)
    assert len(found) > 100


def test_with_a_wrong_key_the_rows_would_be_others(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = pack(0)
    program = resolved(case.tree)

    def by_time(encoder: EventEncoder) -> tuple[Column, ...]:
        del encoder
        return (field(TIME),)

    monkeypatch.setattr(EventEncoder, "key_columns", by_time)
    with set_to(spark, partitions=3, adaptive=False):
        found = rows_of(program, frame_of(spark, case.events))
    assert found != reference(program, case.events)


def test_without_a_sequence_all_passes_order_events_alike(spark: SparkSession) -> None:
    program = resolved(cep.parse(SCHEMAS + "".join(MEETINGS["after an event"])).tree)
    stream = [
        Event(e.type, e.instant, {**e, "id": f"{90 - e.sequence}"}, e.sequence) for e in SAMPLE
    ]
    ordered = by_default_order(stream)
    numbered = [Event(e.type, e.instant, e.values_, n) for n, e in enumerate(ordered)]
    expected = reference(program, numbered)
    frame = frame_of(spark, stream).orderBy(F.xxhash64("seq")).drop("seq")
    alone = {name: frame.where(named("@type") == name).drop("@type") for name in "AB"}
    with set_to(spark, partitions=3, adaptive=False):
        assert rows_of(program, frame, sequence=None) == expected
        assert rows_of(program, alone, sequence=None) == expected
    assert reference(program, stream) != expected


def test_each_pass_runs_once(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    program = resolved(cep.parse(SCHEMAS + TWO_KEYS).tree)
    sources = sources_of(frame_of(spark, SAMPLE), program)
    request = SparkRequest(program=program, sources=sources, options=Options(sequence="seq"))
    batch_rows(plan_of(request)).explain()
    plan = capsys.readouterr().out
    assert plan.count("MapInArrow") == 3  # the first pass takes packs, which are made once


def test_attributes_of_events_in_events_are_handed_over(spark: SparkSession) -> None:
    text = (
        "@Name('p') insert into S select * from pattern [every a=A -> b=B(k = a.k)];"
        "@Name('q') select a.v as v, count(*) as n, last(b.id) as id from S group by a.v;"
        "@Name('r') select s.a.id as x, t.b.id as y"
        " from pattern [every s=S -> t=S(a.v = s.a.v) where timer:within(2 sec)];"
    )
    program = resolved(cep.parse(SCHEMAS + text).tree)
    assert names_of(text) == [[("p",), ("q", "r")]]
    with set_to(spark, partitions=3, adaptive=False):
        found = rows_of(program, frame_of(spark, SAMPLE))
    assert found == reference(program, SAMPLE)
    assert {row.split()[2] for row in found} == {"p", "q", "r", "S"} - {"p"}


def test_the_rows_of_a_later_pass_can_be_asked_for(spark: SparkSession) -> None:
    found = cep.spark.detect(
        cep.parse(SCHEMAS + TWO_KEYS), frame_of(spark, SAMPLE), output="q", sequence="seq"
    )
    assert found.columns == ["@time", "@kind", "v", "n"]
    program = resolved(cep.parse(SCHEMAS + TWO_KEYS).tree)
    rows = [row for row in reference(program, SAMPLE) if " q " in row]
    assert 0 < len(rows) == found.count()
