"""How long events matter to a whole program: what is said not to matter can be left out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.analysis import retention_report as horizons
from cepheid.analysis.lifetimes import most
from cepheid.core.event import Event
from cepheid.program.graph import graph_of
from tests.effort import examples
from tests.semantics.drive import end_of, resolved, run
from tests.semantics.generators import streams

SCHEMAS = """
create schema A (id string, v int);
create schema B (id string, v int);
@EventTime(attribute='ts', unit='minutes') create schema T (ts int, id string);
@EventTime(attribute='at', unit='milliseconds') create schema U (at long, id string);
@EventTime(attribute='ts', unit='seconds') create schema Float (ts double);
@EventTime(attribute='ts') create schema Parent (ts long, other long);
@EventTime(attribute='other') create schema Child () inherits Parent;
"""
MINUTE = 60_000_000


def found(text: str) -> list[str]:
    findings = list(horizons.find(cep.parse(SCHEMAS + text).graph()))
    assert {(f.code, f.severity) for f in findings} <= {("retention", cep.Severity.NOTE)}
    return [f.message for f in findings]


def pattern(text: str) -> str:
    return f"@Name('S') select 1 as x from pattern [{text}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@Name('S') select id from A", "events of A can matter at their own instant only"),
        (
            pattern("every a=A -> b=A where timer:within(3 sec)"),
            "events of A can matter for 3 seconds to 'S'",
        ),
        (
            "@Name('S') insert into D select id from A#time(1 min) group by id having count(*) > 3;"
            "@Name('R') insert into E select id from D;"
            "@Name('Q') select d.id as id from pattern"
            " [every d=E -> e=E where timer:within(3 sec)]",
            "events of A can matter for 1 minute 3 seconds to 'Q', through 'S' and 'R'",
        ),
        (
            "@Name('S') insert into D select id, count(*) as n from A group by id;"
            "@Name('R') select id from D#time(3 sec);"
            "@Name('Q') select id from A#length_batch(2)",
            "events of A can matter for ever to 'S': no window ends what its aggregates count;"
            " also to 'Q'",
        ),
    ],
)
def test_the_longest_path_counts(text: str, message: str) -> None:
    assert found(text) == [message]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (pattern("a=A -> b=A"), "without `every` it matches once, and the first events decide"),
        (pattern("every (a=A -> b=A)"), "each match of `every` decides where the next one begins"),
        (pattern("every-distinct(a.id, 3 sec) a=A"), "every-distinct goes by what came before"),
        (
            pattern("every a=A -> b=A(v = 3)"),
            "runs wait for A without bound; `where timer:within(...)` would end them",
        ),
        (
            "create context PerId partition by id from A;"
            "@Name('S') context PerId select 1 as x from pattern"
            " [(every (a=A -> b=A)) where timer:within(9 sec)]",
            "the first event of a key decides when its time begins",
        ),
        ("@Name('S') select sum(v) as s from A", "no window ends what its aggregates count"),
        ("@Name('S') select sum(v) as s from A#length(3)", "its window goes by the number of rows"),
        ("@Name('S') select id from A#length_batch(3)", "its window goes by the number of rows"),
        (
            "@Name('S') select id from A#time_batch(3 sec)",
            "its first row decides where its periods begin",
        ),
        (
            "@Name('S') select first(distinct v) as v from A#time(3 sec)",
            "distinct values keep the places of their first occurrences",
        ),
        (
            "@Name('S') select id from A output every 3 events",
            "its output rate goes by all rows before",
        ),
    ],
)
def test_without_a_bound_the_reason_is_given(text: str, reason: str) -> None:
    assert found(text) == [f"events of A can matter for ever to 'S': {reason}"]


def test_types_that_no_statement_takes_or_that_are_derived_get_no_note() -> None:
    assert found("") == []
    assert len(found("insert into D select id from A; select id from D#length_batch(3)")) == 1


def test_a_cycle_matters_for_ever_unless_it_takes_no_time() -> None:
    quick = "@Name('S') insert into C select v from A; @Name('R') insert into C select v + 1 as v "
    assert found(f"{quick} from C(v < 9)") == ["events of A can matter at their own instant only"]
    slow = "from pattern [every c=C(v < 9) -> timer:interval(1 sec)]"
    assert found(f"{quick.replace('v + 1', 'c.v + 1')} {slow}") == [
        "events of A can matter for ever to 'R': what it derives comes back to it"
    ]


def test_an_event_matters_as_one_of_its_ancestors_too() -> None:
    assert found("@Name('S') select rstream ts from Parent#time(3 sec)") == [
        "events of Parent can matter for 3 seconds to 'S'",
        "events of Child can matter for 3 seconds to 'S'",
    ]


def test_the_place_is_the_schema_or_where_the_type_is_taken() -> None:
    text = "create schema A (v int);\nselect v from A;\nselect 1 as x from pattern [every b=B];"
    spans = [f.span for f in horizons.find(cep.parse(text).graph())]
    assert [(span.line, span.column) for span in spans if span] == [(1, 1), (3, 35)]


# Conditions on the time.


@pytest.mark.parametrize(
    ("condition", "span"),
    [
        ("b.ts - a.ts <= 5", "6 minutes"),  # a at the begin of its minute, b at the end
        ("b.ts - a.ts < 5", "5 minutes"),
        ("5 >= b.ts - a.ts", "6 minutes"),
        ("a.ts + 5 >= b.ts", "6 minutes"),
        ("a.ts + 5 > b.ts", "5 minutes"),
        ("b.ts <= a.ts + 5", "6 minutes"),
        ("a.ts - b.ts >= -5", "6 minutes"),
        ("a.ts = b.ts", "1 minute"),
        ("b.ts between a.ts and a.ts + 5", "6 minutes"),
        ("b.ts - a.ts between 2 and 5", "6 minutes"),
        ("b.ts in (a.ts:a.ts + 5)", "5 minutes"),
        ("not (b.ts - a.ts > 5)", "6 minutes"),
        ("(b.ts - a.ts <= 5 or b.ts - a.ts <= 7) and b.id = a.id", "8 minutes"),
    ],
)
def test_a_condition_on_the_time_bounds_a_run(condition: str, span: str) -> None:
    message = f"events of T can matter for {span} to 'S'"
    assert found(pattern(f"every a=T -> b=T({condition})")) == [message]
    assert found(f"{pattern('every a=T -> b=T')} where {condition}") == [message]
    assert found(pattern(f"every a=T -> (b=T({condition}) and not A)"))[1] == message


def test_the_unit_is_that_of_the_type() -> None:
    assert found(pattern("every a=U -> b=U(b.at - a.at <= 500)")) == [
        "events of U can matter for 501 milliseconds to 'S'"
    ]


def test_times_of_several_steps_and_of_windows_add_up() -> None:
    text = "every a=T -> b=T(b.ts - a.ts <= 5) -> c=T(c.ts - b.ts <= 2)"
    assert found(pattern(text)) == ["events of T can matter for 8 minutes to 'S'"]
    assert found(pattern("every a=T -> b=T(b.ts - a.ts <= 5)") + "#length_batch(3)") != []
    kept = "@Name('S') select count(*) as n from pattern [every a=T -> b=T(b.ts <= a.ts)]"
    assert found(f"{kept}#time(1 hour)") == ["events of T can matter for 1 hour 1 minute to 'S'"]


@pytest.mark.parametrize(
    "text",
    [
        pattern("every a=T -> b=T(b.ts - a.ts >= 5)"),
        pattern("every a=T -> b=T(b.ts - a.ts <= 5) -> c=T(c.id = a.id)"),
        pattern("every a=Float -> b=Float(b.ts - a.ts <= 5)"),
        pattern("every a=Parent -> b=Parent(b.ts - a.ts <= 5)"),  # a child has another time
        pattern("every (a=T -> b=T(b.ts - a.ts <= 5))"),  # an `a` that is too old blocks the next
        pattern("every (a=T or x=A) -> b=T -> c=T(c.ts - b.ts <= 5)"),
        pattern("every a=T -> (b=T(b.ts - a.ts <= 5) or c=A)"),
        # The window holds matches that `where` refuses.
        f"{pattern('every a=T -> b=T')}#length_batch(2) where b.ts - a.ts <= 5",
        # Derived events have the time of their cause.
        "create schema V () inherits U; insert into V select 1L as at, id from A;"
        + pattern("every a=U -> b=U(b.at - a.at <= 500)"),
    ],
)
def test_other_conditions_leave_no_bound(text: str) -> None:
    assert "for ever" in found(text)[0]


def event(instant: int, number: int) -> Event:
    return Event("T", instant, {"ts": instant // MINUTE, "id": "xy"[number % 2]}, number)


def rows_without(text: str, stream: Sequence[Event], span: int) -> list[bool]:
    """Whether the rows from each event on stay the same without those that are older."""
    tree, same = cep.parse(SCHEMAS + text).tree, []
    for now in (e.instant for e in stream):
        kept = [e for e in stream if e.instant + span >= now]
        all_rows, rows = ([r for r in run(tree, s) if r.instant >= now] for s in (stream, kept))
        same.append(rows == all_rows)
    return same


@pytest.mark.parametrize("condition", ["b.ts - a.ts <= 2", "a.ts + 3 > b.ts and b.id = a.id"])
def test_what_a_condition_lets_not_matter_can_be_left_out(condition: str) -> None:
    text = pattern(f"every a=T -> b=T({condition}) -> c=T(c.ts - b.ts <= 1)")
    assert found(text) == ["events of T can matter for 4 minutes to 'S'"]
    gaps = [0, 20, 50, 100, 179, 30, 119, 200, 10, 60, 170, 110, 240, 59]
    instants = [sum(gaps[: n + 1]) * MINUTE // 60 for n in range(len(gaps))]
    stream = [event(instant, number) for number, instant in enumerate(instants)]
    assert all(rows_without(text, stream, 4 * MINUTE))
    early_and_late = [event(0, 0), event(179 * MINUTE // 60, 2), event(239 * MINUTE // 60, 4)]
    assert not all(rows_without(text, early_and_late, 3 * MINUTE))


# Engines.


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_engines_keep_runs_that_only_conditions_end_and_a_guard_drops_them(engine: str) -> None:
    bounded = "every a=T(id = 'x') -> (b=T(b.id = 'y' and b.ts - a.ts <= 5){})"
    kept, dropped = (
        cep.open(cep.parse(SCHEMAS + pattern(bounded.format(guard))), engine=engine)
        for guard in ("", " where timer:within(6 minutes)")
    )
    sizes: dict[cep.Session, list[int]] = {kept: [], dropped: []}
    for session, minute in product(sizes, range(0, 4000, 10)):
        session.send("T", {"ts": minute, "id": "x"})
        sizes[session].append(len(session.save()) if minute in (1990, 3990) else 0)
    (few, many), (small, large) = ([n for n in s if n] for s in sizes.values())
    assert many > 1.7 * few
    assert large < 1.1 * small + 100
    for session in sizes:
        assert len(session.send("T", {"ts": 3995, "id": "y"})) == 1


# Whole programs.

STAGES = (
    "select id, k, v from {} where v > 0",
    "select rstream id, k, v from {}#time(2 sec)",
    "select max(id) as id, k, count(*) as v from {}#time(1 sec) group by k",
    "select max(id) as id, max(k) as k, sum(v) as v from {}#time_batch(1 sec, 0L)",
    "select a.id as id, b.k as k, a.v as v from pattern"
    " [every a={0} -> b={0}(b.k = a.k) where timer:within(3 sec)]",
    "select a.id as id, a.k as k, a.v as v from pattern"
    " [every a={0}(v > 1) -> (timer:interval(1 sec) and not {0}(v = 0))]",
)
FIRST_STAGES = (
    *STAGES,
    "select a.id as id, b.k as k, a.v as v from pattern"
    " [every a={0} -> b={0}(b.k = a.k and b.ts - a.ts <= 1500)]",
)


@examples(60)
@given(
    st.sampled_from(FIRST_STAGES),
    st.lists(st.sampled_from(STAGES), min_size=1, max_size=2),
    streams(tuple(product("A", (0, 500, 1000, 1500, 2000))), least=12, most=25),
)
def test_what_does_not_matter_to_a_chain_of_statements_can_be_left_out(
    first: str, others: list[str], stream: list[Event]
) -> None:
    text = "@EventTime(attribute='ts', unit='milliseconds')"
    text += "create schema A (id string, k string, v int, ts long);"
    for number, stage in enumerate([first, *others]):
        text += f"insert into D{number} {stage.format(f'D{number - 1}' if number else 'A')};"
    tree, end = cep.parse(text).tree, end_of(stream)
    span = most(r.span for r in horizons.horizons(graph_of(resolved(tree)))["A"])
    assert span is not None
    rows = run(tree, stream, end=end)
    for now in {row.instant for row in rows}:
        kept = [event for event in stream if event.instant + span >= now]
        left = [row for row in run(tree, kept, end=end) if row.instant >= now]
        assert left == [row for row in rows if row.instant >= now]
